package answer

import (
	"fmt"
	"slices"
	"strings"

	"dure/inference"
)

// RoleDeveloper is OpenAI's name for the system role.
const RoleDeveloper = "developer"

// Facts are what a chat template takes as it is. Probe finds them out.
type Facts struct {
	System     bool // a system message, first
	Developer  bool // the role developer, first
	Systems    bool // two system messages, first
	LateSystem bool // a system message behind others
	SameRole   bool // two user messages, or two of the assistant, one behind the other
	Orphans    bool // results that belong to no call
	Unanswered bool // a call with no result, and then a user message
	AfterTool  bool // a user message right behind a result
	NoUser     bool // a conversation without a user message
	Opening    bool // a message of the assistant before the first of the user
}

// Probe renders small conversations with a template and sees which it takes: it
// does not refuse, and no message is missing from what it prints.
func Probe(render func([]inference.Message) (string, error)) Facts {
	message := func(role, text string) inference.Message { return inference.Message{Role: role, Content: text} }
	user, said := message(inference.RoleUser, "probeuser"), message(inference.RoleAssistant, "probesaid")
	system := message(inference.RoleSystem, "probesystem")
	result := message(inference.RoleTool, "proberesult")
	result.ToolCallID, result.Name = "abcdefghi", "probetool"
	call := inference.Message{Role: inference.RoleAssistant,
		ToolCalls: []inference.ToolCall{{ID: "abcdefghi", Name: "probetool", Arguments: `{"a": 1}`}}}
	takes := func(messages ...inference.Message) bool {
		text, err := render(messages)
		if err != nil {
			return false
		}
		for i, m := range messages {
			if m.Content != "" && strings.Count(text, m.Content) < countContent(messages[:i+1], m.Content) {
				return false
			}
		}
		return true
	}
	more := message(inference.RoleUser, "probemore")
	return Facts{
		System:     takes(system, user),
		Developer:  takes(message(RoleDeveloper, "probedeveloper"), user),
		Systems:    takes(system, message(inference.RoleSystem, "probesecond"), user),
		LateSystem: takes(user, said, system, more),
		SameRole:   takes(user, more, said, message(inference.RoleAssistant, "probeagain"), user),
		Orphans:    takes(user, said, result),
		Unanswered: takes(user, call, more),
		AfterTool:  takes(user, call, result, more),
		NoUser:     takes(system),
		Opening:    takes(said, user),
	}
}

func countContent(messages []inference.Message, text string) int {
	n := 0
	for _, m := range messages {
		if m.Content == text {
			n++
		}
	}
	return n
}

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
	n.unanswered()
	n.withoutUser()
	if !f.SameRole {
		n.out = merge(n.out, func(role string) bool { return role == inference.RoleUser || role == inference.RoleAssistant })
	}
	n.opening()
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

// orphans makes results that belong to no call the user's.
func (n *normaliser) orphans() {
	if n.facts.Orphans {
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
		if last := len(out) - 1; m.Role == inference.RoleUser && last >= 0 && out[last].Role == inference.RoleTool && !n.facts.AfterTool {
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

// merge makes one of messages of the same role that follow each other. Results of
// tools between them keep them apart.
func merge(messages []inference.Message, merges func(role string) bool) []inference.Message {
	var out []inference.Message
	for _, m := range messages {
		last := len(out) - 1
		if last < 0 || out[last].Role != m.Role || !merges(m.Role) || len(out[last].ToolCalls) > 0 {
			out = append(out, m)
			continue
		}
		out[last].Content = join(out[last].Content, m.Content)
		out[last].Reasoning = join(out[last].Reasoning, m.Reasoning)
		out[last].ToolCalls = slices.Concat(out[last].ToolCalls, m.ToolCalls)
	}
	return out
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
