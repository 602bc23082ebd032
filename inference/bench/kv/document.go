package kv

import (
	"context"
	"fmt"

	"dure/inference/engine"
)

// document asks all settings the questions of one document.
func (b *bench) document(ctx context.Context, u unit) ([]Reply, error) {
	doc, tokens, err := b.fit(ctx, u.task, u.length, u.document)
	if err != nil {
		return nil, err
	}
	if err := b.full.clear(); err != nil {
		return nil, err
	}
	if err := b.full.read(ctx, tokens); err != nil {
		return nil, err
	}
	state, err := b.full.state()
	if err != nil {
		return nil, err
	}
	full, err := b.asked(ctx, b.full, state, len(tokens), doc.Questions)
	if err != nil {
		return nil, fmt.Errorf("f16 cache: %w", err)
	}
	var out []Reply
	keep := func(name string, got []outcome) {
		for i, q := range doc.Questions {
			out = append(out, Reply{Setting: name, Task: u.task, Length: u.length, Document: u.document, Depth: q.Depth,
				Found: got[i].found, Logprob: got[i].logprob, FullFound: full[i].found, FullLogprob: full[i].logprob})
		}
	}
	for _, s := range b.parked {
		back, err := s.roundTrip(state, &Sample{})
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", s.Name, err)
		}
		got, err := b.asked(ctx, b.full, back, len(tokens), doc.Questions)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", s.Name, err)
		}
		keep(s.Name, got)
	}
	for _, s := range b.hot {
		var got []outcome
		err := b.with(s, func(l *line) error {
			if err := l.read(ctx, tokens); err != nil {
				return err
			}
			state, err := l.state()
			if err != nil {
				return err
			}
			got, err = b.asked(ctx, l, state, len(tokens), doc.Questions)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("cache %s: %w", s.Name, err)
		}
		keep(s.Name, got)
	}
	return out, nil
}

// asked sets a state once and asks all questions.
func (b *bench) asked(ctx context.Context, l *line, state []byte, end int, questions []Question) ([]outcome, error) {
	if err := l.set(state, end); err != nil {
		return nil, err
	}
	out := make([]outcome, len(questions))
	for i, q := range questions {
		var err error
		if out[i], err = b.ask(ctx, l, state, q); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fit makes a document of at most so many tokens, and nearly as many where what it
// hides leaves room for it.
func (b *bench) fit(ctx context.Context, task Task, length, number int) (doc Document, tokens []engine.Token, err error) {
	bytes := 4 * length
	for range 6 {
		doc = NewDocument(task, b.seed(number)+uint64(length)<<32, bytes)
		if tokens, err = b.tokens(ctx, doc.Text, true); err != nil {
			return doc, nil, err
		}
		if len(tokens) <= length && len(tokens) >= length*9/10 {
			return doc, tokens, nil
		}
		bytes = bytes * (length*19/20 + 1) / (len(tokens) + 1)
	}
	if room := b.options.Cells - LongestQuestion; len(tokens) > room {
		return doc, nil, fmt.Errorf("the shortest document has %d tokens, %d fit; give a longer length", len(tokens), room)
	}
	return doc, tokens, nil
}
