package answer

import "strings"

// Syntax names a form in which models write calls of tools.
type Syntax string

// Syntaxes, with what a call of f with {"a": 1} looks like in each.
const (
	// SyntaxXML: <tool_call><function=f><parameter=a>1</parameter></function></tool_call>,
	// with line breaks between (Qwen3-Coder, Qwen3.5 and later).
	SyntaxXML Syntax = "xml"
	// SyntaxHermes: <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>
	// (Hermes, Qwen2.5, Qwen3).
	SyntaxHermes Syntax = "hermes"
	// SyntaxLlama: {"name": "f", "parameters": {"a": 1}}, also behind <|python_tag|>.
	SyntaxLlama Syntax = "llama"
	// SyntaxMistral: [TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}].
	SyntaxMistral Syntax = "mistral"
	// SyntaxMistralArgs: [TOOL_CALLS]f[ARGS]{"a": 1}.
	SyntaxMistralArgs Syntax = "mistral_args"
	// SyntaxGemma: a block of code (tool_code) with f(a=1), or with JSON (Gemma 2, 3,
	// whose templates know no tools). Hermes' form is read as well, since it is what
	// chat.Template tells such models.
	SyntaxGemma Syntax = "gemma"
	// SyntaxGemma4: <|tool_call>call:f{a:1}<tool_call|>.
	SyntaxGemma4 Syntax = "gemma4"
	// SyntaxHarmony: <|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>.
	SyntaxHarmony Syntax = "harmony"
	// SyntaxGLM: <tool_call>f, then <arg_key>a</arg_key> and <arg_value>1</arg_value> for
	// each argument, and </tool_call> (GLM 4.5 and later).
	SyntaxGLM Syntax = "glm"
	// SyntaxKimi: <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>
	// between <|tool_calls_section_begin|> and its end (Kimi K2).
	SyntaxKimi Syntax = "kimi"
	// SyntaxDeepseek: <｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜> between
	// <｜tool▁calls▁begin｜> and its end (DeepSeek V3.1); or with the word function for the
	// name, which stands on the line of the mark in the middle, and a block of code (V3, R1).
	SyntaxDeepseek Syntax = "deepseek"
	// SyntaxDSML: <｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter></｜DSML｜invoke>
	// (DeepSeek V3.2 and later). Hermes' form is read as well.
	SyntaxDSML Syntax = "dsml"
	// SyntaxMinimax: <invoke name="f"><parameter name="a">1</parameter></invoke> between
	// <minimax:tool_call> and its end (MiniMax M2).
	SyntaxMinimax Syntax = "minimax"
	// SyntaxLFM: <|tool_call_start|>[f(a=1)]<|tool_call_end|>, or with JSON (LFM2).
	SyntaxLFM Syntax = "lfm"
	// SyntaxJSON: {"name": "f", "arguments": {"a": 1}}, bare, in a block of code or as
	// Hermes writes it, for models whose template shows no form that is known here.
	SyntaxJSON Syntax = "json"
)

// Family is how a model writes what is not plain text.
type Family struct {
	Syntax Syntax
	Think  Thinking
}

// Thinking is how a model marks what it thinks, and which variables of its template
// have to do with how much. (chat.Abilities says what switches it.) The zero value:
// it does not think, as far as is known.
type Thinking struct {
	// Open and Close stand around thoughts; After is what the template writes
	// between Close and the answer.
	Open, Close, After string
	// Effort is the variable that says how much; Efforts are the values of it that
	// the template names, the least first.
	Effort  string
	Efforts []string
	// Budget is the variable with the most tokens of thinking.
	Budget string
	// Keep is the variable that keeps thoughts of past answers in the prompt; where
	// it is clear_thinking, false keeps them.
	Keep string
}

// Close is the text that closes thinking and leads over to the answer; empty where
// the model does not think.
func (f Family) Close() string { return f.Think.Close + f.Think.After }

// Opens says that a rendered prompt ends inside of thinking.
func (f Family) Opens(prompt string) bool {
	return f.Think.Open != "" && strings.HasSuffix(strings.TrimRight(prompt, " \t\r\n"), f.Think.Open)
}

// Markers are the texts of tokens that the parser must see, although models have
// them as control tokens, which are not part of the text otherwise.
func (f Family) Markers() []string {
	var out []string
	if f.Syntax == SyntaxHarmony {
		out = append(out, "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>")
	} else if f.Think.Open != "" {
		out = append(out, strings.TrimSuffix(f.Think.Open, gemma4Thought), f.Think.Close)
	}
	switch f.Syntax {
	case SyntaxXML, SyntaxHermes, SyntaxJSON, SyntaxGemma:
		out = append(out, "<tool_call>", "</tool_call>")
	case SyntaxLlama:
		out = append(out, "<|python_tag|>")
	case SyntaxMistral, SyntaxMistralArgs:
		out = append(out, "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]")
	case SyntaxGemma4:
		out = append(out, "<|tool_call>", "<tool_call|>", tagQuote)
	case SyntaxGLM:
		out = append(out, callTag, callEnd, "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
	case SyntaxKimi:
		out = append(out, kimiSection, kimiSectionEnd, kimiCall, kimiArguments, kimiEnd)
	case SyntaxDeepseek:
		out = append(out, deepseekCalls, deepseekCallsEnd, deepseekCall, deepseekName, deepseekEnd)
	case SyntaxDSML:
		out = append(out, callTag, callEnd, "｜DSML｜")
	case SyntaxMinimax:
		out = append(out, minimaxCalls, minimaxCallsEnd)
	case SyntaxLFM:
		out = append(out, lfmCall, lfmEnd)
	}
	return out
}

// CallForm is what stands around the arguments of a call, for a grammar that makes
// a model write it.
type CallForm struct {
	Open, Close string
	// Parameters says that between them stands each argument in the form that
	// Parameter gives, text as it is and other values as JSON. Otherwise it is one
	// JSON object.
	Parameters bool
}

// Call is the form of a call of a tool. The parser reads it back.
func (f Family) Call(name string) CallForm {
	object := func(open, key, close string) CallForm {
		return CallForm{Open: open + `{"name": ` + jsonString(name) + `, "` + key + `": `, Close: "}" + close}
	}
	switch f.Syntax {
	case SyntaxXML:
		return CallForm{Open: "<tool_call>\n<function=" + name + ">\n", Close: "</function>\n</tool_call>", Parameters: true}
	case SyntaxLlama:
		return object("", "parameters", "")
	case SyntaxMistral:
		return object("[TOOL_CALLS][", "arguments", "]")
	case SyntaxMistralArgs:
		return CallForm{Open: "[TOOL_CALLS]" + name + "[ARGS]"}
	case SyntaxGemma4:
		return CallForm{Open: "<|tool_call>call:" + name, Close: "<tool_call|>"}
	case SyntaxGLM:
		return CallForm{Open: callTag + name + "\n", Close: callEnd, Parameters: true}
	case SyntaxKimi:
		return CallForm{Open: kimiSection + kimiCall + "functions." + name + ":0" + kimiArguments, Close: kimiEnd + kimiSectionEnd}
	case SyntaxDeepseek:
		return CallForm{Open: deepseekCalls + deepseekCall + name + deepseekName, Close: deepseekEnd + deepseekCallsEnd}
	case SyntaxMinimax:
		return CallForm{Open: minimaxCalls + "\n" + minimaxCall + name + "\">\n", Close: "</invoke>\n" + minimaxCallsEnd, Parameters: true}
	case SyntaxLFM:
		return object(lfmCall+"[", "arguments", "]"+lfmEnd)
	case SyntaxHarmony:
		return CallForm{Open: "<|channel|>commentary to=functions." + name + " <|constrain|>json<|message|>", Close: "<|call|>"}
	}
	return object("<tool_call>\n", "arguments", "\n</tool_call>")
}

// Parameter is what stands around one argument where CallForm.Parameters is set.
func (f Family) Parameter(key string) (open, close string) {
	switch f.Syntax {
	case SyntaxGLM:
		return "<arg_key>" + key + "</arg_key>\n<arg_value>", "</arg_value>\n"
	case SyntaxMinimax:
		return minimaxSpelling.key + key + minimaxSpelling.keyEnd, parameterEnd + "\n"
	}
	return "<parameter=" + key + ">\n", "\n</parameter>\n"
}
