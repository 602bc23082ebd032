package kvcache

import "container/list"

// SessionID names a conversation or agent; the caller makes it, not 0.
type SessionID uint64

// session is where a conversation stood last.
type session struct {
	id    SessionID
	node  *node
	slot  int
	phase Phase
	place *list.Element
}

// sessionList holds sessions, the longest unused first.
type sessionList struct{ list.List }

// own is the idle sequence of a session, -1 = none.
func (t *Tree) own(id SessionID) int {
	s := t.sessions[id]
	if id == 0 || s == nil || t.slots[s.slot].session != id || !t.slots[s.slot].idle() || t.slots[s.slot].node != s.node {
		return -1
	}
	return s.slot
}

// remember records where a session stands.
func (t *Tree) remember(id SessionID, x *node, slot int, p Phase) {
	s := t.sessions[id]
	if s == nil {
		s = &session{id: id}
		s.place = t.recent.PushBack(s)
		t.sessions[id] = s
	}
	t.recent.MoveToBack(s.place)
	old := s.node
	x.sessions++
	s.node, s.slot = x, slot
	if old != nil {
		t.left(old)
	}
	t.hint(s, p)
	for len(t.sessions) > t.cfg.Sessions {
		t.Forget(t.recent.Front().Value.(*session).id)
	}
}

func (t *Tree) left(x *node) {
	if x.sessions--; x.sessions == 0 {
		x.hint = Unknown
		t.rekey(x)
	}
	t.tidy(x)
}

// hint records a session's phase. Where several stand, the most hopeful counts
// until all have left.
func (t *Tree) hint(s *session, p Phase) {
	s.phase = p
	x := s.node
	if x.sessions == 1 || p > x.hint {
		x.hint = p
		t.rekey(x)
	}
}

// Hint tells what is known of a session. Unknown sessions are ignored.
func (t *Tree) Hint(now Tick, id SessionID, p Phase) {
	t.tick(now)
	if s := t.sessions[id]; s != nil {
		s.node.last = t.now
		t.hint(s, p)
	}
}

// Forget drops what is known of a session; its copies age like any others.
func (t *Tree) Forget(id SessionID) {
	if s := t.sessions[id]; s != nil {
		delete(t.sessions, id)
		t.recent.Remove(s.place)
		t.left(s.node)
	}
}
