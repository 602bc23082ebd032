package llm_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

func toolsOf(strict bool) []inference.Tool {
	return []inference.Tool{
		{Name: "look", Description: "looks", Strict: strict, Parameters: json.RawMessage(`{"type":"object","properties":{
			"city":{"type":"string","enum":["Seoul","Busan"]},"days":{"type":"integer","minimum":1,"maximum":9},"note":{"type":"string","maxLength":5}},
			"required":["city","days"],"additionalProperties":false}`)},
		{Name: "stop", Strict: strict},
	}
}

// fits checks the arguments of a call against what the tools say.
func fits(t *testing.T, c inference.ToolCall) {
	t.Helper()
	switch c.Name {
	case "look":
		var a struct {
			City string
			Days int
			Note string
		}
		d := json.NewDecoder(strings.NewReader(c.Arguments))
		d.DisallowUnknownFields()
		if err := d.Decode(&a); err != nil || a.City != "Seoul" && a.City != "Busan" || a.Days < 1 || a.Days > 9 {
			t.Errorf("%v: %+v", err, c)
		}
	case "stop":
		if !json.Valid([]byte(c.Arguments)) {
			t.Errorf("%+v", c)
		}
	default:
		t.Errorf("%+v", c)
	}
	if !strings.HasPrefix(c.ID, "call_") {
		t.Errorf("%+v", c)
	}
}

// An answer that has to call a tool calls one, whatever the weights would rather say,
// in the form of the model's family, with arguments that match.
func TestRequiredCalls(t *testing.T) {
	source, err := os.ReadFile("../chat/testdata/templates/think_xml_tools.jinja")
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for name, template := range map[string]string{"hermes": "", "xml": string(source)} {
		s := noisy(t, template, func(c *llm.Config) { c.Context = 2048 })
		for seed := range uint64(8) {
			req := ask("c", "hello", 400)
			req.Params.Temperature, req.Params.TopP, req.Params.Seed = 1, 1, seed
			req.Tools, req.ToolChoice = toolsOf(false), inference.ToolChoice{Mode: inference.ToolRequired, Single: seed%2 == 0}
			req.Reasoning.Effort = inference.EffortNone
			if seed == 3 {
				req.ToolChoice.Name = "look"
			}
			h := hear(t, s.l, req)
			if h.done.Finish == inference.FinishLength {
				continue // random weights find no end of a text
			}
			whole++
			if h.done.Finish != inference.FinishToolCalls || len(h.calls) == 0 || strings.TrimSpace(h.text) != "" || len(h.done.Warnings) > 0 {
				t.Errorf("%s, seed %d: %+v", name, seed, h)
			}
			for _, c := range h.calls {
				fits(t, c)
				if seed == 3 && c.Name != "look" {
					t.Errorf("%+v", c)
				}
			}
			if req.ToolChoice.Single && len(h.calls) != 1 {
				t.Errorf("%s, seed %d: %d calls", name, seed, len(h.calls))
			}
		}
	}
	if whole < 5 {
		t.Errorf("%d whole answers show little", whole)
	}
}

// A real model calls when it is made to, and what it then says of the result is text.
func TestARealModelCalls(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	req := ask("c", "How is the weather in Busan for the next 3 days?", 120)
	req.Tools, req.ToolChoice = toolsOf(true), inference.ToolChoice{Mode: inference.ToolRequired, Name: "look", Single: true}
	h := hear(t, l, req)
	if len(h.calls) != 1 || h.done.Finish != inference.FinishToolCalls {
		t.Fatalf("%+v", h)
	}
	fits(t, h.calls[0])
	if !strings.Contains(h.calls[0].Arguments, "Busan") {
		t.Errorf("%+v", h.calls[0])
	}
	// The call comes back as it was drawn: nothing of it is read again.
	req.Messages = append(req.Messages, inference.Message{Role: inference.RoleAssistant, Content: h.text, ToolCalls: h.calls},
		inference.Message{Role: inference.RoleTool, ToolCallID: h.calls[0].ID, Content: "Rain, then sun."})
	req.ToolChoice = inference.ToolChoice{}
	before := h.done.Usage
	h = hear(t, l, req)
	if h.text == "" && len(h.calls) == 0 {
		t.Errorf("%+v", h)
	}
	if u := h.done.Usage; u.CachedTokens < before.PromptTokens {
		t.Errorf("%d tokens were reused, %d had been read: %+v", u.CachedTokens, before.PromptTokens, l.Reentry())
	}
	if got := l.Reentry(); got.Reentered == 0 {
		t.Errorf("%+v", got)
	}
}

// JSON by a schema, of a real model, and of one that has no idea of JSON.
func TestAnswersMatchASchema(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"capital":{"type":"string","maxLength":12},"million":{"type":"integer","minimum":0,"maximum":99}},"required":["capital","million"],"additionalProperties":false}`)
	real := start(t, enginetest.DemoModel(t), nil)
	noise := noisy(t, "", nil).l
	for name, l := range map[string]*llm.LLM{"real": real, "noise": noise} {
		req := ask("s", "Name the capital of France and how many million people live there, as JSON.", 150)
		req.Format = &inference.Format{Schema: schema}
		if name == "noise" {
			req.Messages[0].Content, req.Params.Temperature, req.Params.TopP = "q", 1, 1
		}
		h := hear(t, l, req)
		if h.done.Finish != inference.FinishStop {
			t.Errorf("%s: %+v", name, h)
			continue
		}
		var got struct {
			Capital *string
			Million *int
		}
		if err := json.Unmarshal([]byte(h.text), &got); err != nil || got.Capital == nil || got.Million == nil || *got.Million > 99 {
			t.Errorf("%s: %q, %v", name, h.text, err)
		}
		if name == "real" && *got.Capital != "Paris" {
			t.Errorf("%q", h.text)
		}
	}
	req := ask("s", "q", 9)
	req.Format = &inference.Format{Schema: json.RawMessage(`{"type":"array","uniqueItems":true}`)}
	if _, err := collect(t.Context(), real, req); err == nil || !strings.Contains(err.Error(), "uniqueItems") {
		t.Errorf("%v", err)
	}
}
