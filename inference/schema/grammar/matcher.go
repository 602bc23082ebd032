package grammar

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// ErrLimit: following a text took more ways at once, or more work for one call, than
// a grammar may need. The grammar is too ambiguous: many ways to read the same text.
// What is refused then may be allowed by the grammar.
var ErrLimit = errors.New("grammar: too many ways to read the text; make the alternatives begin differently")

const (
	// MaxDepth bounds how deep rules may be nested in each other, in rules. Where
	// a text comes near it, only what still leaves room for the end is allowed.
	MaxDepth = 1000
	// MaxThreads is how many ways to read a text are followed at once.
	MaxThreads = 1 << 14
	// maxWork bounds one Allows, Accept or Mask, in ways followed over a byte:
	// well below a second.
	maxWork = 1 << 23
	// maxMemory is about what a Matcher remembers, in bytes, before it forgets.
	maxMemory = 16 << 20
)

// config is a state of the automaton that a Matcher makes of the grammar as it is
// needed: all threads after some text, and where they go from here. Configs are
// interned too.
type config struct {
	threads []thread // before a byte each; sorted, each once
	done    bool     // the text may end here
	ended   bool     // and did
	epoch   uint32   // of next; an old one's is void
	next    []*config
	// closed are the kinds of text (see kindOf) that lead from here to here. They
	// are worth looking for where a byte was seen to.
	closed        uint64
	loops, looked bool
}

// Matcher follows texts through a grammar, and remembers what it found: transitions
// and masks are worked out once for all States of a Matcher. It is used by one
// goroutine at a time, its States included.
type Matcher struct {
	grammar    *Grammar
	vocabulary *Vocabulary
	bottom     *frame // what the whole expression returns to
	start      *config
	dead       *config // nothing may follow, nor may the text end
	ended      *config // after a token that ends the text
	err        error

	frames  map[string]*frame
	configs map[string]*config
	ids     uint32
	epoch   uint32 // how often memory was given back
	memory  int
	work    int // of the call in hand
	masks   masks

	// Scratch of the step in hand.
	threads []thread
	seen    map[thread]struct{}
	done    bool
	open    []*frame
	links   []link
	key     []byte
	path    []*config
}

// NewMatcher makes a Matcher. The vocabulary may be nil where no tokens are asked
// for, only bytes.
func NewMatcher(g *Grammar, v *Vocabulary) *Matcher {
	m := &Matcher{
		grammar: g, vocabulary: v, epoch: 1,
		frames: map[string]*frame{}, configs: map[string]*config{}, seen: map[thread]struct{}{},
		dead: &config{}, ended: &config{ended: true},
	}
	m.bottom = &frame{id: m.nextID()}
	m.begin()
	m.add(g.starts[0], m.bottom)
	m.start = m.finish()
	return m
}

// Err is ErrLimit if the last call of a State refused something for it, else nil.
func (m *Matcher) Err() error { return m.err }

// begin forgets the step before.
func (m *Matcher) begin() {
	m.threads, m.open, m.links, m.done = m.threads[:0], m.open[:0], m.links[:0], false
	if len(m.seen) > 0 {
		clear(m.seen)
	}
}

// few is up to how many threads a search is quicker than a map.
const few = 16

// add follows a node in a frame, unless that was done at this place already, or it
// could not come to an end within MaxDepth.
func (m *Matcher) add(n int32, f *frame) {
	if m.grammar.need[n] > MaxDepth-f.depth {
		return
	}
	t := thread{n, f}
	if len(m.threads) < few {
		if slices.Contains(m.threads, t) {
			return
		}
	} else {
		if len(m.threads) == few {
			for _, old := range m.threads {
				m.seen[old] = struct{}{}
			}
		}
		if _, ok := m.seen[t]; ok {
			return
		}
		m.seen[t] = struct{}{}
	}
	m.threads = append(m.threads, t)
}

// finish follows all threads up to the next byte and returns their config.
func (m *Matcher) finish() *config {
	g := m.grammar
	kept := 0
	for i := 0; i < len(m.threads); i++ {
		if len(m.threads) > MaxThreads {
			return m.limit()
		}
		t := m.threads[i]
		n := g.nodes[t.node]
		switch n.kind {
		case bytes:
			kept++
		case split:
			for _, b := range g.branches[n.first : n.first+n.count] {
				m.add(b, t.frame)
			}
		case end:
			m.leave(t.frame)
		case call:
			m.enter(n, t.frame)
		case repeat:
			if n.min == 0 {
				m.add(n.next, t.frame)
			}
			f := m.openRepeat(t.node, 0)
			f.link(0, t.frame)
			m.add(n.body, f)
		}
	}
	m.work += len(m.threads)
	if kept == 0 && !m.done {
		return m.dead
	}
	return m.config()
}

// enter follows a call of a rule.
func (m *Matcher) enter(n node, from *frame) {
	g := m.grammar
	f, fresh := m.openCall(n.rule)
	f.link(n.next, from)
	if fresh {
		m.add(g.starts[n.rule], f)
	}
	if g.nullable[n.rule] {
		m.add(n.next, from)
	}
}

// leave follows the end of a rule or of a turn of a repetition.
func (m *Matcher) leave(f *frame) {
	switch {
	case f == m.bottom:
		m.done = true
	case f.id == 0:
		// Entered at this very place, without a byte: those who call a rule that may
		// be empty go on by themselves.
	case f.rep == 0:
		for _, l := range f.links {
			m.add(l.next, l.up)
		}
	default:
		m.turn(f)
	}
}

// turn follows the end of one turn of a repetition.
func (m *Matcher) turn(f *frame) {
	n := m.grammar.nodes[f.rep]
	count := f.count + 1
	if n.max == Unlimited {
		count = min(count, n.min) // more make no difference
	}
	if count >= n.min {
		for _, l := range f.links {
			m.add(n.next, l.up)
		}
	}
	if n.max == Unlimited || count < n.max {
		again := m.openRepeat(f.rep, count)
		for _, l := range f.links {
			again.link(0, l.up)
		}
		m.add(n.body, again)
	}
}

// limit gives up on a text.
func (m *Matcher) limit() *config {
	m.err = ErrLimit
	return m.dead
}

// config interns the threads of the step in hand.
func (m *Matcher) config() *config {
	kept := m.threads[:0]
	for _, t := range m.threads {
		if m.grammar.nodes[t.node].kind == bytes {
			kept = append(kept, thread{t.node, m.intern(t.frame)})
		}
	}
	return m.internConfig(kept, m.done)
}

// internConfig sorts threads in place.
func (m *Matcher) internConfig(threads []thread, done bool) *config {
	slices.SortFunc(threads, func(a, b thread) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.frame.id, b.frame.id))
	})
	threads = slices.Compact(threads)
	m.key = append(m.key[:0], 0)
	if done {
		m.key[0] = 1
	}
	for _, t := range threads {
		m.key = binary.LittleEndian.AppendUint32(m.key, uint32(t.node))
		m.key = binary.LittleEndian.AppendUint32(m.key, t.frame.id)
	}
	if c, ok := m.configs[string(m.key)]; ok {
		return c
	}
	c := &config{threads: slices.Clone(threads), done: done}
	m.configs[string(m.key)] = c
	m.memory += 160 + len(m.key) + 16*len(threads) + 8*len(m.grammar.samples)
	return c
}

// step is where a byte leads from a config; m.dead if nowhere.
func (m *Matcher) step(from *config, b byte) *config {
	class := m.grammar.classes[b]
	if from.epoch == m.epoch {
		if to := from.next[class]; to != nil {
			return to
		}
	}
	return m.find(from, class)
}

// find works a transition out and remembers it.
func (m *Matcher) find(from *config, class uint8) *config {
	if m.work > maxWork {
		return m.limit()
	}
	if m.memory > maxMemory {
		m.forget()
	}
	if from.epoch != m.epoch {
		from.epoch = m.epoch
		from.next = make([]*config, len(m.grammar.samples))
	}
	m.begin()
	b := m.grammar.samples[class]
	for _, t := range from.threads {
		if next := m.grammar.along(t.node, b); next >= 0 {
			m.add(next, t.frame)
		}
	}
	to := m.finish()
	if m.err == nil {
		from.next[class] = to
	}
	return to
}

// along is where a byte leads from a node before one; -1 if nowhere.
func (g *Grammar) along(at int32, b byte) int32 {
	n := g.nodes[at]
	edges := g.edges[n.first : n.first+n.count]
	i, _ := slices.BinarySearchFunc(edges, b, func(x edge, b byte) int { return cmp.Compare(x.hi, b) })
	if i == len(edges) || edges[i].lo > b {
		return -1
	}
	return edges[i].next
}

// forget gives memory back. Configs in use stay right: they only work out their
// transitions anew, and may come to be twice.
func (m *Matcher) forget() {
	clear(m.frames)
	clear(m.configs)
	m.masks.forget()
	m.memory = 0
	m.epoch++
}
