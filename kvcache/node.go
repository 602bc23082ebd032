package kvcache

import "slices"

// node is a span of tokens. What ends with the span is attached to it: sequences
// that stand here, objects, leases, sessions, pins. The pointer belongs to the
// end: a split puts a new node above, a merge keeps the lower one.
type node struct {
	parent   *node
	children map[Token]*node // by first token
	tokens   []Token
	end      int // position after the last token

	hot      []seqSet  // one for each physical copy of the cells; disjoint, not empty
	standing seqSet    // sequences that end here
	kv       []*object // stored rows that cover the span, not only those ending here
	states   []*object // stored recurrent states at the end

	below  [tiers]int // objects attached here or deeper
	pinned int        // pins here or deeper

	leases, sessions, pins int // that end here

	// mark: a prompt may branch here, so what is stored is cut here, and those
	// who come later share it whole.
	mark bool

	hits int
	last Tick
	rank Rank  // the highest of those it served
	hint Phase // the best of the sessions that end here

	ordinal int // scratch of Check
}

func (x *node) start() int { return x.end - len(x.tokens) }

// trail is how far a prompt follows the tree: nodes from the root's child down,
// the last perhaps in part.
type trail struct {
	nodes  []*node
	length int
}

// has reports whether a node is on the trail.
func (tr trail) has(x *node) bool {
	i, ok := slices.BinarySearchFunc(tr.nodes, x.end, func(y *node, end int) int { return y.end - end })
	return ok && tr.nodes[i] == x
}

// match follows tokens as far as the tree goes, comparing each.
func (t *Tree) match(tokens []Token) (tr trail) {
	x := t.root
	for tr.length < len(tokens) {
		c := x.children[tokens[tr.length]]
		if c == nil {
			break
		}
		k := common(c.tokens, tokens[tr.length:])
		tr.nodes = append(tr.nodes, c)
		tr.length += k
		if k < len(c.tokens) {
			break
		}
		x = c
	}
	return tr
}

func common(a, b []Token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// split cuts a node after k tokens and returns the new upper part.
func (t *Tree) split(x *node, k int) *node {
	u := &node{
		parent: x.parent, tokens: x.tokens[:k:k], end: x.start() + k,
		children: map[Token]*node{x.tokens[k]: x},
		hot:      slices.Clone(x.hot), kv: slices.Clone(x.kv),
		below: x.below, pinned: x.pinned, hits: x.hits, last: x.last, rank: x.rank,
	}
	u.parent.children[u.tokens[0]] = u
	x.parent, x.tokens = u, x.tokens[k:]
	t.nodes++
	return u
}

// nodeAt makes a position of a trail the end of a node; the root for 0.
func (t *Tree) nodeAt(tr trail, pos int) *node {
	if pos == 0 {
		return t.root
	}
	i, _ := slices.BinarySearchFunc(tr.nodes, pos, func(x *node, pos int) int { return x.end - pos })
	x := tr.nodes[i]
	if x.end == pos {
		return x
	}
	return t.split(x, pos-x.start())
}

// insert makes tokens a path and returns its end.
func (t *Tree) insert(tokens []Token) *node {
	tr := t.match(tokens)
	x := t.nodeAt(tr, tr.length)
	if tr.length < len(tokens) {
		x = t.grow(x, tokens[tr.length:])
	}
	return x
}

// grow hangs a new leaf under a node.
func (t *Tree) grow(x *node, tokens []Token) *node {
	c := &node{parent: x, tokens: slices.Clone(tokens), end: x.end + len(tokens), last: t.now}
	if x.children == nil {
		x.children = map[Token]*node{}
	}
	x.children[tokens[0]] = c
	t.nodes++
	return c
}

// tidy removes a node that means nothing any more, and its ancestors likewise,
// and merges a chain that nothing marks.
func (t *Tree) tidy(x *node) {
	if x.parent == nil && x != t.root {
		return // gone already
	}
	for x != t.root && len(x.children) == 0 && !x.marked() && len(x.hot) == 0 && len(x.kv) == 0 {
		p := x.parent
		delete(p.children, x.tokens[0])
		t.nodes--
		x.parent = nil
		x = p
	}
	t.merge(x)
	if len(x.children) == 1 {
		for _, c := range x.children {
			t.merge(c)
		}
	}
}

// marked reports whether something ends at the node.
func (x *node) marked() bool {
	if x.leases+x.sessions+x.pins+len(x.states) > 0 || !x.standing.empty() {
		return true
	}
	return slices.ContainsFunc(x.kv, func(o *object) bool { return o.node == x })
}

// merge joins a node to its only child if nothing tells their spans apart.
func (t *Tree) merge(x *node) {
	if x == t.root || x.parent == nil || len(x.children) != 1 || x.mark || x.marked() {
		return
	}
	var c *node
	for _, c = range x.children {
	}
	// All that covers x goes on into its only child; more there means that a
	// copy begins between the two.
	if len(c.kv) != len(x.kv) || len(c.hot) != len(x.hot) || !sameCopies(c.hot, x.hot) {
		return
	}
	c.tokens = slices.Concat(x.tokens, c.tokens)
	c.parent = x.parent
	c.parent.children[c.tokens[0]] = c
	x.parent = nil
	t.nodes--
}

func sameCopies(a, b []seqSet) bool {
	for _, s := range a {
		if !slices.Contains(b, s) {
			return false
		}
	}
	return true
}

// path is the tokens from the root to a node.
func (x *node) path() []Token {
	out := make([]Token, x.end)
	for ; x.parent != nil; x = x.parent {
		copy(out[x.start():], x.tokens)
	}
	return out
}

// up calls f for a node and its ancestors, without the root.
func (x *node) up(f func(*node)) {
	for ; x != nil && x.parent != nil; x = x.parent {
		f(x)
	}
}
