package front

import (
	"slices"
	"strings"
	"time"

	"dure/inference"
)

// Choice is one of the answers to a request, in the making.
type Choice struct {
	Index  int
	Usage  inference.Usage        // as far as the model told it
	Finish inference.FinishReason // empty until the choice is whole
	Stop   string                 // the stop string that ended it, if one did

	pieces  int // of its text that came
	started bool
	last    time.Time // of the latest text; zero before the first
}

// total is what all choices used, n of them for each prompt. A prompt counts
// once, with as much of it cached as for the choice that found least in the
// cache: that one read it. Prefix is that of the choice that read most of its
// prompt. All else is summed.
func total(choices []*Choice, n int) inference.Usage {
	var sum inference.Usage
	most := -1
	for group := range slices.Chunk(choices, n) {
		prompt, cached := 0, -1
		for _, c := range group {
			u := c.Usage
			prompt = max(prompt, u.PromptTokens)
			if c.started && (cached < 0 || u.CachedTokens < cached) {
				cached = u.CachedTokens
			}
			sum.CompletionTokens += u.CompletionTokens
			sum.QueueMS += u.QueueMS
			sum.RestoreMS += u.RestoreMS
			sum.PrefillMS += u.PrefillMS
			sum.DecodeMS += u.DecodeMS
			sum.DraftedTokens += u.DraftedTokens
			sum.AcceptedTokens += u.AcceptedTokens
			sum.ReasoningTokens += u.ReasoningTokens
			if read := u.PromptTokens - u.CachedTokens; u.Prefix != nil && read > most {
				most, sum.Prefix = read, u.Prefix
			}
		}
		sum.PromptTokens += prompt
		sum.CachedTokens += max(0, cached)
	}
	return sum
}

// reasons names why the choices ended, each reason once.
func reasons(choices []*Choice) string {
	var all []string
	for _, c := range choices {
		if reason := string(c.Finish); !slices.Contains(all, reason) {
			all = append(all, reason)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
