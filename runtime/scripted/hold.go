package scripted

import (
	"container/list"
)

// hold is what a simulated server keeps: the last conversations, what they share once.
// It is pure: texts in, tokens out. Texts are kept as whole tokens.
type hold struct {
	Cache
	root  *span
	bytes int64
	// order has the conversations, the one used last in front.
	order list.List
	seqs  map[string]*list.Element
}

// span is a stretch of text that all conversations below share.
type span struct {
	text   string
	parent *span
	next   map[string]*span // by first token
	ends   int              // conversations that stand at its end
	states int              // conversations that keep a state at its end
}

// sequence is a kept conversation: where it ends and where it keeps a state beside.
type sequence struct {
	name       string
	end, trunk *span
}

func newHold(c Cache) *hold {
	return &hold{Cache: c, root: &span{next: map[string]*span{}}, seqs: map[string]*list.Element{}}
}

func whole(text string) string { return text[:len(text)/tokenBytes*tokenBytes] }

// common is how many bytes of whole tokens two texts share.
func common(a, b string) int {
	n := 0
	for n+tokenBytes <= min(len(a), len(b)) && a[n:n+tokenBytes] == b[n:n+tokenBytes] {
		n += tokenBytes
	}
	return n
}

// find is how many tokens of a prompt need not be read.
func (h *hold) find(text string) int {
	text = whole(text)
	at, usable := 0, 0
	for x := h.root; at < len(text); {
		c := x.next[text[at:at+tokenBytes]]
		if c == nil {
			break
		}
		n := common(c.text, text[at:])
		at += n
		switch {
		case h.StateBytes == 0:
			usable = at
		case n == len(c.text) && c.states > 0:
			usable = at
		}
		if n < len(c.text) {
			break
		}
		x = c
	}
	return usable / tokenBytes
}

// keep makes text what the conversation name holds, and lets others go that do not fit
// beside it. trunk is where a state is kept beside that at its end, in bytes.
func (h *hold) keep(name, text string, trunk int) {
	h.drop(name)
	text = whole(text)
	if text == "" {
		return
	}
	s := &sequence{name: name, end: h.insert(text)}
	h.hang(s.end, 1)
	if h.StateBytes > 0 {
		h.state(s.end, 1)
		if t := whole(text[:min(trunk, len(text))]); t != "" && len(t) < len(text) {
			s.trunk = h.insert(t)
			h.state(s.trunk, 1)
		}
	}
	h.seqs[name] = h.order.PushFront(s)
	for h.order.Len() > h.Slots || h.Bytes > 0 && h.bytes > h.Bytes {
		h.drop(h.order.Back().Value.(*sequence).name)
	}
}

func (h *hold) drop(name string) {
	e := h.seqs[name]
	if e == nil {
		return
	}
	delete(h.seqs, name)
	s := h.order.Remove(e).(*sequence)
	if h.StateBytes > 0 {
		h.state(s.end, -1)
		if s.trunk != nil {
			h.state(s.trunk, -1)
		}
	}
	h.hang(s.end, -1)
	h.prune(s.trunk)
	h.prune(s.end)
}

// insert returns the span that ends where text does, and makes what is missing.
func (h *hold) insert(text string) *span {
	x := h.root
	for text != "" {
		c := x.next[text[:tokenBytes]]
		if c == nil {
			c = &span{text: text, parent: x, next: map[string]*span{}}
			x.next[text[:tokenBytes]] = c
			h.bytes += int64(len(text)/tokenBytes) * h.KVBytes
			return c
		}
		n := common(c.text, text)
		if n < len(c.text) {
			c = c.cut(n)
		}
		x, text = c, text[n:]
	}
	return x
}

// cut makes two spans of one and returns the upper one.
func (c *span) cut(n int) *span {
	up := &span{text: c.text[:n], parent: c.parent, next: map[string]*span{c.text[n : n+tokenBytes]: c}}
	c.parent.next[c.text[:tokenBytes]] = up
	c.text, c.parent = c.text[n:], up
	return up
}

func (h *hold) hang(x *span, n int) { x.ends += n }

// state counts who keeps a state at the end of a span: it is there once.
func (h *hold) state(x *span, n int) {
	was := x.states
	x.states += n
	switch {
	case was == 0:
		h.bytes += h.StateBytes
	case x.states == 0:
		h.bytes -= h.StateBytes
	}
}

// prune removes a span that nobody stands on, and those above that it was for.
func (h *hold) prune(x *span) {
	for x != nil && x.parent != nil && x.ends+x.states == 0 && len(x.next) == 0 {
		delete(x.parent.next, x.text[:tokenBytes])
		h.bytes -= int64(len(x.text)/tokenBytes) * h.KVBytes
		x = x.parent
	}
}
