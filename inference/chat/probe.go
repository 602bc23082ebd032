package chat

import (
	"strings"
	"time"

	"dure/inference"
	"dure/inference/chat/jinja"
)

// Abilities says what a template can print. They are found by trial when it is
// compiled, since templates are programs and their text tells little.
type Abilities struct {
	// System: it prints a system message in front.
	System bool
	// Tools: it prints the tools it is given. Calls: past calls. Results: what they
	// returned. Where it cannot, Render makes text of them.
	Tools, Calls, Results bool
	// Reasoning: it prints what the model thought in the turn that is under way.
	Reasoning bool
	// ThinkSwitch is the variable that switches thinking; empty for none. Effort: it
	// knows how much to think.
	ThinkSwitch string
	Effort      bool

	argumentsText bool // arguments of calls must be text, not objects
	shortIDs      bool // ids of calls must have 9 letters and digits
}

// effortSwitch is the variable of how much to think.
const effortSwitch = "reasoning_effort"

// thinkSwitches are the variables that switch thinking, by the families that have
// them: Qwen and most others, then DeepSeek and Granite.
var thinkSwitches = []string{"enable_thinking", "thinking"}

// Needles are words that no template has of its own.
const (
	needleTool    = "zebra_tool"
	needleKey     = "quokka_key"
	needleValue   = "narwhal_value"
	needleResult  = "axolotl_result"
	needleThought = "ocelot_thought"
	needleSystem  = "tapir_system"
)

// probe finds out what the template prints.
func (t *Template) probe() (a Abilities) {
	user := inference.Message{Role: inference.RoleUser, Content: "u"}
	has := func(a Abilities, needle string, o RenderOptions, messages ...inference.Message) bool {
		text, err := t.try(a, o, messages)
		return err == nil && strings.Contains(text, needle)
	}
	a.System = has(a, needleSystem, RenderOptions{}, inference.Message{Role: inference.RoleSystem, Content: needleSystem}, user)
	tool := inference.Tool{Name: needleTool, Description: "d", Parameters: []byte(`{"type":"object","properties":{"` + needleKey + `":{"type":"string"}}}`)}
	a.Tools = has(a, needleTool, RenderOptions{Tools: []inference.Tool{tool}, AddGenerationPrompt: true}, user)
	called := func(id string) inference.Message {
		return inference.Message{Role: inference.RoleAssistant, ToolCalls: []inference.ToolCall{
			{ID: id, Name: needleTool, Arguments: `{"` + needleKey + `":"` + needleValue + `"}`}}}
	}
	result := func(id string) inference.Message {
		return inference.Message{Role: inference.RoleTool, Name: needleTool, ToolCallID: id, Content: needleResult}
	}
	const short, long = "abcdefgh1", "call_0123456789abcdef"
	tools := RenderOptions{Tools: []inference.Tool{tool}}
	// Printed as an object it has its key in quotes; Python's own form, which no model
	// was trained on, has single ones.
	object, err := t.try(a, tools, []inference.Message{user, called(short), result(short)})
	a.Calls = err == nil && strings.Contains(object, needleValue) && !strings.Contains(object, "'"+needleKey+"'") && !strings.Contains(object, `\"`+needleKey)
	if !a.Calls {
		text := a
		text.argumentsText = true
		if has(text, `"`+needleValue, tools, user, called(short), result(short)) {
			a.Calls, a.argumentsText = true, true
		}
	}
	if a.Calls {
		a.Results = has(a, needleResult, tools, user, called(short), result(short))
		a.shortIDs = !has(a, needleValue, tools, user, called(long), result(long))
	} else {
		a.Results = has(a, needleResult, RenderOptions{}, user, inference.Message{Role: inference.RoleAssistant, Content: "a"}, result(short))
	}
	thought := called(short)
	thought.Reasoning = needleThought
	a.Reasoning = has(a, needleThought, tools, user, thought, result(short)) ||
		has(a, needleThought, RenderOptions{}, user, inference.Message{Role: inference.RoleAssistant, Content: "a", Reasoning: needleThought})
	for _, name := range thinkSwitches {
		if t.switches(name, true, false) {
			a.ThinkSwitch = name
			break
		}
	}
	a.Effort = t.switches(effortSwitch, "low", "high")
	return a
}

// try renders as it would be with some abilities, and without filling in for others.
func (t *Template) try(a Abilities, o RenderOptions, messages []inference.Message) (string, error) {
	a.Tools, a.Calls, a.Results = true, true, true
	trial := Template{compiled: t.compiled, able: a}
	o.Now = time.Unix(0, 0)
	return trial.Render(messages, o)
}

// switches reports whether a variable changes the prompt of an answer.
func (t *Template) switches(name string, one, other jinja.Value) bool {
	render := func(v jinja.Value) (string, error) {
		m := jinja.NewDict()
		m.Set("role", inference.RoleUser)
		m.Set("content", "u")
		return t.render(map[string]jinja.Value{
			"messages": jinja.NewList(m), "tools": nil, "documents": nil, "add_generation_prompt": true,
			"bos_token": "", "eos_token": "", name: v,
		}, time.Unix(0, 0))
	}
	a, err := render(one)
	b, err2 := render(other)
	return err == nil && err2 == nil && a != b
}
