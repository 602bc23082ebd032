package tool

import (
	"bytes"
	"context"
	"encoding/json"

	"dure/inference"
)

// A Call is one call of a tool by an agent.
type Call struct {
	Agent string // who calls; the runtime fills it, never the model
	Turn  int    // of the agent, from 1
	ID    string // differs from all other calls of the agent
	Tool  string
	// Arguments is the text of a JSON object, as the model wrote it.
	Arguments string
	// Reasoning is what the agent thought before it; for judges and monitors.
	Reasoning string
}

// Outcome says how a call ended.
type Outcome string

// Outcomes. Only of the first three was anything carried out; of Interrupted nobody
// knows.
const (
	Done        Outcome = "done"
	Failed      Outcome = "failed"      // the tool says so: a command's exit status, a file that is not there
	TimedOut    Outcome = "timed_out"   // and was stopped
	Invalid     Outcome = "invalid"     // no such tool, or arguments that it does not take
	Unjudged    Outcome = "unjudged"    // no verdict in time
	Refused     Outcome = "refused"     // by the judge
	Blocked     Outcome = "blocked"     // by the judge, with a stop of the team, and no person overruled it
	Interrupted Outcome = "interrupted" // the process died while it was carried out
)

// A Result is what an agent gets to see of a call.
type Result struct {
	Outcome Outcome
	Output  string // text, UTF-8
	// Bytes of the whole output, where Output is a part of it; else len(Output).
	Bytes int64
}

// A Tool carries calls out. Run returns what the agent sees, failures included, as a
// Result; an error means that nothing can be said to the agent: ctx ended, or the
// machine around it is broken.
type Tool interface {
	Spec() Spec
	Run(ctx context.Context, call Call) (Result, error)
}

// A Spec describes a tool to a model. Few tools with flat text parameters are what
// small models call rightly.
type Spec struct {
	Name        string
	Description string
	Fields      []Field
	// Schema, where it is not nil, is the JSON Schema of the arguments instead of
	// Fields, and the tool checks them itself: tools of other makers.
	Schema json.RawMessage
	// Again says that a call may be carried out a second time when the process died
	// while it was: it changes nothing, or the same call changes a thing once.
	Again bool
}

// A Field is a parameter of a tool.
type Field struct {
	Name        string
	Description string
	Required    bool
	Type        Type     // of its values; empty: text
	Enum        []string // the values that it may have; nil: any
	// Also are names that models give it out of habit. They are taken, not told.
	Also []string
	// Many says that it holds several texts with commas between: a list of them is
	// taken as that.
	Many bool
}

// A Type is what JSON calls the values of a field.
type Type string

// Types. Whatever it is, Arguments hold a value's text.
const (
	Text    Type = "string"
	Number  Type = "number"
	Integer Type = "integer"
	Boolean Type = "boolean"
)

func (f Field) kind() Type {
	if f.Type == "" {
		return Text
	}
	return f.Type
}

// Tool is the spec as models are told of it.
func (s Spec) Tool() inference.Tool {
	t := inference.Tool{Name: s.Name, Description: s.Description, Parameters: s.Schema}
	if t.Parameters == nil {
		t.Parameters = s.schema()
	}
	return t
}

// property and object give the schema's members an order that never changes: the text
// is a part of every agent's prompt prefix.
type property struct {
	Type        Type              `json:"type"`
	Description string            `json:"description,omitempty"`
	Enum        []json.RawMessage `json:"enum,omitempty"`
}

func (s Spec) schema() json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	required := []string{}
	for i, f := range s.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, encode(f.Name)...), ':')
		var enum []json.RawMessage
		for _, value := range f.Enum {
			enum = append(enum, f.encode(value))
		}
		b = append(b, encode(property{f.kind(), f.Description, enum})...)
		if f.Required {
			required = append(required, f.Name)
		}
	}
	b = append(b, `},"required":`...)
	b = append(b, encode(required)...)
	return append(b, `,"additionalProperties":false}`...)
}

// encode is for values of this package's own types, which always have a JSON text.
// < and > stay as they are: who reads the text is a model, not a browser.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
