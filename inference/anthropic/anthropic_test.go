package anthropic

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/front/strict"
)

type world struct{ *fronttest.World }

func newWorld(t testing.TB, generate fronttest.GenerateFunc, change ...func(*front.Options)) world {
	t.Helper()
	return world{fronttest.New(t, []front.Surface{Surface()}, generate, change...)}
}

func (w world) post(path, body string) (status int, answer string) {
	r := w.Do("POST", path, body, "Content-Type", "application/json", "anthropic-version", "2023-06-01")
	return r.Status, r.Body
}

// asked returns a model that keeps what it was asked.
func asked(req **inference.Request, events ...inference.Event) fronttest.GenerateFunc {
	play := fronttest.Script(nil, events...)
	return func(ctx context.Context, r *inference.Request) iter.Seq2[inference.Event, error] {
		*req = r
		return play(ctx, r)
	}
}

const rest = `"model":"small","max_tokens":9,"messages":[{"role":"user","content":"q"}]`

func TestRequestsReachTheModel(t *testing.T) {
	var got *inference.Request
	w := newWorld(t, asked(&got, fronttest.Started(), fronttest.Says("x"), fronttest.Done()))
	user := inference.Message{Role: "user", Content: "q"}
	off := inference.Reasoning{Effort: inference.EffortNone}
	schema := json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)
	for body, want := range map[string]inference.Request{
		rest:                   {Messages: []inference.Message{user}, Reasoning: off},
		rest + `,"system":"s"`: {Messages: []inference.Message{{Role: "system", Content: "s"}, user}, Reasoning: off},
		rest + `,"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"b"}]`: {
			Messages: []inference.Message{{Role: "system", Content: "a\nb"}, user}, Reasoning: off, Caller: inference.Caller{PinPrefix: true}},
		rest + `,"thinking":{"type":"enabled","budget_tokens":2000}`:              {Messages: []inference.Message{user}, Reasoning: inference.Reasoning{Budget: 2000}},
		rest + `,"thinking":{"type":"adaptive"},"output_config":{"effort":"max"}`: {Messages: []inference.Message{user}, Reasoning: inference.Reasoning{Effort: inference.EffortMax}},
		rest + `,"thinking":{"type":"disabled"}`:                                  {Messages: []inference.Message{user}, Reasoning: off},
		rest + `,"tools":[{"name":"look","description":"d","input_schema":{"type":"object","properties":{"b":{},"a":{}}},"strict":true,"type":"custom"}],"tool_choice":{"type":"tool","name":"look","disable_parallel_tool_use":true}`: {
			Messages: []inference.Message{user}, Reasoning: off, Tools: []inference.Tool{{Name: "look", Description: "d", Parameters: schema, Strict: true}},
			ToolChoice: inference.ToolChoice{Mode: inference.ToolRequired, Name: "look", Single: true}},
		rest + `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`: {
			Messages: []inference.Message{user}, Reasoning: off, Format: &inference.Format{Schema: json.RawMessage(`{"type":"object"}`)}},
		`"model":"small","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"xyz"},{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"look","input":{"a": 1}},{"type":"tool_use","id":"t2","name":"stop","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no"},{"type":"text","text":"Go on."}]},
			{"role":"assistant","content":"So"}]`: {Reasoning: off, Continue: true, Messages: []inference.Message{
			{Role: "user", Content: "a\nb"},
			{Role: "assistant", Reasoning: "hm", Content: "I look.", ToolCalls: []inference.ToolCall{{ID: "t1", Name: "look", Arguments: `{"a":1}`}, {ID: "t2", Name: "stop", Arguments: "{}"}}},
			{Role: "tool", Name: "look", ToolCallID: "t1", Content: "one"}, {Role: "tool", Name: "stop", ToolCallID: "t2", Content: "Error: no"},
			{Role: "user", Content: "Go on."}, {Role: "assistant", Content: "So"}}},
	} {
		if status, answer := w.post("/v1/messages", "{"+body+"}"); status != 200 {
			t.Errorf("%s: %d %s", body, status, answer)
			continue
		}
		if got.Params.MaxTokens != 9 {
			t.Errorf("%s: %+v", body, got.Params)
		}
		want.Params, want.ID = got.Params, got.ID
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s:\n\tgot  %+v\n\twant %+v", body, *got, want)
		}
	}
	if status, answer := w.post("/v1/messages", `{`+rest+`,"stop_sequences":["a","b"],"temperature":0.5,"top_p":0.9,"top_k":7,"metadata":{"user_id":"u"},"service_tier":"auto","context_management":{"edits":[]}}`); status != 200 {
		t.Fatal(answer)
	}
	if p := got.Params; p.Temperature != 0.5 || p.TopP != 0.9 || p.TopK != 7 || !reflect.DeepEqual(p.Stop, []string{"a", "b"}) {
		t.Errorf("%+v", p)
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, fronttest.Script(nil, fronttest.Started(), fronttest.Says("x"), fronttest.Done()))
	message := func(s string) string { return `"model":"small","max_tokens":9,"messages":[` + s + `]` }
	for body, want := range map[string]string{
		`"max_tokens":9,"messages":[{"role":"user","content":"q"}]`:  "model: is required",
		`"model":"small","messages":[{"role":"user","content":"q"}]`: "max_tokens: is required",
		`"model":"small","max_tokens":9`:                             "messages: is required",
		message(``):                                                  "at least one",
		message(`{"role":"user"}`):                                   "messages[0].content",
		message(`{"role":"boss","content":"q"}`):                     "messages[0].role",
		message(`{"role":"user","content":[]}`):                      "at least one block",
		message(`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"u"}}]}`):                    "messages[0].content[0]: images are not supported",
		message(`{"role":"user","content":[{"source":{},"type":"document"}]}`):                                       "documents are not supported",
		message(`{"role":"user","content":[{"type":"hologram"}]}`):                                                   "hologram",
		message(`{"role":"user","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}`):                    "no blocks of the type tool_use",
		message(`{"role":"user","content":[{"type":"tool_result","content":"x"}]}`):                                  "tool_use_id: is required",
		message(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]}]}`): "images are not supported",
		message(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":"{}"}]}`):             "input: expected an object",
		rest + `,"tools":[{"type":"web_search_20250305","name":"web_search"}]`:                                       "tools[0].type",
		rest + `,"tools":[{"name":"a"},{"name":"a"}]`:                                                                "earlier tool",
		rest + `,"tool_choice":{"type":"any"}`:                                                                       "there are no tools",
		rest + `,"tools":[{"name":"a"}],"tool_choice":{"type":"tool","name":"b"}`:                                    "not among tools",
		rest + `,"thinking":{"type":"enabled"}`:                                                                      "budget_tokens: is required",
		rest + `,"temperature":1.5`:                                                                                  "temperature",
		rest + `,"mcp_servers":[{}]`:                                                                                 "mcp_servers",
		rest + `,"thread":{"type":"create"}`:                                                                         "thread: ",
		rest + `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`:                               "context_management.edits",
		rest + `,"output_config":{"format":{"type":"yaml"}}`:                                                         "output_config.format.type",
	} {
		status, answer := w.post("/v1/messages", "{"+body+"}")
		var e errorBody
		if err := json.Unmarshal([]byte(answer), &e); err != nil || status != 400 || e.Type != "error" || e.Error.Type != "invalid_request_error" ||
			!strings.Contains(e.Error.Message, want) || e.RequestID == "" {
			t.Errorf("%s: %d %s, %v", body, status, answer, err)
		}
	}
	if status, answer := w.post("/v1/messages", `{"model":"other","max_tokens":9,"messages":[{"role":"user","content":"q"}]}`); status != 404 || !strings.Contains(answer, "not_found_error") {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer := w.post("/v1/messages/nothing", `{}`); status != 404 || !strings.Contains(answer, `"type":"error"`) {
		t.Errorf("%d %s", status, answer)
	}
}

func call(index int, id, name, arguments string) inference.Event {
	return inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: index, ID: id, Name: name, Arguments: arguments}}
}

func thinks(s string) inference.Event {
	return inference.Event{Kind: inference.EventReasoning, Text: s}
}

var volatile = regexp.MustCompile(`"id":"msg_[^"]*"`)

func TestAnswers(t *testing.T) {
	done := fronttest.Done()
	done.Finish, done.Warnings = inference.FinishToolCalls, []inference.Warning{{Code: inference.CodeToolParse, Message: "half a call"}}
	w := newWorld(t, fronttest.Script(nil, fronttest.Started(), thinks("h"), thinks("m"), fronttest.Says("S\"o"), fronttest.Says("."),
		call(0, "c1", "look", ""), call(0, "", "", `{"a":`), call(0, "", "", `1}`), call(1, "c2", "stop", "{}"), done))
	status, answer := w.post("/v1/messages", "{"+rest+"}")
	if got, want := volatile.ReplaceAllString(strings.TrimSpace(answer), `"id":0`), `{"id":0,"type":"message","role":"assistant","model":"small","content":[{"type":"thinking","thinking":"hm","signature":"unsigned"},`+
		`{"type":"text","text":"S\"o."},{"type":"tool_use","id":"c1","name":"look","input":{"a":1}},{"type":"tool_use","id":"c2","name":"stop","input":{}}],`+
		`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"output_tokens":3},"warnings":["tool_parse_error: half a call"]}`; status != 200 || got != want {
		t.Errorf("%d\ngot  %s\nwant %s", status, got, want)
	}
	_, answer = w.post("/v1/messages", "{"+rest+`,"stream":true}`)
	want := `event: message_start
data: {"type":"message_start","message":{"id":0,"type":"message","role":"assistant","model":"small","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"signature":"unsigned","type":"signature_delta"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"S\"o"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1","name":"look","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c2","name":"stop","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"output_tokens":3},"warnings":["tool_parse_error: half a call"]}

event: message_stop
data: {"type":"message_stop"}

`
	if got := volatile.ReplaceAllString(answer, `"id":0`); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhyAnswersEnd(t *testing.T) {
	for want, end := range map[string]inference.Event{
		`"stop_reason":"end_turn","stop_sequence":null`:      {Finish: inference.FinishStop},
		`"stop_reason":"stop_sequence","stop_sequence":"so"`: {Finish: inference.FinishStop, Stop: "so"},
		`"stop_reason":"max_tokens","stop_sequence":null`:    {Finish: inference.FinishLength},
		`"stop_reason":"repetition","stop_sequence":null`:    {Finish: inference.FinishRepetition},
	} {
		end.Kind, end.Usage = inference.EventDone, &inference.Usage{}
		w := newWorld(t, fronttest.Script(nil, fronttest.Started(), fronttest.Says("x"), end))
		for _, body := range []string{"{" + rest + "}", "{" + rest + `,"stream":true}`} {
			if _, answer := w.post("/v1/messages", body); !strings.Contains(answer, want) {
				t.Errorf("%s lacks %s", answer, want)
			}
		}
	}
	lost := &inference.Error{Code: inference.CodeRunnerLost, Message: "the model's process died"}
	w := newWorld(t, fronttest.Script(lost, fronttest.Started(), fronttest.Says("x")))
	if _, answer := w.post("/v1/messages", "{"+rest+`,"stream":true}`); !strings.Contains(answer, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"") || strings.Contains(answer, "message_stop") {
		t.Errorf("%s", answer)
	}
	// Arguments that a limit cut off are no JSON.
	cut := newWorld(t, fronttest.Script(nil, fronttest.Started(), call(0, "c", "look", `{"a":`), inference.Event{Kind: inference.EventDone, Finish: inference.FinishLength, Usage: &inference.Usage{}}))
	if status, answer := cut.post("/v1/messages", "{"+rest+"}"); status != 200 || !strings.Contains(answer, `"content":[],"stop_reason":"max_tokens"`) || !json.Valid([]byte(answer)) {
		t.Errorf("%d %s", status, answer)
	}
}

func TestCountIsNotBilled(t *testing.T) {
	keys := fronttest.Keys{"k": {}}
	w := newWorld(t, fronttest.Script(nil), func(o *front.Options) { o.Keys = keys })
	r := w.Do("POST", "/v1/messages/count_tokens", `{"model":"small","messages":[{"role":"user","content":"q"}]}`,
		"Content-Type", "application/json", "anthropic-version", "2023-06-01", "X-Api-Key", "k")
	if s := keys["k"].Settled(); r.Status != 200 || len(s) != 1 || s[0].PromptTokens != 0 {
		t.Errorf("%d %s, settled %+v", r.Status, r.Body, s)
	}
}

func TestCountsAndModels(t *testing.T) {
	w := newWorld(t, fronttest.Script(nil))
	if status, answer := w.post("/v1/messages/count_tokens", `{"model":"small","messages":[{"role":"user","content":"q"}]}`); status != 200 || !strings.Contains(answer, `{"input_tokens":`) {
		t.Errorf("%d %s", status, answer)
	}
	for path, want := range map[string]string{
		"/v1/models":                    `"has_more":false,"first_id":"small","last_id":"org/large"`,
		"/v1/models?limit=1":            `"has_more":true,"first_id":"small","last_id":"small"`,
		"/v1/models?after_id=small":     `"has_more":false,"first_id":"org/large","last_id":"org/large"`,
		"/v1/models?before_id=small":    `{"data":[],"has_more":false,"first_id":null,"last_id":null}`,
		"/v1/models?after_id=org/large": `{"data":[],"has_more":false,"first_id":null,"last_id":null}`,
		"/v1/models/small":              `{"type":"model","id":"small","display_name":"small","created_at":"2023-11-14T22:13:20Z","max_input_tokens":2048}`,
		"/v1/models/org/large":          `"created_at":"1970-01-01T00:00:00Z","max_input_tokens":null}`,
	} {
		if r := w.Do("GET", path, "", "anthropic-version", "2023-06-01"); r.Status != 200 || !strings.Contains(r.Body, want) {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	for _, query := range []string{"limit=0", "limit=x", "limit=1001", "after_id=none", "before_id=none", "after_id=small&before_id=small"} {
		if r := w.Do("GET", "/v1/models?"+query, "", "anthropic-version", "2023-06-01"); r.Status != 400 || !strings.Contains(r.Body, `"type":"invalid_request_error"`) {
			t.Errorf("%s: %d %s", query, r.Status, r.Body)
		}
	}
}

// Clients go on with whole conversations where a thread is refused in these words.
func TestThreadsAreRefused(t *testing.T) {
	w := newWorld(t, fronttest.Script(nil))
	const want = `"param":"thread","code":"unsupported_parameter","details":{"error_code":"thread_unsupported_request","unsupported":["thread"]}`
	if status, answer := w.post("/v1/messages", "{"+rest+`,"thread":{"type":"create"}}`); status != 400 || !strings.Contains(answer, want) {
		t.Errorf("%d %s", status, answer)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(`{` + rest + `}`)
	f.Add(`{"model":"m","max_tokens":1,"system":[{"type":"text","text":"a"}],"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"c":[1,{}]}},{"type":"thinking","thinking":"x"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"t"}]}]}],"tools":[{"name":"b","input_schema":{}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		var req request
		if _, err := strict.Decode([]byte(body), known, &req, checkMessages); err != nil {
			return
		}
		ask := req.ask(inference.DefaultParams())
		if _, err := json.Marshal(ask); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		for _, m := range ask.Messages {
			for _, c := range m.ToolCalls {
				if !json.Valid([]byte(c.Arguments)) {
					t.Errorf("arguments %q", c.Arguments)
				}
			}
		}
	})
}
