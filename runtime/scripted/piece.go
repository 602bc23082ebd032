package scripted

import (
	"unicode/utf8"

	"dure/inference"
)

// pieceBytes is about how much of a text comes at a time.
const pieceBytes = 48

// pieces are the events of an answer, but its first and its last.
func pieces(m inference.Message) []inference.Event {
	var all []inference.Event
	add := func(kind inference.EventKind, text string) {
		for _, s := range cutText(text) {
			all = append(all, inference.Event{Kind: kind, Text: s})
		}
	}
	add(inference.EventReasoning, m.Reasoning)
	add(inference.EventText, m.Content)
	for i, c := range m.ToolCalls {
		all = append(all, inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: i, ID: c.ID, Name: c.Name}})
		for _, s := range cutText(c.Arguments) {
			all = append(all, inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{Index: i, Arguments: s}})
		}
	}
	return all
}

// cutText cuts a text into pieces of whole characters.
func cutText(text string) []string {
	var all []string
	for len(text) > pieceBytes {
		n := pieceBytes
		for n > 1 && !utf8.RuneStart(text[n]) {
			n--
		}
		all = append(all, text[:n])
		text = text[n:]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}
