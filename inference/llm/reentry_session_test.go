package llm_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

// session is a client that keeps a conversation and sends all of it each turn.
type session struct {
	t        testing.TB
	l        *llm.LLM
	params   inference.Params
	messages []inference.Message
	// prompt and sampled are those of the last turn: the prompt as llm makes it
	// right before, the answer's tokens as the logprobs name them.
	prompt, sampled []int32
	// The last answer's text, why it ended, and how many tokens were drawn.
	text   string
	finish inference.FinishReason
	drawn  int
}

func (s *session) request() *inference.Request {
	return &inference.Request{ID: "turn", Messages: slices.Clone(s.messages), Params: s.params}
}

// ask sends a question and keeps the answer as clients do, trimmed.
func (s *session) ask(question string) inference.FinishReason {
	s.t.Helper()
	s.messages = append(s.messages, inference.Message{Role: inference.RoleUser, Content: question})
	req := s.request()
	var err error
	if s.prompt, err = s.l.PromptOf(s.t.Context(), req); err != nil {
		s.t.Fatal(err)
	}
	req.Params.Logprobs = true
	s.sampled, s.text = nil, ""
	for ev, err := range s.l.Generate(s.t.Context(), req) {
		if err != nil {
			s.t.Fatal(err)
		}
		if ev.Kind == inference.EventText {
			s.text += ev.Text
		}
		for _, p := range ev.Logprobs {
			s.sampled = append(s.sampled, p.Token)
		}
		if ev.Kind == inference.EventDone {
			s.finish, s.drawn = ev.Finish, ev.Usage.CompletionTokens
			if ev.Usage.PromptTokens != len(s.prompt) {
				s.t.Fatalf("%d tokens of prompt, expected %d", ev.Usage.PromptTokens, len(s.prompt))
			}
		}
	}
	s.messages = append(s.messages, inference.Message{Role: inference.RoleAssistant, Content: strings.TrimSpace(s.text)})
	return s.finish
}

// next is the prompt with one more question, without asking it.
func (s *session) next(question string) []int32 {
	s.t.Helper()
	req := s.request()
	req.Messages = append(req.Messages, inference.Message{Role: inference.RoleUser, Content: question})
	tokens, err := s.l.PromptOf(s.t.Context(), req)
	if err != nil {
		s.t.Fatal(err)
	}
	return tokens
}

// anew is what the template and the tokeniser make of the conversation.
func (s *session) anew(question string) []int32 {
	s.t.Helper()
	text, err := s.l.Render(s.t.Context(), &inference.Request{Messages: append(slices.Clone(s.messages), inference.Message{Role: inference.RoleUser, Content: question})}, true)
	if err != nil {
		s.t.Fatal(err)
	}
	return encode(s.t, s.l, text)
}

func encode(t testing.TB, l *llm.LLM, text string) []int32 {
	t.Helper()
	tokens, err := l.Tokenize(t.Context(), text, true)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func decode(t testing.TB, l *llm.LLM, tokens []int32) string {
	t.Helper()
	pieces, err := l.Detokenize(t.Context(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.Join(pieces, nil))
}

// begins checks that a prompt is what was computed, then a rest.
func begins(t testing.TB, l *llm.LLM, prompt []int32, rest string, computed ...[]int32) {
	t.Helper()
	want := slices.Concat(append(computed, encode(t, l, rest))...)
	if !slices.Equal(prompt, want) {
		t.Fatalf("prompt\n%q\nwant\n%q", decode(t, l, prompt), decode(t, l, want))
	}
}

// noisy is a client of a tiny model, whose answers are noise: half characters,
// control tokens, no end.
func noisy(t *testing.T, template string, change func(*llm.Config)) *session {
	l := start(t, enginetest.Llama(t, synth.Config{Template: template}), change)
	return &session{t: t, l: l, params: inference.Params{Temperature: 1, TopP: 1, Seed: 1, MaxTokens: 20, IgnoreEOS: true}}
}

const tinyTurn = "<|im_end|>\n<|im_start|>user\nq2<|im_end|>\n<|im_start|>assistant\n"
