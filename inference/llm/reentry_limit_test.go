package llm_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/llm"
)

// Where the past as it was said leaves the answer no room and the template
// would drop enough of it, it is rendered anew.
func TestRoomForTheAnswerComesFirst(t *testing.T) {
	s := noisy(t, drops, func(c *llm.Config) { c.Context = 256 })
	s.params.MaxTokens = 200
	s.ask("q")
	anew := s.anew("q2")
	if len(anew)+50 > 256 || len(s.prompt)+len(s.sampled)+50 < 256 {
		t.Fatalf("anew %d tokens, as said more than %d: not what this test is about", len(anew), len(s.prompt)+len(s.sampled))
	}
	for _, c := range []struct {
		maxTokens int
		again     bool
	}{{0, false}, {100, false}, {10, true}, {1000, false}} {
		s.params.MaxTokens = c.maxTokens
		before := s.l.Reentry()
		prompt := s.next("q2")
		after := s.l.Reentry()
		if (after.Reentered-before.Reentered == 1) != c.again || (after.RerenderedRoom-before.RerenderedRoom == 1) == c.again || slices.Equal(prompt, anew) == c.again {
			t.Errorf("max_tokens %d: %d tokens, %+v", c.maxTokens, len(prompt), after)
		}
	}
	// Under a template that keeps everything there is nothing to gain.
	k := noisy(t, "", func(c *llm.Config) { c.Context = 256 })
	k.params.MaxTokens = 200
	k.ask("q")
	k.params.MaxTokens = 0
	if rest := 256 - len(k.prompt) - 200; rest > 20 {
		begins(t, k.l, k.next("q2"), tinyTurn, k.prompt, k.sampled)
	} else {
		t.Errorf("only %d tokens of room", rest)
	}
}

// What fits neither as it was said nor anew is refused, with the counts of the
// conversation as the template has it.
func TestWhatDoesNotFitIsRefusedAsBefore(t *testing.T) {
	s := noisy(t, "", func(c *llm.Config) { c.Context = 256 })
	s.params.MaxTokens = 200
	s.ask("q")
	req := s.request()
	req.Messages = append(req.Messages, inference.Message{Role: inference.RoleUser, Content: strings.Repeat("word ", 100)})
	_, err := collect(t.Context(), s.l, req)
	var e *inference.Error
	if !errors.As(err, &e) || e.Code != inference.CodeContextExceeded || !strings.Contains(e.Message, "messages[") {
		t.Errorf("%v", err)
	}
}
