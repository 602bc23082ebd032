package answer

import (
	"regexp"
	"slices"
	"strings"
)

// gemma4Thought is the name of the channel of thoughts, behind the token that opens
// a channel.
const gemma4Thought = "thought"

// Detect finds a model's family by its chat template: by what that prints for past
// calls and for thinking. Where the template shows neither, the texts of the
// tokenizer's special tokens may.
func Detect(template string, specialTokens ...string) Family {
	f := Family{Syntax: syntaxOf(template, specialTokens), Think: thinkingOf(template, specialTokens)}
	if f.Think.Open != "" {
		f.Think.switches(template)
	}
	return f
}

// syntaxOf looks for the forms in the order of how sure a sign each is.
func syntaxOf(template string, tokens []string) Syntax {
	has := func(s string) bool { return strings.Contains(template, s) }
	switch {
	case has("<|channel|>") && has("<|message|>"):
		return SyntaxHarmony
	case has("<|tool_call>call:"):
		return SyntaxGemma4
	case has("｜DSML｜"):
		return SyntaxDSML
	case has(deepseekCall):
		return SyntaxDeepseek
	case has(kimiCall):
		return SyntaxKimi
	case has(minimaxCalls):
		return SyntaxMinimax
	case has(lfmCall):
		return SyntaxLFM
	case has("<arg_key>"):
		return SyntaxGLM
	case has("[TOOL_CALLS]") && has("[ARGS]"):
		return SyntaxMistralArgs
	case has("[TOOL_CALLS]"):
		return SyntaxMistral
	case has("<function=") && has("<parameter="):
		return SyntaxXML
	case has("<tool_call>") && hermesCall.MatchString(template):
		return SyntaxHermes
	case has("<|python_tag|>"), has("<|start_header_id|>") && has(`"parameters": `):
		return SyntaxLlama
	case has("<start_of_turn>"):
		return SyntaxGemma
	case slices.Contains(tokens, "[TOOL_CALLS]") && slices.Contains(tokens, "[ARGS]"):
		return SyntaxMistralArgs
	case slices.Contains(tokens, "[TOOL_CALLS]"):
		return SyntaxMistral
	case slices.Contains(tokens, "<|python_tag|>"):
		return SyntaxLlama
	case slices.Contains(tokens, lfmCall):
		return SyntaxLFM
	}
	return SyntaxJSON
}

// hermesCall is JSON with a name inside of the tag, as templates write it: with a
// line break, or its escape, and escaped quotes or not.
var hermesCall = regexp.MustCompile(`<tool_calls?>(\\n|\s|\[|"|'|~|-|\{\{|\}\})*\{\\?"name\\?"`)

func thinkingOf(template string, tokens []string) Thinking {
	has := func(s string) bool { return strings.Contains(template, s) }
	pair := func(open, close string) bool {
		return has(open) && has(close) || slices.Contains(tokens, open) && slices.Contains(tokens, close)
	}
	switch {
	case has("<|channel|>") && has("<|message|>"):
		return Thinking{Open: "<|channel|>analysis<|message|>", Close: "<|end|>",
			After: "<|start|>assistant<|channel|>final<|message|>"}
	case has("<|channel>" + gemma4Thought):
		return Thinking{Open: "<|channel>" + gemma4Thought, Close: "<channel|>"}
	case pair("[THINK]", "[/THINK]"):
		return Thinking{Open: "[THINK]", Close: "[/THINK]"}
	case pair("<seed:think>", "</seed:think>"):
		return Thinking{Open: "<seed:think>", Close: "</seed:think>"}
	case pair("<think>", "</think>"), has("</think>"):
		return Thinking{Open: "<think>", Close: "</think>", After: "\n\n"}
	}
	return Thinking{}
}

var quoted = regexp.MustCompile(`['"]([a-z_]+)['"]`)

// efforts are the words that templates know for how much to think.
var efforts = []string{"none", "no_think", "minimal", "low", "medium", "high", "xhigh", "max"}

// switches finds the variables that a template reads.
func (t *Thinking) switches(template string) {
	first := func(names ...string) string {
		for _, n := range names {
			if variable(n).MatchString(template) {
				return n
			}
		}
		return ""
	}
	t.Effort = first("reasoning_effort", "thinking_effort")
	t.Budget = first("thinking_budget")
	t.Keep = first("preserve_thinking", "clear_thinking")
	if t.Effort == "" {
		return
	}
	for _, m := range quoted.FindAllStringSubmatch(template, -1) {
		if slices.Contains(efforts, m[1]) && !slices.Contains(t.Efforts, m[1]) {
			t.Efforts = append(t.Efforts, m[1])
		}
	}
	slices.SortFunc(t.Efforts, func(a, b string) int { return slices.Index(efforts, a) - slices.Index(efforts, b) })
}

func variable(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w])` + name + `(?:$|[^\w])`)
}
