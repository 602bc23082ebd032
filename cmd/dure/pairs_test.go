package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pairTool is a tool whose arguments are held to its schema.
const pairTool = `{"type":"function","function":{"name":"look","strict":true,"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}`

// pairOptions are what a chat request may ask for, as members of its body.
var pairOptions = map[string]string{
	"stream":   `"stream":true,"stream_options":{"include_usage":true}`,
	"tools":    `"tools":[` + pairTool + `]`,
	"required": `"tools":[` + pairTool + `],"tool_choice":"required","parallel_tool_calls":false`,
	"logprobs": `"logprobs":true,"top_logprobs":3`,
	"n":        `"n":2`,
	"stop":     `"stop":["a","\n"]`,
	"schema": `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object",
		"properties":{"a":{"type":"string","maxLength":10},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}}}`,
	"json":        `"response_format":{"type":"json_object"}`,
	"grammar":     `"grammar":"root ::= [a-z ]+ \".\""`,
	"thinking":    `"reasoning_effort":"low"`,
	"no thinking": `"reasoning_effort":"none"`,
	"bias":        `"logit_bias":{"5":-100}`,
	"penalty":     `"repeat_penalty":1.2,"frequency_penalty":0.5`,
	"mirostat":    `"mirostat":2`,
	"hot":         `"temperature":2,"top_k":1000`,
	"begun":       `"continue_final_message":true,"messages":[{"role":"user","content":"Name a colour"},{"role":"assistant","content":"The colour"}]`,
}

// pairChoice is one choice of an answer, whole or put together.
type pairChoice struct{ text, arguments, finish string }

// pair is a request with two options, and what came back.
type pair struct {
	a, b   string
	status int
	answer string
}

// everyPair sends each pair of options, as many at once as the server has sequences.
func everyPair(t *testing.T, s *server, atOnce int) []*pair {
	t.Helper()
	var all []*pair
	names := slices.Sorted(maps.Keys(pairOptions))
	for i, a := range names {
		for _, b := range names[i+1:] {
			all = append(all, &pair{a: a, b: b})
		}
	}
	var clients sync.WaitGroup
	for first := range atOnce {
		clients.Go(func() {
			for i := first; i < len(all); i += atOnce {
				p := all[i]
				p.status, p.answer = s.send("/chat/completions", pairBody(t, p.a, p.b))
			}
		})
	}
	clients.Wait()
	return all
}

// TestEveryPairOfOptions asks a real model with each pair of options. What cannot go
// together is refused by name; all else gives whole answers that keep to both.
func TestEveryPairOfOptions(t *testing.T) {
	s := startServer(t, "smollm2-135m", "--context", "1024", "--sequences", "4", "--cache-disk", "0")
	answered := 0
	for _, p := range everyPair(t, s, 4) {
		if p.status == 400 && (strings.Contains(p.answer, "contradicts") || strings.Contains(p.answer, "asks for a call")) {
			continue
		}
		if p.status != 200 {
			t.Errorf("%s and %s: %d %s", p.a, p.b, p.status, p.answer)
			continue
		}
		answered++
		for _, c := range pairChoices(t, p.answer) {
			if fault := c.fault(p.a, p.b); fault != "" {
				t.Errorf("%s and %s: %s: %+v", p.a, p.b, fault, c)
			}
		}
	}
	if answered < 100 {
		t.Errorf("only %d pairs were answered", answered)
	}
}

// pairBody puts two options into a body; what both set, the second sets. An answer of a
// form is to get to its end.
func pairBody(t *testing.T, options ...string) string {
	t.Helper()
	most := 12
	if slices.ContainsFunc(options, func(o string) bool { return slices.Contains([]string{"tools", "required", "schema", "json"}, o) }) {
		most = 32
	}
	body := map[string]json.RawMessage{}
	for _, members := range append([]string{fmt.Sprintf(`"messages":[{"role":"user","content":"Name a colour"}],"max_tokens":%d,"seed":1`, most)}, pairOptions[options[0]], pairOptions[options[1]]) {
		if err := json.Unmarshal([]byte("{"+members+"}"), &body); err != nil {
			t.Fatal(err)
		}
	}
	out, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// pairChoices reads an answer of either form.
func pairChoices(t *testing.T, body string) map[int]*pairChoice {
	t.Helper()
	type message struct {
		Content   string
		ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
	}
	all := map[int]*pairChoice{}
	take := func(data string) {
		var c struct {
			Choices []struct {
				Index          int
				Message, Delta message
				Finish         string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		for _, x := range c.Choices {
			if all[x.Index] == nil {
				all[x.Index] = &pairChoice{}
			}
			to := all[x.Index]
			to.text += x.Message.Content + x.Delta.Content
			for _, call := range append(x.Message.ToolCalls, x.Delta.ToolCalls...) {
				to.arguments += call.Function.Arguments
			}
			to.finish += x.Finish
		}
	}
	if !strings.HasPrefix(body, "data:") && !strings.HasPrefix(body, ":") {
		take(body)
		return all
	}
	done := false
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if done = done || data == "[DONE]"; ok && data != "[DONE]" {
			take(data)
		}
	}
	if !done {
		t.Errorf("a stream without its end: %s", body)
	}
	return all
}

// fault is what is wrong with a choice that was to keep to two options.
func (c *pairChoice) fault(a, b string) string {
	has := func(names ...string) bool { return slices.Contains(names, a) || slices.Contains(names, b) }
	switch {
	case !slices.Contains([]string{"stop", "length", "tool_calls", "repetition"}, c.finish):
		return fmt.Sprintf("finish %q", c.finish)
	case c.finish == "stop" && has("schema", "json") && !has("stop") && !json.Valid([]byte(c.text)):
		return "no JSON"
	case c.finish == "tool_calls" && !json.Valid([]byte(c.arguments)):
		return "arguments that are no JSON"
	case has("required") && c.finish != "tool_calls" && c.finish != "length":
		return "no call"
	case has("stop") && strings.Contains(c.text, "a"):
		return "the stop string is in the text"
	}
	return ""
}
