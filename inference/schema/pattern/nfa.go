package pattern

import "dure/inference/schema/grammar"

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
	set         []grammar.Range
	next, other int
	look        int // index of an automaton
}

// nfa is a pattern as a nondeterministic automaton, made from its end to its
// beginning. Node 0 is matched.
type nfa struct {
	nodes []nfaNode
	looks []*Automaton
	wide  bool // classes are taken generously
	err   error
}

// build makes the automaton of the texts in which e matches somewhere, or where it
// must at the beginning. wide takes what programs read differently as matching.
func build(e expr, somewhere, wide bool) (*Automaton, error) {
	n := &nfa{nodes: []nfaNode{{kind: matched}}, wide: wide}
	start := n.add(e, 0)
	if somewhere {
		before := n.node(nfaNode{kind: branch, other: start})
		n.nodes[before].next = n.node(nfaNode{kind: consume, set: anyChar.wide, next: before})
		start = before
	}
	if n.err != nil {
		return nil, n.err
	}
	return n.determine(start)
}

func (n *nfa) node(x nfaNode) int {
	if len(n.nodes) >= maxNodes {
		n.err = ErrTooLarge
		return 0
	}
	n.nodes = append(n.nodes, x)
	return len(n.nodes) - 1
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
		return n.node(nfaNode{kind: consume, set: set, next: next})
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

// lookahead makes an automaton of its own of what must, or must not, follow.
func (n *nfa) lookahead(e look, next int) int {
	a, err := build(e.ahead, false, n.wide != e.not)
	if err != nil {
		n.err = err
		return 0
	}
	if e.not {
		a = a.Complement()
	}
	n.looks = append(n.looks, a)
	return n.node(nfaNode{kind: ahead, next: next, look: len(n.looks) - 1})
}
