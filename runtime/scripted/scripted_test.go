package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference"
	"dure/runtime/scripted"
)

const work = `
name: fake
parts:
  - name: parser
    role: worker
    task: parser
    fill: true
    match: 'number (?P<n>\d+)'
    asides: [{match: 'How far', text: Nearly there.}]
    turns:
      - think: I look first.
        text: Let me see what {{agent}} has of {{task}} in turn {{turn}}.
        calls: [{tool: shell, arguments: {command: 'ls {{n}} ${HOME}'}}]
      - name: finish
        calls: [{tool: done, arguments: {summary: written}}]
        next: [{if: 'FAIL: (empty|blank) line', go: mend}, {if: nothing, go: finish}]
      - text: All is well.
      - name: mend
        calls:
          - {tool: shell, arguments: {command: mend}}
          - {tool: shell, raw: '{"command": "check"}'}
        next: [{go: finish}]
  - {name: lead, role: lead, turns: [{text: I plan.}]}
  - {name: gauss, agent: gauss, turns: [{text: I am gauss.}]}
`

func model(t testing.TB, text string, o scripted.Options) *scripted.Model {
	t.Helper()
	s, err := scripted.Decode("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if o.Wait == nil {
		o.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	m, err := scripted.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var tools = []inference.Tool{{Name: "shell", Parameters: json.RawMessage(`{"type": "object"}`)}, {Name: "done"}}

// ask begins a conversation.
func ask(agent, system, task string) *inference.Request {
	return &inference.Request{Tools: tools, Caller: inference.Caller{Agent: agent, Session: agent}, Messages: []inference.Message{
		{Role: inference.RoleSystem, Content: system}, {Role: inference.RoleUser, Content: task}}}
}

func parser() *inference.Request {
	return ask("noether", "Role: worker\nYou work.", "task: parser\nWrite number 7.")
}

// got is an answer put together.
type got struct {
	inference.Message
	finish   inference.FinishReason
	usage    inference.Usage
	warnings []inference.Warning
}

func generate(ctx context.Context, m inference.Model, req *inference.Request) (got, error) {
	var g got
	g.Role = inference.RoleAssistant
	for e, err := range m.Generate(ctx, req) {
		if err != nil {
			return g, err
		}
		switch e.Kind {
		case inference.EventText:
			g.Content += e.Text
		case inference.EventReasoning:
			g.Reasoning += e.Text
		case inference.EventToolCall:
			if e.Call.ID != "" {
				g.ToolCalls = append(g.ToolCalls, inference.ToolCall{ID: e.Call.ID, Name: e.Call.Name})
			}
			g.ToolCalls[e.Call.Index].Arguments += e.Call.Arguments
		case inference.EventDone:
			g.finish, g.usage, g.warnings = e.Finish, *e.Usage, e.Warnings
		}
	}
	if g.finish == "" {
		return g, errors.New("no end")
	}
	return g, nil
}

// say adds an answer, and what came back: results of its calls, or a user's words.
func say(req *inference.Request, answer inference.Message, back string) *inference.Request {
	next := *req
	next.Messages = append(append([]inference.Message(nil), req.Messages...), answer)
	for i, c := range answer.ToolCalls {
		text := back
		if i > 0 {
			text = "fine"
		}
		next.Messages = append(next.Messages, inference.Message{Role: inference.RoleTool, ToolCallID: c.ID, Name: c.Name, Content: text})
	}
	if len(answer.ToolCalls) == 0 {
		next.Messages = append(next.Messages, inference.Message{Role: inference.RoleUser, Content: back})
	}
	return &next
}

// A conversation walks through its part by what comes back, each turn by a model that
// has seen nothing before.
func TestTurnsFollowFromTheConversation(t *testing.T) {
	req := parser()
	for i, step := range []struct{ tool, arguments, back string }{
		{"shell", `{"command":"ls 7 ${HOME}"}`, "a file"},
		{"done", `{"summary":"written"}`, "FAIL: blank line"},
		{"shell", `{"command":"mend"}`, "nothing"}, // fits no next of this turn but the open one
		{"done", `{"summary":"written"}`, "nothing"},
		{"done", `{"summary":"written"}`, "ok"},
	} {
		g, err := generate(t.Context(), model(t, work, scripted.Options{}), req)
		if err != nil {
			t.Fatalf("turn %d: %v", i+1, err)
		}
		if c := g.ToolCalls[0]; c.Name != step.tool || c.Arguments != step.arguments || g.finish != inference.FinishToolCalls {
			t.Fatalf("turn %d: %+v %s, want %s %s", i+1, g.ToolCalls, g.finish, step.tool, step.arguments)
		}
		if i == 0 && (g.Reasoning != "I look first." || g.Content != "Let me see what noether has of parser in turn 1.") {
			t.Errorf("turn 1: %q %q", g.Reasoning, g.Content)
		}
		if i == 2 && g.ToolCalls[1].Arguments != `{"command": "check"}` {
			t.Errorf("raw arguments: %q", g.ToolCalls[1].Arguments)
		}
		for k := range g.ToolCalls { // the agent gives them names of its own
			g.ToolCalls[k].ID = "t"
		}
		req = say(req, g.Message, step.back)
	}
	m := model(t, work, scripted.Options{})
	g, err := generate(t.Context(), m, req)
	if err != nil || g.Content != "All is well." || g.finish != inference.FinishStop {
		t.Fatalf("%+v %v", g, err)
	}
	// A question beside the work is answered, and no turn passes.
	aside := say(say(parser(), inference.Message{Role: inference.RoleAssistant, Content: "x"}, "a file"), inference.Message{Role: inference.RoleAssistant, Content: "y"}, "How far are you?")
	if g, err := generate(t.Context(), m, aside); err != nil || g.Content != "Nearly there." {
		t.Errorf("%+v %v", g, err)
	}
	if g, err := generate(t.Context(), m, say(aside, inference.Message{Role: inference.RoleAssistant, Content: "Nearly there."}, "go on")); err != nil || g.Content != "All is well." {
		t.Errorf("after an aside: %+v %v", g, err)
	}
	if _, err := generate(t.Context(), m, say(say(req, inference.Message{Role: inference.RoleAssistant, Content: "All is well."}, "?"), inference.Message{Role: inference.RoleAssistant}, "mend")); err != nil {
		t.Errorf("the turn below the last said: %v", err)
	}
}

func TestWhoAnswers(t *testing.T) {
	var mu sync.Mutex
	var saw []scripted.Asked
	m := model(t, work, scripted.Options{Saw: func(a scripted.Asked, _ *inference.Request) {
		mu.Lock()
		defer mu.Unlock()
		saw = append(saw, a)
	}})
	second := say(ask("abel", "You are a worker of a team.", "task: other\nnumber 1"), inference.Message{Role: inference.RoleAssistant}, "Next.\ntask: parser\nWrite number 9.")
	for _, c := range []struct {
		req  *inference.Request
		part string
		want string
	}{
		{parser(), "parser", "Let me see what noether has of parser in turn 1."},
		{second, "parser", "Let me see what abel has of parser in turn 2."},
		{ask("euler", "x\nROLE: Lead\nRole: worker", "task: parser\nnumber 7"), "lead", "I plan."},
		{ask("gauss", "You are nobody.", "x"), "gauss", "I am gauss."},
		{ask("abel", "Role: worker", "task: parser\nno number"), "", ""},
		{ask("abel", "Role: worker", "task: other\nnumber 7"), "", ""},
		{ask("abel", "", "> task: parser\nnumber 7"), "", ""},
	} {
		saw = nil
		g, err := generate(t.Context(), m, c.req)
		switch {
		case c.part == "":
			if !errors.Is(err, inference.ErrInvalidRequest) || !strings.Contains(err.Error(), `agent "abel"`) {
				t.Errorf("%+v: %v", c.req.Messages, err)
			}
		case err != nil || g.Content != c.want || len(saw) != 1 || saw[0].Part != c.part:
			t.Errorf("%q %+v %v, want %q by %s", g.Content, saw, err, c.want, c.part)
		}
	}
}

func TestRefusals(t *testing.T) {
	m := model(t, work, scripted.Options{})
	change := func(f func(*inference.Request)) *inference.Request { r := parser(); f(r); return r }
	for want, req := range map[string]*inference.Request{
		"offers done":    change(func(r *inference.Request) { r.Tools = tools[1:] }),
		"stray":          change(func(r *inference.Request) { r.ToolChoice.Mode = inference.ToolNone }),
		"raw prompt":     {Prompt: &inference.Prompt{Text: "x"}},
		"continues":      change(func(r *inference.Request) { r.Continue = true }),
		"max_tokens all": change(func(r *inference.Request) { r.Params.MaxTokens = 5 }),
		"has no turn":    say(ask("a", "role: lead", "x"), inference.Message{Role: inference.RoleAssistant}, "y"),
	} {
		if _, err := generate(t.Context(), m, req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if len(m.Accounts()) != 0 {
		t.Errorf("refused requests were counted: %v", m.Accounts())
	}
}

// What is told as usage adds up, and is what the texts have.
func TestUsage(t *testing.T) {
	m := model(t, work, scripted.Options{})
	want, req, past := scripted.Account{}, parser(), 0
	for i := range 2 {
		g, err := generate(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		u := g.usage
		if i == 0 && u.CachedTokens != 0 || i == 1 && (u.CachedTokens < past-1 || u.CachedTokens > past) {
			t.Errorf("turn %d: %d cached, the turn before had %d", i+1, u.CachedTokens, past)
		}
		if wantThought := (len(g.Reasoning) + 3) / 4; u.ReasoningTokens != wantThought || u.CompletionTokens <= wantThought {
			t.Errorf("turn %d: %+v", i+1, u)
		}
		past = u.PromptTokens + u.CompletionTokens
		want = scripted.Account{Answers: want.Answers + 1, Prompt: want.Prompt + u.PromptTokens, Cached: want.Cached + u.CachedTokens,
			Completion: want.Completion + u.CompletionTokens, Reasoning: want.Reasoning + u.ReasoningTokens}
		req = say(req, g.Message, strings.Repeat("x", 400))
	}
	if got := m.Accounts(); !reflect.DeepEqual(got, map[string]scripted.Account{"noether": want}) {
		t.Errorf("%+v, want %+v", got, want)
	}
	again, err := generate(t.Context(), model(t, work, scripted.Options{}), parser())
	first, err2 := generate(t.Context(), m, parser())
	if err != nil || err2 != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("after a restart %+v, before %+v", again, first)
	}
	// One message of 8 bytes more is two tokens more.
	longer := parser()
	longer.Messages[1].Content += "12345678"
	if g, err := generate(t.Context(), m, longer); err != nil || g.usage.PromptTokens != first.usage.PromptTokens+2 {
		t.Errorf("%+v %v, was %+v", g.usage, err, first.usage)
	}
}

func TestLatency(t *testing.T) {
	text := "latency: 3s\nparts:\n  - {name: a, role: lead, latency: 2s, turns: [{text: x, latency: 1s}, {text: y}]}\n  - {name: b, role: judge, turns: [{text: z}]}\n"
	var waited []time.Duration
	m := model(t, text, scripted.Options{Wait: func(_ context.Context, d time.Duration) error { waited = append(waited, d); return nil }})
	first := ask("a", "role: lead", "x")
	for _, req := range []*inference.Request{first, say(first, inference.Message{Role: inference.RoleAssistant}, "x"), ask("b", "role: judge", "x")} {
		if _, err := generate(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}; !reflect.DeepEqual(waited, want) {
		t.Errorf("waited %v, want %v", waited, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m = model(t, text, scripted.Options{Wait: func(ctx context.Context, _ time.Duration) error { cancel(); <-ctx.Done(); return ctx.Err() }})
	if _, err := generate(ctx, m, first); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// So many answers at a time, so many wait, the next is refused.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := model(t, "sequences: 1\nqueue: 1\nparts: [{name: a, role: lead, turns: [{text: x}]}]", scripted.Options{
			Wait: func(context.Context, time.Duration) error { <-release; return nil }})
		if i := m.Info(); i.Sequences != 1 || i.Queue != 1 {
			t.Errorf("%+v", i)
		}
		req, ends := ask("a", "role: lead", "x"), make(chan error, 2)
		for range 2 {
			go func() { _, err := generate(t.Context(), m, req); ends <- err }()
			synctest.Wait()
		}
		if _, err := generate(t.Context(), m, req); !errors.Is(err, inference.ErrQueueFull) {
			t.Errorf("the third: %v", err)
		}
		close(release)
		for range 2 {
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
		if _, err := generate(t.Context(), m, req); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}
