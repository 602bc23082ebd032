package llm_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dure/gguf/synth"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

// Templates that rewrite the past; thinking is what comes before "]".
const (
	tinyHead = `{%- for m in messages -%}<|im_start|>{{ m.role }}{{ "\n" }}`
	tinyTail = `<|im_end|>{{ "\n" }}{%- endfor -%}{%- if add_generation_prompt %}<|im_start|>assistant{{ "\n" }}{% endif -%}`
	drops    = tinyHead + `{{ m.content.split(" ")[-1] if m.role == "assistant" else m.content }}` + tinyTail
	moves    = tinyHead + `{% set p = m.content.split(" ") %}{{ p[-1] }}{% if p|length > 1 %}{{ " and " ~ p[:-1]|join(" ") }}{% endif %}` + tinyTail
	inserts  = tinyHead + `{% if m.role == "assistant" %}{{ "user\n\n" }}{% endif %}{{ m.content|trim }}` + tinyTail
	mutes    = tinyHead + `{{ m.content if m.role != "assistant" }}` + tinyTail
	open     = `{%- for m in messages -%}{{ m.role }}: {{ m.content }}{{ "\n" }}{%- endfor -%}{%- if add_generation_prompt %}assistant: {% endif -%}`
)

func TestReentryUnderTemplatesThatRewriteThePast(t *testing.T) {
	for name, template := range map[string]string{"drops": drops, "moves": moves, "inserts": inserts} {
		s := noisy(t, template, nil)
		s.params.MaxTokens = 60
		differ := 0
		for seed := range uint64(4) {
			s.params.Seed, s.messages = seed, nil
			s.ask("q")
			if anew := s.anew("q2"); !slices.Equal(anew[:min(len(anew), len(s.prompt)+60)], slices.Concat(s.prompt, s.sampled)) {
				differ++
			}
			begins(t, s.l, s.next("q2"), tinyTurn, s.prompt, s.sampled)
		}
		if differ == 0 {
			t.Errorf("%s: nothing is rewritten", name)
		}
	}
}

// Where a template shows no place to go on from, or one inside a token, the
// conversation is what the template makes of it, and that is counted.
func TestTemplatesThatLetNothingReenter(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		count    func(llm.Reentry) uint64
	}{
		"mutes": {mutes, func(r llm.Reentry) uint64 { return r.RerenderedTemplate }},
		"open":  {open, func(r llm.Reentry) uint64 { return r.RerenderedBorder }},
	} {
		s := noisy(t, c.template, nil)
		s.ask("q")
		if prompt := s.next("q2"); !slices.Equal(prompt, s.anew("q2")) {
			t.Errorf("%s: %q", name, decode(t, s.l, prompt))
		}
		if got := s.l.Reentry(); c.count(got) != 1 || got.Reentered != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What follows an answer has the same tokens alone as in its place, for both
// kinds of tokenisers.
func TestTailsAreTokenisedAsInTheirPlace(t *testing.T) {
	gemma := filepath.Join(t.TempDir(), "gemma.gguf")
	f, err := os.Create(gemma)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(synth.Gemma3(f, synth.Config{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	words := []string{"hello", " ", "  ", "\n", "\n\n", "안녕", "하", "the", " world", "<", "|", "im", "_end", "é", "1"}
	for _, c := range []struct{ path, end, begin string }{
		{enginetest.Llama(t, synth.Config{}), "<|im_end|>", "<|im_start|>"},
		{enginetest.DemoModel(t), "<|im_end|>", "<|im_start|>"},
		{gemma, "<end_of_turn>", "<start_of_turn>"},
	} {
		l := start(t, c.path, nil)
		rapid.Check(t, func(r *rapid.T) {
			text := func(label string) string {
				return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 8).Draw(r, label), "")
			}
			head := c.begin + "user\n" + text("answer")
			tail := c.end + text("between") + c.begin + text("question")
			whole := encode(t, l, head+tail)
			rest := whole[len(encode(t, l, head)):]
			if !slices.Equal(whole, slices.Concat(encode(t, l, head), rest)) || decode(t, l, rest) != tail || !l.Apart(tail, rest) {
				r.Fatalf("%q + %q: tokens %v", head, tail, whole)
			}
		})
		for _, text := range []string{"", "hello", " " + c.end, "\n" + c.end} {
			if tokens := encode(t, l, text); l.Apart(text, tokens) {
				t.Errorf("%q counts as apart: %v", text, tokens)
			}
		}
	}
}

// The documented behaviour of Qwen3.8's template.
func TestReentryUnderQwen38(t *testing.T) {
	source, err := os.ReadFile("../chat/testdata/templates/think_xml_tools.jinja")
	if err != nil {
		t.Fatal(err)
	}
	thinksThroughFiveTurns(t, string(source))
}

// thinksThroughFiveTurns talks to a model whose template opens each answer with
// a thought and writes past ones in another way.
func thinksThroughFiveTurns(t *testing.T, template string) {
	t.Helper()
	s := noisy(t, template, func(c *llm.Config) { c.Context = 1024 })
	for i, q := range []string{"q", "what is", "안녕", "hello", "q"} {
		before := slices.Concat(s.prompt, s.sampled)
		if anew := s.anew(q); i > 0 && slices.Equal(anew[:min(len(anew), len(before))], before) {
			t.Errorf("turn %d is not rewritten", i)
		}
		if s.ask(q); i > 0 {
			begins(t, s.l, s.prompt, "<|im_end|>\n<|im_start|>user\n"+q+"<|im_end|>\n<|im_start|>assistant\n<think>\n", before)
		}
	}
	if got := s.l.Reentry(); got.RerenderedTemplate+got.RerenderedBorder+got.RerenderedRoom+got.RerenderedUnknown != 0 {
		t.Errorf("%+v", got)
	}
}
