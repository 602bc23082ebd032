package llm

import (
	"testing"

	"dure/inference"
	"dure/inference/chat/answer"
)

// A message that the template does not take as it came is found again in the request.
func TestPlaceOfNormalisedMessages(t *testing.T) {
	of := func(pairs ...string) (all []inference.Message) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, inference.Message{Role: pairs[i], Content: pairs[i+1]})
		}
		return all
	}
	plain := answer.Facts{System: true, NoUser: true, Orphans: true, Unanswered: true, AfterTool: true, CallText: true}
	for name, c := range map[string]struct {
		asked []inference.Message
		want  []int // for each normalised message; -1 for one that was put in
	}{
		"as it came":     {of("system", "s", "user", "u", "assistant", "a"), []int{0, 1, 2}},
		"systems merged": {of("system", "first", "system", "second", "user", "u"), []int{0, 2}},
		"users merged":   {of("user", "one", "user", "two", "assistant", "a", "user", "three"), []int{0, 2, 3}},
		"opening put in": {of("assistant", "hello", "user", "who", "assistant", "", "user", "me"), []int{-1, 0, 1, 2, 3}},
		"late system":    {of("user", "u", "assistant", "a", "system", "late", "assistant", "b"), []int{0, 1, 2, 3}},
	} {
		messages, _ := answer.Normalise(c.asked, plain)
		if len(messages) != len(c.want) {
			t.Errorf("%s: %d messages: %+v", name, len(messages), messages)
			continue
		}
		for k, want := range c.want {
			got := -1
			if i := cameFrom(c.asked, messages, k); i != nil {
				got = *i
			}
			if got != want {
				t.Errorf("%s: messages[%d] came from %d, want %d", name, k, got, want)
			}
		}
	}
}
