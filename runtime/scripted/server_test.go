package scripted_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"dure/inference"
	"dure/runtime/scripted"
)

func serve(t *testing.T, m *scripted.Model) (base string) {
	t.Helper()
	srv := httptest.NewServer(m.Handler())
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

func stock(t *testing.T, m *scripted.Model, o ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{option.WithBaseURL(serve(t, m)), option.WithAPIKey("none")}, o...)...)
}

func params(system, task string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "fake",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(task)},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "shell", Parameters: shared.FunctionParameters{"type": "object"}}),
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "done"}),
		},
	}
}

// The stock client has the same conversation as a caller in this process, with and
// without streaming.
func TestStockClient(t *testing.T) {
	m := model(t, work, scripted.Options{})
	client := stock(t, m)
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) != 1 || models.Data[0].ID != "fake" {
		t.Fatalf("%+v %v", models, err)
	}
	req := parser()
	req.Caller = inference.Caller{}
	p := params(req.Messages[0].Content, req.Messages[1].Content)
	for _, back := range []string{"a file", "ok"} {
		want, err := generate(t.Context(), model(t, work, scripted.Options{}), req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.Chat.Completions.New(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "whole", got, want)
		p.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Chat.Completions.NewStreaming(t.Context(), p)
		var sum openai.ChatCompletionAccumulator
		for stream.Next() {
			if !sum.AddChunk(stream.Current()) {
				t.Fatalf("a chunk that does not fit: %+v", stream.Current())
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		compare(t, "streamed", &sum.ChatCompletion, want)
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
		answer := got.Choices[0].Message
		want.Reasoning = "" // the client does not send it back
		req = say(req, want.Message, back)
		p.Messages = append(p.Messages, answer.ToParam())
		for _, c := range answer.ToolCalls {
			p.Messages = append(p.Messages, openai.ToolMessage(back, c.ID))
		}
	}
}

func compare(t *testing.T, how string, got *openai.ChatCompletion, want got) {
	t.Helper()
	c := got.Choices[0]
	u := got.Usage
	if c.Message.Content != want.Content || c.FinishReason != string(want.finish) || len(c.Message.ToolCalls) != len(want.ToolCalls) {
		t.Fatalf("%s: %+v, want %+v", how, c, want)
	}
	for i, call := range c.Message.ToolCalls {
		if w := want.ToolCalls[i]; call.Function.Name != w.Name || call.Function.Arguments != w.Arguments || call.ID != w.ID {
			t.Errorf("%s: %+v, want %+v", how, call, w)
		}
	}
	if int(u.PromptTokens) != want.usage.PromptTokens || int(u.CompletionTokens) != want.usage.CompletionTokens ||
		int(u.PromptTokensDetails.CachedTokens) != want.usage.CachedTokens || int(u.CompletionTokensDetails.ReasoningTokens) != want.usage.ReasoningTokens {
		t.Errorf("%s: usage %s, want %+v", how, u.RawJSON(), want.usage)
	}
}

func TestStockClientMeetsFaults(t *testing.T) {
	var refused *openai.Error
	p := params("role: lead", "x")
	p.Model = "scripted"
	for fault, status := range map[string]int{"{kind: error, status: 502}": 502, "{kind: busy, retry_after: 1s}": 429} {
		m := model(t, faulty(fault), scripted.Options{})
		client := stock(t, m, option.WithMaxRetries(0))
		_, err := client.Chat.Completions.New(t.Context(), p)
		if !errors.As(err, &refused) || refused.StatusCode != status || status == 429 && refused.Response.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: %v", fault, err)
		}
		if _, err := client.Chat.Completions.New(t.Context(), p); err != nil {
			t.Errorf("%s: then: %v", fault, err)
		}
	}
	m := model(t, faulty("{kind: cut}"), scripted.Options{})
	client := stock(t, m, option.WithMaxRetries(0))
	stream, said := client.Chat.Completions.NewStreaming(t.Context(), p), ""
	for stream.Next() {
		if c := stream.Current(); len(c.Choices) > 0 {
			said += c.Choices[0].Delta.Content
		}
	}
	if stream.Err() == nil || said == "" {
		t.Errorf("cut: %q %v", said, stream.Err())
	}
	if _, err := client.Chat.Completions.New(t.Context(), p); err != nil {
		t.Errorf("after a cut: %v", err)
	}
	p.Model = "other"
	if _, err := client.Chat.Completions.New(t.Context(), p); !errors.As(err, &refused) || refused.StatusCode != 404 {
		t.Errorf("another model: %v", err)
	}
	p.Model = "scripted"
	if _, err := client.Chat.Completions.New(t.Context(), params("role: judge", "x")); !errors.As(err, &refused) {
		t.Errorf("no part: %v", err)
	}
}

func TestServerRefuses(t *testing.T) {
	base := serve(t, model(t, faulty("{kind: error}"), scripted.Options{}))
	for body, status := range map[string]int{
		`{`: 400, `[]`: 400, `{"model":"scripted","messages":[{"role":"king","content":"x"}]}`: 400,
		`{"model":"scripted","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`: 400,
		`{"model":"scripted","n":2,"messages":[]}`:                                           400,
		`{"model":"scripted","messages":[]}`:                                                 400,
	} {
		resp, err := http.Post(base+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var told struct {
			Error struct{ Message, Type string }
		}
		if err != nil || resp.StatusCode != status || json.Unmarshal(text, &told) != nil || told.Error.Message == "" {
			t.Errorf("%s: %d %s %v", body, resp.StatusCode, text, err)
		}
	}
	if resp, err := http.Get(base + "/embeddings"); err != nil || resp.StatusCode != 404 {
		t.Errorf("%v %v", resp, err)
	}
}

// A prompt in parts, a caller's fields and a developer's message are understood.
func TestServerReads(t *testing.T) {
	seen := make(chan *inference.Request, 1)
	m := model(t, work, scripted.Options{Saw: func(_ scripted.Asked, r *inference.Request) { seen <- r }})
	body := `{"model":"fake","agent":"noether","parent":"gauss","prompt_cache_key":"s","priority":"worker","next":"waiting",
		"messages":[{"role":"developer","content":"role: lead"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`
	resp, err := http.Post(serve(t, m)+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
	r := <-seen
	want := inference.Caller{Session: "s", Agent: "noether", Parent: "gauss", Priority: inference.PriorityWorker, Next: inference.PhaseWaiting}
	if r.Caller != want || r.Messages[0].Role != inference.RoleSystem || r.Messages[1].Content != "ab" {
		t.Errorf("%+v %+v", r.Caller, r.Messages)
	}
	if a := m.Accounts()["noether"]; a.Answers != 1 {
		t.Errorf("%+v", a)
	}
}

// Several agents share what is before their tasks, and a budget sets a bound to it.
func TestCacheOfAServer(t *testing.T) {
	text := "cache: {slots: 2, kv_bytes: 1}\n" + head + "      - text: x\n      - text: y\n"
	m := model(t, text, scripted.Options{})
	system := "role: lead\n" + strings.Repeat("shared ", 100)
	cached := func(agent, task string) int {
		g, err := generate(t.Context(), m, ask(agent, system, task))
		if err != nil {
			t.Fatal(err)
		}
		return g.usage.CachedTokens
	}
	if n := cached("a", strings.Repeat("a", 80)); n != 0 {
		t.Errorf("first: %d", n)
	}
	shared := cached("b", strings.Repeat("b", 80))
	if shared < 170 || shared > 200 {
		t.Errorf("the second shares %d tokens", shared)
	}
	if own := cached("a", strings.Repeat("a", 80)); own < shared+20 {
		t.Errorf("again: %d, shared %d", own, shared)
	}
	cached("c", "x") // b goes
	if n := cached("b", strings.Repeat("b", 80)); n != shared {
		t.Errorf("after it went: %d, want %d", n, shared)
	}
}
