package openai

import (
	"dure/inference"
	"dure/inference/front/strict"
)

// setToolChoice reads "auto", "none", "required", the one tool to be called, or those
// that may be.
func setToolChoice(d *strict.Decoder, r *request, v strict.Value) (err error) {
	w := &r.wishes
	if v.Kind == strict.KindString {
		mode, err := d.OneOf(v, []string{string(inference.ToolAuto), string(inference.ToolNone), string(inference.ToolRequired)})
		w.choice.Mode = inference.ToolMode(mode)
		return err
	}
	if v.Kind != strict.KindObject {
		return d.Expected("auto, none, required, or an object that names a function", v)
	}
	kind := ""
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch name {
		case "type":
			kind, err = choiceType(d, v)
		case "function":
			w.choice.Mode = inference.ToolRequired
			w.choice.Name, err = nameIn(d, v)
		case "allowed_tools":
			err = w.setAllowed(d, v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
	case kind == choiceAllowed && w.allowed == nil:
		err = d.Missing(choiceAllowed)
	case kind != choiceAllowed && w.choice.Name == "":
		err = d.Missing("function.name")
	case w.choice.Name != "" && w.allowed != nil:
		err = d.Invalid("names one function, and those that are allowed; send one of them")
	}
	return err
}

// choiceAllowed is the type of a choice of several tools.
const choiceAllowed = "allowed_tools"

func choiceType(d *strict.Decoder, v strict.Value) (string, error) {
	kind, err := d.Text(v)
	if err == nil && kind != "function" && kind != choiceAllowed {
		err = d.Unsupported("a choice of the type %q is not supported; the types are function and %s", strict.Clip(kind), choiceAllowed)
	}
	return kind, err
}

// nameIn reads the name in {"name": ...}.
func nameIn(d *strict.Decoder, v strict.Value) (name string, err error) {
	err = d.Object(v, strict.MaxMembers, func(member string, v strict.Value) (err error) {
		if member != "name" {
			return d.Unknown(v)
		}
		name, err = d.Text(v)
		return err
	})
	return name, err
}

// setAllowed reads {"mode": ..., "tools": ...}.
func (w *wishes) setAllowed(d *strict.Decoder, v strict.Value) error {
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch name {
		case "mode":
			err = w.setAllowedMode(d, v)
		case "tools":
			w.allowed, err = allowedTools(d, v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
	case w.choice.Mode == "":
		err = d.Missing("mode")
	case w.allowed == nil:
		err = d.Missing("tools")
	}
	return err
}

func (w *wishes) setAllowedMode(d *strict.Decoder, v strict.Value) error {
	mode, err := d.OneOf(v, []string{string(inference.ToolAuto), string(inference.ToolRequired)})
	w.choice.Mode = inference.ToolMode(mode)
	return err
}

// allowedTools reads the names of tools, in either of the forms that a tool has.
func allowedTools(d *strict.Decoder, v strict.Value) ([]string, error) {
	names := []string{}
	err := d.List(v, func(v strict.Value) error {
		found := ""
		err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
			switch name {
			case "type":
				err = isFunction(d, v, "tools")
			case "name":
				found, err = d.Text(v)
			case "function":
				found, err = nameIn(d, v)
			default:
				err = d.Unknown(v)
			}
			return err
		})
		if err == nil && found == "" {
			err = d.Missing("name")
		}
		names = append(names, found)
		return err
	})
	if err == nil && len(names) == 0 {
		err = d.Invalid("must name at least one tool")
	}
	return names, err
}
