package openai

import (
	"strings"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/front"
)

// choice is one of the answers to a request, in the making.
type choice struct {
	*front.Choice
	echo string // the prompt, where it is to stand before the answer

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
