package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/library"
	"dure/inference/remote"
)

// remoteAPIs are the clients, by the format that they speak.
var remoteAPIs = map[string]func(remote.Endpoint, *http.Client) *remote.Model{"openai": remote.OpenAI, "anthropic": remote.Anthropic}

const remoteKey = "sk-remote-test-key"

// Both clients against dure itself, with a real model behind a key.
func TestRemoteClientsAgainstDure(t *testing.T) {
	cmd := dureCommand(t, "serve", "--addr", "127.0.0.1:0", "--threads", "1", "--cache-disk", "0", "--context", "1024", "--sequences", "2")
	cmd.Env = append(cmd.Env, "DURE_API_KEYS="+remoteKey)
	s := startCommand(t, cmd)
	for name, client := range remoteAPIs {
		t.Run(name, func(t *testing.T) {
			m := client(remote.Endpoint{Base: s.url, Model: "smollm2-135m", Key: remote.NewKey(remoteKey), Own: true, MaxTokens: 64}, http.DefaultClient)
			checkRemote(t, m)
			t.Run("a call", func(t *testing.T) { checkRemoteCall(t, m) })
			t.Run("wrong key", func(t *testing.T) {
				wrong, err := remote.ReadKey(func(string) (string, bool) { return "sk-another", true }, "PLANNER_KEY", "")
				if err != nil {
					t.Fatal(err)
				}
				_, err = askRemote(t.Context(), client(remote.Endpoint{Base: s.url, Key: wrong, Own: true, MaxTokens: 9, Model: "smollm2-135m"}, http.DefaultClient), &inference.Request{})
				var e *remote.Error
				if !errors.As(err, &e) || e.Kind != remote.Refused || e.Status != 401 || !strings.Contains(err.Error(), "PLANNER_KEY") || strings.Contains(err.Error(), "sk-another") {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// The same against a stock server of another making, which makes a model of this size
// call nothing.
func TestRemoteClientsAgainstLlamaServer(t *testing.T) {
	home := enginetest.Home(t)
	tools, err := library.Open(home, library.SourceCPU)
	if err == nil {
		_, err = os.Stat(filepath.Join(tools.Root, "bin", "llama-server"))
	}
	if err != nil {
		t.Skipf("SKIPPED: there is no llama-server here: %v; `make engine-source` builds it", err)
	}
	rig := &peersRig{peers: tools}
	if rig.engine.Set, err = library.Open(home, library.CPU); err != nil {
		t.Fatal(err)
	}
	s, err := startLlamaServer(t.Context(), rig.peer, serverShape{model: enginetest.DemoModel(t), context: 1024, sequences: 2, threads: 1}, "--jinja")
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	for name, client := range remoteAPIs {
		t.Run(name, func(t *testing.T) {
			checkRemote(t, client(remote.Endpoint{Base: s.url, Model: "smollm2-135m", Own: true, MaxTokens: 64}, http.DefaultClient))
		})
	}
}

// remoteAnswer is an answer put together.
type remoteAnswer struct {
	text  string
	calls []inference.ToolCall
	done  inference.Event
}

func askRemote(ctx context.Context, m inference.Model, req *inference.Request) (a remoteAnswer, err error) {
	if len(req.Messages) == 0 {
		req.Messages = []inference.Message{{Role: inference.RoleUser, Content: "What is the capital of France? Answer in one word."}}
	}
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			return a, err
		}
		switch ev.Kind {
		case inference.EventText:
			a.text += ev.Text
		case inference.EventToolCall:
			if ev.Call.Index == len(a.calls) {
				a.calls = append(a.calls, inference.ToolCall{})
			}
			c := &a.calls[ev.Call.Index]
			c.ID, c.Name, c.Arguments = c.ID+ev.Call.ID, c.Name+ev.Call.Name, c.Arguments+ev.Call.Arguments
		case inference.EventDone:
			a.done = ev
		}
	}
	return a, nil
}

// checkRemote asks a server with the demo model what only a real one answers.
func checkRemote(t *testing.T, m *remote.Model) {
	greedy := remoteGreedy
	first := inference.Message{Role: inference.RoleUser, Content: "What is the capital of France? Answer in one word."}
	var answer remoteAnswer
	t.Run("text", func(t *testing.T) {
		var err error
		answer, err = askRemote(t.Context(), m, &inference.Request{Params: greedy, Caller: inference.Caller{Session: "one"}})
		u := answer.done.Usage
		if err != nil || !strings.Contains(answer.text, "Paris") || u == nil || u.PromptTokens < 10 || u.CompletionTokens == 0 || u.CompletionTokens > 16 || u.CachedTokens > u.PromptTokens {
			t.Errorf("%+v, %+v, %v", answer, u, err)
		}
	})
	t.Run("the next turn finds the first", func(t *testing.T) {
		next, err := askRemote(t.Context(), m, &inference.Request{Params: greedy, Caller: inference.Caller{Session: "one"}, Messages: []inference.Message{
			first, {Role: inference.RoleAssistant, Content: answer.text}, {Role: inference.RoleUser, Content: "And of Italy?"}}})
		if u := next.done.Usage; err != nil || next.text == "" || u.CachedTokens < 10 || u.CachedTokens >= u.PromptTokens {
			t.Errorf("%+v, %+v, %v", next, u, err)
		}
	})
	t.Run("cut by the limit", func(t *testing.T) {
		short := greedy
		short.MaxTokens = 3
		a, err := askRemote(t.Context(), m, &inference.Request{Params: short, Messages: []inference.Message{{Role: inference.RoleUser, Content: "Tell a long story."}}})
		if err != nil || a.done.Finish != inference.FinishLength || a.done.Usage.CompletionTokens != 3 {
			t.Errorf("%+v, %+v, %v", a, a.done.Usage, err)
		}
	})
	t.Run("the result of a call", func(t *testing.T) {
		a, err := askRemote(t.Context(), m, &inference.Request{Params: greedy, Tools: weatherTools, Messages: weatherResult(inference.ToolCall{ID: "t1.1", Name: "weather", Arguments: `{"city":"Paris"}`})})
		if err != nil || a.done.Usage.CompletionTokens == 0 {
			t.Errorf("%+v, %v", a, err)
		}
	})
	t.Run("too long a prompt", func(t *testing.T) {
		_, err := askRemote(t.Context(), m, &inference.Request{Params: greedy, Messages: []inference.Message{{Role: inference.RoleUser, Content: strings.Repeat("word ", 3000)}}})
		var e *remote.Error
		if !errors.Is(err, inference.ErrContextExceeded) || !errors.As(err, &e) || e.Passes() {
			t.Errorf("%v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		endless := greedy
		endless.MaxTokens = 900
		var last error
		for ev, err := range m.Generate(ctx, &inference.Request{Params: endless, Messages: []inference.Message{{Role: inference.RoleUser, Content: "Count from one to a thousand."}}}) {
			if last = err; ev.Text != "" {
				cancel()
			}
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("ended with %v", last)
		}
	})
}

var (
	remoteGreedy = inference.Params{TopP: 1, MaxTokens: 16}
	weatherTools = []inference.Tool{{Name: "weather", Description: "The weather of a city.", Strict: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","enum":["Paris","Rome"]}},"required":["city"],"additionalProperties":false}`)}}
)

// weatherResult is a conversation with a call that has its result.
func weatherResult(c inference.ToolCall) []inference.Message {
	return []inference.Message{
		{Role: inference.RoleUser, Content: "What is the weather in Paris?"}, {Role: inference.RoleAssistant, ToolCalls: []inference.ToolCall{c}},
		{Role: inference.RoleTool, Name: c.Name, ToolCallID: c.ID, Content: "sunny"},
	}
}

// checkRemoteCall has the model call a tool, as it must, and tells it the result under
// the name that an agent gives the call.
func checkRemoteCall(t *testing.T, m *remote.Model) {
	long := remoteGreedy
	long.MaxTokens = 256
	a, err := askRemote(t.Context(), m, &inference.Request{Params: long, Messages: weatherResult(inference.ToolCall{})[:1], Tools: weatherTools,
		ToolChoice: inference.ToolChoice{Mode: inference.ToolRequired, Single: true}})
	if err != nil || len(a.calls) != 1 || a.calls[0].Name != "weather" || a.calls[0].ID == "" || !json.Valid([]byte(a.calls[0].Arguments)) || a.done.Finish != inference.FinishToolCalls {
		t.Fatalf("%+v, %v", a, err)
	}
	a.calls[0].ID = "t1.1"
	if a, err = askRemote(t.Context(), m, &inference.Request{Params: remoteGreedy, Messages: weatherResult(a.calls[0]), Tools: weatherTools}); err != nil || a.done.Usage.CompletionTokens == 0 {
		t.Errorf("the result: %+v, %v", a, err)
	}
}
