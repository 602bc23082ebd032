package swarm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"dure/inference"
)

// Shape of a team at work: each agent gets the shared system prompt and a task
// of its own, then answers, waits for a tool and reads its result, turn by turn.
type Shape struct {
	Agents       int           `json:"agents"`
	Turns        int           `json:"turns"`
	SharedTokens int           `json:"shared_tokens"`
	TaskWords    int           `json:"task_words"`
	ResultWords  int           `json:"result_words"`
	Output       int           `json:"output_tokens"`
	ToolWait     time.Duration `json:"tool_wait_ns"`
	// Staggered agents start a tool wait apart, others all at once.
	Staggered bool   `json:"staggered"`
	Seed      uint64 `json:"seed"`
}

// DefaultShape is the team that the figures in the README are about.
func DefaultShape() Shape {
	return Shape{Agents: 16, Turns: 6, SharedTokens: 2000, TaskWords: 150, ResultWords: 150, Output: 48, ToolWait: 500 * time.Millisecond, Seed: 1}
}

// most of anything in a shape: far more than a machine serves.
const most = 1 << 20

func (s Shape) validate() error {
	for _, f := range []struct {
		name         string
		value, least int
	}{
		{"agents", s.Agents, 1}, {"turns", s.Turns, 1}, {"shared tokens", s.SharedTokens, 0},
		{"task words", s.TaskWords, 1}, {"result words", s.ResultWords, 1}, {"output tokens", s.Output, 1},
	} {
		if f.value < f.least || f.value > most {
			return fmt.Errorf("%s: %d is not between %d and %d", f.name, f.value, f.least, most)
		}
	}
	if s.ToolWait < 0 {
		return fmt.Errorf("tool wait: %v is negative", s.ToolWait)
	}
	return nil
}

// Run has the team work against an endpoint. Where ctx ends before the team is
// done, the report tells of the turns until there and the error is nil.
func Run(ctx context.Context, e *Endpoint, s Shape) (*Report, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	shared, err := fit(ctx, s.Seed, "shared", s.SharedTokens, e.counter())
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	teams := make([][]Turn, s.Agents)
	var wg sync.WaitGroup
	for i := range teams {
		wg.Go(func() {
			if !s.Staggered || sleep(ctx, time.Duration(i)*s.ToolWait) {
				teams[i] = s.agent(ctx, e, i, shared)
			}
		})
	}
	wg.Wait()
	r := newReport(e, s, slices.Concat(teams...), time.Since(begin))
	r.Interrupted = ctx.Err() != nil
	// The counting comes after the load, and is wanted after Ctrl-C as well.
	count, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTimeout)
	defer cancel()
	return r, r.count(count, e)
}

// countTimeout bounds the tokenising of all prompts of a run.
const countTimeout = 2 * time.Minute

// agent works until its turns are done or one fails: what follows would not be
// the conversation that was meant.
func (s Shape) agent(ctx context.Context, e *Endpoint, i int, shared string) []Turn {
	var messages []inference.Message
	if shared != "" {
		messages = append(messages, inference.Message{Role: inference.RoleSystem, Content: shared})
	}
	name := fmt.Sprintf("bench-%d-%d", s.Seed, i)
	caller := inference.Caller{Session: name, Agent: name, Next: inference.PhaseWaiting, Priority: inference.PriorityWorker}
	said := s.task(i)
	var turns []Turn
	for n := range s.Turns {
		messages = append(messages, inference.Message{Role: inference.RoleUser, Content: said})
		if n == s.Turns-1 {
			caller.Next = inference.PhaseEnded
		}
		t := e.Chat(ctx, Ask{Messages: slices.Clone(messages), Output: s.Output, Caller: caller}, nil)
		t.Agent, t.Number = i, n
		turns = append(turns, t)
		if !t.OK() || n == s.Turns-1 || !sleep(ctx, s.ToolWait) {
			break
		}
		messages = append(messages, inference.Message{Role: inference.RoleAssistant, Content: t.Text})
		said = s.result(i, n)
	}
	return turns
}

func (s Shape) task(agent int) string {
	return fmt.Sprintf("Agent %d, your task. %s", agent, Text(s.Seed, fmt.Sprintf("task %d", agent), s.TaskWords))
}

func (s Shape) result(agent, turn int) string {
	return fmt.Sprintf("Tool result %d. %s", turn, Text(s.Seed, fmt.Sprintf("result %d %d", agent, turn), s.ResultWords))
}
