package anthropic

import (
	"slices"

	"dure/inference"
	"dure/inference/front/strict"
)

const (
	maxTools    = 512
	maxToolName = 128
)

func setTools(d *strict.Decoder, r *request, v strict.Value) error {
	return d.List(v, func(v strict.Value) error {
		if len(r.tools) == maxTools {
			return d.Invalid("at most %d tools are allowed", maxTools)
		}
		t, err := tool(d, r, v)
		if err == nil && slices.ContainsFunc(r.tools, func(o inference.Tool) bool { return o.Name == t.Name }) {
			err = d.Invalid("the name %q is that of an earlier tool", t.Name)
		}
		r.tools = append(r.tools, t)
		return err
	})
}

func tool(d *strict.Decoder, r *request, v strict.Value) (t inference.Tool, err error) {
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		if v.Kind == strict.KindNull {
			return nil
		}
		switch name {
		case "name":
			t.Name, err = d.Label(v)
			if err == nil && len(t.Name) > maxToolName {
				err = d.Invalid("a name must have at most %d bytes, not %d", maxToolName, len(t.Name))
			}
		case "description":
			t.Description, err = d.Text(v)
		case "input_schema":
			if v.Kind != strict.KindObject {
				return d.Expected("a JSON Schema, which is an object", v)
			}
			t.Parameters, err = d.Raw(v)
		case "strict":
			t.Strict, err = d.Boolean(v)
		case "type":
			var kind string
			if kind, err = d.Text(v); err == nil && kind != "custom" {
				err = d.Unsupported("tools of the type %q are run by Anthropic and not supported; define one of your own, of the type custom", strict.Clip(kind))
			}
		case "cache_control":
			err = setCacheControl(d, r, v)
		case "eager_input_streaming", "defer_loading": // arguments stream in any case; all tools are loaded
			_, err = d.Boolean(v)
		case "input_examples", "allowed_callers":
			if !d.IsEmpty(v) {
				err = d.Unsupported("not supported; leave it out")
			}
		default:
			err = d.Unknown(v)
		}
		return err
	})
	if err == nil && t.Name == "" {
		err = d.Missing("name")
	}
	return t, err
}

// modes are the types of a choice.
var modes = map[string]inference.ToolMode{
	"auto": inference.ToolAuto, "any": inference.ToolRequired, "tool": inference.ToolRequired, "none": inference.ToolNone,
}

func setToolChoice(d *strict.Decoder, r *request, v strict.Value) error {
	kind := ""
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "type":
			kind, err = d.OneOf(v, []string{"auto", "any", "tool", "none"})
			r.choice.Mode = modes[kind]
		case name == "name":
			r.choice.Name, err = d.Text(v)
		case name == "disable_parallel_tool_use":
			r.choice.Single, err = d.Boolean(v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
	case kind == "":
		err = d.Missing("type")
	case kind == "tool" && r.choice.Name == "":
		err = d.Missing("name")
	case kind != "tool" && r.choice.Name != "":
		err = d.At("name").Invalid("is only allowed where type is tool")
	}
	return err
}

func checkChoice(d *strict.Decoder, r *request) error {
	c := r.choice
	switch {
	case c.Mode == inference.ToolRequired && len(r.tools) == 0:
		return d.At("tool_choice").Invalid("asks for a call, and there are no tools; send tools")
	case c.Name != "" && !slices.ContainsFunc(r.tools, func(t inference.Tool) bool { return t.Name == c.Name }):
		return d.At("tool_choice.name").Invalid("%q is not among tools", strict.Clip(c.Name))
	case c.Mode == inference.ToolRequired && r.format != nil:
		return d.At("tool_choice").Invalid("asks for a call, and output_config.format for a text of a form; send one of them")
	}
	return nil
}
