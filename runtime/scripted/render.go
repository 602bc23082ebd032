package scripted

import (
	"strings"

	"dure/inference"
)

// tokenBytes is how many bytes a token has.
const tokenBytes = 4

// tokens counts those of a text.
func tokens(bytes int) int { return (bytes + tokenBytes - 1) / tokenBytes }

// prompt is a request as a model would read it.
type prompt struct {
	text string
	// trunk is where tools and system end, known where the last answer ends; 0 where
	// there is none. In bytes.
	trunk, known int
}

// render writes tools and messages. What it writes for an answer is the same when it is
// generated and when it comes back in the next request.
func render(req *inference.Request) prompt {
	var b strings.Builder
	for _, t := range req.Tools {
		block(&b, "tool", t.Name, t.Description, compact(t.Parameters))
	}
	var p prompt
	p.trunk = b.Len()
	head := true
	for _, m := range req.Messages {
		b.WriteString(message(m))
		switch head = head && m.Role == inference.RoleSystem; {
		case head:
			p.trunk = b.Len()
		case m.Role == inference.RoleAssistant:
			p.known = b.Len()
		}
	}
	p.text = b.String()
	return p
}

func message(m inference.Message) string {
	var b strings.Builder
	parts := []string{m.Role, m.Reasoning, m.Content}
	for _, c := range m.ToolCalls {
		parts = append(parts, c.Name, c.Arguments)
	}
	block(&b, parts...)
	return b.String()
}

func block(b *strings.Builder, parts ...string) {
	b.WriteString("<<")
	for _, p := range parts {
		b.WriteString(p)
		b.WriteByte('\n')
	}
	b.WriteString(">>")
}

// completion counts the tokens of an answer.
func completion(m inference.Message) (all, reasoning int) {
	return tokens(len(message(m))), tokens(len(m.Reasoning))
}
