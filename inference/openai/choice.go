package openai

import (
	"fmt"
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
	text, thoughts strings.Builder
	calls          []toolCall
	tokens         []placed // nil where logprobs were not asked for

	// Of a stream: the events that carry text and reasoning.
	said, thought frame
	characters    int // of text sent so far
}

// frame is all of an event but the text and the logprobs in it, which is the same
// each time.
type frame struct{ before, between, after []byte }

// newToolCall is a piece of a call; index is nil for a whole one.
func newToolCall(piece *inference.ToolCallDelta, index *int) toolCall {
	c := toolCall{Index: index, ID: piece.ID, Function: functionCall{Name: piece.Name, Arguments: piece.Arguments}}
	if piece.ID != "" {
		c.Type = "function"
	}
	return c
}

// addCall adds a piece of a call to a choice that is collected.
func (c *choice) addCall(piece *inference.ToolCallDelta) error {
	switch i := piece.Index; {
	case i == len(c.calls):
		c.calls = append(c.calls, newToolCall(piece, nil))
	case i >= 0 && i < len(c.calls):
		c.calls[i].Function.Arguments += piece.Arguments
	default:
		return fmt.Errorf("the model's call %d comes behind %d others", i, len(c.calls))
	}
	return nil
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
