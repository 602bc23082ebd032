package grammar

import "fmt"

// impossible is the need of a node from which no end can be reached. It leaves
// room to add to.
const impossible = 1 << 30

// analyse finds out what each node needs to come to an end, refuses grammars that
// have no text or that could be entered for ever, and takes out edges that lead
// nowhere.
func (c *compiler) analyse() error {
	users := c.users()
	nullable := c.canBeEmpty(users)
	for i := range c.nodes {
		// A part that may be empty is as good as left out, so that every turn that
		// counts takes at least a byte.
		if n := &c.nodes[i]; n.kind == repeat && nullable[n.body] {
			n.min = 0
		}
	}
	c.needs(users)
	if c.need[c.starts[0]] >= impossible {
		return fmt.Errorf("%s: %w", c.culprit(), ErrEmpty)
	}
	if c.need[c.starts[0]] > MaxDepth {
		return ErrTooDeep
	}
	for _, start := range c.starts {
		c.Grammar.nullable = append(c.Grammar.nullable, nullable[start])
	}
	if err := c.leftRecursion(nullable); err != nil {
		return err
	}
	c.prune()
	return nil
}

// culprit describes a rule that has no text.
func (c *compiler) culprit() string {
	for i := len(c.starts) - 1; i > 0; i-- {
		if c.need[c.starts[i]] >= impossible {
			return fmt.Sprintf("rule %q", c.names[i])
		}
	}
	return "the whole"
}

// depends calls f for every node that what is known of node n depends on.
func (c *compiler) depends(n node, f func(int32)) {
	switch n.kind {
	case bytes:
		for _, x := range c.edges[n.first : n.first+n.count] {
			f(x.next)
		}
	case split:
		for _, b := range c.branches[n.first : n.first+n.count] {
			f(b)
		}
	case call:
		f(c.starts[n.rule])
		f(n.next)
	case repeat:
		f(n.body)
		f(n.next)
	}
}

// adjacency is a list of nodes for each node: those of i are to[first[i]:first[i+1]].
type adjacency struct{ first, to []int32 }

func (a adjacency) of(i int32) []int32 { return a.to[a.first[i]:a.first[i+1]] }

// users are for each node those that depend on it.
func (c *compiler) users() adjacency {
	a := adjacency{first: make([]int32, len(c.nodes)+1)}
	for _, n := range c.nodes {
		c.depends(n, func(on int32) { a.first[on+1]++ })
	}
	for i := range c.nodes {
		a.first[i+1] += a.first[i]
	}
	a.to = make([]int32, a.first[len(c.nodes)])
	fill := make([]int32, len(c.nodes))
	for i, n := range c.nodes {
		c.depends(n, func(on int32) {
			a.to[a.first[on]+fill[on]] = int32(i)
			fill[on]++
		})
	}
	return a
}

// settle evaluates nodes until no value changes, beginning with the end. update
// says whether the value of a node has changed.
func (c *compiler) settle(users adjacency, update func(int32) bool) {
	work := []int32{0}
	for len(work) > 0 {
		changed := work[len(work)-1]
		work = work[:len(work)-1]
		for _, i := range users.of(changed) {
			if update(i) {
				work = append(work, i)
			}
		}
	}
}

// canBeEmpty says of each node whether the end can be reached without a byte.
func (c *compiler) canBeEmpty(users adjacency) []bool {
	known := make([]bool, len(c.nodes))
	known[0] = true
	c.settle(users, func(i int32) bool {
		n := c.nodes[i]
		if known[i] {
			return false
		}
		switch n.kind {
		case split:
			for _, b := range c.branches[n.first : n.first+n.count] {
				known[i] = known[i] || known[b]
			}
		case call:
			known[i] = known[c.starts[n.rule]] && known[n.next]
		case repeat:
			known[i] = (n.min == 0 || known[n.body]) && known[n.next]
		}
		return known[i]
	})
	return known
}

func (c *compiler) needs(users adjacency) {
	c.need = make([]int32, len(c.nodes))
	for i := range c.need[1:] {
		c.need[i+1] = impossible
	}
	c.settle(users, func(i int32) bool {
		least := c.evaluate(c.nodes[i])
		if least >= c.need[i] {
			return false
		}
		c.need[i] = least
		return true
	})
}

// evaluate says what a node needs, from what is known of others.
func (c *compiler) evaluate(n node) int32 {
	least := int32(impossible)
	switch n.kind {
	case bytes:
		for _, x := range c.edges[n.first : n.first+n.count] {
			least = min(least, c.need[x.next])
		}
	case split:
		for _, b := range c.branches[n.first : n.first+n.count] {
			least = min(least, c.need[b])
		}
	case call:
		least = max(c.need[c.starts[n.rule]]+1, c.need[n.next])
	case repeat:
		least = c.need[n.next]
		if n.min > 0 {
			least = max(least, c.need[n.body]+1)
		}
	}
	return min(least, impossible)
}

// leftRecursion finds a rule that can call itself before it has taken a byte.
func (c *compiler) leftRecursion(nullable []bool) error {
	first := make([][]int32, len(c.starts))
	seen := make([]int, len(c.nodes))
	for r, start := range c.starts {
		work := []int32{start}
		visit := func(i int32) {
			if seen[i] != r+1 && c.need[i] < impossible {
				seen[i] = r + 1
				work = append(work, i)
			}
		}
		for len(work) > 0 {
			n := c.nodes[work[len(work)-1]]
			work = work[:len(work)-1]
			switch n.kind {
			case split:
				for _, b := range c.branches[n.first : n.first+n.count] {
					visit(b)
				}
			case call:
				first[r] = append(first[r], n.rule)
				if nullable[c.starts[n.rule]] {
					visit(n.next)
				}
			case repeat:
				visit(n.body)
				if n.min == 0 {
					visit(n.next)
				}
			}
		}
	}
	if r := cycle(first); r >= 0 {
		return fmt.Errorf("rule %q: %w", c.names[r], ErrLeftRecursion)
	}
	return nil
}

// cycle returns a node of a graph that lies on a cycle, or -1.
func cycle(edges [][]int32) int {
	const open, done = 1, 2
	state := make([]byte, len(edges))
	type visit struct{ node, next int }
	for root := range edges {
		if state[root] != 0 {
			continue
		}
		state[root] = open
		path := []visit{{root, 0}}
		for len(path) > 0 {
			v := &path[len(path)-1]
			if v.next == len(edges[v.node]) {
				state[v.node] = done
				path = path[:len(path)-1]
				continue
			}
			to := int(edges[v.node][v.next])
			v.next++
			switch state[to] {
			case open:
				return to
			case 0:
				state[to] = open
				path = append(path, visit{to, 0})
			}
		}
	}
	return -1
}

// prune takes out edges to nodes that cannot end, so that each edge left means
// that there is a text.
func (c *compiler) prune() {
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.kind != bytes {
			continue
		}
		kept := n.first
		for _, x := range c.edges[n.first : n.first+n.count] {
			if c.need[x.next] < impossible {
				c.edges[kept] = x
				kept++
			}
		}
		n.count = kept - n.first
	}
}
