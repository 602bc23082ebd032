package ollama

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/front/strict"
)

// library is a catalogue of one model.
type library struct {
	pulled, removed []string
	err             error
}

func (l *library) Describe(name string) (Details, error) {
	if name == "llama" {
		return Details{}, inference.Errorf(inference.CodeModelNotFound, "it is not in the catalogue")
	}
	if name != "small" {
		return Details{Here: name == "big"}, nil
	}
	return Details{Here: true, Bytes: 99, Digest: "ab", Architecture: "llama", Parameters: "135.0M", Quantization: "Q4_1", Context: 2048, Embedding: 576, Tools: true}, nil
}

func (l *library) Loaded() []Loaded {
	return []Loaded{{Name: "small", Bytes: 120, Device: 100, Context: 512}}
}

func (l *library) Pull(_ context.Context, name string, tell func(Progress)) error {
	tell(Progress{Status: "download", Digest: "sha256:ab", Total: 10, Done: 5})
	l.pulled = append(l.pulled, name)
	return l.err
}

func (l *library) Copy(from, to string) error {
	l.removed = append(l.removed, from+" as "+to)
	return l.err
}

func (l *library) Remove(_ context.Context, name string) error {
	l.removed = append(l.removed, name)
	return l.err
}

type world struct {
	*fronttest.World
	library *library
}

func newWorld(t testing.TB, generate fronttest.GenerateFunc) world {
	t.Helper()
	l := &library{}
	return world{fronttest.New(t, []front.Surface{Surface(Options{Catalogue: l, Version: "1.2.3"})}, generate), l}
}

func (w world) do(method, path, body string) (status int, answer string) {
	// What curl sends where nobody says otherwise, as Ollama's documentation does.
	r := w.Do(method, path, body, "Content-Type", "application/x-www-form-urlencoded")
	return r.Status, r.Body
}

func asked(req **inference.Request, events ...inference.Event) fronttest.GenerateFunc {
	play := fronttest.Script(nil, events...)
	return func(ctx context.Context, r *inference.Request) iter.Seq2[inference.Event, error] {
		*req = r
		return play(ctx, r)
	}
}

const question = `"model":"small:latest","messages":[{"role":"user","content":"q"}]`

func TestRequestsReachTheModel(t *testing.T) {
	var got *inference.Request
	w := newWorld(t, asked(&got, fronttest.Started(), fronttest.Says("x"), fronttest.Done()))
	user := []inference.Message{{Role: "user", Content: "q"}}
	for body, want := range map[string]inference.Request{
		question:                                 {Messages: user},
		question + `,"think":false`:              {Messages: user, Reasoning: inference.Reasoning{Effort: inference.EffortNone}},
		question + `,"think":"low"`:              {Messages: user, Reasoning: inference.Reasoning{Effort: inference.EffortLow}},
		question + `,"format":"json"`:            {Messages: user, Format: &inference.Format{}},
		question + `,"format":{"type":"object"}`: {Messages: user, Format: &inference.Format{Schema: json.RawMessage(`{"type":"object"}`)}},
		question + `,"keep_alive":"5m"`:          {Messages: user, Caller: inference.Caller{KeepAlive: 5 * time.Minute}},
		question + `,"tools":[{"type":"function","function":{"name":"look","description":"d","parameters":{"type":"object","properties":{}}}}]`: {
			Messages: user, Tools: []inference.Tool{{Name: "look", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}},
		`"model":"small","messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},
			{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"look","arguments":{"a": 1}}},{"function":{"name":"stop","arguments":{}}}]},
			{"role":"tool","tool_name":"stop","content":"2"},{"role":"tool","content":"1"}]`: {Messages: []inference.Message{
			{Role: "system", Content: "s"}, {Role: "user", Content: "q"},
			{Role: "assistant", Reasoning: "hm", ToolCalls: []inference.ToolCall{{ID: "call_2_0", Name: "look", Arguments: `{"a":1}`}, {ID: "call_2_1", Name: "stop", Arguments: "{}"}}},
			{Role: "tool", Name: "stop", ToolCallID: "call_2_1", Content: "2"}, {Role: "tool", Name: "look", ToolCallID: "call_2_0", Content: "1"}}},
	} {
		if status, answer := w.do("POST", "/api/chat", "{"+body+"}"); status != 200 {
			t.Errorf("%s: %d %s", body, status, answer)
			continue
		}
		want.Params, want.ID = got.Params, got.ID
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s:\n\tgot  %+v\n\twant %+v", body, *got, want)
		}
	}
	for body, want := range map[string]inference.Request{
		`"model":"small","prompt":"p","system":"s"`: {Messages: []inference.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "p"}}},
		`"model":"small","prompt":"p","raw":true`:   {Prompt: &inference.Prompt{Text: "p"}},
	} {
		if status, answer := w.do("POST", "/api/generate", "{"+body+"}"); status != 200 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
		want.Params, want.ID = got.Params, got.ID
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s:\n\tgot  %+v\n\twant %+v", body, *got, want)
		}
	}
	r := w.Do("POST", "/api/chat", `{`+question+`,"stream":false,"truncate":true,"options":{"temperature":0.5,"top_k":7,"seed":3,"num_predict":9,"stop":["a"],"num_gpu":1,"num_thread":2,"mood":1,"num_ctx":64}}`, "Content-Type", "application/json")
	if p := got.Params; r.Status != 200 || p.Temperature != 0.5 || p.TopK != 7 || p.Seed != 3 || p.MaxTokens != 9 || !reflect.DeepEqual(p.Stop, []string{"a"}) {
		t.Errorf("%s %+v", r.Body, p)
	}
	for _, want := range []string{"nothing is cut", "options.mood: unknown field", loadedByPlan} {
		if !strings.Contains(r.Body, want) || !strings.Contains(r.Header.Get("X-Dure-Warnings"), want) {
			t.Errorf("%q is not in %s, header %s", want, r.Body, r.Header.Get("X-Dure-Warnings"))
		}
	}
}

func call(index int, id, name, arguments string) inference.Event {
	return inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: index, ID: id, Name: name, Arguments: arguments}}
}

var volatile = regexp.MustCompile(`"created_at":"[^"]*"|"total_duration":\d+`)

func steady(s string) string {
	return volatile.ReplaceAllStringFunc(s, func(m string) string {
		name, _, _ := strings.Cut(m, ":")
		return name + ":0"
	})
}

func TestAnswers(t *testing.T) {
	w := newWorld(t, fronttest.Script(nil, fronttest.Started(), inference.Event{Kind: inference.EventReasoning, Text: "hm"}, fronttest.Says("S\"o"), fronttest.Says("."),
		call(0, "c1", "look", ""), call(0, "", "", `{"a":`), call(0, "", "", `1}`), call(1, "c2", "stop", "{}"), fronttest.Done()))
	const last = `"done":true,"done_reason":"stop","total_duration":0,"load_duration":0,"prompt_eval_count":7,"prompt_eval_duration":2500000,"eval_count":3,"eval_duration":3500000}`
	_, answer := w.do("POST", "/api/chat", "{"+question+`,"stream":false}`)
	if got, want := steady(strings.TrimSpace(answer)), `{"model":"small:latest","created_at":0,"message":{"role":"assistant","content":"S\"o.","thinking":"hm","tool_calls":[`+
		`{"id":"c1","function":{"index":0,"name":"look","arguments":{"a":1}}},{"id":"c2","function":{"index":1,"name":"stop","arguments":{}}}]},`+last; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, answer = w.do("POST", "/api/chat", "{"+question+"}")
	want := `{"model":"small:latest","created_at":0,"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}
{"model":"small:latest","created_at":0,"message":{"role":"assistant","content":"S\"o"},"done":false}
{"model":"small:latest","created_at":0,"message":{"role":"assistant","content":"."},"done":false}
{"model":"small:latest","created_at":0,"message":{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"look","arguments":{"a":1}}},{"id":"c2","function":{"index":1,"name":"stop","arguments":{}}}]},"done":false}
{"model":"small:latest","created_at":0,"message":{"role":"assistant","content":""},` + last + "\n"
	if got := steady(answer); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	plain := newWorld(t, fronttest.Script(nil, fronttest.Started(), fronttest.Says("x"), fronttest.Done()))
	_, answer = plain.do("POST", "/api/generate", `{"model":"small","prompt":"p","stream":false}`)
	if got, want := steady(strings.TrimSpace(answer)), `{"model":"small","created_at":0,"response":"x",`+last; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	lost := newWorld(t, fronttest.Script(&inference.Error{Code: inference.CodeRunnerLost, Message: "died"}, fronttest.Started(), fronttest.Says("x")))
	if _, answer := lost.do("POST", "/api/chat", "{"+question+"}"); !strings.HasSuffix(strings.TrimSpace(answer), `{"code":"runner_lost","error":"died"}`) {
		t.Errorf("%s", answer)
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, fronttest.Script(nil, fronttest.Started(), fronttest.Says("x"), fronttest.Done()))
	for body, want := range map[string]string{
		`"messages":[{"role":"user","content":"q"}]`:                                                                 "model: is required",
		`"model":"small","messages":[{"content":"q"}]`:                                                               "messages[0].role",
		`"model":"small","messages":[{"role":"user","content":"q","images":["aa"]}]`:                                 "images are not supported",
		`"model":"small","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":"b"}}]}]`: "arguments: expected an object",
		question + `,"format":"yaml"`:                                                                                "format",
		question + `,"options":{"num_ctx":999999}`:                                                                   "num_ctx",
		question + `,"options":{"temperature":"hot"}`:                                                                "options.temperature",
		question + `,"think":"hard"`:                                                                                 "think",
	} {
		status, answer := w.do("POST", "/api/chat", "{"+body+"}")
		var e struct{ Error string }
		if err := json.Unmarshal([]byte(answer), &e); err != nil || status != 400 || !strings.Contains(e.Error, want) {
			t.Errorf("%s: %d %s, %v", body, status, answer, err)
		}
	}
	if status, answer := w.do("POST", "/api/chat", `{"model":"other","messages":[{"role":"user","content":"q"}]}`); status != 404 || !strings.Contains(answer, "model 'other' not found") {
		t.Errorf("%d %s", status, answer)
	}
	for _, path := range []string{"/api/create", "/api/push"} {
		if status, answer := w.do("POST", path, `{}`); status != 501 || !strings.Contains(answer, `"error":"this server does not`) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	for body, want := range map[string]string{`{}`: "source", `{"source":"small"}`: "destination", `{"source":1}`: "source"} {
		if status, answer := w.do("POST", "/api/copy", body); status != 400 || !strings.Contains(answer, want) {
			t.Errorf("copy %s: %d %s", body, status, answer)
		}
	}
	if status, answer := w.do("POST", "/api/copy", `{"source":"small:latest","destination":"mine:latest"}`); status != 200 || len(w.library.removed) != 1 || w.library.removed[0] != "small as mine" {
		t.Errorf("copy: %d %s %v", status, answer, w.library.removed)
	}
	if status, answer := w.do("POST", "/api/embed", `{"model":"small","input":"a"}`); status != 400 || !strings.Contains(answer, "makes no vectors") {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := w.do("GET", "/api/nothing", ""); status != 404 || !strings.Contains(answer, `"error":`) {
		t.Errorf("%d %s", status, answer)
	}
}

func TestCatalogue(t *testing.T) {
	w := newWorld(t, fronttest.Script(nil))
	for path, want := range map[string]string{
		"/api/version": `{"version":"1.2.3"}`, "/": "Ollama is running",
		"/api/tags": `{"name":"small:latest","model":"small:latest","modified_at":"0001-01-01T00:00:00Z","size":99,"digest":"ab","details":{"parent_model":"","format":"gguf","family":"llama","families":["llama"],"parameter_size":"135.0M","quantization_level":"Q4_1"}}`,
		"/api/ps":   `"expires_at":"2300-01-01T00:00:00Z","size_vram":100,"context_length":512`,
	} {
		if status, answer := w.do("GET", path, ""); status != 200 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	if status, answer := w.do("POST", "/api/show", `{"model":"small"}`); status != 200 || !strings.Contains(answer, `"capabilities":["completion","tools"]`) || !strings.Contains(answer, `"llama.context_length":2048`) {
		t.Errorf("%d %s", status, answer)
	}
	if _, answer := w.do("POST", "/api/pull", `{"model":"small:latest"}`); answer != `{"status":"pulling manifest"}
{"status":"download","digest":"sha256:ab","total":10,"completed":5}
{"status":"success"}
` {
		t.Errorf("%s", answer)
	}
	if status, _ := w.do("DELETE", "/api/delete", `{"name":"small"}`); status != 200 || !reflect.DeepEqual(w.library.removed, []string{"small"}) || !reflect.DeepEqual(w.library.pulled, []string{"small"}) {
		t.Errorf("%d %+v", status, w.library)
	}
	w.library.err = inference.Errorf(inference.CodeModelNotFound, "it is not in the catalogue")
	if status, answer := w.do("POST", "/api/pull", `{"model":"other","stream":false}`); status != 404 || !strings.Contains(answer, "model 'other' not found") {
		t.Errorf("%d %s", status, answer)
	}
	if _, answer := w.do("POST", "/api/pull", `{"model":"other"}`); !strings.Contains(answer, `"error":"model 'other' not found`) {
		t.Errorf("%s", answer)
	}
}

func FuzzChat(f *testing.F) {
	f.Add(`{` + question + `,"options":{"seed":1,"stop":"a"},"tools":[{"type":"function","function":{"name":"b"}}]}`)
	f.Add(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":{"b":[1]}}}]},{"role":"tool","content":"x"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		req := newRequest()
		if _, err := strict.Decode([]byte(body), chatFields, req, checkChat); err != nil {
			return
		}
		for _, m := range req.messages {
			for _, c := range m.ToolCalls {
				if !json.Valid([]byte(c.Arguments)) {
					t.Errorf("arguments %q", c.Arguments)
				}
			}
		}
	})
}
