package remote

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dure/inference"
)

// sentBody is what a request becomes.
func sentBody(t *testing.T, at Endpoint, req *inference.Request) map[string]json.RawMessage {
	t.Helper()
	m := Anthropic(at, http.DefaultClient)
	path, body, err := m.wire.encode(&m.at, req)
	if err != nil || path != "/messages" {
		t.Fatal(path, err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, got map[string]json.RawMessage, want map[string]string) {
	t.Helper()
	for name, value := range got {
		if string(value) != want[name] {
			t.Errorf("%s: %s\nwant %s", name, value, want[name])
		}
	}
	for name := range want {
		if got[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestMessagesBody(t *testing.T) {
	req := &inference.Request{
		Messages: []inference.Message{
			{Role: "system", Content: "You plan <it>."},
			{Role: "user", Content: "Do it."},
			{Role: "assistant", Reasoning: "hm", Content: "\n", ToolCalls: []inference.ToolCall{{ID: "t1.1", Name: "look", Arguments: `{"a":"<b>"}`}, {ID: "t1.2", Name: "look", Arguments: `{"a":`}}},
			{Role: "tool", ToolCallID: "t1.1", Name: "look", Content: "a file"},
			{Role: "tool", ToolCallID: "t1.2", Name: "look"},
			{Role: "user", Content: "Go on."},
			{Role: "assistant", Content: "", Reasoning: "nothing"},
			{Role: "user", Content: "Please."},
		},
		Params:     inference.Params{Temperature: 1, TopP: 0.5, TopK: 3, MaxTokens: 100, Stop: []string{"END"}},
		Tools:      []inference.Tool{{Name: "look", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`), Strict: true}, {Name: "stop"}},
		ToolChoice: inference.ToolChoice{Mode: inference.ToolRequired, Single: true},
		Format:     &inference.Format{Schema: json.RawMessage(`{"type":"object"}`)},
		Reasoning:  inference.Reasoning{Effort: inference.EffortHigh},
		Caller:     inference.Caller{Session: "noether", Agent: "noether", Next: inference.PhaseWaiting},
	}
	want := map[string]string{
		"model": `"m"`, "max_tokens": `100`, "stream": `true`, "top_p": `0.5`, "top_k": `3`, "stop_sequences": `["END"]`,
		"thinking":      `{"type":"adaptive","display":"summarized"}`,
		"output_config": `{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}}}`,
		"tool_choice":   `{"type":"any","disable_parallel_tool_use":true}`,
		"tools":         `[{"name":"look","description":"d","input_schema":{"type":"object"},"strict":true},{"name":"stop","input_schema":{"type":"object","properties":{}}}]`,
		"system":        `[{"type":"text","text":"You plan <it>.","cache_control":{"type":"ephemeral"}}]`,
		"messages": `[{"role":"user","content":[{"type":"text","text":"Do it.","cache_control":{"type":"ephemeral"}}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"t1_2e1","name":"look","input":{"a":"<b>"}},{"type":"tool_use","id":"t1_2e2","name":"look","input":{"unreadable_arguments":"{\"a\":"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1_2e1","content":"a file"},{"type":"tool_result","tool_use_id":"t1_2e2"},{"type":"text","text":"Go on."},` +
			`{"type":"text","text":"Please.","cache_control":{"type":"ephemeral"}}]}]`,
	}
	at := Endpoint{Model: "m"}
	same(t, sentBody(t, at, req), want)

	// What nobody comes back to is not kept, and without a session nothing is.
	req.Caller.Next = inference.PhaseEnded
	want["messages"] = strings.ReplaceAll(want["messages"], `,"cache_control":{"type":"ephemeral"}`, "")
	same(t, sentBody(t, at, req), want)
	req.Caller = inference.Caller{}
	want["system"] = `[{"type":"text","text":"You plan <it>."}]`
	same(t, sentBody(t, at, req), want)
}

func TestMessagesDefaults(t *testing.T) {
	hi := []inference.Message{{Role: "user", Content: "hi"}}
	base := map[string]string{"model": `"m"`, "max_tokens": `77`, "stream": `true`, "messages": `[{"role":"user","content":[{"type":"text","text":"hi"}]}]`}
	for _, tc := range []struct {
		name string
		at   Endpoint
		req  inference.Request
		more map[string]string
	}{
		{"plain", Endpoint{}, inference.Request{Params: inference.DefaultParams()}, nil},
		{"greedy", Endpoint{}, inference.Request{}, map[string]string{"temperature": "0"}},
		{"the endpoint thinks", Endpoint{Reasoning: inference.Reasoning{Budget: 2000}}, inference.Request{Params: inference.DefaultParams()}, map[string]string{"thinking": `{"type":"enabled","budget_tokens":2000}`}},
		{"the request does not", Endpoint{Reasoning: inference.Reasoning{Budget: 2000}}, inference.Request{Params: inference.DefaultParams(), Reasoning: inference.Reasoning{Effort: inference.EffortNone}}, nil},
		{"tools are pinned", Endpoint{}, inference.Request{Params: inference.DefaultParams(), Tools: []inference.Tool{{Name: "a"}}, Caller: inference.Caller{PinPrefix: true, Next: inference.PhaseEnded}}, map[string]string{"tools": `[{"name":"a","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}]`}},
		{"no tool", Endpoint{}, inference.Request{Params: inference.DefaultParams(), ToolChoice: inference.ToolChoice{Mode: inference.ToolNone, Single: true}}, map[string]string{"tool_choice": `{"type":"none"}`}},
		{"one tool", Endpoint{}, inference.Request{Params: inference.DefaultParams(), ToolChoice: inference.ToolChoice{Mode: inference.ToolRequired, Name: "a"}}, map[string]string{"tool_choice": `{"type":"tool","name":"a"}`}},
		{"one at a time", Endpoint{}, inference.Request{Params: inference.DefaultParams(), ToolChoice: inference.ToolChoice{Single: true}}, map[string]string{"tool_choice": `{"type":"auto","disable_parallel_tool_use":true}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := map[string]string{}
			for _, m := range []map[string]string{base, tc.more} {
				for k, v := range m {
					want[k] = v
				}
			}
			tc.at.Model, tc.at.MaxTokens, tc.req.Messages = "m", 77, hi
			same(t, sentBody(t, tc.at, &tc.req), want)
		})
	}
}

// What the API has no words for is refused by name, of both formats.
func TestNothingIsIgnored(t *testing.T) {
	hi := []inference.Message{{Role: "user", Content: "hi"}}
	p := inference.DefaultParams()
	with := func(change func(*inference.Params)) inference.Request {
		own := p
		change(&own)
		return inference.Request{Params: own, Messages: hi}
	}
	for _, tc := range []struct {
		param             string
		openai, anthropic bool
		req               inference.Request
	}{
		{"prompt", false, true, inference.Request{Params: p, Prompt: &inference.Prompt{Text: "x"}}},
		{"top_k", true, false, with(func(p *inference.Params) { p.TopK = 5 })},
		{"min_p", true, true, with(func(p *inference.Params) { p.MinP = 0.1 })},
		{"typical_p", true, true, with(func(p *inference.Params) { p.TypicalP = 0.1 })},
		{"seed", false, true, with(func(p *inference.Params) { p.Seed = 5 })},
		{"logit_bias", false, true, with(func(p *inference.Params) { p.LogitBias = []inference.TokenBias{{}} })},
		{"repeat_penalty", true, true, with(func(p *inference.Params) { p.Penalties.Repeat = 1.1 })},
		{"frequency_penalty", false, true, with(func(p *inference.Params) { p.Penalties.Frequency = 1.1 })},
		{"dry_multiplier", true, true, with(func(p *inference.Params) { p.DRY.Multiplier = 1 })},
		{"xtc_probability", true, true, with(func(p *inference.Params) { p.XTC.Probability = 1 })},
		{"mirostat", true, true, with(func(p *inference.Params) { p.Mirostat.Version = 1 })},
		{"ignore_eos", true, true, with(func(p *inference.Params) { p.IgnoreEOS = true })},
		{"logprobs", false, true, with(func(p *inference.Params) { p.Logprobs = true })},
		{"grammar", true, true, inference.Request{Params: p, Messages: hi, Format: &inference.Format{Grammar: "x"}}},
		{"response_format", false, true, inference.Request{Params: p, Messages: hi, Format: &inference.Format{}}},
		{"reasoning_budget", true, false, inference.Request{Params: p, Messages: hi, Reasoning: inference.Reasoning{Budget: 9}}},
		{"continue_final_message", true, false, inference.Request{Params: p, Messages: hi, Continue: true}},
		{"max_tokens", false, true, with(func(p *inference.Params) { p.MaxTokens = 0 })},
		{"temperature", false, true, inference.Request{Params: inference.Params{Temperature: 0.5}, Messages: hi, Reasoning: inference.Reasoning{Effort: inference.EffortLow}}},
		{"messages[1].role", false, true, inference.Request{Params: p, Messages: []inference.Message{hi[0], {Role: "system", Content: "x"}}}},
		{"messages[0].tool_call_id", false, true, inference.Request{Params: p, Messages: []inference.Message{{Role: "tool"}}}},
		{"messages[0].tool_calls[0].id", false, true, inference.Request{Params: p, Messages: []inference.Message{{Role: "assistant", ToolCalls: []inference.ToolCall{{}}}}}},
		{"messages", false, true, inference.Request{Params: p, Messages: []inference.Message{{Role: "user", Content: " "}}}},
	} {
		for name, refuses := range map[string]bool{"openai": tc.openai, "anthropic": tc.anthropic} {
			w := map[string]wire{"openai": openAI{}, "anthropic": &anthropic{memory: newMemory(9)}}[name]
			at := &Endpoint{Model: "m", MaxTokens: 9}
			if tc.param == "max_tokens" {
				at.MaxTokens = 0
			}
			_, _, err := w.encode(at, &tc.req)
			var e *inference.Error
			if refuses != (errors.As(err, &e) && e.Param == tc.param) {
				t.Errorf("%s of %s: %v", tc.param, name, err)
			}
		}
	}
}

// OpenAI's own API gets its own names, and nothing about who asks.
func TestOpenAIElsewhere(t *testing.T) {
	req := &inference.Request{
		Params: inference.DefaultParams(), Caller: inference.Caller{Session: "s", Agent: "a", Priority: inference.PriorityWorker},
		Messages: []inference.Message{{Role: "assistant", Content: "<x>", Reasoning: "secret thoughts"}},
	}
	_, body, err := openAI{}.encode(&Endpoint{Model: "m", MaxTokens: 9, Reasoning: inference.Reasoning{Effort: inference.EffortLow}}, req)
	want := `{"model":"m","messages":[{"role":"assistant","content":"<x>"}],"stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"reasoning_effort":"low"}`
	if err != nil || string(body) != want {
		t.Errorf("%s, %v\nwant %s", body, err, want)
	}
}

// thoughtful is an answer with all that there is.
const thoughtful = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"aGlkZGVu"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Looking é."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\": "}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"stop","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: content_block_start
data: {"type":"content_block_start","index":5,"content_block":{"type":"server_thing","data":"x"}}

event: content_block_stop
data: {"type":"content_block_stop","index":5}

event: something_new
data: {"type":"something_new"}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42,"output_tokens_details":{"thinking_tokens":7}},"warnings":["tool_parse_error: no JSON"]}

event: message_stop
data: {"type":"message_stop"}

`

func TestMessageStream(t *testing.T) {
	got, err := apis[1].ask(t, far, apis[1].writes(thoughtful))
	if err != nil {
		t.Fatal(err)
	}
	call := func(i int, id, name, arguments string) inference.Event {
		return inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: i, ID: id, Name: name, Arguments: arguments}}
	}
	want := []inference.Event{
		{Kind: inference.EventStarted}, {Kind: inference.EventReasoning, Text: "Let me "}, {Kind: inference.EventReasoning, Text: "see."},
		{Kind: inference.EventText, Text: "Looking é."},
		call(0, "toolu_1", "look", ""), call(0, "", "", `{"a": `), call(0, "", "", `1}`), call(1, "toolu_2", "stop", ""), call(1, "", "", "{}"),
		{Kind: inference.EventDone, Finish: inference.FinishToolCalls, Usage: &inference.Usage{PromptTokens: 330, CachedTokens: 300, CacheWriteTokens: 20, CompletionTokens: 42, ReasoningTokens: 7},
			Warnings: []inference.Warning{{Code: inference.CodeIgnored, Message: `the answer has a part of the kind "server_thing", which is passed over`}, {Code: inference.CodeToolParse, Message: "no JSON"}}},
	}
	if last := &got[len(got)-1]; len(last.Proof) == 0 {
		t.Error("thinking that is signed has no proof")
	} else {
		last.Proof = nil // TestThinkingGoesBackAfterARestart looks into it
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Thinking goes back with its signatures and in its place, whatever the caller calls
// the calls; another model, or one that was started anew, does without.
func TestThinkingGoesBack(t *testing.T) {
	var bodies []string
	base, client := faulty(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(body))
		_, _ = io.WriteString(w, thoughtful)
	})
	m := Anthropic(Endpoint{Base: base, MaxTokens: 9}, client)
	if _, err := answered(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	next := &inference.Request{Params: inference.DefaultParams(), Messages: []inference.Message{
		{Role: "user", Content: "hi"},
		{Role: "assistant", Reasoning: "Let me see.", Content: "Looking é.", ToolCalls: []inference.ToolCall{{ID: "t1.1", Name: "look", Arguments: `{"a": 1}`}, {ID: "t1.2", Name: "stop", Arguments: `{}`}}},
		{Role: "tool", ToolCallID: "t1.1", Content: "x"}, {Role: "tool", ToolCallID: "t1.2", Content: "y"},
	}}
	again := func(m inference.Model) {
		for _, err := range m.Generate(t.Context(), next) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	again(m)
	calls := `{"type":"tool_use","id":"t1_2e1","name":"look","input":{"a":1}},{"type":"tool_use","id":"t1_2e2","name":"stop","input":{}}]}`
	signed := `{"role":"assistant","content":[{"type":"thinking","thinking":"Let me see.","signature":"c2ln"},{"type":"redacted_thinking","data":"aGlkZGVu"},{"type":"text","text":"Looking é."},` + calls
	plain := `{"role":"assistant","content":[{"type":"text","text":"Looking é."},` + calls
	if !strings.Contains(bodies[1], signed) {
		t.Errorf("%s", bodies[1])
	}
	again(m) // what is kept is not changed by being sent
	again(Anthropic(Endpoint{Base: base, MaxTokens: 9}, client))
	next.Messages[1].Reasoning = "Let me see!"
	again(m)
	if !strings.Contains(bodies[2], signed) || !strings.Contains(bodies[3], plain) || !strings.Contains(bodies[4], plain) {
		t.Errorf("%s", strings.Join(bodies[2:], "\n"))
	}
}

// A process that was not there takes thinking back by the proof that the caller kept:
// for the same words of the same model, and for no others.
func TestThinkingGoesBackAfterARestart(t *testing.T) {
	var bodies []string
	base, client := faulty(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(body))
		_, _ = io.WriteString(w, thoughtful)
	})
	at := Endpoint{Base: base, Model: "m", MaxTokens: 9}
	events, err := answered(t.Context(), Anthropic(at, client))
	if err != nil {
		t.Fatal(err)
	}
	proof := events[len(events)-1].Proof
	other := at
	other.Model = "n"
	signed := `"signature":"c2ln"`
	for name, c := range map[string]struct {
		at     Endpoint
		change func(*inference.Message)
		back   bool
	}{
		"as it was":     {at, func(*inference.Message) {}, true},
		"another model": {other, func(*inference.Message) {}, false},
		"other words":   {at, func(m *inference.Message) { m.Content += "!" }, false},
		"a call less":   {at, func(m *inference.Message) { m.ToolCalls = m.ToolCalls[:1] }, false},
		"no proof":      {at, func(m *inference.Message) { m.Proof = nil }, false},
		"no JSON":       {at, func(m *inference.Message) { m.Proof = m.Proof[:9] }, false},
		"another block": {at, func(m *inference.Message) {
			m.Proof = json.RawMessage(strings.Replace(string(m.Proof), "redacted_thinking", "tool_result", 1))
		}, false},
	} {
		m := inference.Message{Role: "assistant", Reasoning: "Let me see.", Content: "Looking é.", Proof: slices.Clone(proof),
			ToolCalls: []inference.ToolCall{{ID: "t1", Name: "look", Arguments: `{"a": 1}`}, {ID: "t2", Name: "stop", Arguments: `{}`}}}
		c.change(&m)
		next := &inference.Request{Params: inference.DefaultParams(), Messages: []inference.Message{{Role: "user", Content: "hi"}, m, {Role: "user", Content: "go on"}}}
		for _, err := range Anthropic(c.at, client).Generate(t.Context(), next) {
			if err != nil {
				t.Fatal(name, err)
			}
		}
		if body := bodies[len(bodies)-1]; strings.Contains(body, signed) != c.back {
			t.Errorf("%s: thinking comes back: %v\n%s", name, !c.back, body)
		}
	}
}

func TestMemoryForgets(t *testing.T) {
	k := newMemory(100)
	text := func(c string) inference.Message { return inference.Message{Content: c} }
	block40 := []block{{Type: "redacted_thinking", Data: strings.Repeat("x", 40)}}
	for _, c := range []string{"a", "b", "b", "c"} {
		k.keep(text(c), block40)
	}
	if k.find(text("a")) != nil || !reflect.DeepEqual(k.find(text("b")), block40) || k.find(text("c")) == nil || k.size != 80 {
		t.Errorf("%d bytes: %v", k.size, k.known)
	}
	if keyOf(inference.Message{Reasoning: "a", Content: "bc"}) == keyOf(inference.Message{Reasoning: "ab", Content: "c"}) {
		t.Error("two answers are taken for one")
	}
	k.keep(text("d"), []block{{Data: strings.Repeat("x", 200)}})
	if k.size != 0 || len(k.known) != 0 || len(k.order) != 0 {
		t.Errorf("%d bytes are left", k.size)
	}
}

func TestEnds(t *testing.T) {
	for reason, want := range map[string]inference.FinishReason{
		"end_turn": inference.FinishStop, "stop_sequence": inference.FinishStop, "max_tokens": inference.FinishLength, "tool_use": inference.FinishToolCalls,
		"model_context_window_exceeded": inference.FinishLength, "repetition": inference.FinishRepetition, "pause_turn": inference.FinishStop, "new_one": inference.FinishStop, "refusal": "",
	} {
		events, err := apis[1].ask(t, far, apis[1].writes(`data: {"type":"message_start"}`+"\n\n"+`data: {"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":"END"}}`+"\n\ndata: {\"type\":\"message_stop\"}\n\n"))
		if want == "" {
			var e *Error
			if !errors.As(err, &e) || e.Kind != Refused {
				t.Errorf("%s: %v", reason, err)
			}
			continue
		}
		last := events[len(events)-1]
		if err != nil || last.Finish != want || (last.Stop == "END") != (reason == "stop_sequence") || (len(last.Warnings) == 1) != (reason == "new_one") {
			t.Errorf("%s: %+v, %v", reason, last, err)
		}
	}
}

// Events out of their order are no answer.
func TestDisorder(t *testing.T) {
	lines := map[string]string{
		"s": `{"type":"message_start"}`, "t": `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`,
		"u": `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"b"}}`, "x": `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`,
		"e": `{"type":"content_block_stop","index":0}`, "d": `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, "z": `{"type":"message_stop"}`,
	}
	for order, ok := range map[string]bool{
		"stxedz": true, "stedz": true, "sdz": true,
		"txedz": false, "sxtedz": false, "stxdz": false, "stxez": false, "sutedz": false, "sttedz": false, "stexdz": false, "seedz": false, "z": false, "dz": false,
	} {
		body := ""
		for _, c := range order {
			body += "data: " + lines[string(c)] + "\n\n"
		}
		_, err := apis[1].ask(t, far, apis[1].writes(body))
		var e *Error
		if (err == nil) != ok || err != nil && (!errors.As(err, &e) || e.Kind != Garbled) {
			t.Errorf("%s: %v", order, err)
		}
	}
}

// Different calls have different names there, of characters that the API takes.
func TestCallID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(1, 9, -1).Draw(t, "a"), rapid.StringN(1, 9, -1).Draw(t, "b")
		if (callID(a) == callID(b)) != (a == b) {
			t.Fatalf("%q and %q are %s and %s", a, b, callID(a), callID(b))
		}
		if strings.Trim(callID(a), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Fatalf("%q is %s", a, callID(a))
		}
	})
}

// A dure server learns who asks by headers; nobody else does.
func TestCallerInHeaders(t *testing.T) {
	c := inference.Caller{Session: "s", Agent: "a", Parent: "p", Priority: inference.PriorityMerge, DeadlineMS: 5, Next: inference.PhaseIdle, PinPrefix: true, KeepAlive: 3e9}
	for _, own := range []bool{true, false} {
		h := http.Header{}
		(&anthropic{}).head(h, &Endpoint{Own: own, Key: NewKey("k")}, &inference.Request{Caller: c})
		want := http.Header{"Anthropic-Version": {apiVersion}, "X-Api-Key": {"k"}}
		if own {
			for name, value := range map[string]string{"Session": "s", "Agent": "a", "Parent": "p", "Priority": "merge", "Deadline-Ms": "5", "Next": "idle", "Pin-Prefix": "true", "Keep-Alive": "3s"} {
				want.Set("X-Dure-"+name, value)
			}
		}
		if d := cmp.Diff(want, h); d != "" {
			t.Error(d)
		}
	}
}
