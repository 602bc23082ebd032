package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"dure/inference"
	"dure/inference/front/strict"
)

// Types of the tools of a response. Those of a namespace are functions that stand
// together under its name.
const (
	toolFunction  = "function"
	toolNamespace = "namespace"
	toolWebSearch = "web_search"
)

// spaceJoin stands between a namespace and the name of a tool in it, where a model sees
// both as one name.
const spaceJoin = "__"

// spaced is the name of a tool of a namespace as its client has it.
type spaced struct{ space, name string }

// join is the name by which the model knows it.
func (s spaced) join() string {
	if s.space == "" {
		return s.name
	}
	return strings.TrimSuffix(s.space, spaceJoin) + spaceJoin + s.name
}

// respTool is one entry of tools as it was sent: a function, or the name of a namespace
// with its functions.
type respTool struct {
	kind        string
	name        string
	description string
	tools       []inference.Tool
}

// wire is the entry in the form in which it was sent.
func (t *respTool) wire() wireTool {
	all := make([]flatFunction, len(t.tools))
	for i, f := range t.tools {
		all[i] = flatFunction{toolFunction, f.Name, f.Description, f.Parameters, f.Strict}
	}
	if t.kind == toolNamespace {
		return wireTool{flatFunction: flatFunction{Type: t.kind, Name: t.name, Description: t.description}, Tools: all}
	}
	return wireTool{flatFunction: all[0]}
}

// wireTool is a function or, with Tools, a namespace.
type wireTool struct {
	flatFunction
	Tools []flatFunction `json:"tools"`
}

// MarshalJSON implements json.Marshaler.
func (t wireTool) MarshalJSON() ([]byte, error) {
	if t.Tools == nil {
		return json.Marshal(t.flatFunction)
	}
	return json.Marshal(struct {
		Type        string         `json:"type"`
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Tools       []flatFunction `json:"tools"`
	}{t.Type, t.Name, t.Description, t.Tools})
}

// setFunctions reads tools, whose members stand beside their type here.
func setFunctions(d *strict.Decoder, r *respRequest, v strict.Value) error {
	return d.List(v, func(v strict.Value) error {
		t, err := flatTool(d, v, spaceTools)
		switch {
		case err != nil:
			return err
		case isWebSearch(t.kind):
			d.Warn("%s runs at OpenAI's servers, and the model cannot use it here; ignored", t.kind)
			return nil
		}
		r.shown = append(r.shown, t.wire())
		for _, f := range t.tools {
			from := spaced{t.name, f.Name}
			if f.Name = from.join(); from.space != "" {
				f.Description = strings.TrimSpace(t.description + "\n" + f.Description)
				r.spaced[f.Name] = from
			}
			switch {
			case len(r.wishes.tools) == maxTools:
				return d.Invalid("at most %d tools are allowed", maxTools)
			case slices.ContainsFunc(r.wishes.tools, func(o inference.Tool) bool { return o.Name == f.Name }):
				return d.Invalid("the name %q is that of an earlier tool", f.Name)
			case len(f.Name) > maxToolName:
				return d.Invalid("the names of the namespace and of %q have more than %d bytes together", from.name, maxToolName)
			}
			r.wishes.tools = append(r.wishes.tools, f)
		}
		return nil
	})
}

// isWebSearch reports whether a type of tools is OpenAI's search, which has several names.
// Programs for coding send it whether it can be had or not.
func isWebSearch(kind string) bool { return strings.HasPrefix(kind, toolWebSearch) }

// flatTool reads a tool, whose type may come after its other members. Those that stand in
// it are read by inner.
func flatTool(d *strict.Decoder, v strict.Value, inner func(*strict.Decoder, strict.Value) ([]inference.Tool, error)) (t respTool, err error) {
	var f inference.Tool
	own := false // it has members that only a function has
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		if v.Kind == strict.KindNull {
			return nil
		}
		switch name {
		case "type":
			t.kind, err = toolType(d, v)
		case "tools":
			t.tools, err = inner(d, v)
		case "name", "description":
			err = functionMember(d, &f, name, v)
		default:
			if isWebSearch(t.kind) {
				return d.Skip(v)
			}
			own = own || name == "parameters" || name == "strict"
			err = flatMember(d, &f, name, v)
		}
		return err
	})
	switch {
	case err != nil:
	case t.kind == "":
		err = d.Missing("type")
	case isWebSearch(t.kind):
	case f.Name == "":
		err = d.Missing("name")
	case t.kind == toolNamespace && own:
		err = d.Invalid("a namespace has a name, a description and tools; parameters and strict are theirs")
	case t.kind == toolNamespace && len(t.tools) == 0:
		err = d.At("tools").Invalid("must hold at least one function")
	case t.kind == toolNamespace:
		t.name, t.description = f.Name, f.Description
	case t.tools != nil:
		err = d.At("tools").Invalid("only a namespace has tools")
	default:
		t.tools = []inference.Tool{f}
	}
	return t, err
}

func toolType(d *strict.Decoder, v strict.Value) (string, error) {
	kind, err := d.Text(v)
	if err == nil && kind != toolFunction && kind != toolNamespace && !isWebSearch(kind) {
		err = d.Unsupported("tools of the type %q are not supported; the types are function and namespace", strict.Clip(kind))
	}
	return kind, err
}

// flatMember reads a member of a function that stands beside its type.
func flatMember(d *strict.Decoder, f *inference.Tool, name string, v strict.Value) error {
	switch name {
	case "defer_loading", "async":
		if v.Kind != strict.KindFalse {
			return d.Unsupported("not supported; leave it out or set it to false")
		}
		return nil
	case "output_schema", "allowed_callers":
		return d.Unsupported("not supported; leave it out")
	}
	return functionMember(d, f, name, v)
}

// spaceTools reads the functions of a namespace.
func spaceTools(d *strict.Decoder, v strict.Value) ([]inference.Tool, error) {
	var all []inference.Tool
	err := d.List(v, func(v strict.Value) error {
		t, err := flatTool(d, v, noTools)
		switch {
		case err != nil:
		case t.kind != toolFunction:
			err = d.At("type").Unsupported("tools of the type %q are not supported in a namespace; the only type is function", t.kind)
		case len(all) == maxTools:
			err = d.Invalid("at most %d tools are allowed", maxTools)
		default:
			all = append(all, t.tools[0])
		}
		return err
	})
	return all, err
}

// noTools refuses a namespace in a namespace.
func noTools(d *strict.Decoder, _ strict.Value) ([]inference.Tool, error) {
	return nil, d.Unsupported("only functions may be in a namespace")
}
