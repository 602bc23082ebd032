package ollama

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// request is a decoded body of either route that generates.
type request struct {
	model     string
	messages  []inference.Message
	prompt    *string
	system    string
	raw       bool
	stream    bool
	tools     []inference.Tool
	format    *inference.Format
	reasoning inference.Reasoning
	shows     bool // thinking is asked for
	logprobs  bool
	top       int
	window    int // num_ctx
	most      *int
	changes   front.Changes
	caller    inference.Caller
	told      map[string]bool
	warnings  []string
}

func newRequest() *request { return &request{stream: true} }

func changesOf(r *request) *front.Changes { return &r.changes }

// shared are the members of both routes.
var shared = strict.Joined(front.CallerFields(func(r *request) *inference.Caller { return &r.caller }), strict.Fields[request]{
	"model":        strict.Text(func(r *request, s string) { r.model = s }),
	"stream":       strict.Boolean(func(r *request, b bool) { r.stream = b }),
	"format":       setFormat,
	"options":      setOptions,
	"think":        setThink,
	"logprobs":     strict.Boolean(func(r *request, b bool) { r.logprobs = b }),
	"top_logprobs": strict.Integer(0, inference.MaxTopLogprobs, func(r *request, n int64) { r.top = int(n) }),
	// Nothing is cut or shifted: what does not fit is an error.
	"truncate":           warned("nothing is cut here: a prompt that does not fit is an error"),
	"shift":              warned("nothing is shifted out of the context here: an answer ends where it is full"),
	"_debug_render_only": strict.Only[request]("false", strict.IsFalse),
	"width":              strict.Only[request]("0", strict.IsNumber(0)),
	"height":             strict.Only[request]("0", strict.IsNumber(0)),
	"steps":              strict.Only[request]("0", strict.IsNumber(0)),
	"images":             strict.Only[request]("[]", (*strict.Decoder).IsEmpty),
})

var chatFields = strict.Joined(shared, strict.Fields[request]{"messages": setMessages, "tools": setTools})

var generateFields = strict.Joined(shared, strict.Fields[request]{
	"prompt":   strict.Text(func(r *request, s string) { r.prompt = &s }),
	"system":   strict.Text(func(r *request, s string) { r.system = s }),
	"raw":      strict.Boolean(func(r *request, b bool) { r.raw = b }),
	"suffix":   strict.Only[request](`""`, strict.IsText("")),
	"template": strict.Only[request](`""`, strict.IsText("")),
	// Answers here come without it, so that nobody has one to send: /api/chat does what
	// it was for.
	"context": strict.Only[request]("[]", (*strict.Decoder).IsEmpty),
})

// warned is a boolean that changes nothing here; true is warned of.
func warned(text string) strict.Field[request] {
	return func(d *strict.Decoder, r *request, v strict.Value) error {
		on, err := d.Boolean(v)
		if err == nil && on {
			r.warnings = append(r.warnings, text)
		}
		return err
	}
}

func checkChat(d *strict.Decoder, r *request) error {
	if r.told = d.Present(); r.model == "" {
		return d.Missing("model")
	}
	return nil
}

func checkGenerate(d *strict.Decoder, r *request) error {
	switch r.told = d.Present(); {
	case r.model == "":
		return d.Missing("model")
	case r.raw && r.system != "":
		return d.At("system").Invalid("is not allowed beside raw, which is the whole prompt")
	}
	return nil
}

// setFormat reads "json" or a JSON Schema.
func setFormat(d *strict.Decoder, r *request, v strict.Value) error {
	if v.Kind == strict.KindString {
		word, err := d.OneOf(v, []string{"", "json"})
		if err == nil && word != "" {
			r.format = &inference.Format{}
		}
		return err
	}
	if v.Kind != strict.KindObject {
		return d.Expected(`"json" or a JSON Schema`, v)
	}
	schema, err := d.Raw(v)
	r.format = &inference.Format{Schema: schema}
	return err
}

// setThink reads a boolean or a level.
func setThink(d *strict.Decoder, r *request, v strict.Value) error {
	if v.Kind == strict.KindString {
		word, err := d.OneOf(v, []string{"low", "medium", "high", "max"})
		r.reasoning.Effort, r.shows = inference.Effort(word), true
		return err
	}
	on, err := d.Boolean(v)
	r.shows = on
	if r.reasoning.Effort = inference.EffortNone; on {
		r.reasoning.Effort = inference.EffortHigh
	}
	return err
}

// option is one of "options".
type option = strict.Field[request]

const loadedByPlan = "models are loaded by plan here"

// options are those of Ollama's Go client. Those of how a model is loaded change
// nothing here.
var options = map[string]option{
	"temperature":       front.ParamNumber(changesOf, 0, 5, func(p *inference.Params, f float32) { p.Temperature = f }),
	"top_p":             front.ParamNumber(changesOf, 0, 1, func(p *inference.Params, f float32) { p.TopP = f }),
	"min_p":             front.ParamNumber(changesOf, 0, 1, func(p *inference.Params, f float32) { p.MinP = f }),
	"typical_p":         front.ParamNumber(changesOf, 0, 1, func(p *inference.Params, f float32) { p.TypicalP = f }),
	"top_k":             front.ParamInteger(changesOf, 0, math.MaxInt32, func(p *inference.Params, n int) { p.TopK = n }),
	"repeat_last_n":     front.ParamInteger(changesOf, -1, math.MaxInt32, func(p *inference.Params, n int) { p.Penalties.LastN = front.LookBack(n) }),
	"repeat_penalty":    front.ParamPositive(changesOf, 100, func(p *inference.Params, f float32) { p.Penalties.Repeat = f }),
	"presence_penalty":  front.ParamNumber(changesOf, -2, 2, func(p *inference.Params, f float32) { p.Penalties.Presence = f }),
	"frequency_penalty": front.ParamNumber(changesOf, -2, 2, func(p *inference.Params, f float32) { p.Penalties.Frequency = f }),
	"mirostat":          front.ParamInteger(changesOf, 0, 2, func(p *inference.Params, n int) { p.Mirostat.Version = n }),
	"mirostat_tau":      front.ParamPositive(changesOf, 100, func(p *inference.Params, f float32) { p.Mirostat.Tau = f }),
	"mirostat_eta":      front.ParamPositive(changesOf, 1, func(p *inference.Params, f float32) { p.Mirostat.Eta = f }),
	"seed": strict.Integer(math.MinInt64, math.MaxInt64, func(r *request, n int64) {
		r.changes.Add(func(p *inference.Params) { p.Seed = uint64(n) })
	}),
	"stop": func(d *strict.Decoder, r *request, v strict.Value) error {
		stops, err := d.Texts(v, 64, 1024)
		r.changes.Add(func(p *inference.Params) { p.Stop = stops })
		return err
	},
	"num_predict": func(d *strict.Decoder, r *request, v strict.Value) error { // -1 is no limit, -2 up to the end of the context
		n, err := d.Integer(v, -2, math.MaxInt32)
		most := max(0, int(n))
		r.most = &most
		return err
	},
	"num_ctx":          strict.Integer(1, math.MaxInt32, func(r *request, n int64) { r.window = int(n) }),
	"num_keep":         strict.Only[request]("0", strict.IsNumber(-1, 0, 4)), // what is kept when a context shifts
	"tfs_z":            strict.Only[request]("1", strict.IsNumber(1)),
	"penalize_newline": strict.Only[request]("true", strict.IsTrue),
	"num_batch":        placed, "num_gpu": placed, "main_gpu": placed, "num_thread": placed, "use_mmap": placed, "use_mlock": placed, "low_vram": placed,
	"numa": placed, "f16_kv": placed, "vocab_only": placed, "logits_all": placed, "embedding_only": placed, "draft_num_predict": placed,
}

// placed is an option of how a model is loaded.
func placed(d *strict.Decoder, r *request, v strict.Value) error {
	if len(r.warnings) == 0 || r.warnings[len(r.warnings)-1] != loadedByPlan {
		r.warnings = append(r.warnings, loadedByPlan)
	}
	return d.Skip(v)
}

func setOptions(d *strict.Decoder, r *request, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) error {
		set, ok := options[name]
		switch {
		case !ok:
			return d.Unknown(v)
		case v.Kind == strict.KindNull:
			return nil
		}
		return set(d, r, v)
	})
}

// find looks up the model that a name with or without a tag stands for.
func find(x *front.Exchange, name string) (front.Listing, error) {
	l, err := x.Find(plain(name))
	return l, notHere(name, err)
}

// plain is a name without the tag that stands for none.
func plain(name string) string { return strings.TrimSuffix(name, ":latest") }

// notHere says what clients of Ollama do about a model that is not there.
func notHere(name string, err error) error {
	var e *inference.Error
	if !asError(err, &e) || e.Code != inference.CodeModelNotFound {
		return err
	}
	more := *e
	more.Message = "model '" + strict.Clip(name) + "' not found: " + e.Message
	return &more
}

// params are the model's with what the request changes.
func (r *request) params(l front.Listing) (inference.Params, error) {
	if r.window > 0 && l.Context > 0 && r.window > l.Context {
		e := inference.Errorf(inference.CodeContextExceeded, "options.num_ctx: %d is more than the context of %s, which holds %d tokens; leave it out, or start the server with a larger --context", r.window, l.Name, l.Context)
		e.Param = "options.num_ctx"
		return inference.Params{}, e
	}
	p := r.changes.Over(l.Params)
	if r.most != nil {
		p.MaxTokens = *r.most
	}
	p.Logprobs, p.TopLogprobs = r.logprobs || r.top > 0, r.top
	if p.Seed == 0 {
		p.Seed = front.RandomSeed()
	}
	return p, nil
}

// settle puts the headers about the caller to what the body told, and makes the
// warnings a header, which exists in no body of this form.
func (r *request) settle(x *front.Exchange, header http.Header) error {
	warnings, err := front.AddHeaders(&r.caller, r.told, header)
	x.Warn(append(warnings, r.warnings...)...)
	if all := x.Warnings(); len(all) > 0 {
		x.Header().Set("X-Dure-Warnings", asHeader(all))
	}
	return err
}

// asHeader is a list of warnings on one line of plain characters.
func asHeader(all []string) string {
	text, err := json.Marshal(all)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, c := range string(text) {
		if c < ' ' || c > '~' {
			c = '?'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// nanoseconds of a number of milliseconds.
func nanoseconds(ms float64) int64 { return int64(ms * float64(time.Millisecond)) }
