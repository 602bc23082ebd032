package grammar

import (
	"iter"
	"math/bits"
	"slices"
)

// Mask is a set of tokens: those that a grammar allows at a place. It is immutable
// and safe for concurrent use.
type Mask struct {
	bits  []uint64
	count int
}

// Allows says whether a token is in the set.
func (k *Mask) Allows(token int32) bool {
	return uint(token)>>6 < uint(len(k.bits)) && k.bits[token>>6]>>(token&63)&1 != 0
}

// Words are the set as bits: token t is bit t%64 of word t/64. They are not changed.
func (k *Mask) Words() []uint64 { return k.bits }

// Count of tokens in the set.
func (k *Mask) Count() int { return k.count }

// All yields the tokens of the set, lowest first.
func (k *Mask) All() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i, word := range k.bits {
			for ; word != 0; word &= word - 1 {
				if !yield(int32(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

func (k *Mask) set(tokens []int32) {
	for _, t := range tokens {
		k.bits[t>>6] |= 1 << (t & 63)
	}
}

// Mask returns all tokens that may come next: those that Allows allows. Masks are
// remembered, so that a place that was seen before costs next to nothing. The only
// error is ErrLimit.
func (s State) Mask() (*Mask, error) {
	m := s.m
	m.err, m.work = nil, 0
	c := m.nearConfig(s.at, beyondAll)
	k := m.masks.find(c)
	if k == nil {
		k = m.mask(c)
		if m.err != nil {
			return nil, m.err
		}
		m.masks.keep(c, k)
	}
	return k, nil
}

// mask works a mask out.
func (m *Matcher) mask(c *config) *Mask {
	alike := m.nearConfig(c, beyondMost)
	k := m.masks.find(alike)
	if k == nil {
		k = &Mask{bits: make([]uint64, (m.vocabulary.Size()+63)/64)}
		m.walk(alike, k)
		if alike.done {
			k.set(m.vocabulary.last)
		}
		k.sum()
		if alike == c || m.err != nil {
			return k
		}
		m.masks.keep(alike, k)
	}
	// All but the long tokens may do the same in both.
	k = &Mask{bits: slices.Clone(k.bits)}
	for _, t := range m.vocabulary.long {
		k.bits[t>>6] &^= 1 << (t & 63)
		if reach(m, c, m.vocabulary.piece(t)) != m.dead {
			k.bits[t>>6] |= 1 << (t & 63)
		}
	}
	k.sum()
	return k
}

func (k *Mask) sum() {
	k.count = 0
	for _, word := range k.bits {
		k.count += bits.OnesCount64(word)
	}
}

// nearConfig returns a config with the same mask, but perhaps for tokens beyond what is
// far, and the same for all counts that are far from their bounds.
func (m *Matcher) nearConfig(c *config, far int) *config {
	if !m.grammar.counts || c.ended {
		return c
	}
	threads := make([]thread, len(c.threads))
	for i, t := range c.threads {
		threads[i] = thread{t.node, m.near(t.frame, far)}
	}
	return m.internConfig(threads, c.done)
}

// worthwhile is from how many nodes on it pays to ask whether a whole subtree is
// allowed.
const worthwhile = 8

// walk sets the tokens of text that c allows: it goes through the tree of the
// vocabulary once, leaves out what is below a refused byte, and takes at once what
// is below one that changes nothing.
func (m *Matcher) walk(c *config, k *Mask) {
	v := m.vocabulary
	if len(m.path) <= v.longest {
		m.path = make([]*config, v.longest+1)
	}
	m.path[0] = c
	for i := int32(0); int(i) < len(v.label); {
		d := v.depth[i]
		from := m.path[d-1]
		if from.loops && v.skip[i]-i >= worthwhile && v.inside[i]&^m.closed(from) == 0 {
			k.set(v.order[v.first[i]:v.first[v.skip[i]]])
			i = v.skip[i]
			continue
		}
		to := m.step(from, v.label[i])
		if to == m.dead {
			i = v.skip[i]
			continue
		}
		k.set(v.order[v.first[i]:v.first[i+1]])
		m.path[d] = to
		if to == from {
			from.loops = true
		}
		i++
	}
}

// closed returns the kinds of text that lead from a config back to itself.
func (m *Matcher) closed(c *config) uint64 {
	if c.looked {
		return c.closed
	}
	c.looked = true
	var leaves, known uint64
	for b := range byte(0x80) {
		known |= kindOf(b)
		if m.step(c, b) != c {
			leaves |= kindOf(b)
		}
	}
	c.closed = known &^ leaves
	if m.closedUnderWide(c) {
		c.closed |= wide
	}
	return c.closed
}

func (m *Matcher) closedUnderWide(c *config) bool {
	for _, l := range leads {
		if !m.leads(c, l.lo, l.hi, func(after *config) bool {
			return m.leads(after, l.nextLo, l.nextHi, func(after *config) bool { return m.trails(after, l.left-1, c) })
		}) {
			return false
		}
	}
	return true
}

// trails says whether all ways over n more bytes of a character lead to a config.
func (m *Matcher) trails(from *config, n uint8, to *config) bool {
	if n == 0 {
		return from == to
	}
	return m.leads(from, 0x80, 0xbf, func(after *config) bool { return m.trails(after, n-1, to) })
}

// maxLeads is how many different bytes are tried; with more, a grammar tells
// characters apart too finely for it to pay.
const maxLeads = 4

// leads says whether a condition holds after each byte of a range.
func (m *Matcher) leads(from *config, lo, hi byte, condition func(*config) bool) bool {
	if m.grammar.classes[hi]-m.grammar.classes[lo] >= maxLeads {
		return false
	}
	for b := int(lo); b <= int(hi); b++ {
		if b > int(lo) && m.grammar.classes[b] == m.grammar.classes[b-1] {
			continue
		}
		after := m.step(from, byte(b))
		if after == m.dead || !condition(after) {
			return false
		}
	}
	return true
}

// maxMasks is how many masks a Matcher remembers; one takes an eighth of a byte per
// token of the vocabulary.
const maxMasks = 256

// masks are remembered by their config. When they are too many, one goes that was
// not asked for since the last round.
type masks struct {
	of   map[*config]*entry
	ring []*entry
	hand int
}

type entry struct {
	config *config
	mask   *Mask
	used   bool
}

func (k *masks) find(c *config) *Mask {
	e := k.of[c]
	if e == nil {
		return nil
	}
	e.used = true
	return e.mask
}

func (k *masks) keep(c *config, mask *Mask) {
	if k.of == nil {
		k.of = map[*config]*entry{}
	}
	e := &entry{config: c, mask: mask}
	k.of[c] = e
	if len(k.ring) < maxMasks {
		k.ring = append(k.ring, e)
		return
	}
	for k.ring[k.hand].used {
		k.ring[k.hand].used = false
		k.hand = (k.hand + 1) % len(k.ring)
	}
	delete(k.of, k.ring[k.hand].config)
	k.ring[k.hand] = e
	k.hand = (k.hand + 1) % len(k.ring)
}

func (k *masks) forget() { *k = masks{} }
