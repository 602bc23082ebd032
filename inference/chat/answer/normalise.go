package answer

import (
	"fmt"
	"slices"

	"dure/inference"
)

// Normalise makes of a conversation one that a template takes, and says what it
// changed beyond names of roles. It changes only what the template refuses, and
// never moves text towards the front: the prompt of a conversation that goes on
// begins as the one before, so that what was computed for it can be used again.
func Normalise(messages []inference.Message, f Facts) ([]inference.Message, []inference.Warning) {
	n := normaliser{facts: f, out: slices.Clone(messages)}
	n.developers()
	n.leading()
	n.late()
	n.orphans()
	n.withoutUser()
	if !f.SameRole {
		n.merge()
	}
	n.opening()
	n.unanswered()
	n.lost()
	return n.out, n.warnings
}

type normaliser struct {
	facts    Facts
	out      []inference.Message
	warnings []inference.Warning
}

func (n *normaliser) warn(format string, args ...any) {
	n.warnings = append(n.warnings, inference.Warning{Code: inference.CodeIgnored, Message: fmt.Sprintf(format, args...)})
}

// developers become system messages, where the template does not take them first,
// which is where nearly all of them stand.
func (n *normaliser) developers() {
	for i := range n.out {
		if n.out[i].Role == RoleDeveloper && (!n.facts.Developer || i > 0) {
			n.out[i].Role = inference.RoleSystem
		}
	}
}

// isSystem says that a message instructs.
func isSystem(m inference.Message) bool {
	return m.Role == inference.RoleSystem || m.Role == RoleDeveloper
}

// leading makes one of several system messages at the front, or a user message
// where there must be none.
func (n *normaliser) leading() {
	count := 0
	for count < len(n.out) && isSystem(n.out[count]) {
		count++
	}
	if count > 1 && !n.facts.Systems {
		first := n.out[0]
		for _, m := range n.out[1:count] {
			first.Content = join(first.Content, m.Content)
		}
		n.out = append([]inference.Message{first}, n.out[count:]...)
	}
	if count > 0 && !n.facts.System {
		n.warn("the model's chat template takes no system message, so that its text became the beginning of the user's")
		n.out[0].Role = inference.RoleUser
	}
}

// late marks system messages behind others as such, where they must be the user's.
func (n *normaliser) late() {
	if n.facts.LateSystem {
		return
	}
	front := true
	count := 0
	for i := range n.out {
		front = front && isSystem(n.out[i])
		if !front && isSystem(n.out[i]) {
			n.out[i] = asUser("System message", n.out[i].Content)
			count++
		}
	}
	if count > 0 {
		n.warn("the model's chat template takes a system message only first, so that %d later became messages of the user, marked as such", count)
	}
}

// asUser is a message of another role as the user's.
func asUser(mark, text string) inference.Message {
	return inference.Message{Role: inference.RoleUser, Content: "[" + mark + "]\n" + text}
}

func resultAsUser(m inference.Message) inference.Message {
	mark := "Result of a tool"
	if m.Name != "" {
		mark = "Result of the tool " + m.Name
	}
	return asUser(mark, m.Content)
}

// orphans makes results that belong to no call the user's. A template that wants
// user and assistant by turns takes them in some places only.
func (n *normaliser) orphans() {
	if n.facts.Orphans && n.facts.AfterTool {
		return
	}
	open := map[string]bool{}
	count := 0
	for i, m := range n.out {
		switch {
		case m.Role != inference.RoleTool:
			clear(open)
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
		case !open[m.ToolCallID]:
			n.out[i] = resultAsUser(m)
			clear(open)
			count++
		}
	}
	if count > 0 {
		n.warn("%d results of tools belong to no call before them and became messages of the user, since the model's chat template refuses them", count)
	}
}

// unanswered puts a result behind calls that have none, and an answer of the
// assistant between a result and a message of the user.
func (n *normaliser) unanswered() {
	var out []inference.Message
	var open []inference.ToolCall
	missing, silent := 0, 0
	for _, m := range n.out {
		if m.Role == inference.RoleUser && !n.facts.Unanswered {
			for _, c := range open {
				out = append(out, inference.Message{Role: inference.RoleTool, Name: c.Name, ToolCallID: c.ID, Content: "[There is no result.]"})
				missing++
			}
		}
		if last := len(out) - 1; m.Role == inference.RoleUser && last >= 0 && out[last].Role == inference.RoleTool && !n.facts.AfterTool && userSpoke(out) {
			out = append(out, inference.Message{Role: inference.RoleAssistant, Content: "[There is no answer.]"})
			silent++
		}
		if m.Role != inference.RoleTool {
			open = m.ToolCalls
		} else {
			open = slices.DeleteFunc(slices.Clone(open), func(c inference.ToolCall) bool { return c.ID == m.ToolCallID })
		}
		out = append(out, m)
	}
	if missing > 0 || silent > 0 {
		n.warn("the model's chat template refuses calls without a result and a user who speaks right behind one: %d results and %d answers that say so were put in", missing, silent)
	}
	n.out = out
}

// userSpoke says that the user's was the last message of those that templates count
// when they want user and assistant by turns: all but calls and results.
func userSpoke(messages []inference.Message) bool {
	for _, m := range slices.Backward(messages) {
		if m.Role != inference.RoleTool && len(m.ToolCalls) == 0 {
			return m.Role == inference.RoleUser
		}
	}
	return false
}

// withoutUser makes the last system message the user's where there is no other.
func (n *normaliser) withoutUser() {
	last := -1
	for i, m := range n.out {
		if m.Role == inference.RoleUser {
			return
		}
		if isSystem(m) {
			last = i
		}
	}
	if n.facts.NoUser || last < 0 {
		return
	}
	n.out[last].Role = inference.RoleUser
	n.warn("the model's chat template needs a message of the user, so that the last system message became one")
}

// merge makes one of messages of the same role that follow each other.
func (n *normaliser) merge() {
	var out []inference.Message
	for _, m := range n.out {
		last := len(out) - 1
		same := last >= 0 && out[last].Role == m.Role && (m.Role == inference.RoleUser || m.Role == inference.RoleAssistant)
		if !same || len(out[last].ToolCalls) > 0 {
			out = append(out, m)
			continue
		}
		out[last].Content = join(out[last].Content, m.Content)
		out[last].Reasoning = join(out[last].Reasoning, m.Reasoning)
		out[last].ToolCalls = m.ToolCalls
	}
	n.out = out
}

// lost says what the template leaves out although it refuses nothing.
func (n *normaliser) lost() {
	if n.facts.CallText {
		return
	}
	for _, m := range n.out {
		if len(m.ToolCalls) > 0 && m.Content != "" {
			n.warn("the model's chat template leaves out what the assistant says beside calls of tools")
			return
		}
	}
}

// opening puts a message of the user before one of the assistant that comes first.
func (n *normaliser) opening() {
	first := 0
	for first < len(n.out) && isSystem(n.out[first]) {
		first++
	}
	if n.facts.Opening || first == len(n.out) || n.out[first].Role != inference.RoleAssistant {
		return
	}
	n.out = slices.Insert(n.out, first, inference.Message{Role: inference.RoleUser, Content: "[The conversation begins.]"})
	n.warn("the model's chat template wants the user to begin, so that a message was put before the assistant's first")
}

// join puts texts behind each other with a blank line between.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// SplitPrefix takes the beginning of an answer off a conversation: the content of a
// last message of the assistant that calls no tool. It belongs behind the prompt
// that opens the assistant's turn; where that opens thinking, Family.Close comes
// first. Without one, all messages come back.
func SplitPrefix(messages []inference.Message) (rest []inference.Message, prefix string) {
	last := len(messages) - 1
	if last < 0 || messages[last].Role != inference.RoleAssistant || len(messages[last].ToolCalls) > 0 {
		return messages, ""
	}
	return messages[:last], messages[last].Content
}
