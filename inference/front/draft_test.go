package front_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"dure/inference"
)

// Guesses that were checked are counted beside the tokens of the answer, over all
// choices.
func TestUsageOfDrafts(t *testing.T) {
	w := newWorld(t, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		u := &inference.Usage{PromptTokens: 7, CompletionTokens: 5, DraftedTokens: 8, AcceptedTokens: 3}
		return script(nil, started(), inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: u})(nil, nil)
	})
	w.models.Info.Sequences = 1
	if got := w.say(`{"n":2,` + hello[1:]); !strings.Contains(got.Body, `"completion_tokens":10`) ||
		!strings.Contains(got.Body, `"drafted_tokens":16,"accepted_tokens":6`) {
		t.Errorf("%s", got.Body)
	}
}
