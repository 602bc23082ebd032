package desk

import (
	"sync"
	"time"

	"dure/runtime/board"
)

// A member is what an agent has under way, and how much it called lately.
type member struct {
	limits board.Limits

	mu      sync.Mutex
	calls   int // under way
	waits   int
	credit  float64 // calls that it may make now
	updated time.Time
}

func newMember(l board.Limits) *member { return &member{limits: l, credit: float64(l.PerMinute)} }

// begin takes a place for a call; the caller gives it back. Credit for a minute's
// calls comes back evenly over a minute.
func (m *member) begin(now time.Time) (func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	most := float64(m.limits.PerMinute)
	if passed := now.Sub(m.updated); !m.updated.IsZero() && passed > 0 {
		m.credit = min(most, m.credit+most*passed.Minutes())
	}
	m.updated = now
	if m.calls >= m.limits.AtOnce {
		return nil, board.Refuse(board.ErrBusy, nil, "%d calls of yours are under way; wait for one", m.calls)
	}
	if m.credit < 1 {
		return nil, board.Refuse(board.ErrQuota, nil, "you may make %d calls a minute; wait %v",
			m.limits.PerMinute, time.Duration((1-m.credit)/most*float64(time.Minute)).Round(time.Millisecond))
	}
	m.credit--
	m.calls++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.calls--
	}, nil
}

func (m *member) beginWait() (func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waits >= m.limits.AtOnce {
		return nil, board.Refuse(board.ErrBusy, nil, "%d waits of yours are under way", m.waits)
	}
	m.waits++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.waits--
	}, nil
}
