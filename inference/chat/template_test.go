package chat

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference"
)

type conversation struct {
	Name      string          `json:"name"`
	Variables json.RawMessage `json:"variables"`
}

func readConversations(t *testing.T) []conversation {
	t.Helper()
	var out []conversation
	if err := json.Unmarshal([]byte(readFile(t, "testdata/conversations.json")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func ownTemplates(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/templates/*.jinja")
	if err != nil || len(names) == 0 {
		t.Fatalf("no templates in testdata/templates: %v", err)
	}
	return names
}

// rendering is Python's text, or why it refused.
type rendering struct {
	Text    *string `json:"text,omitempty"`
	Refused string  `json:"refused,omitempty"`
}

// renderedPath holds what Python makes of our templates and conversations, by
// file and conversation. The oracle test writes and checks it.
const renderedPath = "testdata/rendered.json"

func readRendered(t *testing.T) map[string]map[string]rendering {
	t.Helper()
	var out map[string]map[string]rendering
	if err := json.Unmarshal([]byte(readFile(t, renderedPath)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConversationsRenderAsInPython(t *testing.T) {
	rendered := readRendered(t)
	refused, texts := 0, 0
	for _, name := range ownTemplates(t) {
		compiled, err := Compile(readFile(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, c := range readConversations(t) {
			want, ok := rendered[name][c.Name]
			if !ok {
				t.Errorf("%s, %s: no result from Python", name, c.Name)
				continue
			}
			got, err := compiled.render(variablesOf(t, c.Variables), testNow)
			if want.Text == nil {
				refused++
				words, raised := strings.CutPrefix(want.Refused, "TemplateError: ")
				if err == nil || raised && err.Error() != words {
					t.Errorf("%s, %s: %q, error %v; want the refusal %s", name, c.Name, got, err, want.Refused)
				}
				continue
			}
			texts++
			if err != nil || got != *want.Text {
				t.Errorf("%s, %s:\n\tgot  %q, error %v\n\twant %q", name, c.Name, got, err, *want.Text)
			}
		}
	}
	if refused < 10 || texts < 80 {
		t.Errorf("%d texts and %d refusals do not test much", texts, refused)
	}
}

func TestRenderGivesTheTemplateWhatItMayKnow(t *testing.T) {
	compiled, err := Compile(`{{ bos_token }}{{ strftime_now('%d %b %Y') }}|{% for m in messages %}{{ m.role }}{% if m.name is defined %}({{ m.name }}){% endif %}: {{ m.content }}{{ eos_token }}{% endfor %}` +
		`|{{ add_generation_prompt }} {{ tools is none }} {{ documents is none }}`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := compiled.Render([]inference.Message{
		{Role: "system", Content: "S"},
		{Role: "user", Content: "안녕", Name: "alice"},
	}, RenderOptions{AddGenerationPrompt: true, BOS: "<s>", EOS: "</s>", Now: testNow})
	if want := "<s>04 Mar 2026|system: S</s>user(alice): 안녕</s>|True True True"; got != want || err != nil {
		t.Errorf("%q, error %v; want %q", got, err, want)
	}
}

func TestChatML(t *testing.T) {
	compiled, err := Compile(ChatML)
	if err != nil {
		t.Fatal(err)
	}
	messages := []inference.Message{{Role: "system", Content: "Be kind.\n"}, {Role: "user", Content: " Hi <b> "}}
	got, err := compiled.Render(messages, RenderOptions{AddGenerationPrompt: true})
	if want := "<|im_start|>system\nBe kind.\n<|im_end|>\n<|im_start|>user\n Hi <b> <|im_end|>\n<|im_start|>assistant\n"; got != want || err != nil {
		t.Errorf("%q, error %v; want %q", got, err, want)
	}
	got, err = compiled.Render(messages[:1], RenderOptions{})
	if want := "<|im_start|>system\nBe kind.\n<|im_end|>\n"; got != want || err != nil {
		t.Errorf("%q, error %v; want %q", got, err, want)
	}
}

func TestErrorsOfTemplates(t *testing.T) {
	for _, source := range []string{"", " \n"} {
		if _, err := Compile(source); !errors.Is(err, ErrNoTemplate) {
			t.Errorf("Compile(%q) = %v, want ErrNoTemplate", source, err)
		}
	}
	for source, want := range map[string]string{
		"a\n{% if %}":       "compile chat template: line 2: ",
		"{{ x|nope }}":      "compile chat template: line 1: unknown filter nope",
		"\xff":              "compile chat template: it is not valid UTF-8",
		"{% include 'x' %}": "compile chat template: line 1: the tag include is not supported in chat templates",
	} {
		if _, err := Compile(source); err == nil || errors.Is(err, ErrNoTemplate) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Compile(%q) = %v, want %s...", source, err, want)
		}
	}
	for _, c := range []struct {
		source, message string
		code            inference.Code
	}{
		{"{{ raise_exception('Roles must alternate: ' ~ messages|length) }}", "Roles must alternate: 1", inference.CodeInvalidRequest},
		{"{{ raise_exception() }}", "the chat template refuses these messages", inference.CodeInvalidRequest},
		{"\n{{ messages[0].tool_calls.x }}", "the model's chat template cannot render these messages: line 2: 'dict object' has no attribute 'tool_calls'", inference.CodeInvalidRequest},
		{"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "the model's chat template uses more than a rendering may: line 1: the nesting exceeds the limit of 2000", inference.CodeInternal},
		{"{{ strftime_now('%Y') }}", "the model's chat template cannot render these messages: line 1: strftime_now: the caller gave no time", inference.CodeInvalidRequest},
	} {
		compiled, err := Compile(c.source)
		if err != nil {
			t.Fatalf("Compile(%q): %v", c.source, err)
		}
		_, err = compiled.Render([]inference.Message{{Role: "user", Content: "Hi"}}, RenderOptions{})
		var e *inference.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Message != c.message || (e.Param == "messages") != (c.code == inference.CodeInvalidRequest) {
			t.Errorf("%q: %#v, want %s %q", c.source, err, c.code, c.message)
		}
	}
}

func TestTemplateIsSafeForConcurrentUse(t *testing.T) {
	compiled, err := Compile(readFile(t, "testdata/templates/think_xml_tools.jinja"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := compiled.Render([]inference.Message{{Role: "user", Content: "Hi"}}, RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				got, err := compiled.Render([]inference.Message{{Role: "user", Content: "Hi"}}, RenderOptions{})
				if got != want || err != nil {
					t.Errorf("%q, error %v; want %q", got, err, want)
				}
				if _, err := compiled.Render(nil, RenderOptions{}); err == nil {
					t.Error("no messages are not refused")
				}
			}
		})
	}
	wg.Wait()
}

func TestStrftime(t *testing.T) {
	afternoon := time.Date(2026, 11, 29, 0, 5, 9, 1000, time.UTC)
	for format, want := range map[string]string{
		"":                          "",
		"%d %B %Y":                  "29 November 2026",
		"%-d.%-m.%y %-H:%-M %-I %p": "29.11.26 0:5 12 AM",
		"100%% %":                   "100% %",
		"%Q %-Q %-":                 "%Q %-Q %-",
		"%f %j %k|%l %e":            "000001 333  0|12 29",
		"안 %A":                      "안 Sunday",
	} {
		if got, err := strftime(afternoon, format); got != want || err != nil {
			t.Errorf("strftime(%q) = %q, %v; want %q", format, got, err, want)
		}
	}
	if _, err := strftime(afternoon, strings.Repeat("%c", maxFormat)); err == nil {
		t.Error("a format of any length is taken")
	}
}

func BenchmarkRender(b *testing.B) {
	source, err := os.ReadFile("testdata/templates/think_xml_tools.jinja")
	if err != nil {
		b.Fatal(err)
	}
	compiled, err := Compile(string(source))
	if err != nil {
		b.Fatal(err)
	}
	var messages []inference.Message
	for range 50 {
		messages = append(messages,
			inference.Message{Role: "user", Content: strings.Repeat("question ", 100)},
			inference.Message{Role: "assistant", Content: strings.Repeat("answer ", 100)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compiled.Render(messages, RenderOptions{AddGenerationPrompt: true}); err != nil {
			b.Fatal(err)
		}
	}
}
