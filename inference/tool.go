package inference

import "encoding/json"

// Tool is a function that an answer may call. The caller carries the call out and
// sends the result as a message of RoleTool.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments, an object; nil means that
	// there are none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Strict holds the arguments to the schema while they are written. Without it
	// the model is trusted.
	Strict bool `json:"strict,omitempty"`
}

// ToolCall is one call of a tool as an assistant made it.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is the text of a JSON object; "{}" where there are none.
	Arguments string `json:"arguments"`
}

// ToolMode says whether an answer calls tools.
type ToolMode string

// Modes. The empty one is ToolAuto where there are tools.
const (
	ToolAuto     ToolMode = "auto"     // the model decides
	ToolNone     ToolMode = "none"     // it must not
	ToolRequired ToolMode = "required" // it must, and chooses which
)

// ToolChoice says whether an answer calls tools, and which.
type ToolChoice struct {
	Mode ToolMode `json:"mode,omitempty"`
	// Name is the tool that must be called, with ToolRequired; empty for any.
	Name string `json:"name,omitempty"`
	// Single allows one call in an answer at most.
	Single bool `json:"single,omitempty"`
}

// Format is the form of an answer's text. A surface checks that what is asked for
// can be kept to before it asks.
type Format struct {
	// Schema is the JSON Schema that the text must match; nil means any JSON object.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Grammar, where it is not empty, replaces Schema: a grammar in llama.cpp's
	// notation (GBNF) that the text must match.
	Grammar string `json:"grammar,omitempty"`
}

// Effort is how much a model thinks before it answers, as OpenAI's API names it.
type Effort string

// Efforts. The empty one is the model's own.
const (
	EffortNone    Effort = "none"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortXHigh   Effort = "xhigh"
	EffortMax     Effort = "max"
)

// Reasoning says how much a model thinks before it answers. A model that does not
// think ignores none of it in silence: what asks for thinking is a warning then.
type Reasoning struct {
	Effort Effort `json:"effort,omitempty"`
	// Budget is the most tokens of thinking; at its end thinking is closed and the
	// answer begins. 0 = as Effort says, in the end no limit of its own.
	Budget int `json:"budget,omitempty"`
}
