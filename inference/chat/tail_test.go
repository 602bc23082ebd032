package chat

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dure/inference"
	"pgregory.net/rapid"
)

// Templates that treat past answers in different ways. turn is the end of a
// template that writes the answer's opening.
const (
	turn = `{% if add_generation_prompt %}<s>assistant` + "\n" + `{% endif %}`

	trimming = `{% for m in messages %}<s>{{ m.role }}` + "\n" + `{{ m.content|trim }}<e>{% endfor %}` + turn

	// Thinking is kept only behind the last question, as Qwen3's template does.
	dropping = `{% set ns = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}` +
		`{% for m in messages %}<s>{{ m.role }}` + "\n" +
		`{% if m.role == 'assistant' and loop.index0 < ns.last %}{{ m.content.split('</think>')[-1].lstrip('\n') }}{% else %}{{ m.content }}{% endif %}<e>` +
		`{% endfor %}` + turn + `{% if add_generation_prompt %}<think>{% endif %}`

	// Every past answer gets a thought, if only an empty one.
	inserting = `{% for m in messages %}<s>{{ m.role }}` + "\n" +
		`{% if m.role == 'assistant' %}<think>{{ m.content.split('</think>')[0] if '</think>' in m.content }}</think>{{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %}<e>` +
		`{% endfor %}` + turn

	// The thought moves behind the answer.
	reordering = `{% for m in messages %}<s>{{ m.role }}` + "\n" +
		`{% set parts = m.content.split('</think>') %}{{ parts[-1] }}{% if parts|length > 1 %}<t>{{ parts[0] }}</t>{% endif %}<e>` +
		`{% endfor %}` + turn

	// The system text goes with the last question.
	systemLast = `{% set system = messages[0].content if messages[0].role == 'system' %}` +
		`{% for m in messages if m.role != 'system' %}<s>{{ m.role }}` + "\n" +
		`{% if loop.last and system %}{{ system }} {% endif %}{{ m.content }}<e>{% endfor %}` + turn

	twice     = `{% for m in messages %}<s>{{ m.content }}|{{ m.content }}<e>{% endfor %}`
	silent    = `{% for m in messages %}<s>{{ m.role }}{% if m.role != 'assistant' %}{{ m.content }}{% endif %}<e>{% endfor %}`
	uppercase = `{% for m in messages %}<s>{{ m.content|upper }}<e>{% endfor %}`
	summary   = `{% for m in messages %}<s>{{ m.content }}<e>{% endfor %}{{ messages[1].content|length }}`
	picky     = `{% for m in messages %}{% if m.role == 'assistant' and 'ok' not in m.content %}{{ raise_exception('no') }}{% endif %}<s>{{ m.content }}<e>{% endfor %}`
)

func say(contents ...string) []inference.Message {
	roles := []string{inference.RoleSystem, inference.RoleUser, inference.RoleAssistant}
	var out []inference.Message
	for i, c := range contents {
		role := roles[min(i, 1+(i+1)%2)]
		out = append(out, inference.Message{Role: role, Content: c})
	}
	return out
}

func tail(t testing.TB, source string, messages []inference.Message, k int) (rendered, rest string, err error) {
	t.Helper()
	compiled, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	o := RenderOptions{AddGenerationPrompt: true, BOS: "<bos>", EOS: "<eos>", Now: testNow}
	if rendered, err = compiled.Render(messages, o); err != nil {
		t.Fatal(err)
	}
	rest, err = compiled.Tail(rendered, messages, k, o)
	return rendered, rest, err
}

func TestTailIsWhatFollowsAnAnswer(t *testing.T) {
	messages := say("Be kind.", "Hi", "hm</think>\n\n ok, Hello \n", "And you?")
	chatml, plain := "<|im_end|>\n<|im_start|>user\nAnd you?<|im_end|>\n<|im_start|>assistant\n", "<e><s>user\nAnd you?<e><s>assistant\n"
	for name, c := range map[string]struct{ source, want string }{
		"ChatML":    {ChatML, chatml},
		"trimming":  {trimming, plain},
		"dropping":  {dropping, plain + "<think>"},
		"inserting": {inserting, plain},
		"brackets":  {readFile(t, "testdata/templates/brackets.jinja"), "<eos>[INST] And you?[/INST]"},
		"xml tools": {readFile(t, "testdata/templates/think_xml_tools.jinja"), chatml + "<think>\n"},
	} {
		if _, got, err := tail(t, c.source, messages, 2); got != c.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestTailOfAnswersEverywhere(t *testing.T) {
	messages := say("S", "one", "two", "one", "two", "one")
	if _, got, err := tail(t, ChatML, messages, 2); err != nil ||
		got != "<|im_end|>\n<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>\n<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\n" {
		t.Errorf("the first answer: %q, %v", got, err)
	}
	if _, got, err := tail(t, ChatML, messages[:5], 4); err != nil || got != "<|im_end|>\n<|im_start|>assistant\n" {
		t.Errorf("the last message: %q, %v", got, err)
	}
	if _, got, err := tail(t, ChatML, say("S", "q", "", "q"), 2); err != nil || !strings.HasPrefix(got, "<|im_end|>\n<|im_start|>user\nq<") {
		t.Errorf("an empty answer: %q, %v", got, err)
	}
}

func TestNoTailWhereATemplateShowsNone(t *testing.T) {
	for name, c := range map[string]struct{ source, reason string }{
		"twice":      {twice, "2 times"},
		"silent":     {silent, "0 times"},
		"uppercase":  {uppercase, "0 times"},
		"summary":    {summary, "depends on what was said before"},
		"systemLast": {systemLast, "earlier messages"},
		"picky":      {picky, "refuses"},
	} {
		_, got, err := tail(t, c.source, say("SYSTEM", "Hi", "ok", "And you?"), 2)
		if !errors.Is(err, ErrNoTail) || !strings.Contains(fmt.Sprint(err), c.reason) || got != "" {
			t.Errorf("%s: %q, %v; want a reason with %q", name, got, err, c.reason)
		}
	}
	// Without a system text there is nothing that could be said again.
	if _, got, err := tail(t, systemLast, say("", "Hi", "ok", "And you?"), 2); err != nil || !strings.HasPrefix(got, "<e>") {
		t.Errorf("no system text: %q, %v", got, err)
	}
}

// A thought that the template writes behind the answer was said before it and
// is not said again.
func TestTailLeavesOutWhatWasReordered(t *testing.T) {
	rendered, got, err := tail(t, reordering, say("S", "q", "thought</think>answer", "q2"), 2)
	if err != nil || got != "<e><s>user\nq2<e><s>assistant\n" || !strings.Contains(rendered, "answer<t>thought</t><e>") {
		t.Errorf("%q of %q, %v", got, rendered, err)
	}
}

var words = rapid.SampledFrom([]string{"a", " ", "\n", "안녕", "<think>", "</think>", "<e>", "<s>", "kind", "b0", "{{ x }}", "<|im_end|>", "\uFFFD"})

func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(words, 0, 6).Draw(t, "words"), "") })
}

// Where a template writes contents as they are, head + content + tail is the
// rendering, whatever was said; where it rewrites answers, the tail is still
// the rendering's end and does not depend on the answer.
func TestTailOfAnyConversation(t *testing.T) {
	o := RenderOptions{AddGenerationPrompt: true}
	compiled := map[string]*Template{}
	for name, source := range map[string]string{"ChatML": ChatML, "trimming": trimming, "dropping": dropping, "inserting": inserting, "reordering": reordering} {
		c, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		compiled[name] = c
	}
	rapid.Check(t, func(t *rapid.T) {
		contents := rapid.SliceOfN(texts(), 4, 9).Draw(t, "contents")
		messages := say(contents...)
		k := 2 + 2*rapid.IntRange(0, (len(messages)-3)/2).Draw(t, "answer")
		for name, c := range compiled {
			rendered, err := c.Render(messages, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Tail(rendered, messages, k, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			head, err := c.Render(messages[:k], o)
			if err != nil {
				t.Fatal(err)
			}
			if name == "ChatML" && head+messages[k].Content+got != rendered {
				t.Fatalf("%q + %q + %q is not %q", head, messages[k].Content, got, rendered)
			}
			other := say(contents...)
			other[k].Content = "something else"
			if rendered, err = c.Render(other, o); err != nil {
				t.Fatal(err)
			}
			if again, err := c.Tail(rendered, other, k, o); again != got || err != nil {
				t.Fatalf("%s: %q, with another answer %q, %v", name, got, again, err)
			}
		}
	})
}
