package responder

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"dure/audio/turn"
	"dure/audio/voice"
	"dure/inference"

	"github.com/google/go-cmp/cmp"
)

func said(role, text string) turn.Item {
	kind := turn.InputText
	if role == turn.Assistant {
		kind = turn.OutputAudio
	}
	return turn.Item{Kind: turn.Message, Role: role, Parts: []turn.Part{{Kind: kind, Text: text}}}
}

func TestMessages(t *testing.T) {
	interrupted := said(turn.Assistant, "The first of")
	interrupted.Parts[0].Cut = true
	unheard := said(turn.Assistant, "")
	r := turn.Request{Instructions: "Be kind.", TextOnly: true, History: []turn.Item{
		said(turn.User, "hello"), said(turn.User, "what time is it"),
		{Kind: turn.FunctionCall, CallID: "1", Name: "clock", Arguments: "{}"},
		{Kind: turn.FunctionCall, CallID: "2", Name: "zone", Arguments: "{}"},
		{Kind: turn.FunctionOutput, CallID: "1", Output: "noon"},
		{Kind: turn.FunctionOutput, CallID: "2", Output: "KST"},
		interrupted, unheard, said(turn.User, "wait"),
	}}
	want := []inference.Message{
		{Role: "system", Content: "Be kind."},
		{Role: "user", Content: "hello\nwhat time is it"},
		{Role: "assistant", ToolCalls: []inference.ToolCall{{ID: "1", Name: "clock", Arguments: "{}"}, {ID: "2", Name: "zone", Arguments: "{}"}}},
		{Role: "tool", Content: "noon", ToolCallID: "1", Name: "clock"},
		{Role: "tool", Content: "KST", ToolCallID: "2", Name: "zone"},
		{Role: "assistant", Content: "The first of" + cut},
		{Role: "user", Content: "wait"},
	}
	if d := cmp.Diff(want, Messages(r)); d != "" {
		t.Error(d)
	}
	r.TextOnly = false
	if spoken := Messages(r)[0].Content; !strings.HasPrefix(spoken, manner) || !strings.HasSuffix(spoken, "Be kind.") {
		t.Error(spoken)
	}
}

// scripted is a model that answers with given events.
type scripted struct {
	events []inference.Event
	err    error
	got    *inference.Request
	closed bool
}

func (s *scripted) Info() inference.Info { return inference.Info{} }

func (s *scripted) Generate(_ context.Context, r *inference.Request) iter.Seq2[inference.Event, error] {
	s.got = r
	return func(yield func(inference.Event, error) bool) {
		for _, e := range s.events {
			if !yield(e, nil) {
				return
			}
		}
		if s.err != nil {
			yield(inference.Event{}, s.err)
		}
	}
}

func (s *scripted) open(context.Context, string) (inference.Model, func(), error) {
	return s, func() { s.closed = true }, nil
}

func TestPlain(t *testing.T) {
	m := &scripted{events: []inference.Event{
		{Kind: inference.EventStarted}, {Kind: inference.EventReasoning, Text: "hmm"}, {Kind: inference.EventText, Text: "Yes."},
		{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{ID: "c", Name: "f"}},
		{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: &inference.Usage{CompletionTokens: 3}},
	}}
	p := Plain{Open: m.open, Session: "s", MostTokens: 50}
	var got []voice.Delta
	for d, err := range p.Respond(context.Background(), turn.Request{History: []turn.Item{said(turn.User, "?")}}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	want := []voice.Delta{{Text: "Yes."}, {Call: &inference.ToolCallDelta{ID: "c", Name: "f"}},
		{Done: &voice.Done{Finish: inference.FinishStop, Usage: inference.Usage{CompletionTokens: 3}}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !m.closed || m.got.Params.MaxTokens != 50 || m.got.Caller.Session != "s" {
		t.Errorf("closed %v, asked %+v", m.closed, m.got)
	}
	for range p.Respond(context.Background(), turn.Request{OutOfBand: true, MaxTokens: 7}) {
		break
	}
	if m.got.Caller.Session != "" || m.got.Params.MaxTokens != 7 {
		t.Errorf("an answer out of band disturbs the conversation: %+v", m.got)
	}
}

func TestPlainFails(t *testing.T) {
	m := &scripted{err: errors.New("gone")}
	p := Plain{Open: m.open}
	var last error
	for _, err := range p.Respond(context.Background(), turn.Request{}) {
		last = err
	}
	if !errors.Is(last, m.err) || !m.closed {
		t.Error(last, m.closed)
	}
}
