package llm_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/llm"
	"dure/inference/quiet"
)

// In quiet hours a thread computes, and what can wait is told when to come again; by day
// all is as else.
func TestQuietHours(t *testing.T) {
	var minutes atomic.Int64 // since midnight
	l := tiny(t, func(c *llm.Config) {
		c.Threads = 2
		c.Quiet = quiet.Rule{Hours: quiet.Hours{From: 22 * 60, To: 7 * 60}, Threads: 1, Least: inference.PriorityPlanner}
		c.Clock = func() time.Time { return time.Date(2026, 5, 1, 0, int(minutes.Load()), 0, 0, time.UTC) }
	})
	asks := func(p inference.Priority) error {
		r := ask("a", "hi", 3)
		r.Params.IgnoreEOS, r.Caller.Priority = true, p
		_, err := collect(t.Context(), l, r)
		return err
	}
	minutes.Store(23 * 60)
	if err := asks(inference.PriorityInteractive); err != nil {
		t.Error(err)
	}
	if n := l.Stats().Threads; n != 1 {
		t.Errorf("%d threads in quiet hours", n)
	}
	var refused *inference.Error
	err := asks(inference.PriorityBackground)
	if !errors.As(err, &refused) || refused.Code != inference.CodeQueueFull || refused.RetryAfter != 8*time.Hour || !strings.Contains(err.Error(), "07:00") {
		t.Errorf("a request that can wait: %v", err)
	}
	minutes.Store(12 * 60)
	if err := asks(inference.PriorityBackground); err != nil {
		t.Error(err)
	}
}
