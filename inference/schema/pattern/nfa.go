package pattern

import (
	"encoding/binary"
	"slices"

	"dure/inference/schema/grammar"
)

// maxNodes is how many nodes a pattern may have when its repetitions are written out.
const maxNodes = 1 << 17

type nodeKind uint8

const (
	consume nodeKind = iota // a character of set, then next
	branch                  // next or other, without a character
	atBegin                 // next, where the text begins
	atEnd                   // next, where the text ends
	ahead                   // next, if the rest of the text is in look
	matched                 // the pattern is fulfilled, whatever follows
)

type nfaNode struct {
	kind        nodeKind
	set         int // index of a set of characters
	next, other int
	// look is the index of an automaton, lookBegin of the one that holds where the
	// text begins.
	look, lookBegin int
}

// nfa is a pattern as a nondeterministic automaton, made from its end to its
// beginning. Node 0 is matched.
type nfa struct {
	nodes []nfaNode
	sets  [][]grammar.Range
	known map[string]int // where a set is in sets
	looks []*Automaton
	wide  bool // classes are taken generously
	err   error
}

func newNFA(wide bool) *nfa {
	return &nfa{nodes: []nfaNode{{kind: matched}}, known: map[string]int{}, wide: wide}
}

// build makes the automaton of the texts in which e matches somewhere, or where it
// must at the beginning. wide takes what programs read differently as matching.
func build(e expr, somewhere, wide bool) (*Automaton, error) {
	n := newNFA(wide)
	return n.build(e, somewhere, true)
}

// build makes the automaton; begin says whether it is the text's beginning where e
// begins.
func (n *nfa) build(e expr, somewhere, begin bool) (*Automaton, error) {
	start := n.add(e, 0)
	if somewhere {
		before := n.node(nfaNode{kind: branch, other: start})
		n.nodes[before].next = n.node(nfaNode{kind: consume, set: n.set(anyChar.wide), next: before})
		start = before
	}
	if n.err != nil {
		return nil, n.err
	}
	return n.determine(start, begin)
}

func (n *nfa) node(x nfaNode) int {
	if len(n.nodes) >= maxNodes {
		n.err = ErrTooLarge
		return 0
	}
	n.nodes = append(n.nodes, x)
	return len(n.nodes) - 1
}

// set returns the index of a set of characters.
func (n *nfa) set(ranges []grammar.Range) int {
	key := make([]byte, 0, 8*len(ranges))
	for _, r := range ranges {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(r.Lo)), uint64(r.Hi))
	}
	i, ok := n.known[string(key)]
	if !ok {
		i = len(n.sets)
		n.known[string(key)] = i
		n.sets = append(n.sets, ranges)
	}
	return i
}

// add makes the nodes of e, which go on at next, and returns the first.
func (n *nfa) add(e expr, next int) int {
	if n.err != nil {
		return 0
	}
	switch e := e.(type) {
	case chars:
		set := e.narrow
		if n.wide {
			set = e.wide
		}
		return n.node(nfaNode{kind: consume, set: n.set(set), next: next})
	case concat:
		for i := len(e) - 1; i >= 0; i-- {
			next = n.add(e[i], next)
		}
		return next
	case either:
		at := n.add(e[len(e)-1], next)
		for i := len(e) - 2; i >= 0; i-- {
			at = n.node(nfaNode{kind: branch, next: n.add(e[i], next), other: at})
		}
		return at
	case times:
		return n.times(e, next)
	case begin:
		return n.node(nfaNode{kind: atBegin, next: next})
	case end:
		return n.node(nfaNode{kind: atEnd, next: next})
	case look:
		return n.lookahead(e, next)
	}
	return next
}

// times writes a repetition out.
func (n *nfa) times(e times, next int) int {
	if e.max < 0 {
		again := n.node(nfaNode{kind: branch, other: next})
		if n.err == nil {
			body := n.add(e.of, again)
			n.nodes[again].next = body
		}
		next = again
	}
	last := next
	for i := e.min; i < e.max && n.err == nil; i++ {
		next = n.node(nfaNode{kind: branch, next: n.add(e.of, next), other: last})
	}
	for i := 0; i < e.min && n.err == nil; i++ {
		next = n.add(e.of, next)
	}
	return next
}

// lookahead makes automata of their own of what must, or must not, follow.
func (n *nfa) lookahead(e look, next int) int {
	within := n.ahead(e, false)
	first := within
	if mentionsBegin(e.ahead) {
		first = n.ahead(e, true)
	}
	return n.node(nfaNode{kind: ahead, next: next, look: within, lookBegin: first})
}

func (n *nfa) ahead(e look, begin bool) int {
	inner := newNFA(n.wide != e.not)
	a, err := inner.build(e.ahead, false, begin)
	if err != nil {
		n.err = err
		return 0
	}
	if e.not {
		a = a.Complement()
	}
	n.looks = append(n.looks, a)
	return len(n.looks) - 1
}

func mentionsBegin(e expr) bool {
	switch e := e.(type) {
	case begin:
		return true
	case concat:
		return slices.ContainsFunc(e, mentionsBegin)
	case either:
		return slices.ContainsFunc(e, mentionsBegin)
	case times:
		return mentionsBegin(e.of)
	case look:
		return mentionsBegin(e.ahead)
	}
	return false
}
