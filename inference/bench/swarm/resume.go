package swarm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dure/inference"
)

// ResumeShape is an agent with a long prompt that comes back after others had
// the machine.
type ResumeShape struct {
	PromptTokens int    `json:"prompt_tokens"`
	Others       int    `json:"others"`       // agents that come meanwhile, all at once
	OtherTokens  int    `json:"other_tokens"` // prompt of each
	Output       int    `json:"output_tokens"`
	ResultWords  int    `json:"result_words"` // what the agent reads when it is back
	Seed         uint64 `json:"seed"`
}

// DefaultResumeShape is the one of the figures in the README. The result is
// short: what is measured is the way back, not the reading of new text.
func DefaultResumeShape() ResumeShape {
	return ResumeShape{PromptTokens: 7000, Others: 4, OtherTokens: 1000, Output: 48, ResultWords: 8, Seed: 1}
}

// ResumeReport compares the time to the first token, in milliseconds.
type ResumeReport struct {
	Server Kind        `json:"server"`
	Model  string      `json:"model"`
	Shape  ResumeShape `json:"shape"`

	Cold   ResumeTurn  `json:"cold"`   // the whole prompt is read
	Parked ResumeTurn  `json:"parked"` // after the others
	Disk   *ResumeTurn `json:"disk"`   // after a restart; nil where there was none
}

// ResumeTurn is one of the agent's turns.
type ResumeTurn struct {
	TTFT float64 `json:"ttft_ms"`
	// Restore is what the server says the way back took; 0 where it says nothing.
	Restore float64 `json:"restore_ms"`
	Prompt  *int    `json:"prompt_tokens"`
	Read    *int    `json:"read_tokens"`
}

// Ratio of a turn's time to first token to that of the cold one.
func (r *ResumeReport) Ratio(t ResumeTurn) float64 { return ratio(t.TTFT, r.Cold.TTFT) }

// Resume measures the way back. restart, which may be nil, starts the server
// anew and returns it, warmed up.
func Resume(ctx context.Context, e *Endpoint, s ResumeShape, restart func(context.Context) (*Endpoint, error)) (*ResumeReport, error) {
	if s.PromptTokens < 1 || s.Others < 0 || s.OtherTokens < 1 || s.Output < 1 || s.ResultWords < 1 {
		return nil, errors.New("resume: tokens and words must be positive")
	}
	text, err := fit(ctx, s.Seed, "resume", s.PromptTokens, e.counter())
	if err != nil {
		return nil, err
	}
	r := &ResumeReport{Server: e.Kind, Model: e.Model, Shape: s}
	a := &returning{shape: s, messages: User(text)}
	if r.Cold, err = a.turn(ctx, e); err != nil {
		return nil, fmt.Errorf("first turn: %w", err)
	}
	if err := s.crowd(ctx, e); err != nil {
		return nil, err
	}
	if r.Parked, err = a.turn(ctx, e); err != nil {
		return nil, fmt.Errorf("turn after the others: %w", err)
	}
	if restart == nil {
		return r, nil
	}
	if e, err = restart(ctx); err != nil {
		return nil, fmt.Errorf("restart the server: %w", err)
	}
	disk, err := a.turn(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("turn after the restart: %w", err)
	}
	r.Disk = &disk
	return r, nil
}

// returning is the agent that comes back.
type returning struct {
	shape    ResumeShape
	messages []inference.Message
	turns    int
}

func (a *returning) turn(ctx context.Context, e *Endpoint) (ResumeTurn, error) {
	name := fmt.Sprintf("bench-resume-%d", a.shape.Seed)
	t := e.Chat(ctx, Ask{Messages: a.messages, Output: a.shape.Output,
		Caller: inference.Caller{Session: name, Agent: name, Next: inference.PhaseWaiting}}, nil)
	if !t.OK() {
		return ResumeTurn{}, t.Err
	}
	result := Text(a.shape.Seed, fmt.Sprintf("resume result %d", a.turns), a.shape.ResultWords)
	a.messages = append(a.messages, inference.Message{Role: inference.RoleAssistant, Content: t.Text}, inference.Message{Role: inference.RoleUser, Content: result})
	a.turns++
	r := ResumeTurn{TTFT: t.wait(), Restore: t.RestoreMS}
	if t.Prompt != notTold {
		r.Prompt = &t.Prompt
	}
	if t.Read != notTold {
		r.Read = &t.Read
	}
	return r, nil
}

// crowd has the others come, so that the agent's state gives way.
func (s ResumeShape) crowd(ctx context.Context, e *Endpoint) error {
	failures := make([]error, s.Others)
	var wg sync.WaitGroup
	for i := range s.Others {
		wg.Go(func() {
			text, err := fit(ctx, s.Seed, fmt.Sprintf("other %d", i), s.OtherTokens, e.counter())
			if err != nil {
				failures[i] = err
				return
			}
			name := fmt.Sprintf("bench-other-%d-%d", s.Seed, i)
			t := e.Chat(ctx, Ask{Messages: User(text), Output: s.Output,
				Caller: inference.Caller{Session: name, Agent: name, Next: inference.PhaseWaiting}}, nil)
			if !t.OK() {
				failures[i] = fmt.Errorf("agent beside it: %w", t.Err)
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}
