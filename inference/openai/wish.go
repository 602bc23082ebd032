package openai

import (
	"errors"
	"math"
	"strings"

	"dure/inference"
	"dure/inference/front/strict"
)

// formatFields set the form of an answer under llama-server's names, on both routes.
var formatFields = strict.Fields[request]{
	"grammar": func(d *strict.Decoder, r *request, v strict.Value) error {
		text, err := d.Text(v)
		if err != nil || text == "" {
			return err
		}
		return r.wishes.setFormat(d, "grammar", &inference.Format{Grammar: text})
	},
	"json_schema": func(d *strict.Decoder, r *request, v strict.Value) error {
		schema, err := schemaObject(d, v)
		if err != nil {
			return err
		}
		return r.wishes.setFormat(d, "json_schema", &inference.Format{Schema: schema})
	},
}

// wishFields set the form of an answer of a conversation, and how it is thought about.
var wishFields = strict.Fields[request]{
	"tools":                  setTools,
	"tool_choice":            setToolChoice,
	"parallel_tool_calls":    strict.Boolean(func(r *request, b bool) { r.wishes.choice.Single = !b }),
	"response_format":        setResponseFormat,
	"reasoning_effort":       setEffort,
	"reasoning_budget":       setBudget,
	"chat_template_kwargs":   setTemplateSwitches,
	"continue_final_message": strict.Boolean(func(r *request, b bool) { r.wishes.goesOn = b }),
}

// setResponseFormat reads {"type": ...}, with a schema where the type is json_schema.
func setResponseFormat(d *strict.Decoder, r *request, v strict.Value) error {
	kind := ""
	var format inference.Format
	found := false
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "type":
			kind, err = d.OneOf(v, []string{"text", "json_object", "json_schema"})
		case name == "json_schema":
			found = true
			format.Schema, err = namedSchema(d, v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil || kind == "text":
		return err
	case kind == "":
		return d.Missing("type")
	case kind == "json_schema" && !found:
		return d.Missing("json_schema")
	}
	return r.wishes.setFormat(d, "response_format", &format)
}

// namedSchema reads a schema with its name. Answers are held to it whether "strict" is
// asked for or not.
func namedSchema(d *strict.Decoder, v strict.Value) (schema []byte, err error) {
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "schema":
			schema, err = schemaObject(d, v)
		case name == "name", name == "description":
			_, err = d.Text(v)
		case name == "strict":
			_, err = d.Boolean(v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	if err == nil && schema == nil {
		err = d.Missing("schema")
	}
	return schema, err
}

// blame turns the path of a form in the error of a model into the path in the body.
func (w *wishes) blame(err error) error {
	var e *inference.Error
	if !errors.As(err, &e) || e.Param != "format" {
		return err
	}
	named := *e
	named.Param = w.formatBy
	named.Message = w.formatBy + strings.TrimPrefix(e.Error(), "format")
	return &named
}

// efforts are the values of reasoning_effort.
var efforts = []string{string(inference.EffortNone), string(inference.EffortMinimal), string(inference.EffortLow),
	string(inference.EffortMedium), string(inference.EffortHigh), string(inference.EffortXHigh), string(inference.EffortMax)}

func setEffort(d *strict.Decoder, r *request, v strict.Value) error {
	word, err := d.OneOf(v, efforts)
	if err == nil {
		r.wishes.reasoning.Effort = inference.Effort(word)
	}
	return err
}

// setBudget reads llama-server's -1 for no limit, 0 for no thinking, or tokens.
func setBudget(d *strict.Decoder, r *request, v strict.Value) error {
	n, err := d.Integer(v, -1, math.MaxInt32)
	switch {
	case err != nil:
	case n == 0:
		r.wishes.reasoning.Effort = inference.EffortNone
	case n > 0:
		r.wishes.reasoning.Budget = int(n)
	}
	return err
}

// setTemplateSwitches reads the variables that other servers hand to chat templates.
// The one with a meaning for all of them is implemented.
func setTemplateSwitches(d *strict.Decoder, r *request, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) error {
		switch {
		case v.Kind == strict.KindNull:
			return nil
		case name == "enable_thinking", name == "thinking":
			on, err := d.Boolean(v)
			if err == nil && !on {
				r.wishes.reasoning.Effort = inference.EffortNone
			} else if err == nil && r.wishes.reasoning.Effort == "" {
				r.wishes.reasoning.Effort = inference.EffortHigh
			}
			return err
		case name == "reasoning_effort":
			return setEffort(d, r, v)
		}
		return d.Unsupported("not supported; the variables of chat templates that may be set are enable_thinking and reasoning_effort")
	})
}
