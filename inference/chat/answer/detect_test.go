package answer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dure/inference/engine/enginetest"
)

// bundled returns the templates that come with llama.cpp's source, by name.
func bundled(t *testing.T) map[string]string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(enginetest.Home(t), "build", "llama.cpp-*", "models", "templates", "*.jinja"))
	if len(files) == 0 {
		t.Skip("SKIPPED: the templates of llama.cpp's source are not here; run `make engine-source`")
	}
	out := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".jinja")] = string(data)
	}
	return out
}

func TestDetectKnowsTheBundledTemplates(t *testing.T) {
	templates := bundled(t)
	for name, want := range map[string]struct {
		syntax Syntax
		open   string
		effort string
		levels string
	}{
		"Qwen3.5-4B":                          {SyntaxXML, "<think>", "", ""},
		"Qwen3-Coder":                         {SyntaxXML, "", "", ""},
		"Qwen-Qwen3-0.6B":                     {SyntaxHermes, "<think>", "", ""},
		"Qwen-QwQ-32B":                        {SyntaxHermes, "<think>", "", ""},
		"Qwen-Qwen2.5-7B-Instruct":            {SyntaxHermes, "", "", ""},
		"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": {SyntaxXML, "<think>", "", ""},
		"StepFun3.5-Flash":                    {SyntaxXML, "<think>", "", ""},
		"ByteDance-Seed-OSS":                  {SyntaxXML, "<seed:think>", "", ""},
		"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": {SyntaxHermes, "", "", ""},
		"NousResearch-Hermes-3-Llama-3.1-8B-tool_use":   {SyntaxHermes, "", "", ""},
		"ibm-granite-granite-4.0":                       {SyntaxHermes, "", "", ""},
		"Reka-Edge":                                     {SyntaxHermes, "<think>", "", ""},
		"MiMo-VL":                                       {SyntaxHermes, "", "", ""},
		"Bielik-11B-v3.0-Instruct":                      {SyntaxHermes, "<think>", "", ""},
		"meta-llama-Llama-3.1-8B-Instruct":              {SyntaxLlama, "", "", ""},
		"meta-llama-Llama-3.2-3B-Instruct":              {SyntaxLlama, "", "", ""},
		"meta-llama-Llama-3.3-70B-Instruct":             {SyntaxLlama, "", "", ""},
		"mistralai-Mistral-Nemo-Instruct-2407":          {SyntaxMistral, "", "", ""},
		"Mistral-Small-3.2-24B-Instruct-2506":           {SyntaxMistralArgs, "", "", ""},
		"unsloth-mistral-Devstral-Small-2507":           {SyntaxMistralArgs, "", "", ""},
		"mistralai-Ministral-3-14B-Reasoning-2512":      {SyntaxMistralArgs, "[THINK]", "", ""},
		"google-gemma-2-2b-it":                          {SyntaxGemma, "", "", ""},
		"google-gemma-4-31B-it":                         {SyntaxGemma4, "<|channel>thought", "", ""},
		"openai-gpt-oss-120b":                           {SyntaxHarmony, "<|channel|>analysis<|message|>", "reasoning_effort", "medium"},
		"deepseek-ai-DeepSeek-V4":                       {SyntaxDSML, "<think>", "reasoning_effort", "max"},
		"deepseek-ai-DeepSeek-V3.2":                     {SyntaxDSML, "<think>", "", ""},
		"deepseek-ai-DeepSeek-V3.1":                     {SyntaxDeepseek, "<think>", "", ""},
		"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B":      {SyntaxDeepseek, "<think>", "", ""},
		"GLM-4.6":                         {SyntaxGLM, "<think>", "", ""},
		"GLM-4.7-Flash":                   {SyntaxGLM, "<think>", "", ""},
		"Kimi-K2-Instruct":                {SyntaxKimi, "", "", ""},
		"Kimi-K2-Thinking":                {SyntaxKimi, "<think>", "", ""},
		"MiniMax-M2":                      {SyntaxMinimax, "<think>", "", ""},
		"LFM2.5-8B-A1B":                   {SyntaxLFM, "<think>", "", ""},
		"microsoft-Phi-3.5-mini-instruct": {SyntaxJSON, "", "", ""},
		"LFM2-8B-A1B":                     {SyntaxJSON, "", "", ""},
	} {
		source, ok := templates[name]
		if !ok {
			t.Errorf("%s is not among the templates", name)
			continue
		}
		f := Detect(source)
		if f.Syntax != want.syntax || f.Think.Open != want.open || f.Think.Effort != want.effort || strings.Join(f.Think.Efforts, " ") != want.levels {
			t.Errorf("%s: %+v, want %+v", name, f, want)
		}
	}
}

func TestDetectKnowsOurTemplates(t *testing.T) {
	for name, want := range map[string]Family{
		"think_xml_tools": {SyntaxXML, Thinking{Open: "<think>", Close: "</think>", After: "\n\n", Effort: "reasoning_effort",
			Efforts: []string{"low", "medium", "xhigh"}, Keep: "preserve_thinking"}},
		"chatml_default_system": {Syntax: SyntaxJSON},
	} {
		data, err := os.ReadFile("../testdata/templates/" + name + ".jinja")
		if err != nil {
			t.Fatal(err)
		}
		got := Detect(string(data))
		if got.Syntax != want.Syntax || got.Think.Open != want.Think.Open || got.Think.After != want.Think.After ||
			got.Think.Effort != want.Think.Effort || got.Think.Keep != want.Think.Keep || !slices.Equal(got.Think.Efforts, want.Think.Efforts) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestDetectByTokens(t *testing.T) {
	for _, c := range []struct {
		tokens []string
		want   Syntax
	}{
		{nil, SyntaxJSON}, {[]string{"<|python_tag|>"}, SyntaxLlama}, {[]string{"[TOOL_CALLS]"}, SyntaxMistral},
		{[]string{"[TOOL_CALLS]", "[ARGS]"}, SyntaxMistralArgs}, {[]string{"<|tool_call_start|>"}, SyntaxLFM},
	} {
		if got := Detect("{{ messages }}", c.tokens...); got.Syntax != c.want {
			t.Errorf("%v: %s, want %s", c.tokens, got.Syntax, c.want)
		}
	}
	if f := Detect("", "[THINK]", "[/THINK]"); f.Close() != "[/THINK]" {
		t.Errorf("%+v", f)
	}
}

func TestOpensAndCloses(t *testing.T) {
	f := Detect("<think> </think>")
	for prompt, want := range map[string]bool{
		"<|im_start|>assistant\n<think>\n":               true,
		"<|im_start|>assistant\n<think>":                 true,
		"<|im_start|>assistant\n<think>\n\n</think>\n\n": false,
		"<|im_start|>assistant\n":                        false,
		"":                                               false,
	} {
		if got := f.Opens(prompt); got != want {
			t.Errorf("%q: %v", prompt, got)
		}
	}
	if f.Close() != "</think>\n\n" || (Family{}).Close() != "" || (Family{}).Opens("<think>") {
		t.Errorf("%q", f.Close())
	}
	if m := (Family{Syntax: SyntaxMistralArgs}).Markers(); !slices.Contains(m, "[TOOL_CALLS]") || !slices.Contains(m, "[ARGS]") {
		t.Errorf("%q", m)
	}
}
