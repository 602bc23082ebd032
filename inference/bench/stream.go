package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dure/inference"
)

// Stream is when the tokens of one answer arrived.
type Stream struct {
	Sent   time.Time
	Tokens []time.Time
}

// FirstToken is how long the first token took.
func (s Stream) FirstToken() time.Duration { return s.Tokens[0].Sub(s.Sent) }

// Rate is the tokens a second after the first.
func (s Stream) Rate() float64 {
	n := len(s.Tokens)
	return float64(n-1) / s.Tokens[n-1].Sub(s.Tokens[0]).Seconds()
}

// Generate asks for exactly n tokens, greedily, and records when their events
// arrived. Tokens that are part of a character arrive with its last one.
func Generate(ctx context.Context, m inference.Model, prompt string, n int) (Stream, error) {
	s := Stream{Sent: time.Now()}
	req := &inference.Request{
		Messages: []inference.Message{{Role: inference.RoleUser, Content: prompt}},
		Params:   inference.Params{TopP: 1, MaxTokens: n, IgnoreEOS: true, Seed: 1},
	}
	got := 0
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			return s, err
		}
		switch ev.Kind {
		case inference.EventText:
			s.Tokens = append(s.Tokens, time.Now())
		case inference.EventDone:
			got = ev.Usage.CompletionTokens
		}
	}
	if got != n || len(s.Tokens) < 2 {
		return s, fmt.Errorf("asked for %d tokens, got %d in %d events", n, got, len(s.Tokens))
	}
	return s, nil
}

// GenerateAll runs streams at the same time and returns the total rate in
// tokens a second while all of them were decoding.
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

// overlap counts the tokens between the last first token and the first last one.
func overlap(streams []Stream) (float64, error) {
	var from, to time.Time
	for i, s := range streams {
		first, last := s.Tokens[0], s.Tokens[len(s.Tokens)-1]
		if first.After(from) {
			from = first
		}
		if i == 0 || last.Before(to) {
			to = last
		}
	}
	if !to.After(from) {
		return 0, fmt.Errorf("the streams did not run at the same time")
	}
	tokens := 0
	for _, s := range streams {
		for _, t := range s.Tokens {
			if t.After(from) && !t.After(to) {
				tokens++
			}
		}
	}
	return float64(tokens) / to.Sub(from).Seconds(), nil
}
