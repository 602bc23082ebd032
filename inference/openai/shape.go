package openai

import "dure/inference"

// shape is how one of the two routes that generate writes its answers.
type shape interface {
	// names returns the prefix of an answer's id and the "object" of a whole
	// answer and of a chunk.
	names() (id, whole, chunk string)
	// whole is a choice that is complete.
	whole(c *choice) any
	// first is what opens a streamed choice; nil for nothing.
	first(c *choice) any
	// piece is a piece of a streamed choice's text.
	piece(c *choice, text string) any
	// thought is a piece of its reasoning, call one of a call of a tool; nil where the
	// shape has no place for them.
	thought(c *choice, text string) any
	call(c *choice, piece *inference.ToolCallDelta) any
	// last ends a streamed choice.
	last(c *choice) any
	// logprobs belong to a piece or a whole choice.
	logprobs(tokens []placed) any
}

// chatShape is that of /v1/chat/completions.
type chatShape struct{}

func (chatShape) names() (id, whole, chunk string) {
	return "chatcmpl-", "chat.completion", "chat.completion.chunk"
}

func (s chatShape) whole(c *choice) any {
	m := chatMessage{Role: inference.RoleAssistant, Reasoning: c.thoughts.String(), ToolCalls: c.calls}
	if text := c.text.String(); text != "" || len(c.calls) == 0 {
		m.Content = &text
	}
	return chatChoice{Index: c.Index, Message: m, Logprobs: c.logprobs(s), Finish: c.Finish}
}

func (chatShape) first(c *choice) any {
	return chatDelta{Index: c.Index, Delta: delta{Role: inference.RoleAssistant, Content: new("")}}
}

func (chatShape) piece(c *choice, text string) any {
	return chatDelta{Index: c.Index, Delta: delta{Content: &text}}
}

func (chatShape) thought(c *choice, text string) any {
	return chatDelta{Index: c.Index, Delta: delta{Reasoning: &text}}
}

func (chatShape) call(c *choice, piece *inference.ToolCallDelta) any {
	return chatDelta{Index: c.Index, Delta: delta{ToolCalls: []toolCall{newToolCall(piece, &piece.Index)}}}
}

func (chatShape) last(c *choice) any { return chatDelta{Index: c.Index, Finish: &c.Finish} }

func (chatShape) logprobs(tokens []placed) any { return newChatLogprobs(tokens) }

// textShape is that of /v1/completions.
type textShape struct{}

func (textShape) names() (id, whole, chunk string) {
	return "cmpl-", "text_completion", "text_completion"
}

func (s textShape) whole(c *choice) any {
	return textChoice{Text: c.echo + c.text.String(), Index: c.Index, Logprobs: c.logprobs(s), Finish: &c.Finish}
}

func (textShape) first(c *choice) any {
	if c.echo == "" {
		return nil
	}
	return textChoice{Text: c.echo, Index: c.Index}
}

func (textShape) piece(c *choice, text string) any { return textChoice{Text: text, Index: c.Index} }

func (textShape) thought(*choice, string) any { return nil }

func (textShape) call(*choice, *inference.ToolCallDelta) any { return nil }

func (textShape) last(c *choice) any { return textChoice{Index: c.Index, Finish: &c.Finish} }

func (textShape) logprobs(tokens []placed) any { return newTextLogprobs(tokens) }
