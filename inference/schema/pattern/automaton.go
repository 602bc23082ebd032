package pattern

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"dure/inference/schema/grammar"
)

const (
	// MaxStates is how many states an Automaton may have.
	MaxStates = 20000
	// maxEdges is how many edges one may have in all.
	maxEdges = 1 << 20
)

// ErrTooLarge: the texts cannot be told from others within MaxStates states and about a
// second of work.
var ErrTooLarge = errors.New("it takes too much to tell what matches; make it simpler, or its numbers of repetitions smaller")

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

// Size is the number of states and edges.
func (a *Automaton) Size() int {
	n := len(a.states)
	for _, s := range a.states {
		n += len(s.edges)
	}
	return n
}

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
