package answer

import (
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
	CallText   bool // text of the assistant beside calls
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
	beside := call
	beside.Content = "probebeside"
	return Facts{
		System:     takes(system, user),
		Developer:  takes(message(RoleDeveloper, "probedeveloper"), user),
		Systems:    takes(system, message(inference.RoleSystem, "probesecond"), user),
		LateSystem: takes(user, said, system, more),
		SameRole:   takes(user, more, said, message(inference.RoleAssistant, "probeagain"), user),
		Orphans:    takes(user, said, result),
		Unanswered: takes(user, call, more),
		AfterTool:  takes(user, call, result, more),
		CallText:   takes(user, beside, result),
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
