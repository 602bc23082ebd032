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
	reached [][]thread // by each state
	classes map[string][][]grammar.Range
	out     Automaton
	edges   int
	work    int
	key     []byte
	seen    map[visit]bool
}

// visit is a node on the way to a thread. Behind a $ nothing may follow.
type visit struct {
	thread
	over bool
}

func (n *nfa) determine(start int, begin bool) (*Automaton, error) {
	d := &determiner{nfa: n, duties: [][]duty{nil}, numbers: map[string]int{"": 0}, states: map[string]int{}, classes: map[string][][]grammar.Range{}, seen: map[visit]bool{}}
	d.state([]thread{{start, 0}}, begin)
	for i := 0; i < len(d.reached); i++ {
		d.leave(i)
		if len(d.reached) > MaxStates || d.edges > maxEdges || d.work > maxWork {
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
	i := len(d.reached)
	d.states[string(d.key)] = i
	d.reached = append(d.reached, set)
	d.out.states = append(d.out.states, state{final: final})
	return i
}

// close follows nodes that take no character. final says whether the text may end.
func (d *determiner) close(from []thread, begin bool) (set []thread, final bool) {
	clear(d.seen)
	var work []visit
	follow := func(r visit) {
		if !d.seen[r] {
			d.seen[r] = true
			work = append(work, r)
		}
	}
	for _, t := range from {
		follow(visit{t, false})
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
			follow(visit{thread{n.next, r.duty}, r.over})
			follow(visit{thread{n.other, r.duty}, r.over})
		case atBegin:
			if begin {
				follow(visit{thread{n.next, r.duty}, r.over})
			}
		case atEnd:
			follow(visit{thread{n.next, r.duty}, true})
		case ahead:
			which := n.look
			if begin {
				which = n.lookBegin
			}
			if with, ok := d.with(r.duty, duty{which, 0}); ok {
				follow(visit{thread{n.next, with}, r.over})
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
	slices.SortFunc(duties, compareDuties)
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
	known := map[string]int{} // from the threads that a class leads to
	for _, class := range d.partition(d.reached[i]) {
		next := d.move(d.reached[i], class[0].Lo)
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
		for _, r := range class {
			edges = append(edges, edge{r.Lo, r.Hi, to})
		}
		if d.work > maxWork {
			return
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.lo, b.lo) })
	joined := edges[:0]
	for _, e := range edges {
		joined = join(joined, e)
	}
	d.out.states[i].edges = slices.Clip(joined)
	d.edges += len(joined)
}

// partition sorts all characters into classes that no thread tells apart. Many states
// have the same one.
func (d *determiner) partition(set []thread) [][]grammar.Range {
	var sets []int
	var duties []duty
	for _, t := range set {
		if d.nodes[t.node].kind == consume {
			sets = append(sets, d.nodes[t.node].set)
		}
		duties = append(duties, d.duties[t.duty]...)
	}
	slices.Sort(sets)
	sets = slices.Compact(sets)
	slices.SortFunc(duties, compareDuties)
	duties = slices.Compact(duties)
	key := []byte{}
	for _, s := range sets {
		key = binary.AppendUvarint(key, uint64(s)+1)
	}
	key = append(key, 0)
	for _, x := range duties {
		key = binary.AppendUvarint(key, uint64(x.look))
		key = binary.AppendUvarint(key, uint64(x.state))
	}
	classes, ok := d.classes[string(key)]
	if !ok {
		classes = d.split(sets, duties)
		d.classes[string(key)] = classes
	}
	return classes
}

// split works such a partition out.
func (d *determiner) split(sets []int, duties []duty) [][]grammar.Range {
	number := map[string]int{}
	var classes [][]grammar.Range
	for _, r := range d.ranges(sets, duties) {
		if d.work += len(sets) + len(duties); d.work > maxWork {
			break
		}
		key := []byte{}
		for _, s := range sets {
			if contains(d.nfa.sets[s], r.Lo) {
				key = binary.AppendUvarint(key, uint64(s))
			}
		}
		key = append(key, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		for _, x := range duties {
			key = binary.AppendUvarint(key, uint64(d.looks[x.look].step(x.state, r.Lo)+1))
		}
		i, ok := number[string(key)]
		if !ok {
			i = len(classes)
			number[string(key)] = i
			classes = append(classes, nil)
		}
		classes[i] = append(classes[i], r)
	}
	return classes
}

// ranges cuts all characters where a set or a duty begins or ends.
func (d *determiner) ranges(sets []int, duties []duty) []grammar.Range {
	var starts []rune
	mark := func(lo, hi rune) { starts = append(starts, lo, hi+1) }
	for _, s := range sets {
		for _, r := range d.nfa.sets[s] {
			mark(r.Lo, r.Hi)
		}
	}
	for _, x := range duties {
		for _, e := range d.looks[x.look].states[x.state].edges {
			mark(e.lo, e.hi)
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

func compareDuties(a, b duty) int {
	return cmp.Or(cmp.Compare(a.look, b.look), cmp.Compare(a.state, b.state))
}

// move returns where a character leads from the threads.
func (d *determiner) move(set []thread, r rune) []thread {
	var next []thread
	for _, t := range set {
		d.work++
		n := d.nodes[t.node]
		to := 0 // what is matched stays so
		if n.kind == consume {
			if !contains(d.nfa.sets[n.set], r) {
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
