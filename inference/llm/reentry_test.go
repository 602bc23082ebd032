package llm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

// A real model at temperature 1 draws tokens that the tokeniser would not make
// of their text. Over five turns each prompt begins with exactly the tokens
// that were computed in the turn before.
func TestPastAnswersReenterAsTheyWereSampled(t *testing.T) {
	rows := map[int]bool{} // positions whose logits were used
	l := start(t, enginetest.DemoModel(t), func(c *llm.Config) {
		c.Context = 768
		c.Tap = func(id string, position int, _ []float32) { rows[position] = rows[position] || id == "turn" }
	})
	differ, turns := 0, 0
	for n, questions := range [][]string{
		{"Say good morning in Korean, Thai and Greek.", "Go on.", "And in Tamil?", "Spell it.", "Another one."},
		{"Write 두레 in other scripts.", "Go on."},
	} {
		s := &session{t: t, l: l, params: inference.Params{Temperature: 1, TopP: 1, Seed: uint64(n), MaxTokens: 40}}
		for i, q := range questions {
			before := slices.Concat(s.prompt, s.sampled)
			if i > 0 {
				turns++
				if anew := s.anew(q); !slices.Equal(anew[:min(len(before), len(anew))], before) {
					differ++
				}
			}
			clear(rows)
			s.ask(q)
			if i > 0 {
				begins(t, l, s.prompt, "<|im_end|>\n<|im_start|>user\n"+q+"<|im_end|>\n<|im_start|>assistant\n", before)
			}
			if !rows[len(s.prompt)] {
				t.Fatalf("turn %d: the first token was not drawn behind %d tokens", i, len(s.prompt))
			}
		}
	}
	got := l.Reentry()
	// PromptOf asks once for each turn, and so does the turn.
	if got.Reentered != uint64(2*turns) || got.RerenderedUnknown+got.RerenderedTemplate+got.RerenderedBorder+got.RerenderedRoom != 0 {
		t.Errorf("%d turns with a past: %+v", turns, got)
	}
	if differ < 2 {
		t.Errorf("rendered anew only %d of %d prompts differ: this test shows little", differ, turns)
	}
	t.Logf("%d of %d prompts would break the prefix when rendered anew", differ, turns)
}

// The answer to a conversation is the answer to its tokens.
func TestAnswerFollowsTheRememberedTokens(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	s := &session{t: t, l: l, params: inference.Params{Temperature: 1, TopP: 1, Seed: 3, MaxTokens: 40}}
	s.ask("Tell me a story about a strange word.")
	prompt := slices.Concat(s.prompt, s.sampled, encode(t, l, "<|im_end|>\n<|im_start|>user\nWhat was the word?<|im_end|>\n<|im_start|>assistant\n"))
	want := mustCollect(t, l, raw("tokens", inference.Prompt{Tokens: prompt}, 24))
	s.params = inference.Params{TopP: 1, MaxTokens: 24}
	s.ask("What was the word?")
	if got := s.messages[3].Content; got != strings.TrimSpace(want.text) {
		t.Errorf("%q, the tokens give %q", got, want.text)
	}
}

func TestReentryAfterALengthCut(t *testing.T) {
	s := noisy(t, "", nil)
	halves := 0
	for seed := range uint64(8) {
		s.params.Seed, s.messages = seed, nil
		if finish := s.ask("q"); finish != inference.FinishLength || len(s.sampled) != 20 {
			t.Fatalf("%d tokens, %s", len(s.sampled), finish)
		}
		if strings.Contains(s.messages[1].Content, "\uFFFD") {
			halves++
		}
		begins(t, s.l, s.next("q2"), tinyTurn, s.prompt, s.sampled)
	}
	if halves == 0 {
		t.Error("no answer had a piece of a character in it")
	}
}

// A stop string at a token's border leaves the tokens before it; one that cuts
// a token leaves nothing that could be said again.
func TestReentryAfterAStopString(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	ask := func(stop string) *session {
		s := &session{t: t, l: l, params: inference.Params{TopP: 1, MaxTokens: 40}}
		if stop != "" {
			s.params.Stop = []string{stop}
		}
		s.ask("What is the capital of France?")
		return s
	}
	whole := ask("")
	text := decode(t, l, whole.sampled)
	kept, cut := 0, 0
	for at := 1; at < 16; at++ {
		stop := text[at : at+3]
		// Trimmed, an answer that ends in a space is the one before it.
		if !utf8.ValidString(stop) || strings.Index(text, stop) != at || text[at-1] == ' ' {
			continue
		}
		s := ask(stop)
		n, size := 0, 0
		for size < at {
			size += len(decode(t, l, whole.sampled[n:n+1]))
			n++
		}
		before := l.Reentry()
		prompt := s.next("q2")
		if s.messages[1].Content != strings.TrimSpace(text[:at]) {
			t.Fatalf("stop %q: %q", stop, s.messages[1].Content)
		}
		if size == at {
			kept++
			begins(t, l, prompt, tinyTurn, whole.prompt, whole.sampled[:n])
			continue
		}
		cut++
		if got := l.Reentry(); got.RerenderedUnknown != before.RerenderedUnknown+1 || got.NotRemembered != uint64(cut) || !slices.Equal(prompt, s.anew("q2")) {
			t.Errorf("stop %q cuts a token: %+v", stop, got)
		}
	}
	if kept == 0 || cut == 0 {
		t.Errorf("%d stop strings at a border and %d inside a token", kept, cut)
	}
}

// What a client changed is not said again, nor anything behind it.
func TestChangedHistoryDoesNotReenter(t *testing.T) {
	s := noisy(t, "", nil)
	s.messages = []inference.Message{{Role: inference.RoleSystem, Content: "Be kind."}}
	s.ask("q")
	first := slices.Concat(s.prompt, s.sampled)
	s.ask("q2")
	second := slices.Concat(s.prompt, s.sampled)
	begins(t, s.l, s.next("q2"), tinyTurn, second)
	whole := slices.Clone(s.messages)
	for name, c := range map[string]struct {
		change func(m []inference.Message) []inference.Message
		keeps  []int32 // nil: nothing re-enters
	}{
		"nothing":              {func(m []inference.Message) []inference.Message { return m }, second},
		"system text":          {func(m []inference.Message) []inference.Message { m[0].Content = "Be rude."; return m }, nil},
		"system text gone":     {func(m []inference.Message) []inference.Message { return m[1:] }, nil},
		"first question":       {func(m []inference.Message) []inference.Message { m[1].Content = "Q"; return m }, nil},
		"first question, tail": {func(m []inference.Message) []inference.Message { m[1].Content += " "; return m }, nil},
		"first answer":         {func(m []inference.Message) []inference.Message { m[2].Content += "!"; return m }, nil},
		"first turn gone":      {func(m []inference.Message) []inference.Message { return slices.Delete(m, 1, 3) }, nil},
		"second question":      {func(m []inference.Message) []inference.Message { m[3].Content = "Q"; return m }, first},
		"second answer":        {func(m []inference.Message) []inference.Message { m[4].Content += "!"; return m }, first},
		"second answer trims":  {func(m []inference.Message) []inference.Message { m[4].Content += " \n"; return m }, second},
		"last turn gone":       {func(m []inference.Message) []inference.Message { return m[:3] }, first},
		"a name":               {func(m []inference.Message) []inference.Message { m[3].Name = "alice"; return m }, first},
		"a name of the model":  {func(m []inference.Message) []inference.Message { m[2].Name = "bob"; return m }, nil},
	} {
		s.messages = c.change(slices.Clone(whole))
		before, prompt := s.l.Reentry(), s.next("q2")
		after := s.l.Reentry()
		again, unknown := after.Reentered-before.Reentered, after.RerenderedUnknown-before.RerenderedUnknown
		if c.keeps == nil {
			if !slices.Equal(prompt, s.anew("q2")) || again != 0 || unknown != 1 {
				t.Errorf("%s: %q, %+v", name, decode(t, s.l, prompt), after)
			}
			continue
		}
		if again != 1 || unknown != 0 || !slices.Equal(prompt[:len(c.keeps)], c.keeps) {
			t.Errorf("%s: %q, %+v", name, decode(t, s.l, prompt), after)
		}
	}
}

func TestRerenderLetsNothingReenter(t *testing.T) {
	s := noisy(t, "", func(c *llm.Config) { c.Rerender = true })
	s.ask("q")
	if prompt := s.next("q2"); !slices.Equal(prompt, s.anew("q2")) {
		t.Errorf("%q", decode(t, s.l, prompt))
	}
	if got := s.l.Reentry(); got != (llm.Reentry{}) {
		t.Errorf("%+v", got)
	}
}

// Raw prompts are nobody's past, and a conversation without an answer has none.
func TestOnlyConversationsAreRemembered(t *testing.T) {
	s := noisy(t, "", nil)
	mustCollect(t, s.l, raw("raw", inference.Prompt{Text: "hello"}, 4))
	if got := s.l.Reentry(); got != (llm.Reentry{}) {
		t.Errorf("after a raw prompt: %+v", got)
	}
	mustCollect(t, s.l, ask("chat", "hello", 4))
	if got := s.l.Reentry(); got.Conversations != 1 || got.RerenderedUnknown != 0 {
		t.Errorf("after a first turn: %+v", got)
	}
}

// An answer whose reader left before its end was not said.
func TestAnswersWithoutAnEndAreNotRemembered(t *testing.T) {
	s := noisy(t, "", nil)
	for range s.l.Generate(t.Context(), endless("left")) {
		break
	}
	if got := s.l.Reentry(); got.Conversations != 0 {
		t.Errorf("%+v", got)
	}
}

func TestReentryKeepsToItsMemory(t *testing.T) {
	s := noisy(t, "", func(c *llm.Config) { c.ReentryBytes = 2000 })
	for i := range 12 {
		s.messages = nil
		s.ask(fmt.Sprint("question ", i))
		if got := s.l.Reentry(); got.Bytes > 2000 || got.Conversations == 0 || got.Forgotten != uint64(i+1-got.Conversations) {
			t.Fatalf("after %d: %+v", i+1, got)
		}
		begins(t, s.l, s.next("q2"), tinyTurn, s.prompt, s.sampled)
	}
	if got := s.l.Reentry(); got.Forgotten == 0 {
		t.Errorf("%+v", got)
	}
}

// A reader that leaves with the text that a stop string completes is asked for
// nothing more.
func TestReaderLeavesAtAStopString(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	req := ask("s", "What is the capital of France?", 8)
	whole := mustCollect(t, l, req).text
	for at := 1; at < 16; at++ {
		if req.Params.Stop = []string{whole[at : at+2]}; !utf8.ValidString(req.Params.Stop[0]) {
			continue
		}
		want, got := whole[:strings.Index(whole, req.Params.Stop[0])], ""
		for ev, err := range l.Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if got += ev.Text; ev.Text != "" && got == want {
				break
			}
		}
	}
	mustCollect(t, l, ask("after", "hi", 2))
}
