package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dure/inference"
)

// Compacted is the payload of agent.compacted: what was said before the last Keep turns
// stands in the conversation as a digest from now on. The role, the tools and the task,
// which all prompts begin with, stay as they are.
type Compacted struct {
	Keep int `json:"keep"`
}

// Compaction.
const (
	keepTurns  = 6        // of the newest turns, word by word
	maxDigest  = 16 << 10 // bytes; the oldest lines go first
	maxLine    = 600      // bytes of a turn
	maxSaid    = 400      // of them what the agent said: its decisions
	fullAt     = 65       // percent of the window
	digestHead = "Your conversation was shortened here. This is what you did and said before, turn by turn; outputs of tools are left out, so read again what you need:"
)

// full reports whether a conversation takes so much of a window, in tokens, that it is
// to be compacted.
func (s State) full(window int) bool {
	return window > 0 && s.size*100 > window*fullAt && s.compactable()
}

// compactable reports whether there are turns that can go.
func (s State) compactable() bool { return len(s.pending) == 0 && len(s.starts) > keepTurns }

// compact returns the state whose older turns are a digest.
func (s State) compact(keep int) State {
	if keep < 1 || len(s.starts) <= keep {
		return s
	}
	cut := s.starts[len(s.starts)-keep]
	digest := inference.Message{Role: inference.RoleUser, Content: digestOf(s.messages[2:cut])}
	messages := append(slices.Clone(s.messages[:2]), digest)
	shift := cut - len(messages)
	starts := slices.Clone(s.starts[len(s.starts)-keep:])
	for i := range starts {
		starts[i] -= shift
	}
	s.messages, s.starts, s.size = append(messages, s.messages[cut:]...), starts, 0
	return s
}

// digestOf is a line for each turn, and for each message of others; lines of an earlier
// digest are taken over.
func digestOf(messages []inference.Message) string {
	var lines []string
	outputs := map[string]string{}
	for _, m := range messages {
		if m.Role == inference.RoleTool {
			outputs[m.ToolCallID] = oneLine(m.Content, 80)
		}
	}
	for _, m := range messages {
		switch {
		case m.Role == inference.RoleAssistant:
			lines = append(lines, turnLine(m, outputs))
		case m.Role == inference.RoleUser && strings.HasPrefix(m.Content, digestHead):
			lines = append(lines, strings.Split(strings.TrimPrefix(m.Content, digestHead+"\n"), "\n")...)
		case m.Role == inference.RoleUser:
			lines = append(lines, "- you were told: "+oneLine(m.Content, maxLine))
		}
	}
	left, size := 0, 0
	for i := len(lines) - 1; i >= 0; i-- {
		if size += len(lines[i]) + 1; size > maxDigest {
			left = i + 1
			break
		}
	}
	if left > 0 {
		lines = append([]string{"- (what was before that is left out)"}, lines[left:]...)
	}
	return digestHead + "\n" + strings.Join(lines, "\n")
}

func turnLine(m inference.Message, outputs map[string]string) string {
	var b strings.Builder
	b.WriteString("- ")
	if m.Content != "" {
		fmt.Fprintf(&b, "you said: %s ", oneLine(m.Content, maxSaid))
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, "[%s %s -> %s] ", c.Name, argumentsLine(c.Arguments), outputs[c.ID])
	}
	return oneLine(b.String(), maxLine)
}

// argumentsLine is what tells calls of a tool apart: paths and commands, shortened.
func argumentsLine(text string) string {
	var args map[string]string
	if json.Unmarshal([]byte(text), &args) != nil {
		return oneLine(text, 80)
	}
	for _, name := range []string{"path", "command", "statement", "title", "to", "pattern"} {
		if v := args[name]; v != "" {
			return oneLine(v, 80)
		}
	}
	return ""
}

// oneLine is a text on one line, with so many bytes of it at most.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
