package openai

import (
	"dure/inference"
	"dure/inference/front/strict"
)

// unless is a field of the routes that generate that is known and not
// implemented, but for the given values.
var unless = strict.Only[request]

// chatFields is every member of a chat request that is known. What OpenAI's API
// has and this surface does not is listed with the values that ask for nothing.
var chatFields = strict.Joined(strict.Joined(sharedFields, wishFields), strict.Fields[request]{
	"messages":              setMessages,
	"max_completion_tokens": limit(func(r *request, n int) { r.maxCompletion = &n }),
	"logprobs":              strict.Boolean(func(r *request, b bool) { r.logprobs = b }),
	"top_logprobs": strict.Integer(0, inference.MaxTopLogprobs, func(r *request, i int64) {
		r.topLogprobs = int(i)
	}),

	// Labels and hints: nothing has to happen for them to be honoured.
	"safety_identifier": strict.Text(func(*request, string) {}),
	"metadata":          setMetadata,

	"store": unless("false", strict.IsFalse),
	// The same in an older form, to which the answer would have to be in another form too.
	"functions":     strict.Instead[request]("tools", (*strict.Decoder).IsEmpty),
	"function_call": strict.Instead[request]("tool_choice", strict.IsText("none", "auto")),

	"service_tier":           unless(`"auto"`, strict.IsText("auto", "default")),
	"verbosity":              unless(`"medium"`, strict.IsText("medium")),
	"prompt_cache_retention": unless(`"in_memory"`, strict.IsText("in_memory")),
	"modalities":             setModalities,
	"audio":                  unless("null", strict.Never),
	"moderation":             unless("null", strict.Never),
	"prediction":             unless("null", strict.Never),
	"prompt_cache_options":   unless("null", strict.Never),
	"web_search_options":     unless("null", strict.Never),
})

// decodeChat decodes the body of a chat request.
func decodeChat(body []byte) (*request, error) {
	return decodeRequest(body, chatFields, checkChat)
}

func checkChat(d *strict.Decoder, r *request) error {
	switch {
	case r.messages == nil:
		return d.Missing("messages")
	case r.topLogprobs > 0 && !r.logprobs:
		return d.At("top_logprobs").Invalid("is only allowed when logprobs is true")
	case r.maxTokens != nil && r.maxCompletion != nil && *r.maxTokens != *r.maxCompletion:
		return d.At("max_completion_tokens").Invalid("contradicts max_tokens (%d and %d); send one of them", *r.maxCompletion, *r.maxTokens)
	}
	return checkTools(d, r)
}

func setMessages(d *strict.Decoder, r *request, v strict.Value) (err error) {
	r.messages, err = messages(d, v)
	return err
}

func setMetadata(d *strict.Decoder, _ *request, v strict.Value) error {
	if v.Kind != strict.KindObject {
		return d.Expected("an object", v)
	}
	return d.Skip(v)
}

func setModalities(d *strict.Decoder, _ *request, v strict.Value) error {
	return d.List(v, func(v strict.Value) error {
		s, err := d.Text(v)
		if err == nil && s != "text" {
			err = d.Unsupported("the modality %q is not supported; the only one is \"text\"", strict.Clip(s))
		}
		return err
	})
}
