package grammar

import (
	"errors"
	"fmt"
	"slices"
)

// What a grammar may not be. Compile wraps them with the name of the rule.
var (
	// ErrLeftRecursion: a rule begins with itself, so that it could be entered for
	// ever without a byte.
	ErrLeftRecursion = errors.New("grammar: a rule begins with itself (write a repetition, or put the recursion last)")
	// ErrEmpty: there is no text that it allows.
	ErrEmpty = errors.New("grammar: no text can fulfil it")
	// ErrUndefined: a rule was referred to and never defined.
	ErrUndefined = errors.New("grammar: a rule is used but not defined")
	// ErrTooLarge: it has more than MaxNodes parts.
	ErrTooLarge = fmt.Errorf("grammar: it has more than %d parts; make it smaller", MaxNodes)
	// ErrTooDeep: its shortest text is nested deeper than MaxDepth.
	ErrTooDeep = fmt.Errorf("grammar: even its shortest text is nested more than %d rules deep", MaxDepth)
	// ErrRepeat: a repetition has bounds without meaning.
	ErrRepeat = fmt.Errorf("grammar: the bounds of a repetition must be 0 <= min <= max <= %d", MaxRepeat)
)

const (
	// MaxNodes is how many parts a compiled grammar may have; a part is about a
	// byte of a literal, a class, or an alternative. One takes some 50 bytes.
	MaxNodes = 1 << 19
	// MaxRepeat is the largest finite bound of a repetition.
	MaxRepeat = 1 << 24
)

type kind uint8

const (
	end    kind = iota // of the rule or the repeated part; node 0 is the only one
	bytes              // one byte of any of the edges
	split              // any of the branches, without a byte
	call               // a rule, then next
	repeat             // body min to max times, then next
)

// node is a place in a grammar; a Grammar is a recursive transition network.
type node struct {
	kind kind
	// first and count say which edges or branches are the node's.
	first, count int32
	next         int32
	rule         int32 // call: index of the rule
	body         int32 // repeat
	min, max     int32 // repeat; max may be Unlimited
}

type edge struct {
	lo, hi byte
	next   int32
}

// Grammar is a compiled expression. It is immutable and safe for concurrent use.
type Grammar struct {
	nodes    []node
	edges    []edge
	branches []int32
	starts   []int32 // of each rule; rule 0 is the whole expression
	// need of a node is the least number of frames above its own that the rest of
	// its rule takes; impossible where it can never end.
	need []int32
	// nullable rules may be empty.
	nullable []bool
	classes  [256]uint8 // bytes of a class are never told apart
	samples  []byte     // one byte of each class
	counts   bool       // it has counted repetitions
}

// compiler makes a Grammar. The first error stays.
type compiler struct {
	Grammar
	names []string
	rules map[*Rule]int32
	queue []*Rule
	err   error
}

// Compile makes a grammar of an expression and of all rules that it refers to.
func Compile(e Expr) (*Grammar, error) {
	root := NewRule("root")
	root.Define(e)
	c := &compiler{rules: map[*Rule]int32{}}
	c.add(node{kind: end})
	c.index(root)
	for len(c.queue) > 0 && c.err == nil {
		r := c.queue[0]
		c.queue = c.queue[1:]
		if !r.defined {
			return nil, fmt.Errorf("rule %q: %w", r.name, ErrUndefined)
		}
		start := r.of.compile(c, 0)
		c.starts[c.rules[r]] = start
	}
	if c.err != nil {
		return nil, c.err
	}
	if err := c.analyse(); err != nil {
		return nil, err
	}
	c.classify()
	g := c.Grammar
	return &g, nil
}

// index returns a rule's number, and puts it in line if it is new.
func (c *compiler) index(r *Rule) int32 {
	i, ok := c.rules[r]
	if !ok {
		i = int32(len(c.starts))
		c.rules[r] = i
		c.starts = append(c.starts, 0)
		c.names = append(c.names, r.name)
		c.queue = append(c.queue, r)
	}
	return i
}

func (c *compiler) add(n node) int32 {
	if len(c.nodes)+len(c.edges)+len(c.branches) >= MaxNodes {
		if c.err == nil {
			c.err = ErrTooLarge
		}
		return 0
	}
	c.nodes = append(c.nodes, n)
	return int32(len(c.nodes) - 1)
}

func (c *compiler) bytes(edges []edge) int32 {
	slices.SortFunc(edges, func(a, b edge) int { return int(a.lo) - int(b.lo) })
	at := c.add(node{kind: bytes, first: int32(len(c.edges)), count: int32(len(edges))})
	c.edges = append(c.edges, edges...)
	return at
}

// fork makes the node at a split of the branches.
func (c *compiler) fork(at int32, branches ...int32) {
	if c.err != nil {
		return
	}
	c.nodes[at].first, c.nodes[at].count = int32(len(c.branches)), int32(len(branches))
	c.branches = append(c.branches, branches...)
}

func (e literal) compile(c *compiler, next int32) int32 {
	for i := len(e) - 1; i >= 0 && c.err == nil; i-- {
		next = c.bytes([]edge{{e[i], e[i], next}})
	}
	return next
}

func (e concat) compile(c *compiler, next int32) int32 {
	for i := len(e) - 1; i >= 0 && c.err == nil; i-- {
		next = e[i].compile(c, next)
	}
	return next
}

func (e alternative) compile(c *compiler, next int32) int32 {
	if len(e) == 1 {
		return e[0].compile(c, next)
	}
	branches := make([]int32, len(e))
	for i := 0; i < len(e) && c.err == nil; i++ {
		branches[i] = e[i].compile(c, next)
	}
	at := c.add(node{kind: split})
	c.fork(at, branches...)
	return at
}

func (e repetition) compile(c *compiler, next int32) int32 {
	switch {
	case e.min < 0 || e.max < Unlimited || e.max > MaxRepeat || e.min > MaxRepeat || e.max != Unlimited && e.min > e.max:
		if c.err == nil {
			c.err = fmt.Errorf("{%d,%d}: %w", e.min, e.max, ErrRepeat)
		}
		return 0
	case e.max == 0:
		return next
	case e.min == 1 && e.max == 1:
		return e.of.compile(c, next)
	case e.min == 0 && e.max == 1:
		at := c.add(node{kind: split})
		c.fork(at, e.of.compile(c, next), next)
		return at
	case e.min <= 1 && e.max == Unlimited:
		again := c.add(node{kind: split})
		body := e.of.compile(c, again)
		c.fork(again, body, next)
		if e.min == 1 {
			return body
		}
		return again
	}
	c.counts = true
	return c.add(node{kind: repeat, next: next, body: e.of.compile(c, 0), min: int32(e.min), max: int32(e.max)})
}

func (e graph) compile(c *compiler, next int32) int32 {
	at := make([]int32, len(e))
	for i := range e {
		at[i] = c.add(node{kind: split})
	}
	if len(e) == 0 {
		return c.add(node{kind: split})
	}
	for i := 0; i < len(e) && c.err == nil; i++ {
		var branches []int32
		for _, x := range e[i].Edges {
			branches = append(branches, x.On.compile(c, at[x.To]))
		}
		if e[i].Final {
			branches = append(branches, next)
		}
		c.fork(at[i], branches...)
	}
	return at[0]
}

func (r *Rule) compile(c *compiler, next int32) int32 {
	return c.add(node{kind: call, rule: c.index(r), next: next})
}

// classify finds which bytes no edge tells apart.
func (c *compiler) classify() {
	var begins [257]bool
	for _, n := range c.nodes {
		if n.kind == bytes {
			for _, x := range c.edges[n.first : n.first+n.count] {
				begins[x.lo], begins[int(x.hi)+1] = true, true
			}
		}
	}
	for b := range 256 {
		if b == 0 || begins[b] {
			c.samples = append(c.samples, byte(b))
		}
		c.classes[b] = uint8(len(c.samples) - 1)
	}
}
