package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dure/inference"
)

// Stream is when the tokens of one answer arrived.
type Stream struct {
	Events []time.Time
	Tokens int // a token that is part of a character brings no event of its own
}

// Rate is the tokens a second after the first.
func (s Stream) Rate() float64 {
	return float64(s.Tokens-1) / s.Events[len(s.Events)-1].Sub(s.Events[0]).Seconds()
}

// Generate asks for exactly n tokens, greedily, and records when their events
// arrived. Tokens that are part of a character arrive with its last one.
func Generate(ctx context.Context, m inference.Model, prompt string, n int) (Stream, error) {
	var s Stream
	req := &inference.Request{
		Messages: []inference.Message{{Role: inference.RoleUser, Content: prompt}},
		Params:   inference.Params{TopP: 1, MaxTokens: n, IgnoreEOS: true, Seed: 1},
	}
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			return s, err
		}
		switch ev.Kind {
		case inference.EventText:
			s.Events = append(s.Events, time.Now())
		case inference.EventDone:
			s.Tokens = ev.Usage.CompletionTokens
		}
	}
	if s.Tokens != n || len(s.Events) < 2 {
		return s, fmt.Errorf("asked for %d tokens, got %d in %d events", n, s.Tokens, len(s.Events))
	}
	return s, nil
}

// ErrApart says that there was no moment at which all streams were decoding.
var ErrApart = errors.New("the streams did not run at the same time")

// GenerateAll runs streams at the same time and returns the total rate in
// tokens a second while all of them were decoding. Where they never were, the
// error is ErrApart, and says when the last one began.
func GenerateAll(ctx context.Context, m inference.Model, prompts []string, n int) (float64, error) {
	streams := make([]Stream, len(prompts))
	errs := make([]error, len(prompts))
	var wg sync.WaitGroup
	for i, p := range prompts {
		wg.Go(func() { streams[i], errs[i] = Generate(ctx, m, p, n) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return overlap(streams)
}

// overlap counts the tokens between the last first event and the first last one.
func overlap(streams []Stream) (float64, error) {
	var from, to time.Time
	for i, s := range streams {
		first, last := s.Events[0], s.Events[len(s.Events)-1]
		if first.After(from) {
			from = first
		}
		if i == 0 || last.Before(to) {
			to = last
		}
	}
	if !to.After(from) {
		return 0, fmt.Errorf("%w: one began %v after another had ended", ErrApart, from.Sub(to).Round(time.Millisecond))
	}
	tokens := 0.0
	for _, s := range streams {
		events := 0
		for _, t := range s.Events {
			if t.After(from) && !t.After(to) {
				events++
			}
		}
		tokens += float64(events) * float64(s.Tokens) / float64(len(s.Events))
	}
	return tokens / to.Sub(from).Seconds(), nil
}
