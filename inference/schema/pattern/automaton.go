package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"dure/inference/schema/grammar"
)

// MaxStates is how many states an Automaton may have.
const MaxStates = 20000

// ErrTooLarge: the texts cannot be told from others with MaxStates states.
var ErrTooLarge = fmt.Errorf("it needs more than %d states; make it simpler, or its numbers of repetitions smaller", MaxStates)

// Automaton is a set of texts: a deterministic finite automaton over characters. From
// each of its states a text of the set can be completed; state 0 is the first, and
// there is none if the set is empty. It is immutable and safe for concurrent use.
type Automaton struct{ states []state }

type state struct {
	final bool
	edges []edge // sorted by lo, apart from each other
}

type edge struct {
	lo, hi rune
	to     int
}

// Len is the number of states.
func (a *Automaton) Len() int { return len(a.states) }

// Final says whether a text may end in a state.
func (a *Automaton) Final(i int) bool { return a.states[i].final }

// Edges yields the ways on from a state, in the order of their characters.
func (a *Automaton) Edges(i int) iter.Seq2[grammar.Range, int] {
	return func(yield func(grammar.Range, int) bool) {
		for _, e := range a.states[i].edges {
			if !yield(grammar.Range{Lo: e.lo, Hi: e.hi}, e.to) {
				return
			}
		}
	}
}

// Empty says whether there is no text in the set.
func (a *Automaton) Empty() bool { return len(a.states) == 0 }

// Matches says whether a text is in the set.
func (a *Automaton) Matches(text string) bool {
	if a.Empty() {
		return false
	}
	at := 0
	for _, r := range text {
		if at = a.step(at, r); at < 0 {
			return false
		}
	}
	return a.states[at].final
}

// step is where a character leads; -1 if nowhere.
func (a *Automaton) step(from int, r rune) int {
	edges := a.states[from].edges
	i, _ := slices.BinarySearchFunc(edges, r, func(e edge, r rune) int { return cmp.Compare(e.hi, r) })
	if i == len(edges) || edges[i].lo > r {
		return -1
	}
	return edges[i].to
}

// all characters, as edges to one state.
func all(to int) []edge {
	var out []edge
	for _, r := range grammar.Others() {
		out = append(out, edge{r.Lo, r.Hi, to})
	}
	return out
}

// Any is the set of all texts.
func Any() *Automaton { return &Automaton{[]state{{true, all(0)}}} }

// Length is the set of all texts of min to max characters; max below 0 is no bound.
func Length(min, max int) (*Automaton, error) {
	n := max
	if max < 0 {
		n = min
	}
	if n >= MaxStates {
		return nil, ErrTooLarge
	}
	a := &Automaton{make([]state, n+1)}
	for i := range a.states {
		a.states[i].final = i >= min
		if i < n {
			a.states[i].edges = all(i + 1)
		} else if max < 0 {
			a.states[i].edges = all(i)
		}
	}
	return a.trim(), nil
}

// Texts is the set of these texts.
func Texts(texts ...string) (*Automaton, error) {
	states := []map[rune]int{{}}
	final := map[int]bool{}
	for _, text := range texts {
		at := 0
		for _, r := range text {
			to, ok := states[at][r]
			if !ok {
				to = len(states)
				states[at][r] = to
				states = append(states, map[rune]int{})
			}
			at = to
		}
		final[at] = true
		if len(states) > MaxStates {
			return nil, ErrTooLarge
		}
	}
	a := &Automaton{make([]state, len(states))}
	for i, next := range states {
		a.states[i].final = final[i]
		for r, to := range next {
			a.states[i].edges = append(a.states[i].edges, edge{r, r, to})
		}
		slices.SortFunc(a.states[i].edges, func(a, b edge) int { return cmp.Compare(a.lo, b.lo) })
	}
	return a.trim(), nil
}

// Intersect returns the set of texts that are in both.
func (a *Automaton) Intersect(b *Automaton) (*Automaton, error) {
	if a.Empty() || b.Empty() {
		return &Automaton{}, nil
	}
	type pair struct{ a, b int }
	number := map[pair]int{{0, 0}: 0}
	pairs := []pair{{0, 0}}
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
		if len(pairs) > MaxStates {
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

// Walk returns the set of texts over an alphabet that lead from start to a final
// state. next says where a character leads, if anywhere.
func Walk[S comparable](start S, alphabet string, next func(S, rune) (S, bool), final func(S) bool) (*Automaton, error) {
	letters := []rune(alphabet)
	slices.Sort(letters)
	number := map[S]int{start: 0}
	order := []S{start}
	var out Automaton
	for i := 0; i < len(order); i++ {
		s := state{final: final(order[i])}
		for _, r := range letters {
			to, ok := next(order[i], r)
			if !ok {
				continue
			}
			n, known := number[to]
			if !known {
				n = len(order)
				number[to] = n
				order = append(order, to)
			}
			s.edges = join(s.edges, edge{r, r, n})
		}
		out.states = append(out.states, s)
		if len(order) > MaxStates {
			return nil, ErrTooLarge
		}
	}
	return out.trim(), nil
}
