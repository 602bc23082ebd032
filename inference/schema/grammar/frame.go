package grammar

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// frame says where a rule, or a part that is repeated, goes on when it has come to
// its end. Several callers of one rule at one place share a frame, so that what they
// have in common is followed once. Frames in use are interned: alike means the same.
type frame struct {
	id    uint32 // unique in a Matcher; 0 while the frame is open
	rep   int32  // the repetition's node, or 0 for a rule: node 0 is the end
	count int32  // repetition: how many have been before this one
	depth int32  // the fewest frames that one has to leave before the text can end
	links []link // sorted, each once
	// open frames: of which rule, and what the frame was interned as.
	rule     int32
	interned *frame
	// near are the frames with far counts made alike, by what is far; see Matcher.near.
	near [2]*frame
}

// link is one way on: next in frame up. In frames of a repetition next is 0.
type link struct {
	next int32
	up   *frame
}

// thread is one way to read the text so far.
type thread struct {
	node  int32
	frame *frame
}

// openCall returns the frame that all calls of a rule at this place share.
func (m *Matcher) openCall(rule int32) (f *frame, fresh bool) {
	for _, f := range m.open {
		if f.rep == 0 && f.rule == rule {
			return f, false
		}
	}
	return m.openFrame(frame{rule: rule}), true
}

// openRepeat is the same for turns of a repetition after count others.
func (m *Matcher) openRepeat(rep, count int32) *frame {
	for _, f := range m.open {
		if f.rep == rep && f.count == count {
			return f
		}
	}
	return m.openFrame(frame{rep: rep, count: count})
}

func (m *Matcher) openFrame(f frame) *frame {
	f.depth = impossible
	if len(m.open) < cap(m.open) {
		// Take up a frame of an earlier place, with the room of its links.
		m.open = m.open[:len(m.open)+1]
		if old := m.open[len(m.open)-1]; old != nil {
			f.links = old.links[:0]
			*old = f
			return old
		}
		m.open = m.open[:len(m.open)-1]
	}
	m.open = append(m.open, &f)
	return &f
}

func (f *frame) link(next int32, up *frame) {
	f.links = append(f.links, link{next, up})
	f.depth = min(f.depth, up.depth+1)
}

// intern returns the frame that an open one stands for from now on.
func (m *Matcher) intern(f *frame) *frame {
	if f.id != 0 {
		return f
	}
	if f.interned != nil {
		return f.interned
	}
	begin := len(m.links)
	for _, l := range f.links {
		up := m.intern(l.up)
		if f.rep == 0 && l.next == 0 && up.rep == 0 && up != m.bottom {
			// Nothing is left to do there but to go on above: so it does at once, and
			// recursion at the end of a rule takes no room.
			m.links = append(m.links, up.links...)
		} else {
			m.links = append(m.links, link{l.next, up})
		}
	}
	f.interned = m.unique(f.rep, f.count, m.links[begin:])
	m.links = m.links[:begin]
	return f.interned
}

// unique returns the frame with these links, which are sorted in place.
func (m *Matcher) unique(rep, count int32, links []link) *frame {
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.up.id, b.up.id))
	})
	links = slices.Compact(links)
	m.key = binary.LittleEndian.AppendUint32(m.key[:0], uint32(rep))
	m.key = binary.LittleEndian.AppendUint32(m.key, uint32(count))
	for _, l := range links {
		m.key = binary.LittleEndian.AppendUint32(m.key, uint32(l.next))
		m.key = binary.LittleEndian.AppendUint32(m.key, l.up.id)
	}
	if f, ok := m.frames[string(m.key)]; ok {
		return f
	}
	f := &frame{id: m.nextID(), rep: rep, count: count, depth: impossible, links: slices.Clone(links)}
	for _, l := range links {
		f.depth = min(f.depth, l.up.depth+1)
	}
	m.frames[string(m.key)] = f
	m.memory += 120 + len(m.key) + 16*len(links)
	return f
}

func (m *Matcher) nextID() uint32 {
	m.ids++
	return m.ids
}

// What is far from the bounds of a count: more bytes than any token has, or than most
// have.
const (
	beyondAll = iota
	beyondMost
)

// near returns a frame in which every count that is far from its bounds is replaced by
// one and the same far count. What a token that is no longer than that may do next is
// the same in both, so that a mask serves all of them.
func (m *Matcher) near(f *frame, far int) *frame {
	if f == m.bottom || f.near[far] != nil {
		return cmp.Or(f.near[far], f)
	}
	begin := len(m.links)
	for _, l := range f.links {
		m.links = append(m.links, link{l.next, m.near(l.up, far)})
	}
	count := f.count
	if f.rep != 0 {
		n := m.grammar.nodes[f.rep]
		token := int32(m.vocabulary.longest)
		if far == beyondMost {
			token = min(token, usual)
		}
		switch {
		case count < n.min && n.min-count > token:
			count = 0
		case count >= n.min && n.max != Unlimited && n.max-count > token:
			count = n.min
		}
	}
	f.near[far] = m.unique(f.rep, count, m.links[begin:])
	m.links = m.links[:begin]
	return f.near[far]
}
