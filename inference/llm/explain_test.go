package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/chat"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

func explain(t *testing.T, l *llm.LLM, req *inference.Request) *inference.Explanation {
	t.Helper()
	e, err := l.Explain(t.Context(), &inference.ExplainRequest{Request: req, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func joined(tokens []inference.TokenPiece) string {
	var b bytes.Buffer
	for _, p := range tokens {
		b.Write(p.Piece)
	}
	return b.String()
}

// What is explained is what is then read, and explaining leaves everything as it was.
func explainsWhatIsRead(t *testing.T, path string, words ...string) {
	l := start(t, path, func(c *llm.Config) { c.Context, c.CacheRAM = 1024, 1<<20 })
	s := &session{t: t, l: l, params: inference.Params{TopP: 1, MaxTokens: 12}}
	for turn, word := range words {
		s.messages = append(s.messages, inference.Message{Role: inference.RoleUser, Content: word})
		req := s.request()
		req.Caller.Session = "s"
		before, cache := l.Reentry(), l.Stats()
		e := explain(t, l, req)
		if again := explain(t, l, req); fmt.Sprintf("%+v", *again) != fmt.Sprintf("%+v", *e) && turn == 0 {
			t.Errorf("turn %d: explained twice\n%+v\n%+v", turn, e, again)
		}
		if after := l.Stats(); l.Reentry() != before || after.Steps != cache.Steps || after.PromptTokens != cache.PromptTokens {
			t.Errorf("turn %d: explaining counts: %+v, before %+v", turn, after, cache)
		}
		a := mustCollect(t, l, req)
		if e.PromptTokens != a.usage.PromptTokens || len(e.Tokens) != e.PromptTokens || e.CachedTokens != a.usage.CachedTokens || e.Tier != a.usage.Prefix.Tier {
			t.Fatalf("turn %d: explained %d tokens, %d cached (%s); read %+v %+v", turn, e.PromptTokens, e.CachedTokens, e.Tier, a.usage, a.usage.Prefix)
		}
		at := 0
		for _, span := range e.Spans {
			if span.From != at {
				t.Errorf("turn %d: spans %+v", turn, e.Spans)
			}
			at = span.To
		}
		if at != e.CachedTokens {
			t.Errorf("turn %d: spans %+v of %d tokens", turn, e.Spans, e.CachedTokens)
		}
		switch {
		case turn == 0 && (e.Past != nil || e.Remembered != 0 || e.Rerendered != ""):
			t.Errorf("first turn: %+v", e)
		case turn > 0 && (e.Past == nil || e.CachedTokens == 0):
			t.Errorf("turn %d: %+v", turn, e)
		}
		s.messages = append(s.messages, inference.Message{Role: inference.RoleAssistant, Content: strings.TrimSpace(a.text)})
	}
}

func TestExplainTellsWhatIsRead(t *testing.T) {
	t.Run("synthetic", func(t *testing.T) {
		explainsWhatIsRead(t, enginetest.Llama(t, synth.Config{Template: chat.ChatML}), "q1", "q2", "q3")
	})
	t.Run("hybrid", func(t *testing.T) {
		explainsWhatIsRead(t, synthetic(t, synth.Qwen35, synth.Config{Template: chat.ChatML}), "q1", "q2", "q3")
	})
	t.Run("real", func(t *testing.T) {
		explainsWhatIsRead(t, enginetest.DemoModel(t), "What is the capital of France?", "And of Spain?", "And of Italy?")
	})
}

func TestExplainNamesTheFirstDifference(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), func(c *llm.Config) { c.Context, c.Sequences, c.Rerender = 1024, 2, true })
	base := []inference.Message{
		{Role: inference.RoleSystem, Content: "You are a helpful ferryman."},
		{Role: inference.RoleUser, Content: "How deep is the river?"},
		{Role: inference.RoleAssistant, Content: "Two fathoms at the ford."},
		{Role: inference.RoleUser, Content: "And in spring?"},
	}
	request := func(messages []inference.Message) *inference.Request {
		return &inference.Request{ID: "d", Messages: messages, Params: inference.Params{TopP: 1, MaxTokens: 2}, Caller: inference.Caller{Session: "s"}}
	}
	mustCollect(t, l, request(base))
	for name, c := range map[string]struct {
		change  func([]inference.Message) []inference.Message
		message int // -1: none
		was, is string
	}{
		"system":    {func(m []inference.Message) []inference.Message { m[0].Content = "You are a helpful pilot."; return m }, 0, " fer", " pilot"},
		"question":  {func(m []inference.Message) []inference.Message { m[1].Content = "How wide is the river?"; return m }, 1, " deep", " wide"},
		"answer":    {func(m []inference.Message) []inference.Message { m[2].Content = "Three fathoms."; return m }, 2, "Two", "Three"},
		"shortened": {func(m []inference.Message) []inference.Message { m[2].Content = "Two fathoms"; return m }, 2, " at", "<|im_end|>"},
		"removed":   {func(m []inference.Message) []inference.Message { return slices.Delete(m, 1, 3) }, 1, "How", "And"},
		"last":      {func(m []inference.Message) []inference.Message { m[3].Content = "And in autumn?"; return m }, 3, " spring", " autumn"},
		"same":      {func(m []inference.Message) []inference.Message { return m }, -1, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := explain(t, l, request(c.change(slices.Clone(base))))
			p := e.Past
			if p == nil {
				t.Fatal("no past")
			}
			if c.message < 0 {
				if len(p.Is) != 0 || p.Message != nil || p.SameTokens != e.PromptTokens {
					t.Errorf("%+v of %d", p, e.PromptTokens)
				}
				return
			}
			if p.Message == nil || *p.Message != c.message {
				t.Errorf("message %v, want %d: %q against %q", p.Message, c.message, joined(p.Was), joined(p.Is))
			}
			if !strings.HasPrefix(joined(p.Was), c.was) || !strings.HasPrefix(joined(p.Is), c.is) {
				t.Errorf("%q against %q", joined(p.Was), joined(p.Is))
			}
			if got := joined(e.Tokens[p.SameTokens:][:len(p.Is)]); got != joined(p.Is) {
				t.Errorf("%q is not at its place: %q", joined(p.Is), got)
			}
		})
	}
}

func TestExplainNamesToolsAsDifference(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), func(c *llm.Config) { c.Context = 1024 })
	request := func(tool string) *inference.Request {
		return &inference.Request{ID: "d", Messages: []inference.Message{
			{Role: inference.RoleSystem, Content: "Be brief."}, {Role: inference.RoleUser, Content: "Go."},
		}, Tools: []inference.Tool{{Name: tool, Description: "does it"}}, Params: inference.Params{TopP: 1, MaxTokens: 2}, Caller: inference.Caller{Session: "s"}}
	}
	mustCollect(t, l, request("walk"))
	if p := explain(t, l, request("swim")).Past; p == nil || !p.Tools || p.Message != nil {
		t.Errorf("%+v", p)
	}
	if p := explain(t, l, request("walk")).Past; p == nil || p.Tools {
		t.Errorf("same tools: %+v", p)
	}
}

func TestExplainListsAPage(t *testing.T) {
	l := tiny(t, nil)
	req := ask("p", "hello world", 4)
	whole := explain(t, l, req)
	for _, c := range []struct{ from, limit, want int }{{0, 3, 3}, {2, 3, 3}, {len(whole.Tokens) - 1, 3, 1}, {len(whole.Tokens), 3, 0}, {1 << 30, 3, 0}, {0, 0, 0}} {
		e, err := l.Explain(t.Context(), &inference.ExplainRequest{Request: req, From: c.from, Limit: c.limit})
		if err != nil || len(e.Tokens) != c.want || e.PromptTokens != whole.PromptTokens || joined(e.Tokens) != joined(whole.Tokens[e.From:][:c.want]) {
			t.Errorf("%+v: %+v %v", c, e, err)
		}
	}
	if e := explain(t, l, &inference.Request{Prompt: &inference.Prompt{Tokens: []int32{5, 6}}, Params: inference.Params{TopP: 1}}); e.PromptTokens != 2 || e.Text != "" {
		t.Errorf("a prompt of tokens: %+v", e)
	}
}

func TestExplainRefusesWhatGenerateDoes(t *testing.T) {
	l := tiny(t, nil)
	long := ask("l", strings.Repeat("word ", 600), 4)
	if _, err := l.Explain(t.Context(), &inference.ExplainRequest{Request: long}); !errors.Is(err, inference.ErrContextExceeded) {
		t.Errorf("too long: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Explain(ctx, &inference.ExplainRequest{Request: ask("c", "hi", 4)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	l.Close()
	if _, err := l.Explain(t.Context(), &inference.ExplainRequest{Request: ask("c", "hi", 4)}); !errors.Is(err, inference.ErrShuttingDown) {
		t.Errorf("closed: %v", err)
	}
}
