package openai

import (
	"encoding/json"
	"math"
	"slices"

	"dure/inference"
)

// Limits of the fields of a request, where OpenAI's are too narrow for local
// models or absent.
const (
	maxTemperature = 5 // OpenAI stops at 2
	maxStops       = 32
	maxStopBytes   = 1024
)

// chatRequest is a decoded body. Nil pointers are fields that are left to the
// model's defaults.
type chatRequest struct {
	model         string
	messages      []inference.Message
	stream        bool
	streamOptions bool // present at all
	includeUsage  bool
	temperature   *float32
	topP, minP    *float32
	topK          *int
	seed          *uint64
	stop          *[]string
	maxTokens     *int
	maxCompletion *int
	ignoreEOS     *bool
	warnings      []string
}

// field decodes one member of the body. The value is not null: null means
// absent for every field.
type field func(d *decoder, r *chatRequest, value json.Token) error

// chatFields is every member that is known. What OpenAI's API has and this
// surface does not is listed with the values that ask for nothing.
var chatFields = map[string]field{
	"model":    text(func(r *chatRequest, s string) { r.model = s }),
	"messages": (*decoder).setMessages,

	"stream":         boolean(func(r *chatRequest, b bool) { r.stream = b }),
	"stream_options": (*decoder).setStreamOptions,

	"temperature": number(0, maxTemperature, func(r *chatRequest, f float32) { r.temperature = &f }),
	"top_p":       number(0, 1, func(r *chatRequest, f float32) { r.topP = &f }),
	"min_p":       number(0, 1, func(r *chatRequest, f float32) { r.minP = &f }),
	// The sampler knows its largest cut and refuses what is above.
	"top_k":                 integer(0, math.MaxInt32, func(r *chatRequest, i int64) { r.topK = new(int(i)) }),
	"seed":                  integer(math.MinInt64, math.MaxInt64, func(r *chatRequest, i int64) { r.seed = new(uint64(i)) }),
	"stop":                  (*decoder).setStop,
	"max_tokens":            limit(func(r *chatRequest, n int) { r.maxTokens = &n }),
	"max_completion_tokens": limit(func(r *chatRequest, n int) { r.maxCompletion = &n }),
	"ignore_eos":            boolean(func(r *chatRequest, b bool) { r.ignoreEOS = &b }),

	// Labels and hints: nothing has to happen for them to be honoured.
	"user":                text(func(*chatRequest, string) {}),
	"safety_identifier":   text(func(*chatRequest, string) {}),
	"prompt_cache_key":    text(func(*chatRequest, string) {}),
	"metadata":            (*decoder).setMetadata,
	"parallel_tool_calls": boolean(func(*chatRequest, bool) {}), // says nothing without tools

	"n":                      only("1", isNumber(1)),
	"store":                  only("false", isBool(false)),
	"logprobs":               only("false", isBool(false)),
	"top_logprobs":           only("0", isNumber(0)),
	"logit_bias":             only("{}", (*decoder).isEmpty),
	"frequency_penalty":      only("0", isNumber(0)),
	"presence_penalty":       only("0", isNumber(0)),
	"tools":                  only("[]", (*decoder).isEmpty),
	"functions":              only("[]", (*decoder).isEmpty),
	"tool_choice":            only(`"none"`, isText("none", "auto")),
	"function_call":          only(`"none"`, isText("none", "auto")),
	"service_tier":           only(`"auto"`, isText("auto", "default")),
	"verbosity":              only(`"medium"`, isText("medium")),
	"prompt_cache_retention": only(`"in_memory"`, isText("in_memory")),
	"response_format":        (*decoder).setResponseFormat,
	"modalities":             (*decoder).setModalities,
	"audio":                  only("null", never),
	"moderation":             only("null", never),
	"prediction":             only("null", never),
	"prompt_cache_options":   only("null", never),
	"reasoning_effort":       only("null", never),
	"web_search_options":     only("null", never),
}

// decodeChat decodes a body. Its errors are *inference.Error.
func decodeChat(body []byte) (*chatRequest, error) {
	if err := checkJSON(body); err != nil {
		return nil, err
	}
	d, r := newDecoder(body), &chatRequest{}
	t, err := d.token()
	if err != nil {
		return nil, err
	}
	err = d.object(t, func(name string, value json.Token) error {
		decode, known := chatFields[name]
		switch {
		case !known:
			return d.unknown(value)
		case value == nil:
			return nil
		}
		return decode(d, r, value)
	})
	if err != nil {
		return nil, err
	}
	r.warnings = d.named()
	return r, d.checkWhole(r)
}

// checkWhole checks what one field alone does not tell.
func (d *decoder) checkWhole(r *chatRequest) error {
	switch {
	case r.messages == nil:
		return d.missing("messages")
	case r.streamOptions && !r.stream:
		d.path = append(d.path, step{name: "stream_options"})
		return d.invalid("is only allowed when stream is true")
	case r.maxTokens != nil && r.maxCompletion != nil && *r.maxTokens != *r.maxCompletion:
		d.path = append(d.path, step{name: "max_completion_tokens"})
		return d.invalid("contradicts max_tokens (%d and %d); send one of them", *r.maxCompletion, *r.maxTokens)
	}
	return nil
}

func text(set func(*chatRequest, string)) field {
	return func(d *decoder, r *chatRequest, t json.Token) error {
		s, err := d.text(t)
		if err == nil {
			set(r, s)
		}
		return err
	}
}

func boolean(set func(*chatRequest, bool)) field {
	return func(d *decoder, r *chatRequest, t json.Token) error {
		b, err := d.boolean(t)
		if err == nil {
			set(r, b)
		}
		return err
	}
}

func number(low, high float64, set func(*chatRequest, float32)) field {
	return func(d *decoder, r *chatRequest, t json.Token) error {
		f, err := d.number(t, low, high)
		if err == nil {
			set(r, float32(f))
		}
		return err
	}
}

func integer(low, high int64, set func(*chatRequest, int64)) field {
	return func(d *decoder, r *chatRequest, t json.Token) error {
		i, err := d.integer(t, low, high)
		if err == nil {
			set(r, i)
		}
		return err
	}
}

// limit reads a number of tokens. Several clients send -1 for "no limit",
// which is 0 in inference.Params.
func limit(set func(*chatRequest, int)) field {
	return func(d *decoder, r *chatRequest, t json.Token) error {
		n, err := d.integer(t, -1, math.MaxInt32)
		if err == nil && n == 0 {
			err = d.invalid("must be at least 1; leave it out, or send -1, for no limit")
		}
		if err == nil {
			set(r, max(0, int(n)))
		}
		return err
	}
}

// only is a known field that is not implemented, but for the values that ask
// for nothing. example is one of them, as JSON.
func only(example string, neutral func(d *decoder, t json.Token) bool) field {
	return func(d *decoder, _ *chatRequest, t json.Token) error {
		if neutral(d, t) {
			return nil
		}
		return d.unsupported("not supported; leave it out or set it to %s", example)
	}
}

func never(*decoder, json.Token) bool { return false }

func isBool(want bool) func(*decoder, json.Token) bool {
	return func(_ *decoder, t json.Token) bool { return t == json.Token(want) }
}

func isText(want ...string) func(*decoder, json.Token) bool {
	return func(_ *decoder, t json.Token) bool {
		s, ok := t.(string)
		return ok && slices.Contains(want, s)
	}
}

func isNumber(want float64) func(*decoder, json.Token) bool {
	return func(_ *decoder, t json.Token) bool {
		n, ok := t.(json.Number)
		if !ok {
			return false
		}
		f, err := n.Float64()
		return err == nil && f == want
	}
}

func (d *decoder) setMessages(r *chatRequest, t json.Token) (err error) {
	r.messages, err = d.messages(t)
	return err
}
