package openai

import (
	"dure/inference"
	"dure/inference/front/strict"
)

// respRequest is a decoded body of POST /v1/responses.
type respRequest struct {
	request
	input        []item
	instructions string
	previous     string // id of the response that this one follows
	unkept       bool   // store is false
	background   bool
	maxCalls     *int   // of tools that run at the server: there are none
	summary      string // how the client wants to have reasoning summed up
	encrypted    bool   // reasoning is wanted as encrypted_content as well
	wantLogprobs bool
	formatName   string
	user, safety *string
	metadata     map[string]string
	shown        []wireTool        // tools as they were sent
	spaced       map[string]spaced // those of namespaces, by the name that the model knows
}

// respFields is every member of a request for a response that is known.
var respFields = strict.Joined(lifted(strict.Joined(sharedFields, strict.Fields[request]{
	// Those that this API has under another name, or not at all.
	"max_tokens":             strict.Instead[request]("max_output_tokens", strict.Never),
	"max_completion_tokens":  strict.Instead[request]("max_output_tokens", strict.Never),
	"messages":               strict.Instead[request]("input", strict.Never),
	"response_format":        strict.Instead[request]("text.format", strict.Never),
	"reasoning_effort":       strict.Instead[request]("reasoning.effort", strict.Never),
	"n":                      unless("1", strict.IsNumber(1)),
	"reasoning_budget":       setBudget,
	"chat_template_kwargs":   setTemplateSwitches,
	"continue_final_message": unless("false", strict.IsFalse),
	"max_output_tokens":      limit(func(r *request, n int) { r.maxCompletion = &n }),
	"parallel_tool_calls":    strict.Boolean(func(r *request, b bool) { r.wishes.choice.Single = !b }),
	"top_logprobs":           strict.Integer(0, inference.MaxTopLogprobs, func(r *request, i int64) { r.topLogprobs = int(i) }),

	"service_tier":           unless(`"auto"`, strict.IsText("auto", "default")),
	"truncation":             unless(`"disabled"`, strict.IsText("disabled")),
	"prompt_cache_retention": unless(`"in_memory"`, strict.IsText("in_memory")),
	"context_management":     unless("[]", (*strict.Decoder).IsEmpty),
	"prompt_cache_options":   unless("null", strict.Never),
	"conversation":           strict.Instead[request]("previous_response_id", strict.Never),
	"prompt":                 unless("null", strict.Never),
	"moderation":             unless("null", strict.Never),
	"access_programs":        unless("null", strict.Never),
	"image":                  unless("null", strict.Never),
})), strict.Fields[respRequest]{
	"input":                setItems,
	"instructions":         strict.Text(func(r *respRequest, s string) { r.instructions = s }),
	"previous_response_id": setPrevious,
	"store":                strict.Boolean(func(r *respRequest, b bool) { r.unkept = !b }),
	"background":           strict.Boolean(func(r *respRequest, b bool) { r.background = b }),
	"max_tool_calls":       strict.Integer(0, 1<<31, func(r *respRequest, n int64) { r.maxCalls = new(int(n)) }),
	"tools":                setFunctions,
	"tool_choice":          setFunctionChoice,
	"text":                 setTextForm,
	"reasoning":            setReasoning,
	"include":              setInclude,
	// Labels: nothing has to happen for them to be honoured.
	"user":              strict.Text(func(r *respRequest, s string) { r.user = &s }),
	"safety_identifier": strict.Text(func(r *respRequest, s string) { r.safety = &s }),
	"metadata":          setLabels,
	"client_metadata":   setClientLabels,
})

// lifted are fields of a request as those of one that holds it.
func lifted(fields strict.Fields[request]) strict.Fields[respRequest] {
	all := strict.Fields[respRequest]{}
	for name, f := range fields {
		all[name] = func(d *strict.Decoder, r *respRequest, v strict.Value) error { return f(d, &r.request, v) }
	}
	return all
}

func decodeResponse(body []byte) (*respRequest, error) {
	r := &respRequest{request: request{n: 1}, spaced: map[string]spaced{}}
	warnings, err := strict.Decode(body, respFields, r, checkResponse)
	r.warnings = warnings
	return r, err
}

func checkResponse(d *strict.Decoder, r *respRequest) error {
	r.present = d.Present()
	r.logprobs = r.wantLogprobs
	switch {
	case r.present["stream_options"] && !r.stream:
		return d.At("stream_options").Invalid("is only allowed when stream is true")
	case len(r.input) == 0 && r.previous == "":
		return d.Missing("input")
	case r.background && r.unkept:
		return d.At("background").Invalid("a response that is made in the background is kept until it is fetched; store must not be false")
	case r.topLogprobs > 0 && !r.logprobs:
		return d.At("top_logprobs").Invalid("is only allowed when include has message.output_text.logprobs")
	}
	return checkTools(d, &r.request)
}

func setPrevious(d *strict.Decoder, r *respRequest, v strict.Value) (err error) {
	r.previous, err = d.Label(v)
	return err
}

// setFunctionChoice reads "auto", "none", "required", the one tool to be called, or
// those that may be.
func setFunctionChoice(d *strict.Decoder, r *respRequest, v strict.Value) (err error) {
	if v.Kind != strict.KindObject {
		return setToolChoice(d, &r.request, v)
	}
	w := &r.wishes
	kind := ""
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch name {
		case "type":
			kind, err = choiceType(d, v)
		case "name":
			w.choice.Name, err = d.Text(v)
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
		return err
	case kind == "":
		return d.Missing("type")
	case kind == choiceAllowed && w.choice.Mode == "":
		return d.Missing("mode")
	case kind == choiceAllowed && w.allowed == nil:
		return d.Missing("tools")
	case kind == choiceAllowed:
		w.choice.Name = ""
	case w.choice.Name == "":
		return d.Missing("name")
	default:
		w.choice.Mode, w.allowed = inference.ToolRequired, nil
	}
	return nil
}

func setTextForm(d *strict.Decoder, r *respRequest, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) error {
		switch {
		case v.Kind == strict.KindNull:
			return nil
		case name == "format":
			return setFlatFormat(d, r, v)
		case name == "verbosity":
			return unless(`"medium"`, strict.IsText("medium"))(d, &r.request, v)
		}
		return d.Unknown(v)
	})
}

// setFlatFormat reads a form whose schema stands beside its type.
func setFlatFormat(d *strict.Decoder, r *respRequest, v strict.Value) error {
	kind := ""
	var form inference.Format
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "type":
			kind, err = d.OneOf(v, []string{"text", "json_object", "json_schema"})
		case name == "schema":
			form.Schema, err = schemaObject(d, v)
		case name == "name":
			r.formatName, err = d.Text(v)
		case name == "description":
			_, err = d.Text(v)
		case name == "strict": // an answer is held to its schema in any case
			_, err = d.Boolean(v)
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
	case kind == "json_schema" && form.Schema == nil:
		return d.Missing("schema")
	case kind == "json_object":
		form.Schema = nil
	}
	return r.wishes.setFormat(d, "text.format", &form)
}

// setReasoning reads how much the model thinks, and how its thinking is shown: as it
// is, where the client asks for a summary as the only text of it.
func setReasoning(d *strict.Decoder, r *respRequest, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "effort":
			err = setEffort(d, &r.request, v)
		case name == "summary", name == "generate_summary":
			word, err := d.OneOf(v, []string{"auto", "detailed", "concise"})
			if err == nil && word == "concise" {
				err = d.Unsupported("nobody sums up here what the model thinks; with auto it is sent whole")
			}
			r.summary = word
			return err
		case name == "context":
			err = unless(`"auto"`, strict.IsText("auto"))(d, &r.request, v)
		case name == "mode":
			err = unless(`"standard"`, strict.IsText("standard"))(d, &r.request, v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
}

// includable are what an answer may have to include. The others are of items that there
// are none of here.
var includable = []string{"message.output_text.logprobs", "reasoning.encrypted_content", "file_search_call.results", "web_search_call.results",
	"web_search_call.action.sources", "message.input_image.image_url", "computer_call_output.output.image_url", "code_interpreter_call.outputs"}

func setInclude(d *strict.Decoder, r *respRequest, v strict.Value) error {
	return d.List(v, func(v strict.Value) error {
		switch word, err := d.OneOf(v, includable); {
		case err != nil:
			return err
		case word == includable[0]:
			r.wantLogprobs = true
		case word == includable[1]:
			r.encrypted = true
		}
		return nil
	})
}

// setClientLabels reads what programs for coding tell OpenAI about themselves.
func setClientLabels(d *strict.Decoder, _ *respRequest, v strict.Value) error {
	if v.Kind != strict.KindObject {
		return d.Expected("an object", v)
	}
	return d.Skip(v)
}

// setLabels reads what a client hangs on a response and gets back.
func setLabels(d *strict.Decoder, r *respRequest, v strict.Value) error {
	const most, mostBytes = 16, 512
	r.metadata = map[string]string{}
	return d.Object(v, most, func(name string, v strict.Value) (err error) {
		value, err := d.Text(v)
		if err == nil && len(value) > mostBytes {
			err = d.Invalid("a value may have at most %d bytes, not %d", mostBytes, len(value))
		}
		r.metadata[name] = value
		return err
	})
}
