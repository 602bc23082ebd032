package llm_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/chat"
	"dure/inference/llm"
)

// Clients that ask, go back, edit and retry in any order, answers that end
// anywhere: each prompt is the text of the longest past that was said, then
// what ChatML writes behind it.
func TestPromptsOfAnyConversation(t *testing.T) {
	s := noisy(t, "", func(c *llm.Config) { c.Context = 2048 })
	known := map[string]string{} // conversations that were said, and their text
	again, anew := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		s.messages = nil
		for range rapid.IntRange(1, 6).Draw(r, "turns") {
			switch n := len(s.messages); rapid.SampledFrom([]string{"ask", "ask", "ask", "edit", "back"}).Draw(r, "action") {
			case "edit":
				if n > 0 {
					s.messages[rapid.IntRange(0, n-1).Draw(r, "at")].Content = rapid.SampledFrom([]string{"hello", "", " q"}).Draw(r, "text")
				}
			case "back":
				s.messages = s.messages[:n/2]
			}
			s.params.Seed = rapid.Uint64Range(0, 3).Draw(r, "seed")
			s.params.MaxTokens = rapid.IntRange(1, 12).Draw(r, "max_tokens")
			s.params.IgnoreEOS = rapid.Bool().Draw(r, "ignore_eos")
			s.params.Stop = rapid.SampledFrom([][]string{nil, nil, {"e"}, {"o", "\n"}, {"안"}}).Draw(r, "stop")
			question := rapid.SampledFrom([]string{"hello", "what is the token", " q", "안녕"}).Draw(r, "question")
			want, from := expected(known, append(slices.Clone(s.messages), inference.Message{Role: inference.RoleUser, Content: question}))
			s.ask(question)
			if from {
				again++
			} else {
				anew++
			}
			if got := decode(t, s.l, s.prompt); got != want {
				r.Fatalf("prompt %q, want %q", got, want)
			}
			if s.whole() {
				known[fmt.Sprintf("%q", s.messages)] = want + decode(t, s.l, s.sampled)
			}
		}
	})
	if got := s.l.Reentry(); again < 50 || anew < 50 || got.NotRemembered == 0 || got.Conversations != len(known) {
		t.Errorf("%d with a past, %d without, %d conversations known: %+v", again, anew, len(known), got)
	}
}

// expected is the text of a prompt, and whether a known past begins it.
func expected(known map[string]string, messages []inference.Message) (text string, from bool) {
	rest := "<|im_start|>assistant\n"
	for i := len(messages) - 1; i >= 0; i-- {
		if past, ok := known[fmt.Sprintf("%q", messages[:i+1])]; ok {
			return past + "<|im_end|>\n" + rest, true
		}
		rest = "<|im_start|>" + messages[i].Role + "\n" + messages[i].Content + "<|im_end|>\n" + rest
	}
	return rest, false
}

// whole reports whether the last answer's tokens are what was handed out: all
// of them where no stop string took tokens away, byte by byte where one did.
func (s *session) whole() bool {
	s.t.Helper()
	visible := decode(s.t, s.l, slices.DeleteFunc(slices.Clone(s.sampled), func(t int32) bool { return t <= synth.EndOfTurn }))
	if s.drawn > len(s.sampled) {
		return visible == s.text
	}
	characters, err := chat.NewStream(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	text, _ := characters.Push(visible)
	return text+characters.Flush() == s.text
}
