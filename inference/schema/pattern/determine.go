package pattern

import (
	"cmp"
	"encoding/binary"
	"slices"

	"dure/inference/schema/grammar"
)

// maxWork bounds how long a pattern is worked on, in threads followed over a range of
// characters: about a second.
const maxWork = 1 << 22

// thread is one way to have read a text: it stands before a node that consumes, and
// what it saw in lookaheads still has to be kept.
type thread struct {
	node int
	duty int // index of a list of duties
}

// duty is the state of a lookahead's automaton that the rest of the text must lead to
// the end of.
type duty struct{ look, state int }

// determiner makes a deterministic automaton: its states are sets of threads.
type determiner struct {
	*nfa
	duties  [][]duty // list 0 is empty
	numbers map[string]int
	states  map[string]int
	sets    [][]thread
	out     Automaton
	work    int
	key     []byte
	seen    map[reached]bool
}

// reached is a node on the way to a thread. Behind a $ nothing may follow.
type reached struct {
	thread
	over bool
}

func (n *nfa) determine(start int) (*Automaton, error) {
	d := &determiner{nfa: n, duties: [][]duty{nil}, numbers: map[string]int{"": 0}, states: map[string]int{}, seen: map[reached]bool{}}
	d.state([]thread{{start, 0}}, true)
	for i := 0; i < len(d.sets); i++ {
		d.leave(i)
		if len(d.sets) > MaxStates || d.work > maxWork {
			return nil, ErrTooLarge
		}
	}
	return d.out.trim(), nil
}

// state returns the state of the threads that these lead to without a character.
func (d *determiner) state(from []thread, begin bool) int {
	set, final := d.close(from, begin)
	if slices.Contains(set, thread{0, 0}) {
		set, final = []thread{{0, 0}}, true // matched: whatever follows
	}
	d.key = append(d.key[:0], 0)
	if final {
		d.key[0] = 1
	}
	for _, t := range set {
		d.key = binary.AppendUvarint(d.key, uint64(t.node))
		d.key = binary.AppendUvarint(d.key, uint64(t.duty))
	}
	if i, ok := d.states[string(d.key)]; ok {
		return i
	}
	i := len(d.sets)
	d.states[string(d.key)] = i
	d.sets = append(d.sets, set)
	d.out.states = append(d.out.states, state{final: final})
	return i
}

// close follows nodes that take no character. final says whether the text may end.
func (d *determiner) close(from []thread, begin bool) (set []thread, final bool) {
	clear(d.seen)
	var work []reached
	visit := func(r reached) {
		if !d.seen[r] {
			d.seen[r] = true
			work = append(work, r)
		}
	}
	for _, t := range from {
		visit(reached{t, false})
	}
	for len(work) > 0 {
		r := work[len(work)-1]
		work = work[:len(work)-1]
		d.work++
		n := d.nodes[r.node]
		switch n.kind {
		case consume:
			if !r.over {
				set = append(set, r.thread)
			}
		case branch:
			visit(reached{thread{n.next, r.duty}, r.over})
			visit(reached{thread{n.other, r.duty}, r.over})
		case atBegin:
			if begin {
				visit(reached{thread{n.next, r.duty}, r.over})
			}
		case atEnd:
			visit(reached{thread{n.next, r.duty}, true})
		case ahead:
			if with, ok := d.with(r.duty, duty{n.look, 0}); ok {
				visit(reached{thread{n.next, with}, r.over})
			}
		case matched:
			final = final || d.kept(r.duty)
			if !r.over {
				set = append(set, r.thread)
			}
		}
	}
	slices.SortFunc(set, func(a, b thread) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.duty, b.duty)) })
	return set, final
}

// kept says whether all duties are fulfilled where the text ends.
func (d *determiner) kept(list int) bool {
	return !slices.ContainsFunc(d.duties[list], func(x duty) bool { return !d.looks[x.look].states[x.state].final })
}

// with adds a duty to a list; ok is false where it can never be fulfilled.
func (d *determiner) with(list int, x duty) (int, bool) {
	if d.looks[x.look].Empty() {
		return 0, false
	}
	return d.list(append(slices.Clone(d.duties[list]), x)), true
}

// list interns a list of duties, without those that whatever follows fulfils.
func (d *determiner) list(duties []duty) int {
	duties = slices.DeleteFunc(duties, func(x duty) bool { return d.looks[x.look].always(x.state) })
	slices.SortFunc(duties, func(a, b duty) int { return cmp.Or(cmp.Compare(a.look, b.look), cmp.Compare(a.state, b.state)) })
	duties = slices.Compact(duties)
	var key []byte
	for _, x := range duties {
		key = binary.AppendUvarint(key, uint64(x.look))
		key = binary.AppendUvarint(key, uint64(x.state))
	}
	i, ok := d.numbers[string(key)]
	if !ok {
		i = len(d.duties)
		d.numbers[string(key)] = i
		d.duties = append(d.duties, duties)
	}
	return i
}

// always says whether all texts lead from a state to the end.
func (a *Automaton) always(i int) bool {
	s := a.states[i]
	return s.final && slices.Equal(s.edges, all(i))
}

// leave works out where all characters lead from state i.
func (d *determiner) leave(i int) {
	var edges []edge
	known := map[string]int{} // from the threads that a range leads to
	for _, r := range d.ranges(d.sets[i]) {
		next := d.move(d.sets[i], r.Lo)
		if len(next) == 0 {
			continue
		}
		key := []byte{}
		for _, t := range next {
			key = binary.AppendUvarint(key, uint64(t.node))
			key = binary.AppendUvarint(key, uint64(t.duty))
		}
		to, ok := known[string(key)]
		if !ok {
			to = d.state(next, false)
			known[string(key)] = to
		}
		edges = join(edges, edge{r.Lo, r.Hi, to})
		if d.work > maxWork {
			return
		}
	}
	d.out.states[i].edges = edges
}

// ranges cuts all characters so that no thread tells those of a range apart.
func (d *determiner) ranges(set []thread) []grammar.Range {
	var starts []rune
	mark := func(lo, hi rune) { starts = append(starts, lo, hi+1) }
	for _, t := range set {
		n := d.nodes[t.node]
		for _, r := range n.set {
			mark(r.Lo, r.Hi)
		}
		for _, x := range d.duties[t.duty] {
			for _, e := range d.looks[x.look].states[x.state].edges {
				mark(e.lo, e.hi)
			}
		}
	}
	chars := grammar.Others()
	for _, r := range chars {
		mark(r.Lo, r.Hi)
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	var out []grammar.Range
	for i := 1; i < len(starts); i++ {
		lo, hi := starts[i-1], starts[i]-1
		if chars[0].Hi < lo && lo < chars[1].Lo {
			continue // surrogates
		}
		out = append(out, grammar.Range{Lo: lo, Hi: hi})
	}
	return out
}

// move returns where a character leads from the threads.
func (d *determiner) move(set []thread, r rune) []thread {
	var next []thread
	for _, t := range set {
		d.work++
		n := d.nodes[t.node]
		to := 0 // what is matched stays so
		if n.kind == consume {
			if !contains(n.set, r) {
				continue
			}
			to = n.next
		}
		if duty, ok := d.advance(t.duty, r); ok {
			next = append(next, thread{to, duty})
		}
	}
	return next
}

// advance moves the automata of a list of duties; ok is false where one refuses.
func (d *determiner) advance(list int, r rune) (int, bool) {
	if list == 0 {
		return 0, true
	}
	var out []duty
	for _, x := range d.duties[list] {
		to := d.looks[x.look].step(x.state, r)
		if to < 0 {
			return 0, false
		}
		out = append(out, duty{x.look, to})
	}
	return d.list(out), true
}

// contains looks a character up in ranges that are sorted.
func contains(ranges []grammar.Range, r rune) bool {
	i, _ := slices.BinarySearchFunc(ranges, r, func(x grammar.Range, r rune) int { return cmp.Compare(x.Hi, r) })
	return i < len(ranges) && ranges[i].Lo <= r
}
