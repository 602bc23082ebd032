package fronttest

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"

	"dure/inference"
)

// Coder is a model that repairs a file by the tools which it is given, whatever they
// are called: it reads the file, runs a check, edits, runs the check again and says
// that it is done. What it does next follows from how many results of tools the
// conversation holds. Without tools it answers "Repair the greeting".
//
// Any number of conversations may be going on.
type Coder struct {
	File     string // absolute path of what is to be repaired
	Old, New string // text in it, each of one line
	Check    string // a command

	mu      sync.Mutex
	results []string
	called  []string
}

// Results are what tools returned in the longest conversation, in order.
func (c *Coder) Results() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.results)
}

// Called are the tools that were called, in order.
func (c *Coder) Called() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.called)
}

// Generate is a [GenerateFunc].
func (c *Coder) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	think := inference.Event{Kind: inference.EventReasoning, Text: "What is next?"}
	switch {
	case req.Format != nil:
		return Script(nil, Started(), Says(instance(req.Format.Schema)), Done())(ctx, req)
	case len(req.Tools) == 0 || req.ToolChoice.Mode == inference.ToolNone:
		return Script(nil, Started(), Says("Repair the "), Says("greeting"), Done())(ctx, req)
	}
	name, arguments := c.next(req)
	if name == "" {
		return Script(nil, Started(), think, Says("It is "), Says("repaired."), Done())(ctx, req)
	}
	call := func(d inference.ToolCallDelta) inference.Event {
		return inference.Event{Kind: inference.EventToolCall, Call: &d}
	}
	end, half := Done(), len(arguments)/2
	end.Finish = inference.FinishToolCalls
	return Script(nil, Started(), think, Says("I call "+name+"."), call(inference.ToolCallDelta{ID: "call_" + name + "_" + req.ID, Name: name}),
		call(inference.ToolCallDelta{Arguments: arguments[:half]}), call(inference.ToolCallDelta{Arguments: arguments[half:]}), end)(ctx, req)
}

// next is the call to be made; without a name there is none.
func (c *Coder) next(req *inference.Request) (name, arguments string) {
	var results []string
	for _, m := range req.Messages {
		if m.Role == inference.RoleTool {
			results = append(results, m.Content)
		}
	}
	switch len(results) {
	case 0:
		name, arguments = c.use(req.Tools, "cat "+c.File, "read", "readfile", "view")
	case 2:
		name, arguments = c.use(req.Tools, "sed -i 's/"+c.Old+"/"+c.New+"/' "+c.File, "edit", "editfile", "replace", "strreplace")
	case 1, 3:
		name, arguments = c.use(req.Tools, c.Check)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(results) >= len(c.results) {
		c.results = results
	}
	if name != "" {
		c.called = append(c.called, name)
	}
	return name, arguments
}

// use is a call of the first tool that has one of the names, or else of one that runs
// a command.
func (c *Coder) use(tools []inference.Tool, command string, names ...string) (name, arguments string) {
	names = append(names, "bash", "shell", "runshellcommand", "shellcommand", "execcommand", "runterminalcommand")
	best := slices.MinFunc(tools, func(a, b inference.Tool) int { return cmp.Compare(place(names, a.Name), place(names, b.Name)) })
	if place(names, best.Name) == len(names) {
		return "", ""
	}
	return best.Name, c.fill(best.Parameters, command)
}

// plain is a name without what distinguishes the habits of those who write them.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

func place(names []string, name string) int {
	if i := slices.Index(names, plain(name)); i >= 0 {
		return i
	}
	return len(names)
}

// shape is what this model understands of a JSON Schema.
type shape struct {
	Type       any              `json:"type"`
	Enum       []any            `json:"enum"`
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
}

// fill writes arguments of the schema.
func (c *Coder) fill(schema json.RawMessage, command string) string {
	var s shape
	if err := json.Unmarshal(schema, &s); err != nil {
		return "{}"
	}
	all := map[string]any{}
	for name, p := range s.Properties {
		switch plain(name) {
		case "filepath", "path", "absolutepath":
			all[name] = c.File
		case "oldstring", "oldstr":
			all[name] = c.Old
		case "newstring", "newstr":
			all[name] = c.New
		case "command", "cmd":
			if all[name] = command; p.Type == "array" {
				all[name] = []string{"sh", "-c", command}
			}
		default:
			if slices.Contains(s.Required, name) {
				all[name] = p.least()
			}
		}
	}
	text, _ := json.Marshal(all)
	return string(text)
}

// least is the plainest value of a shape.
func (s shape) least() any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type {
	case "object":
		all := map[string]any{}
		for _, name := range s.Required {
			all[name] = s.Properties[name].least()
		}
		return all
	case "array":
		return []any{}
	case "boolean":
		return false
	case "number", "integer":
		return 1000
	}
	return "Repair the greeting"
}

// instance is the plainest text that matches a schema.
func instance(schema json.RawMessage) string {
	var s shape
	if err := json.Unmarshal(schema, &s); err != nil {
		s.Type = "object"
	}
	text, _ := json.Marshal(s.least())
	return string(text)
}
