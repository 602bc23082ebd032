package llm

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"

	"dure/inference"
	"dure/inference/engine"
)

// A fence keeps the texts of control tokens from becoming control tokens where a
// client wrote them. A template's own "<|im_start|>system" opens a system message; the
// same text within a message, a tool's result or a tool's description would open one
// too, and whoever wrote it would speak as the system.
//
// So a mark is put behind the first character of each such text before the template
// is filled, and what the template makes is tokenised in the parts between the marks:
// none of them holds a whole control text that the template did not write. The model
// reads the text as it was written, in ordinary tokens. Raw prompts are their senders'
// own and have no fence.
type fence struct {
	replacer *strings.Replacer
	firsts   string // first bytes of the control texts
}

// mark is a noncharacter, which texts never hold. In one that does it is replaced: taken
// out, it could join what it parts.
const mark = "\uFDD0"

func newFence(controls []string) *fence {
	f := &fence{}
	pairs := []string{mark, "\uFFFD"}
	for _, c := range controls {
		runes := []rune(c)
		if len(runes) < 2 || strings.TrimSpace(c) == "" {
			continue // a character cannot be parted; a line's end is no forgery
		}
		first := string(runes[0])
		pairs = append(pairs, c, first+mark+c[len(first):])
		if !strings.Contains(f.firsts, first) {
			f.firsts += first
		}
	}
	f.replacer = strings.NewReplacer(pairs...)
	return f
}

// keep puts marks into everything that a client wrote; false where there is nothing
// to mark, and shown stays as it is.
func (f *fence) keep(messages []inference.Message, shown *rendering, prefix string) (found bool) {
	text := func(s string) string {
		if !strings.ContainsAny(s, f.firsts+mark) {
			return s
		}
		r := f.replacer.Replace(s)
		found = found || r != s
		return r
	}
	// JSON is decoded by the template: what its escapes stand for counts.
	object := func(s string) string {
		plain := unescape(s)
		if r := text(plain); r != plain {
			return r
		}
		return s
	}
	fenced := make([]inference.Message, len(messages))
	for i, m := range messages {
		m.Content, m.Name, m.Reasoning, m.ToolCallID = text(m.Content), text(m.Name), text(m.Reasoning), text(m.ToolCallID)
		calls := make([]inference.ToolCall, len(m.ToolCalls))
		for j, c := range m.ToolCalls {
			calls[j] = inference.ToolCall{ID: text(c.ID), Name: text(c.Name), Arguments: object(c.Arguments)}
		}
		if m.ToolCalls != nil {
			m.ToolCalls = calls
		}
		fenced[i] = m
	}
	tools := make([]inference.Tool, len(shown.options.Tools))
	for i, t := range shown.options.Tools {
		t.Name, t.Description = text(t.Name), text(t.Description)
		if t.Parameters != nil {
			t.Parameters = json.RawMessage(object(string(t.Parameters)))
		}
		tools[i] = t
	}
	marked := text(prefix)
	if !found {
		return false
	}
	shown.messages = fenced
	if shown.options.Tools != nil {
		shown.options.Tools = tools
	}
	shown.opening = strings.TrimSuffix(shown.opening, prefix) + marked
	return true
}

// unescape writes out the escapes of a JSON text that stand for ordinary characters.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\' || i+1 == len(s):
			b.WriteByte(s[i])
		case s[i+1] == '/':
			b.WriteByte('/')
			i++
		case s[i+1] == 'u' && i+6 <= len(s):
			r, err := strconv.ParseUint(s[i+2:i+6], 16, 32)
			if err != nil || r < ' ' || r == '"' || r == '\\' || utf16.IsSurrogate(rune(r)) {
				b.WriteString(s[i : i+6])
			} else {
				b.WriteRune(rune(r))
			}
			i += 5
		default:
			b.WriteString(s[i : i+2])
			i++
		}
	}
	return b.String()
}

// open takes the marks out again.
func (f *fence) open(text string) string { return strings.ReplaceAll(text, mark, "") }

// tokens tokenises a text part by part.
func (f *fence) tokens(text string, tokenize func(part string, first bool) ([]engine.Token, error)) ([]engine.Token, error) {
	before, rest, marked := strings.Cut(text, mark)
	tokens, err := tokenize(before, true)
	for err == nil && marked {
		var part []engine.Token
		before, rest, marked = strings.Cut(rest, mark)
		part, err = tokenize(before, false)
		tokens = append(tokens, part...)
	}
	return tokens, err
}
