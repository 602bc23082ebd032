package pattern

import (
	"cmp"
	"errors"
	"slices"

	"dure/inference/schema/grammar"
)

// Intersect returns the set of texts that are in both.
func (a *Automaton) Intersect(b *Automaton) (*Automaton, error) {
	if a.Empty() || b.Empty() {
		return &Automaton{}, nil
	}
	type pair struct{ a, b int }
	number := map[pair]int{{0, 0}: 0}
	pairs := []pair{{0, 0}}
	edges := 0
	var out Automaton
	for i := 0; i < len(pairs); i++ {
		x, y := a.states[pairs[i].a], b.states[pairs[i].b]
		s := state{final: x.final && y.final}
		for p, q := 0, 0; p < len(x.edges) && q < len(y.edges); {
			e, f := x.edges[p], y.edges[q]
			if lo, hi := max(e.lo, f.lo), min(e.hi, f.hi); lo <= hi {
				next := pair{e.to, f.to}
				to, ok := number[next]
				if !ok {
					to = len(pairs)
					number[next] = to
					pairs = append(pairs, next)
				}
				s.edges = append(s.edges, edge{lo, hi, to})
			}
			if e.hi <= f.hi {
				p++
			}
			if f.hi <= e.hi {
				q++
			}
		}
		out.states = append(out.states, s)
		if edges += len(s.edges); edges > maxEdges || len(pairs) > MaxStates {
			return nil, ErrTooLarge
		}
	}
	return out.trim(), nil
}

// Complement returns the set of all other texts.
func (a *Automaton) Complement() *Automaton {
	if a.Empty() {
		return Any()
	}
	rest := len(a.states)
	out := &Automaton{make([]state, rest+1)}
	out.states[rest] = state{true, all(rest)}
	for i, s := range a.states {
		var covered []grammar.Range
		for _, e := range s.edges {
			covered = append(covered, grammar.Range{Lo: e.lo, Hi: e.hi})
		}
		edges := slices.Clone(s.edges)
		for _, r := range grammar.Others(covered...) {
			edges = append(edges, edge{r.Lo, r.Hi, rest})
		}
		slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.lo, b.lo) })
		out.states[i] = state{!s.final, edges}
	}
	return out.trim()
}

// Contains says whether all texts of b are in a.
func (a *Automaton) Contains(b *Automaton) (bool, error) {
	both, err := a.Complement().Intersect(b)
	if err != nil {
		return false, err
	}
	return both.Empty(), nil
}

// trim takes out what no text of the set goes through, and joins edges that touch.
// All states can be reached from the first.
func (a *Automaton) trim() *Automaton {
	into := make([][]int, len(a.states))
	var work []int
	useful := make([]bool, len(a.states))
	for i, s := range a.states {
		for _, e := range s.edges {
			into[e.to] = append(into[e.to], i)
		}
		if s.final {
			useful[i] = true
			work = append(work, i)
		}
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, from := range into[i] {
			if !useful[from] {
				useful[from] = true
				work = append(work, from)
			}
		}
	}
	return a.only(useful)
}

// only returns the automaton of the useful states. It has none if the first is not.
func (a *Automaton) only(useful []bool) *Automaton {
	if len(useful) == 0 || !useful[0] {
		return &Automaton{}
	}
	number := make([]int, len(a.states))
	n := 0
	for i := range a.states {
		number[i] = n
		if useful[i] {
			n++
		}
	}
	out := &Automaton{make([]state, 0, n)}
	for i, s := range a.states {
		if !useful[i] {
			continue
		}
		var edges []edge
		for _, e := range s.edges {
			if useful[e.to] {
				edges = join(edges, edge{e.lo, e.hi, number[e.to]})
			}
		}
		out.states = append(out.states, state{s.final, edges})
	}
	return out
}

// join appends an edge, or lengthens the last one where both are one.
func join(edges []edge, e edge) []edge {
	if last := len(edges) - 1; last >= 0 && edges[last].to == e.to && edges[last].hi+1 == e.lo {
		edges[last].hi = e.hi
		return edges
	}
	return append(edges, e)
}

// Lengths are those of the shortest and the longest text, in characters; -1 for the
// longest if there is none. The set is not empty.
func (a *Automaton) Lengths() (shortest, longest int) {
	depth := make([]int, len(a.states))
	for i := range depth {
		depth[i] = -1
	}
	depth[0], shortest = 0, -1
	for queue := []int{0}; len(queue) > 0 && shortest < 0; queue = queue[1:] {
		s := a.states[queue[0]]
		if s.final {
			shortest = depth[queue[0]]
		}
		for _, e := range s.edges {
			if depth[e.to] < 0 {
				depth[e.to] = depth[queue[0]] + 1
				queue = append(queue, e.to)
			}
		}
	}
	longest, err := a.longest()
	if err != nil {
		return shortest, -1
	}
	return shortest, longest
}

var errEndless = errors.New("there is no longest text")

// longest goes through the states in an order in which edges lead forward.
func (a *Automaton) longest() (int, error) {
	into := make([]int, len(a.states))
	for _, s := range a.states {
		for _, e := range s.edges {
			into[e.to]++
		}
	}
	best := make([]int, len(a.states))
	longest, done := 0, 0
	if into[0] > 0 {
		return 0, errEndless
	}
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		done++
		if a.states[i].final {
			longest = max(longest, best[i])
		}
		for _, e := range a.states[i].edges {
			best[e.to] = max(best[e.to], best[i]+1)
			if into[e.to]--; into[e.to] == 0 {
				queue = append(queue, e.to)
			}
		}
	}
	if done < len(a.states) {
		return 0, errEndless
	}
	return longest, nil
}
