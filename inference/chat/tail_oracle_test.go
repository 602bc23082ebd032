//go:build oracle

package chat

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dure/inference"
)

// TestTailsOfTemplatesInUse asks every template of a directory what follows a
// past answer, thinking and all. Whatever is given must be what the template
// writes; that Qwen3.5's is among those that give something is what long
// conversations with such models rest on.
//
//	go test -tags oracle ./inference/chat -args -templates DIR
func TestTailsOfTemplatesInUse(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*templatesDir, "*.jinja"))
	if err != nil || *templatesDir == "" || len(files) == 0 {
		t.Fatalf("no templates in -templates %q: %v", *templatesDir, err)
	}
	messages := []inference.Message{
		{Role: inference.RoleUser, Content: "first question"},
		{Role: inference.RoleAssistant, Content: "first thought\n</think>\n\nfirst answer\n"},
		{Role: inference.RoleUser, Content: "second question"},
		{Role: inference.RoleAssistant, Content: "second thought\n</think>\n\nsecond answer"},
		{Role: inference.RoleUser, Content: "third question"},
	}
	var given, none, refused []string
	for _, file := range files {
		name := filepath.Base(file)
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := Compile(string(source))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		o := RenderOptions{AddGenerationPrompt: true, BOS: "<bos>", EOS: "<eos>", Now: testNow}
		rendered, err := compiled.Render(messages, o)
		if err != nil {
			refused = append(refused, name)
			continue
		}
		for k, said := range map[int][]string{1: {"second question", "second answer", "third question"}, 3: {"third question"}} {
			tail, err := compiled.Tail(rendered, messages, k, o)
			if errors.Is(err, ErrNoTail) {
				none = append(none, name+": "+err.Error())
				continue
			}
			if err != nil || !strings.HasSuffix(rendered, tail) || strings.Contains(tail, "first question") || strings.Contains(tail, "first answer") {
				t.Errorf("%s, message %d: %q, %v", name, k, tail, err)
			}
			for _, s := range said {
				if strings.Count(tail, s) != 1 {
					t.Errorf("%s, message %d: %q does not say %q once", name, k, tail, s)
				}
			}
			given = append(given, name)
		}
	}
	t.Logf("%d templates: %d tails given, %d not, %d refuse the conversation\nno tail:\n%s\nrefused: %s",
		len(files), len(given), len(none), len(refused), strings.Join(none, "\n"), strings.Join(refused, ", "))
	if !slices.Contains(given, "Qwen3.5-4B.jinja") || len(given) < len(files) {
		t.Errorf("%d tails of %d templates, Qwen3.5 among them: %t", len(given), len(files), slices.Contains(given, "Qwen3.5-4B.jinja"))
	}
}

// What Qwen3.5's template drops of the past it does not drop behind the tail's
// beginning.
func TestTailOfQwen35(t *testing.T) {
	source := readFile(t, filepath.Join(*templatesDir, "Qwen3.5-4B.jinja"))
	messages := say("Be kind.", "Hi", "a thought\n</think>\n\nHello!", "And you?")
	rendered, got, err := tail(t, source, messages, 2)
	want := "<|im_end|>\n<|im_start|>user\nAnd you?<|im_end|>\n<|im_start|>assistant\n<think>\n"
	if got != want || err != nil {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if strings.Contains(rendered, "a thought") {
		t.Errorf("the thought is in %q: this template does not show what it should", rendered)
	}
}
