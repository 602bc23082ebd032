package gate_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"dure/inference"
	"dure/runtime/gate"
)

// speaker is a model that says two words, the second when it is told to.
type speaker struct {
	inference.Model
	asked chan struct{}
	goOn  chan struct{}
}

func (s speaker) Generate(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		s.asked <- struct{}{}
		if !yield(inference.Event{Kind: inference.EventText, Text: "one"}, nil) {
			return
		}
		<-s.goOn
		yield(inference.Event{Kind: inference.EventDone}, nil)
	}
}

func TestModelsAreParkedBetweenAnswers(t *testing.T) {
	g := newGate(t)
	s := speaker{asked: make(chan struct{}, 2), goOn: make(chan struct{})}
	m := g.Model(s)
	ask := func(ctx context.Context) (events int, err error) {
		for _, e := range m.Generate(ctx, &inference.Request{}) {
			if e != nil {
				return events, e
			}
			events++
		}
		return events, nil
	}
	done := make(chan int, 1)
	go func() {
		n, err := ask(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- n
	}()
	<-s.asked
	if err := g.Stop(t.Context(), "person", "look"); err != nil {
		t.Fatal(err)
	}
	s.goOn <- struct{}{}
	if n := <-done; n != 2 {
		t.Errorf("an answer that had begun ended after %d events", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ctx); !errors.Is(err, context.Canceled) || len(s.asked) != 0 {
		t.Errorf("a stopped team asked its model: %v", err)
	}
	if err := g.End(t.Context(), "person", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context()); !errors.Is(err, gate.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
	if n := g.Inside(); n != 0 {
		t.Errorf("%d inside", n)
	}
}
