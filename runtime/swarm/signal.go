package swarm

import (
	"context"
	"math"
)

// SetActive lowers or raises how many agents may be at work at once: what the model
// server has room for. Agents at work go on; fewer new ones begin.
func (c *Coordinator) SetActive(ctx context.Context, active int, reason string) error {
	return c.do(ctx, "set active", func(s *State) ([]any, error) {
		switch {
		case active < 0:
			return nil, refuse("%d agents cannot be at work", active)
		case active == s.active:
			return nil, nil
		}
		return []any{Activated{Active: active, Reason: reason}}, nil
	})
}

// Measure notes how many tokens a second the models write. Changes below a tenth are
// not worth an event.
func (c *Coordinator) Measure(ctx context.Context, rate float64) error {
	return c.do(ctx, "measure", func(s *State) ([]any, error) {
		switch {
		case rate < 0 || math.IsNaN(rate) || math.IsInf(rate, 0):
			return nil, refuse("%v tokens a second", rate)
		case math.Abs(rate-s.rate) <= s.rate/10:
			return nil, nil
		}
		return []any{Measured{Rate: rate}}, nil
	})
}

// Turned notes that an agent took a turn: how many for its present task.
func (c *Coordinator) Turned(ctx context.Context, agent string, turns int) error {
	now := c.now()
	return c.do(ctx, "turned", func(s *State) ([]any, error) {
		s.Pulse(agent, turns, now)
		return nil, nil
	})
}

// Inspect has look see the state as the log has it. look must not keep it.
func (c *Coordinator) Inspect(ctx context.Context, look func(*State)) error {
	return c.do(ctx, "inspect", func(s *State) ([]any, error) {
		look(s)
		return nil, nil
	})
}
