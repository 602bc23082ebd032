package answer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dure/inference"
	"dure/inference/chat"
)

func brief(messages []inference.Message) string {
	var out []string
	for _, m := range messages {
		text := m.Role + ":" + m.Content
		for _, c := range m.ToolCalls {
			text += "(" + c.ID + ")"
		}
		if m.ToolCallID != "" {
			text += "<" + m.ToolCallID
		}
		out = append(out, text)
	}
	return strings.Join(out, "|")
}

// conversation reads what brief writes.
func conversation(text string) []inference.Message {
	var out []inference.Message
	for _, part := range strings.Split(text, "|") {
		role, content, _ := strings.Cut(part, ":")
		m := inference.Message{Role: role}
		content, m.ToolCallID, _ = strings.Cut(content, "<")
		content, calls, called := strings.Cut(content, "(")
		m.Content = content
		if called {
			for _, id := range strings.Split(strings.TrimSuffix(calls, ")"), ")(") {
				m.ToolCalls = append(m.ToolCalls, inference.ToolCall{ID: id, Name: "f", Arguments: "{}"})
			}
		}
		out = append(out, m)
	}
	return out
}

// takesAll is a template that takes anything; Normalise changes nothing for it.
var takesAll = Facts{System: true, Developer: true, Systems: true, LateSystem: true, SameRole: true,
	Orphans: true, Unanswered: true, AfterTool: true, CallText: true, NoUser: true, Opening: true}

func TestNormalise(t *testing.T) {
	strict := Facts{System: true, CallText: true}
	for _, c := range []struct {
		name     string
		facts    Facts
		in, want string
		warnings int
	}{
		{"nothing", takesAll, "developer:a|system:b|user:c|user:d|system:e|tool:f<x", "developer:a|system:b|user:c|user:d|system:e|tool:f<x", 0},
		{"plain", strict, "system:s|user:a|assistant:b|user:c", "system:s|user:a|assistant:b|user:c", 0},
		{"developer", strict, "developer:s|user:a", "system:s|user:a", 0},
		{"developer that is taken", takesAll, "developer:s|user:a", "developer:s|user:a", 0},
		{"several systems", strict, "system:a|developer:b|system:c|user:d", "system:a\n\nb\n\nc|user:d", 0},
		{"late system", strict, "user:a|assistant:b|system:c", "user:a|assistant:b|user:[System message]\nc", 1},
		{"late system beside the user", strict, "user:a|system:c|user:d", "user:a\n\n[System message]\nc\n\nd", 1},
		{"no system", Facts{}, "system:s|user:a", "user:s\n\na", 1},
		{"same role", strict, "user:a|user:b|assistant:c|assistant:d|user:e", "user:a\n\nb|assistant:c\n\nd|user:e", 0},
		{"same role that is taken", takesAll, "user:a|user:b", "user:a|user:b", 0},
		{"text and then calls", strict, "user:a|assistant:b|assistant:(x)|tool:r<x", "user:a|assistant:b(x)|tool:r<x", 0},
		{"text and then calls, where both are not printed", Facts{System: true}, "user:a|assistant:b|assistant:(x)|tool:r<x", "user:a|assistant:b(x)|tool:r<x", 1},
		{"text beside calls that is not printed", Facts{System: true}, "user:a|assistant:b(x)|tool:r<x", "user:a|assistant:b(x)|tool:r<x", 1},
		{"calls in a row", strict, "user:a|assistant:(x)|tool:r<x|assistant:(y)|tool:s<y", "user:a|assistant:(x)|tool:r<x|assistant:(y)|tool:s<y", 0},
		{"parallel results", strict, "user:a|assistant:(x)(y)|tool:r<x|tool:s<y", "user:a|assistant:(x)(y)|tool:r<x|tool:s<y", 0},
		{"orphan", strict, "user:a|assistant:b|tool:r<x", "user:a|assistant:b|user:[Result of a tool]\nr", 1},
		{"orphan of another call", strict, "user:a|assistant:(x)|tool:r<y", "user:a|assistant:(x)|tool:[There is no result.]<x|assistant:[There is no answer.]|user:[Result of a tool]\nr", 2},
		{"unanswered", strict, "user:a|assistant:(x)|user:b", "user:a|assistant:(x)|tool:[There is no result.]<x|assistant:[There is no answer.]|user:b", 1},
		{"user behind a result", strict, "user:a|assistant:(x)|tool:r<x|user:b", "user:a|assistant:(x)|tool:r<x|assistant:[There is no answer.]|user:b", 1},
		{"only a system", strict, "system:a", "user:a", 1},
		{"assistant first", strict, "system:s|assistant:a|user:b", "system:s|user:[The conversation begins.]|assistant:a|user:b", 1},
		{"prefix of an answer", strict, "user:a|assistant:b", "user:a|assistant:b", 0},
	} {
		in := conversation(c.in)
		got, warnings := Normalise(in, c.facts)
		if brief(got) != c.want || len(warnings) != c.warnings {
			t.Errorf("%s:\n\tgot  %q, %v\n\twant %q, %d warnings", c.name, brief(got), warnings, c.want, c.warnings)
		}
		if brief(in) != c.in {
			t.Errorf("%s: the messages that came were changed", c.name)
		}
	}
}

// ruled is a template with rules like those of real ones.
const ruled = `{%- set ns = namespace(i=0) -%}{%- for m in messages -%}
{%- if m.role == 'system' and not loop.first -%}{{ raise_exception('system first') }}{%- endif -%}
{%- if m.role not in ['system', 'user', 'assistant', 'tool'] -%}{{ raise_exception('role') }}{%- endif -%}
{%- if m.role == 'user' or m.role == 'assistant' and not m.tool_calls -%}
{%- if (m.role == 'user') != (ns.i % 2 == 0) -%}{{ raise_exception('roles must alternate') }}{%- endif -%}{%- set ns.i = ns.i + 1 -%}{%- endif -%}
<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}
{% endfor %}`

func renderer(t testing.TB, source string) func([]inference.Message) (string, error) {
	t.Helper()
	compiled, err := chat.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return func(messages []inference.Message) (string, error) {
		return compiled.Render(messages, chat.RenderOptions{Now: time.Unix(0, 0)})
	}
}

func templates(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{"ruled": ruled, "chatml": chat.ChatML}
	files, err := filepath.Glob("../testdata/templates/*.jinja")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = string(data)
	}
	return out
}

// TestNormalisedConversationsAreTaken: whatever order the roles come in, the
// template takes the conversation, all of its text is in the prompt in order, and a
// conversation that goes on begins as before.
func TestNormalisedConversationsAreTaken(t *testing.T) {
	for name, source := range templates(t) {
		render := renderer(t, source)
		facts := Probe(render)
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				in := anyConversation(rt)
				got, _ := Normalise(in, facts)
				prompt, err := render(got)
				if err != nil {
					rt.Fatalf("%s\nbecame %s\nand is refused: %v", brief(in), brief(got), err)
				}
				at := 0
				for _, m := range in {
					if m.Role == inference.RoleAssistant && !facts.CallText {
						continue // what stands beside calls is lost; Normalise says so
					}
					i := strings.Index(prompt[at:], m.Content)
					if i < 0 {
						rt.Fatalf("%s\nbecame %s\nand %q is lost, or not in order:\n%s", brief(in), brief(got), m.Content, prompt)
					}
					at += i
				}
			})
		})
	}
}

func anyConversation(rt *rapid.T) []inference.Message {
	roles := []string{"system", "developer", "user", "assistant", "call", "tool"}
	var out []inference.Message
	for i := range rapid.IntRange(0, 6).Draw(rt, "messages") {
		role := rapid.SampledFrom(roles).Draw(rt, "role")
		m := inference.Message{Role: role, Content: "text" + string(rune('a'+i))}
		id := "abcdefgh" + rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "id")
		switch role {
		case "call":
			m.Role = inference.RoleAssistant
			m.ToolCalls = []inference.ToolCall{{ID: id, Name: "f", Arguments: "{}"}}
		case "tool":
			m.ToolCallID, m.Name = id, "f"
		}
		out = append(out, m)
	}
	return append(out, inference.Message{Role: "user", Content: "textz"})
}

// TestNormaliseOfBundledTemplates probes real templates and renders what most of
// them refuse.
func TestNormaliseOfBundledTemplates(t *testing.T) {
	hard := conversation("developer:dev|system:sys|user:one|user:two|assistant:three|system:late|user:four|assistant:five(abcdefgh1)|tool:six<abcdefgh1|user:seven")
	for name, source := range bundled(t) {
		render := renderer(t, source)
		facts := Probe(render)
		if !slices.Contains([]string{"google-gemma-2-2b-it", "Qwen3.5-4B", "mistralai-Mistral-Nemo-Instruct-2407", "mistralai-Ministral-3-14B-Reasoning-2512",
			"Mistral-Small-3.2-24B-Instruct-2506", "Qwen-Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct", "openai-gpt-oss-120b", "google-gemma-4-31B-it"}, name) {
			continue
		}
		got, _ := Normalise(hard, facts)
		prompt, err := render(got)
		if err != nil {
			t.Errorf("%s %+v: %s\nis refused: %v", name, facts, brief(got), err)
			continue
		}
		for _, word := range []string{"dev", "sys", "one", "two", "three", "late", "four", "six", "seven"} {
			if !strings.Contains(prompt, word) {
				t.Errorf("%s %+v: %q is lost:\n%s", name, facts, word, prompt)
			}
		}
	}
}

func TestSplitPrefix(t *testing.T) {
	for in, want := range map[string]string{
		"user:a|assistant:b": "user:a / b", "user:a": "user:a / ", "user:a|assistant:b(x)": "user:a|assistant:b(x) / ",
	} {
		rest, prefix := SplitPrefix(conversation(in))
		if got := brief(rest) + " / " + prefix; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	if rest, prefix := SplitPrefix(nil); rest != nil || prefix != "" {
		t.Errorf("%v, %q", rest, prefix)
	}
}
