package llm_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

// spoken is an answer as a surface gets it.
type heard struct {
	text, thoughts string
	calls          []inference.ToolCall
	done           inference.Event
}

func hear(t *testing.T, l *llm.LLM, req *inference.Request) (h heard) {
	t.Helper()
	for ev, err := range l.Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind {
		case inference.EventText:
			h.text += ev.Text
		case inference.EventReasoning:
			h.thoughts += ev.Text
		case inference.EventToolCall:
			if ev.Call.Index == len(h.calls) {
				h.calls = append(h.calls, inference.ToolCall{ID: ev.Call.ID, Name: ev.Call.Name})
			}
			h.calls[ev.Call.Index].Arguments += ev.Call.Arguments
		case inference.EventDone:
			h.done = ev
		}
	}
	return h
}

// Whatever a model would rather write, its answer has the form.
func TestAnswersHaveTheFormOfAGrammar(t *testing.T) {
	s := noisy(t, "", nil)
	form, cut := regexp.MustCompile(`^(ab|안녕)+\.$`), regexp.MustCompile(`^(ab|안녕)*(a|안)?\.?$`)
	for seed := range uint64(20) {
		req := ask("g", "hello", 200)
		req.Params.Temperature, req.Params.TopP, req.Params.Seed = 1, 1, seed
		req.Format = &inference.Format{Grammar: `root ::= ("ab" | "안녕")+ "."`}
		if seed%2 == 1 {
			req.Messages, req.Prompt = nil, &inference.Prompt{Text: "hello"}
		}
		h := hear(t, s.l, req)
		if h.done.Finish == inference.FinishStop && !form.MatchString(h.text) {
			t.Errorf("seed %d: %q", seed, h.text)
		}
		h.text = strings.TrimSuffix(h.text, "\ufffd") // of a character that was cut
		if h.done.Finish == inference.FinishLength && !cut.MatchString(h.text) {
			t.Errorf("seed %d, cut: %q", seed, h.text)
		}
	}
	real := start(t, enginetest.DemoModel(t), nil)
	req := ask("g", "What is the capital of France?", 20)
	req.Format = &inference.Format{Grammar: `root ::= "The capital is " ("Rome" | "Paris" | "Oslo")`}
	if h := hear(t, real, req); h.text != "The capital is Paris" || h.done.Finish != inference.FinishStop {
		t.Errorf("%+v", h)
	}
}

func TestBrokenGrammarsAreRefused(t *testing.T) {
	l := tiny(t, nil)
	req := ask("g", "hello", 5)
	req.Format = &inference.Format{Grammar: `root ::= "a`}
	_, err := collect(t.Context(), l, req)
	var e *inference.Error
	if !errors.As(err, &e) || e.Code != inference.CodeInvalidRequest || e.Param != "grammar" || !strings.Contains(e.Message, "1:") {
		t.Errorf("%v", err)
	}
}

// Thinking that has used up its budget is closed, and the answer follows.
func TestThinkingEndsWithItsBudget(t *testing.T) {
	source, err := os.ReadFile("../chat/testdata/templates/think_xml_tools.jinja")
	if err != nil {
		t.Fatal(err)
	}
	s := noisy(t, string(source), func(c *llm.Config) { c.Context = 1024 })
	for name, c := range map[string]struct {
		reasoning     inference.Reasoning
		most, maximum int // tokens of thinking, of all
	}{
		"budget":        {inference.Reasoning{Budget: 10}, 10, 60},
		"a part of all": {inference.Reasoning{Effort: inference.EffortHigh}, 45, 60},
		"none":          {inference.Reasoning{Effort: inference.EffortNone}, 0, 60},
	} {
		req := ask("t", "hello", c.maximum)
		req.Params.Temperature, req.Params.TopP, req.Params.IgnoreEOS = 1, 1, true
		req.Reasoning = c.reasoning
		h := hear(t, s.l, req)
		closing := 12 // tokens of the mark, at most
		if got := h.done.Usage.ReasoningTokens; got > c.most+closing || c.most > 0 && got < c.most || h.text == "" || c.most == 0 && h.thoughts != "" {
			t.Errorf("%s: %d tokens of thinking, text %q, thoughts %q", name, got, h.text, h.thoughts)
		}
		if h.done.Usage.CompletionTokens != c.maximum {
			t.Errorf("%s: %+v", name, h.done.Usage)
		}
	}
	req := ask("t", "hello", 80)
	req.Params.Temperature, req.Params.TopP = 1, 1
	req.Reasoning, req.Format = inference.Reasoning{Budget: 10}, &inference.Format{Grammar: `root ::= [a-c]+ "."`}
	if h := hear(t, s.l, req); !regexp.MustCompile(`^[a-c]+\.?$`).MatchString(h.text) || h.thoughts == "" {
		t.Errorf("%+v", h)
	}
}
