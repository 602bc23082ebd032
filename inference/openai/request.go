package openai

import (
	"math"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// Limits of the fields of a request, where OpenAI's are too narrow for local
// models or absent.
const (
	maxTemperature  = 5 // OpenAI stops at 2
	maxStops        = 32
	maxStopBytes    = 1024
	maxBiases       = 1024
	maxBreakers     = 32
	maxBreakerBytes = 40 // as the sampler has it
	// maxChoices is how many answers one request may ask for, over all of its
	// prompts.
	maxChoices = 128
)

// request is a decoded body of a route that generates.
type request struct {
	model    string
	messages []inference.Message // of a chat
	prompts  []inference.Prompt  // of a text completion
	listed   bool                // the prompts stand in a list of prompts
	echo     bool
	n        int // choices for each prompt
	bestOf   int
	caller   inference.Caller
	cacheKey string // prompt_cache_key, another name of the caller's session

	wishes wishes

	stream       bool
	includeUsage bool
	logprobs     bool
	topLogprobs  int

	maxTokens     *int
	maxCompletion *int
	changes       front.Changes
	present       map[string]bool // members of the body that are not null
	warnings      []string
}

// sharedFields are those that both routes have.
var sharedFields = strict.Joined(strict.Joined(strict.Joined(refusedFields[request](), formatFields), callerFields()), strict.Fields[request]{
	"model":          strict.Text(func(r *request, s string) { r.model = s }),
	"n":              strict.Integer(1, maxChoices, func(r *request, i int64) { r.n = int(i) }),
	"stream":         strict.Boolean(func(r *request, b bool) { r.stream = b }),
	"stream_options": setStreamOptions,
	"max_tokens":     limit(func(r *request, n int) { r.maxTokens = &n }),
	"stop":           setStop,
	"seed": strict.Integer(math.MinInt64, math.MaxInt64, func(r *request, i int64) {
		r.changes.Add(func(p *inference.Params) { p.Seed = uint64(i) })
	}),
	"logit_bias":        setLogitBias,
	"temperature":       paramNumber(0, maxTemperature, func(p *inference.Params, f float32) { p.Temperature = f }),
	"top_p":             paramNumber(0, 1, func(p *inference.Params, f float32) { p.TopP = f }),
	"frequency_penalty": paramNumber(-2, 2, func(p *inference.Params, f float32) { p.Penalties.Frequency = f }),
	"presence_penalty":  paramNumber(-2, 2, func(p *inference.Params, f float32) { p.Penalties.Presence = f }),

	// From here on under llama-server's names.
	"min_p": paramNumber(0, 1, func(p *inference.Params, f float32) { p.MinP = f }),
	// The sampler knows its largest cut and refuses what is above.
	"top_k":          paramInteger(0, math.MaxInt32, func(p *inference.Params, i int) { p.TopK = i }),
	"typical_p":      paramNumber(0, 1, func(p *inference.Params, f float32) { p.TypicalP = f }),
	"repeat_penalty": paramPositive(100, func(p *inference.Params, f float32) { p.Penalties.Repeat = f }),
	"repeat_last_n":  paramInteger(-1, math.MaxInt32, func(p *inference.Params, n int) { p.Penalties.LastN = front.LookBack(n) }),

	"dry_multiplier":        paramNumber(0, 100, func(p *inference.Params, f float32) { p.DRY.Multiplier = f }),
	"dry_base":              paramNumber(1, 100, func(p *inference.Params, f float32) { p.DRY.Base = f }),
	"dry_allowed_length":    paramInteger(1, math.MaxInt32, func(p *inference.Params, i int) { p.DRY.AllowedLength = i }),
	"dry_penalty_last_n":    paramInteger(-1, math.MaxInt32, func(p *inference.Params, n int) { p.DRY.LastN = front.LookBack(n) }),
	"dry_sequence_breakers": setBreakers,

	"xtc_probability": paramNumber(0, 1, func(p *inference.Params, f float32) { p.XTC.Probability = f }),
	"xtc_threshold":   paramNumber(0, 1, func(p *inference.Params, f float32) { p.XTC.Threshold = f }),
	"mirostat":        paramInteger(0, 2, func(p *inference.Params, i int) { p.Mirostat.Version = i }),
	"mirostat_tau":    paramPositive(100, func(p *inference.Params, f float32) { p.Mirostat.Tau = f }),
	"mirostat_eta":    paramPositive(1, func(p *inference.Params, f float32) { p.Mirostat.Eta = f }),
	"ignore_eos": func(d *strict.Decoder, r *request, v strict.Value) error {
		b, err := d.Boolean(v)
		r.changes.Add(func(p *inference.Params) { p.IgnoreEOS = b })
		return err
	},

	// A label: nothing has to happen for it to be honoured.
	"user": strict.Text(func(*request, string) {}),
})

// decodeRequest decodes a body of either route; check looks at what is peculiar
// to one of them.
func decodeRequest(body []byte, known strict.Fields[request], check func(*strict.Decoder, *request) error) (*request, error) {
	r := &request{n: 1}
	warnings, err := strict.Decode(body, known, r, func(d *strict.Decoder, r *request) error {
		return checked(d, r, check)
	})
	r.warnings = warnings
	return r, err
}

func checked(d *strict.Decoder, r *request, check func(*strict.Decoder, *request) error) error {
	r.present = d.Present()
	if r.present["stream_options"] && !r.stream {
		return d.At("stream_options").Invalid("is only allowed when stream is true")
	}
	return check(d, r)
}
