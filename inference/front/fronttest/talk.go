package fronttest

import (
	"context"
	"iter"
	"time"

	"dure/inference"
)

// Talker is a model for whole conversations of a client: what it does follows from
// what it is asked, so that one server serves a whole script.
//
// It calls the first tool that it has with {"city": "Paris"}, tells what the tool
// returned, thinks where it is to, keeps to a form with {"answer": 42}, and greets
// otherwise. Some last messages have a meaning: "be busy", "break", "go on" (for ever),
// "stop early" (at the string "so").
type Talker struct {
	// Left is told of everyone who leaves while it goes on. It is to be read as often,
	// or has room.
	Left chan struct{}
}

// Generate is a [GenerateFunc].
func (m *Talker) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	last := inference.Message{Role: inference.RoleUser}
	if n := len(req.Messages); n > 0 {
		last = req.Messages[n-1]
	} else if req.Prompt != nil {
		last.Content = req.Prompt.Text
	}
	switch last.Content {
	case "be busy":
		return Script(&inference.Error{Code: inference.CodeQueueFull, Message: "all places are taken", RetryAfter: 2 * time.Second})(ctx, req)
	case "break":
		return Script(&inference.Error{Code: inference.CodeRunnerLost, Message: "the model's process died"}, Started(), Says("Hal"))(ctx, req)
	case "go on":
		return m.forEver(ctx)
	case "stop early":
		end := Done()
		end.Stop = "so"
		return Script(nil, Started(), Says("And "), end)(ctx, req)
	}
	return Script(nil, append(append([]inference.Event{Started()}, reply(req, last)...), ending(req, last))...)(ctx, req)
}

// calls reports whether the answer is a call of a tool.
func calls(req *inference.Request, last inference.Message) bool {
	return len(req.Tools) > 0 && req.ToolChoice.Mode != inference.ToolNone && last.Role != inference.RoleTool
}

func ending(req *inference.Request, last inference.Message) inference.Event {
	end := Done()
	if calls(req, last) {
		end.Finish = inference.FinishToolCalls
	}
	return end
}

func reply(req *inference.Request, last inference.Message) (all []inference.Event) {
	if r := req.Reasoning; r.Budget > 0 || r.Effort != "" && r.Effort != inference.EffortNone {
		all = append(all, inference.Event{Kind: inference.EventReasoning, Text: "Let me "}, inference.Event{Kind: inference.EventReasoning, Text: "think."})
	}
	call := func(d inference.ToolCallDelta) inference.Event {
		return inference.Event{Kind: inference.EventToolCall, Call: &d}
	}
	switch {
	case last.Role == inference.RoleTool:
		return append(all, Says(last.Name+" says: "), Says(last.Content))
	case calls(req, last):
		return append(all, Says("I look."), call(inference.ToolCallDelta{ID: "call_1", Name: req.Tools[0].Name}),
			call(inference.ToolCallDelta{Arguments: `{"city": "Pa`}), call(inference.ToolCallDelta{Arguments: `ris"}`}))
	case req.Format != nil:
		return append(all, Says(`{"answer": `), Says("42}"))
	}
	return append(all, Says("Hello, "), Says("이 사람!"))
}

// forEver goes on until its caller leaves.
func (m *Talker) forEver(ctx context.Context) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		defer func() { m.Left <- struct{}{} }()
		if !yield(Started(), nil) {
			return
		}
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				yield(inference.Event{}, context.Cause(ctx))
				return
			case <-tick.C:
				if !yield(Says("on "), nil) {
					return
				}
			}
		}
	}
}
