package remote

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"

	"dure/inference"
)

func TestToolsGoThereAndCallsComeBack(t *testing.T) {
	var sent map[string]json.RawMessage
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		io.WriteString(w, `data: {"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":"hm"}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{"reasoning":"!","content":"So"}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":""}}]}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}},{"index":1,"id":"c2","function":{"name":"stop","arguments":"{\"a\":1}"}}]}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":4}}}`+"\n\ndata: [DONE]\n\n")
	})
	req := &inference.Request{
		Messages: []inference.Message{
			{Role: "user", Content: "q"},
			{Role: "assistant", Reasoning: "r", ToolCalls: []inference.ToolCall{{ID: "c0", Name: "look", Arguments: `{"x":1}`}}},
			{Role: "tool", ToolCallID: "c0", Content: "nothing"},
		},
		Tools:      []inference.Tool{{Name: "look", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`), Strict: true}},
		ToolChoice: inference.ToolChoice{Mode: inference.ToolRequired, Name: "look", Single: true},
		Format:     &inference.Format{Schema: json.RawMessage(`{"type":"string"}`)},
		Reasoning:  inference.Reasoning{Effort: inference.EffortLow, Budget: 7},
	}
	var got []inference.Event
	for ev, err := range m.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev)
	}
	call := func(i int, id, name, arguments string) inference.Event {
		return inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: i, ID: id, Name: name, Arguments: arguments}}
	}
	want := []inference.Event{
		{Kind: inference.EventStarted},
		{Kind: inference.EventReasoning, Text: "hm"},
		{Kind: inference.EventReasoning, Text: "!"}, {Kind: inference.EventText, Text: "So"},
		call(0, "c1", "look", ""), call(0, "", "", "{}"), call(1, "c2", "stop", `{"a":1}`),
		{Kind: inference.EventDone, Finish: inference.FinishToolCalls, Usage: &inference.Usage{CompletionTokens: 9, ReasoningTokens: 4}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for field, want := range map[string]string{
		"messages":            `[{"role":"user","content":"q"},{"role":"assistant","content":"","reasoning_content":"r","tool_calls":[{"id":"c0","type":"function","function":{"name":"look","arguments":"{\"x\":1}"}}]},{"role":"tool","content":"nothing","tool_call_id":"c0"}]`,
		"tools":               `[{"type":"function","function":{"name":"look","description":"d","parameters":{"type":"object"},"strict":true}}]`,
		"tool_choice":         `{"function":{"name":"look"},"type":"function"}`,
		"parallel_tool_calls": `false`,
		"response_format":     `{"json_schema":{"name":"answer","schema":{"type":"string"},"strict":true},"type":"json_schema"}`,
		"reasoning_effort":    `"low"`, "reasoning_budget": `7`,
	} {
		if string(sent[field]) != want {
			t.Errorf("%s: %s, want %s", field, sent[field], want)
		}
	}
	req = &inference.Request{Messages: req.Messages[:1], Format: &inference.Format{}, ToolChoice: inference.ToolChoice{Mode: inference.ToolNone}}
	clear(sent)
	for _, err := range m.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if string(sent["response_format"]) != `{"type":"json_object"}` || string(sent["tool_choice"]) != `"none"` || sent["reasoning_effort"] != nil || sent["tools"] != nil {
		t.Errorf("%s", sent)
	}
}
