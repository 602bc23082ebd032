package openai

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dure/inference"
)

// choice is one of the answers to a request, in the making.
type choice struct {
	index   int
	echo    string // the prompt, where it is to stand before the answer
	started bool
	last    time.Time // of the latest text; zero before the first
	usage   inference.Usage
	finish  inference.FinishReason // empty until the answer is whole

	// Of an answer that is sent in one piece.
	text   strings.Builder
	tokens []placed // nil where logprobs were not asked for

	// Of a stream: all of an event that carries text but the text and the
	// logprobs, which is the same each time.
	before, between, after []byte
	characters             int // sent so far
}

// logprobs are those of the whole choice; null where they were not asked for.
func (c *choice) logprobs(s shape) any {
	if c.tokens == nil {
		return nil
	}
	return s.logprobs(c.tokens)
}

// place finds where the tokens of the next piece of text are in the answer.
func (c *choice) place(text string, tokens []inference.TokenLogprob) []placed {
	all := place(c.characters, text, tokens)
	c.characters += utf8.RuneCountInString(text)
	return all
}

// total is what all choices used, n of them for each prompt. A prompt counts
// once, with as much of it cached as for the choice that found least in the
// cache: that one read it. Prefix is that of the choice that read most of its
// prompt. All else is summed.
func total(choices []*choice, n int) inference.Usage {
	var sum inference.Usage
	most := -1
	for group := range slices.Chunk(choices, n) {
		prompt, cached := 0, -1
		for _, c := range group {
			u := c.usage
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
func reasons(choices []*choice) string {
	var all []string
	for _, c := range choices {
		if reason := string(c.finish); !slices.Contains(all, reason) {
			all = append(all, reason)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
