package chat

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dure/inference"
)

func weather() []inference.Tool {
	return []inference.Tool{{Name: "weather", Description: "says <how> it is", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"},"at":{"type":"integer"}}}`)}, {Name: "now"}}
}

func asked() []inference.Message {
	return []inference.Message{
		{Role: "system", Content: "Be short."},
		{Role: "user", Content: "Is it raining in Seoul and Busan?"},
		{Role: "assistant", Content: "I look.", Reasoning: "Two cities.", ToolCalls: []inference.ToolCall{
			{ID: "call_0000000000000001", Name: "weather", Arguments: `{"city":"Seoul & \"Gu\"","at":12}`},
			{ID: "call_0000000000000002", Name: "now", Arguments: `{}`},
		}},
		{Role: "tool", Name: "weather", ToolCallID: "call_0000000000000001", Content: "rain"},
		{Role: "tool", Name: "now", ToolCallID: "call_0000000000000002", Content: "noon"},
	}
}

func compile(t *testing.T, source string) *Template {
	t.Helper()
	c, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAbilitiesAreFoundByTrial(t *testing.T) {
	const loop = `{% for m in messages %}[{{ m.role }}]{{ m.content }}`
	for name, c := range map[string]struct {
		source string
		want   Abilities
	}{
		"nothing but text": {ChatML, Abilities{System: true, Results: true}},
		"objects": {loop + `{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments|tojson }}){% endfor %}{{ m.reasoning_content }}{% endfor %}{{ tools|tojson if tools }}{{ 'T' if enable_thinking else 'F' }}{{ reasoning_effort }}`,
			Abilities{System: true, Tools: true, Calls: true, Results: true, Reasoning: true, ThinkSwitch: "enable_thinking", Effort: true}},
		"text": {loop + `{% for c in m.tool_calls or [] %}{{ c.function.name + c.function.arguments }}{% endfor %}{% endfor %}{{ thinking }}`,
			Abilities{System: true, Calls: true, Results: true, ThinkSwitch: "thinking", argumentsText: true}},
		"Python's own form": {loop + `{% for c in m.tool_calls or [] %}{{ c.function.arguments }}{% endfor %}{% endfor %}`,
			Abilities{System: true, Calls: true, Results: true, argumentsText: true}},
		"short names": {loop + `{% for c in m.tool_calls or [] %}{{ raise_exception('x') if c.id|length != 9 }}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}`,
			Abilities{System: true, Calls: true, Results: true, shortIDs: true}},
		"no system, no tool role": {`{% for m in messages %}{{ raise_exception('x') if m.role not in ['user', 'assistant'] }}{{ m.content }}{% endfor %}`, Abilities{}},
	} {
		if got := compile(t, c.source).Abilities(); got != c.want {
			t.Errorf("%s:\n\tgot  %+v\n\twant %+v", name, got, c.want)
		}
	}
}

// Whatever a template cannot print is in the prompt as text, in each turn alike.
func TestWhatATemplateCannotPrintBecomesText(t *testing.T) {
	c := compile(t, ChatML)
	messages := asked()
	before := slices.Clone(messages)
	got, err := c.Render(messages, RenderOptions{Tools: weather(), AddGenerationPrompt: true})
	want := "<|im_start|>system\nBe short.\n\n" + toolsHead +
		`{"name":"weather","description":"says <how> it is","parameters":{"type":"object","properties":{"city":{"type":"string"},"at":{"type":"integer"}}}}` + "\n" +
		`{"name":"now","parameters":{"type":"object","properties":{}}}` + "\n" + toolsTail + "<|im_end|>\n" +
		"<|im_start|>user\nIs it raining in Seoul and Busan?<|im_end|>\n" +
		"<|im_start|>assistant\nI look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Seoul & \\\"Gu\\\"\",\"at\":12}}\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call><|im_end|>\n" +
		"<|im_start|>tool\nrain<|im_end|>\n<|im_start|>tool\nnoon<|im_end|>\n<|im_start|>assistant\n"
	if err != nil || got != want {
		t.Errorf("%v\n\tgot  %q\n\twant %q", err, got, want)
	}
	if !reflect.DeepEqual(messages, before) {
		t.Error("the messages that came were changed")
	}
	for n := range messages {
		head, err := c.Render(messages[:n+1], RenderOptions{Tools: weather()})
		if err != nil || !strings.HasPrefix(got, head) {
			t.Errorf("%d messages are no beginning of all: %v\n%q", n+1, err, head)
		}
	}
}

func TestResultsBecomeOneTurnOfTheUser(t *testing.T) {
	c := compile(t, `{% for m in messages %}{{ raise_exception('alternate') if m.role not in ['user', 'assistant'] or (m.role == 'user') != (loop.index0 % 2 == 0) }}[{{ m.content }}]{% endfor %}`)
	got, err := c.Render(asked()[1:], RenderOptions{})
	if want := "[<tool_response>\nrain\n</tool_response>\n<tool_response>\nnoon\n</tool_response>]"; err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("%v: %q", err, got)
	}
}

func TestNamesOfCallsFitTheTemplate(t *testing.T) {
	c := compile(t, `{% for m in messages %}{% for c in m.tool_calls or [] %}{{ raise_exception('x') if c.id|length != 9 }}{{ c.id }}{{ c.function.arguments|tojson }},{% endfor %}{{ m.tool_call_id }}{{ m.content if m.role == 'tool' }};{% endfor %}`)
	got, err := c.Render(asked(), RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.Trim(got, ";"), ";")
	calls := strings.Split(parts[0], ",")
	if len(parts) != 3 || len(calls) < 2 || calls[0][:9] != parts[1][:9] || calls[0][:9] == calls[1][:9] {
		t.Errorf("%q", got)
	}
}

func TestArgumentsThatAreNoJSONAreRefused(t *testing.T) {
	messages := asked()
	messages[2].ToolCalls[1].Arguments = "{city"
	_, err := compile(t, `{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments|tojson }}{% endfor %}{{ m.content }}{% endfor %}`).Render(messages, RenderOptions{})
	var e *inference.Error
	if !asError(err, &e) || e.Param != "messages[2].tool_calls" || e.Code != inference.CodeInvalidRequest {
		t.Errorf("%v", err)
	}
	if _, err := compile(t, `{{ tools|tojson }}`).Render(messages[:1], RenderOptions{Tools: []inference.Tool{{Name: "x", Parameters: []byte("{")}}}); !asError(err, &e) || e.Param != "tools[0].parameters" {
		t.Errorf("%v", err)
	}
}

func TestSwitches(t *testing.T) {
	c := compile(t, `{{ enable_thinking if enable_thinking is defined }}|{{ reasoning_effort if reasoning_effort is defined }}|{{ messages[0].content }}`)
	on, off := true, false
	for want, o := range map[string]RenderOptions{
		"||u": {}, "True||u": {Think: &on}, "False||u": {Think: &off}, "|low|u": {Effort: inference.EffortLow},
	} {
		if got, err := c.Render([]inference.Message{{Role: "user", Content: "u"}}, o); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if got, err := compile(t, ChatML).Render([]inference.Message{{Role: "user", Content: "u"}}, RenderOptions{Think: &on, Effort: inference.EffortLow}); err != nil || strings.Contains(got, "low") {
		t.Errorf("%q, %v", got, err)
	}
}

func asError(err error, e **inference.Error) bool { return errors.As(err, e) }
