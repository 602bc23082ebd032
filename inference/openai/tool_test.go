package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"dure/inference"
)

// asked returns a model that keeps what it was asked.
func asked(req **inference.Request, events ...inference.Event) generateFunc {
	play := script(nil, events...)
	return func(ctx context.Context, r *inference.Request) iter.Seq2[inference.Event, error] {
		*req = r
		return play(ctx, r)
	}
}

const look = `{"type":"function","function":{"name":"look","description":"d","strict":true,"parameters":{"type":"object","properties":{"b":{},"a":{}}}}}`

func TestWishesReachTheModel(t *testing.T) {
	var got *inference.Request
	w := newWorld(t, asked(&got, started(), says("x"), done()))
	schema := json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}}}`)
	tools := []inference.Tool{{Name: "look", Description: "d", Strict: true, Parameters: schema}}
	for body, want := range map[string]inference.Request{
		`"tools":[` + look + `]`: {Tools: tools},
		`"tools":[{"type":"function","function":{"name":"n","parameters":null,"strict":null}}],"tool_choice":"required","parallel_tool_calls":false`: {
			Tools: []inference.Tool{{Name: "n"}}, ToolChoice: inference.ToolChoice{Mode: inference.ToolRequired, Single: true}},
		`"tools":[` + look + `],"tool_choice":{"type":"function","function":{"name":"look"}}`: {
			Tools: tools, ToolChoice: inference.ToolChoice{Mode: inference.ToolRequired, Name: "look"}},
		`"tools":[` + look + `],"tool_choice":"none"`: {Tools: tools, ToolChoice: inference.ToolChoice{Mode: inference.ToolNone}},
		`"response_format":{"type":"text"}`:           {},
		`"response_format":{"type":"json_object"}`:    {Format: &inference.Format{}},
		`"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"a"}}}`: {Format: &inference.Format{Schema: json.RawMessage(`{"type":"a"}`)}},
		`"json_schema":{"type":"a"}`:                       {Format: &inference.Format{Schema: json.RawMessage(`{"type":"a"}`)}},
		`"grammar":"root ::= [a-z]+"`:                      {Format: &inference.Format{Grammar: "root ::= [a-z]+"}},
		`"grammar":""`:                                     {},
		`"reasoning_effort":"low","reasoning_budget":99`:   {Reasoning: inference.Reasoning{Effort: inference.EffortLow, Budget: 99}},
		`"reasoning_budget":0`:                             {Reasoning: inference.Reasoning{Effort: inference.EffortNone}},
		`"chat_template_kwargs":{"enable_thinking":false}`: {Reasoning: inference.Reasoning{Effort: inference.EffortNone}},
		`"chat_template_kwargs":{}`:                        {},
	} {
		if r := w.chat(`{"messages":[{"role":"user","content":"q"}],` + body + `}`); r.status != 200 {
			t.Errorf("%s: %d %s", body, r.status, r.body)
			continue
		}
		want.Messages, want.Params, want.ID, want.Caller = got.Messages, got.Params, got.ID, got.Caller
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s:\n\tgot  %+v\n\twant %+v", body, *got, want)
		}
	}
}

func TestPastCallsReachTheModel(t *testing.T) {
	var got *inference.Request
	w := newWorld(t, asked(&got, started(), says("x"), done()))
	r := w.chat(`{"continue_final_message":true,"messages":[{"role":"developer","content":"s"},{"role":"user","content":"q"},
		{"role":"assistant","content":null,"refusal":null,"reasoning_content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"a\": 1}"}},{"id":"c2","type":"function","index":1,"function":{"name":"stop","arguments":""}}]},
		{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
		{"role":"tool","tool_call_id":"c2","content":"","name":"stop"},
		{"role":"assistant","content":"So"}]}`)
	want := []inference.Message{
		{Role: "system", Content: "s"}, {Role: "user", Content: "q"},
		{Role: "assistant", Reasoning: "hm", ToolCalls: []inference.ToolCall{{ID: "c1", Name: "look", Arguments: `{"a": 1}`}, {ID: "c2", Name: "stop", Arguments: "{}"}}},
		{Role: "tool", ToolCallID: "c1", Content: "one\ntwo"}, {Role: "tool", ToolCallID: "c2", Name: "stop"},
		{Role: "assistant", Content: "So"},
	}
	if r.status != 200 || !reflect.DeepEqual(got.Messages, want) || !got.Continue {
		t.Errorf("%s\n%+v", r.body, got)
	}
}

func TestWishesThatCannotBe(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("x"), done()))
	for body, want := range map[string]string{
		`"tools":[{}]`:                                                          "tools[0].type",
		`"tools":[{"type":"function"}]`:                                         "tools[0].function",
		`"tools":[{"type":"web_search"}]`:                                       "tools[0].type",
		`"tools":[` + look + `,` + look + `]`:                                   "tools[1]",
		`"tools":[{"type":"function","function":{"name":"a b"}}]`:               "tools[0].function.name",
		`"tools":[{"type":"function","function":{"name":"a","parameters":[]}}]`: "tools[0].function.parameters",
		`"tool_choice":"required"`:                                              "tool_choice",
		`"tool_choice":"sometimes"`:                                             "tool_choice",
		`"tools":[` + look + `],"tool_choice":{"type":"function","function":{"name":"other"}}`:                                                                    "tool_choice",
		`"tools":[` + look + `],"tool_choice":{"type":"allowed_tools"}`:                                                                                           "tool_choice.allowed_tools",
		`"tools":[` + look + `],"tool_choice":{"type":"custom"}`:                                                                                                  "tool_choice.type",
		`"tools":[` + look + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"other"}}]}}`: "tool_choice",
		`"tools":[` + look + `],"tool_choice":"required","response_format":{"type":"json_object"}`:                                                                "tool_choice",
		`"functions":[{"name":"a"}]`:                                          "functions",
		`"response_format":{"type":"yaml"}`:                                   "response_format.type",
		`"response_format":{"type":"json_schema"}`:                            "response_format.json_schema",
		`"response_format":{"type":"json_schema","json_schema":{"name":"n"}}`: "response_format.json_schema.schema",
		`"response_format":{"type":"json_object"},"grammar":"root ::= [a]"`:   "contradicts",
		`"reasoning_effort":"immense"`:                                        "reasoning_effort",
		`"chat_template_kwargs":{"colour":1}`:                                 "chat_template_kwargs.colour",
		`"continue_final_message":true`:                                       "continue_final_message",
	} {
		if r := w.chat(`{"messages":[{"role":"user","content":"q"}],` + body + `}`); r.status != 400 || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
}

func call(index int, id, name, arguments string) inference.Event {
	return inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: index, ID: id, Name: name, Arguments: arguments}}
}

func thinks(s string) inference.Event {
	return inference.Event{Kind: inference.EventReasoning, Text: s}
}

func TestCallsAndThoughtsInAnswers(t *testing.T) {
	end := done()
	end.Finish = inference.FinishToolCalls
	end.Usage.ReasoningTokens = 5
	end.Warnings = []inference.Warning{{Code: inference.CodeToolParse, Message: "half a call"}}
	w := newWorld(t, script(nil, started(), thinks("h\"m"), thinks("m"), says("So"),
		call(0, "c1", "look", ""), call(0, "", "", `{"a":`), call(0, "", "", `1}`), call(1, "c2", "stop", "{}"), end))
	whole := steady(w.chat(hello).body)
	for _, want := range []string{
		`"message":{"role":"assistant","content":"So","reasoning_content":"h\"mm","refusal":null,"tool_calls":[` +
			`{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}},{"id":"c2","type":"function","function":{"name":"stop","arguments":"{}"}}]}`,
		`"finish_reason":"tool_calls"`, `"completion_tokens_details":{"reasoning_tokens":5}`, "half a call", "tool_parse_error",
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("%s is not in %s", want, whole)
		}
	}
	var deltas []string
	for _, e := range events(t, w.chat(helloStream).body) {
		if _, rest, ok := strings.Cut(e, `"delta":`); ok {
			delta, _, _ := strings.Cut(rest, `,"logprobs"`)
			deltas = append(deltas, delta)
		}
	}
	if got, want := fmt.Sprint(deltas), fmt.Sprint([]string{
		`{"role":"assistant","content":""}`, `{"reasoning_content":"h\"m"}`, `{"reasoning_content":"m"}`, `{"content":"So"}`,
		`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`,
		`{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"stop","arguments":"{}"}}]}`, `{}`,
	}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	only := newWorld(t, script(nil, started(), call(0, "c1", "look", "{}"), done()))
	if body := only.chat(hello).body; !strings.Contains(body, `"content":null`) {
		t.Errorf("%s", body)
	}
}

// What a model says of a form names the field that it came in.
func TestFormsThatCannotBeKept(t *testing.T) {
	refused := inference.Errorf(inference.CodeInvalidRequest, "format: schema at #: uniqueItems: it cannot be guaranteed")
	refused.Param = "format"
	w := newWorld(t, script(refused))
	for field, body := range map[string]string{
		"response_format": `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}}`,
		"json_schema":     `"json_schema":{}`,
	} {
		r := w.chat(`{"messages":[{"role":"user","content":"q"}],` + body + `}`)
		if r.status != 400 || !strings.Contains(r.body, `"param":"`+field+`"`) || !strings.Contains(r.body, `"message":"`+field+`: schema at #: uniqueItems`) {
			t.Errorf("%s: %d %s", field, r.status, r.body)
		}
	}
}
