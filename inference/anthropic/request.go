package anthropic

import (
	"math"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

const (
	maxStops     = 64
	maxStopBytes = 1024
)

// request is a decoded body.
type request struct {
	model     string
	system    string
	messages  []inference.Message
	goesOn    bool // the last message is the beginning of the answer
	maxTokens int
	stream    bool
	tools     []inference.Tool
	choice    inference.ToolChoice
	format    *inference.Format
	thinking  thinking
	effort    inference.Effort
	changes   front.Changes
	caller    inference.Caller
	told      map[string]bool
}

// thinking is what a request says about it.
type thinking struct {
	on     bool
	budget int
	hidden bool // it is not shown
}

func changesOf(r *request) *front.Changes { return &r.changes }

// known is every member of a request that is known.
var known = strict.Joined(front.CallerFields(func(r *request) *inference.Caller { return &r.caller }), strict.Fields[request]{
	"model":      strict.Text(func(r *request, s string) { r.model = s }),
	"messages":   setMessages,
	"system":     setSystem,
	"max_tokens": strict.Integer(1, math.MaxInt32, func(r *request, n int64) { r.maxTokens = int(n) }),
	"stream":     strict.Boolean(func(r *request, b bool) { r.stream = b }),
	"stop_sequences": func(d *strict.Decoder, r *request, v strict.Value) error {
		if v.Kind != strict.KindList {
			return d.Expected("a list of strings", v)
		}
		stops, err := d.Texts(v, maxStops, maxStopBytes)
		r.changes.Add(func(p *inference.Params) { p.Stop = stops })
		return err
	},
	"temperature": front.ParamNumber(changesOf, 0, 1, func(p *inference.Params, f float32) { p.Temperature = f }),
	"top_p":       front.ParamNumber(changesOf, 0, 1, func(p *inference.Params, f float32) { p.TopP = f }),
	"top_k":       front.ParamInteger(changesOf, 0, math.MaxInt32, func(p *inference.Params, n int) { p.TopK = n }),
	"tools":       setTools,
	"tool_choice": setToolChoice,
	"thinking":    setThinking,

	"output_config": setOutputConfig,
	"output_format": setOutputFormat,
	"cache_control": setCacheControl,

	// Labels and hints: nothing has to happen for them to be honoured.
	"metadata":     setMetadata,
	"service_tier": strict.Only[request](`"auto"`, strict.IsText("auto", "standard_only")),

	"container":          strict.Only[request]("null", strict.Never),
	"inference_geo":      strict.Only[request]("null", strict.Never),
	"mcp_servers":        strict.Only[request]("[]", (*strict.Decoder).IsEmpty),
	"context_management": setContextManagement,
	// The server would keep the conversation and be sent the rest of it only. Clients
	// send the whole where it is refused, see failureDetails.
	"thread": strict.Only[request]("null", strict.Never),
	"speed":  strict.Only[request](`"standard"`, strict.IsText("standard")),
})

// checkCount looks at what no field alone tells, of both routes.
func checkCount(d *strict.Decoder, r *request) error {
	r.told = d.Present()
	switch {
	case r.messages == nil:
		return d.Missing("messages")
	case !r.told["model"]:
		return d.Missing("model")
	}
	return checkChoice(d, r)
}

func checkMessages(d *strict.Decoder, r *request) error {
	if err := checkCount(d, r); err != nil {
		return err
	}
	if r.maxTokens == 0 {
		return d.Missing("max_tokens")
	}
	return nil
}

// ask is what the model is asked.
func (r *request) ask(defaults inference.Params) *inference.Request {
	p := r.changes.Over(defaults)
	p.MaxTokens = r.maxTokens
	if p.Seed == 0 {
		p.Seed = front.RandomSeed()
	}
	messages := r.messages
	if r.system != "" {
		messages = append([]inference.Message{{Role: inference.RoleSystem, Content: r.system}}, messages...)
	}
	reasoning := inference.Reasoning{Effort: inference.EffortNone}
	if r.thinking.on {
		reasoning = inference.Reasoning{Effort: r.effort, Budget: r.thinking.budget}
		if reasoning == (inference.Reasoning{}) {
			reasoning.Effort = inference.EffortHigh
		}
	}
	return &inference.Request{
		Messages: messages, Continue: r.goesOn, Params: p, Tools: r.tools, ToolChoice: r.choice, Format: r.format, Reasoning: reasoning,
	}
}

// setThinking reads {"type": "enabled", "budget_tokens": n}, "adaptive" or "disabled".
func setThinking(d *strict.Decoder, r *request, v strict.Value) error {
	kind := ""
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "type":
			kind, err = d.OneOf(v, []string{"enabled", "adaptive", "disabled"})
		case name == "budget_tokens":
			var n int64
			n, err = d.Integer(v, 1, math.MaxInt32)
			r.thinking.budget = int(n)
		case name == "display":
			var word string
			word, err = d.OneOf(v, []string{"summarized", "omitted"})
			r.thinking.hidden = word == "omitted"
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
	case kind == "":
		err = d.Missing("type")
	case kind == "enabled" && r.thinking.budget == 0:
		err = d.Missing("budget_tokens")
	}
	r.thinking.on = kind != "disabled"
	return err
}

// efforts are those of output_config.
var efforts = map[string]inference.Effort{
	"low": inference.EffortLow, "medium": inference.EffortMedium, "high": inference.EffortHigh, "xhigh": inference.EffortXHigh, "max": inference.EffortMax,
}

func setOutputConfig(d *strict.Decoder, r *request, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "effort":
			var word string
			word, err = d.OneOf(v, []string{"low", "medium", "high", "xhigh", "max"})
			r.effort = efforts[word]
		case name == "format":
			err = setOutputFormat(d, r, v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
}

// setOutputFormat reads {"type": "json_schema", "schema": {...}}.
func setOutputFormat(d *strict.Decoder, r *request, v strict.Value) error {
	kind := ""
	var format inference.Format
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch name {
		case "type":
			kind, err = d.OneOf(v, []string{"json_schema"})
		case "schema":
			if v.Kind != strict.KindObject {
				return d.Expected("a JSON Schema, which is an object", v)
			}
			format.Schema, err = d.Raw(v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case kind == "":
		return d.Missing("type")
	case format.Schema == nil:
		return d.Missing("schema")
	case r.format != nil:
		return d.Invalid("the form of the answer is given twice; send output_config.format")
	}
	r.format = &format
	return nil
}

// setCacheControl pins the prefix: which block it stands at makes no difference, since
// all that is read is kept as long as there is room.
func setCacheControl(d *strict.Decoder, r *request, v strict.Value) error {
	r.caller.PinPrefix = true
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "type":
			_, err = d.OneOf(v, []string{"ephemeral"})
		case name == "ttl":
			_, err = d.OneOf(v, []string{"5m", "1h"})
		default:
			err = d.Unknown(v)
		}
		return err
	})
}

func setMetadata(d *strict.Decoder, _ *request, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "user_id":
			_, err = d.Text(v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
}

// keepsAll is the edit of a conversation that edits nothing: all thinking stays in it.
const keepsAll = "clear_thinking_20251015"

// setContextManagement takes what edits nothing. What would drop parts of a
// conversation is refused: nothing is cut here.
func setContextManagement(d *strict.Decoder, _ *request, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) error {
		if name == "edits" {
			return d.List(v, func(v strict.Value) error { return setEdit(d, v) })
		}
		return d.Unknown(v)
	})
}

func setEdit(d *strict.Decoder, v strict.Value) error {
	kind, all := "", false
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch name {
		case "type":
			kind, err = d.Text(v)
		case "keep":
			all = strict.IsText("all")(d, v)
			if !all {
				err = d.Skip(v)
			}
		default: // of edits that are refused
			err = d.Skip(v)
		}
		return err
	})
	switch {
	case err != nil:
	case kind == "":
		err = d.Missing("type")
	case kind != keepsAll || !all:
		err = d.Unsupported("not supported: the server edits no conversation; the only edit that is accepted is %s with keep \"all\", which edits nothing", keepsAll)
	}
	return err
}
