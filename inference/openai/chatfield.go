package openai

import "dure/inference"

// unless is a field of the routes that generate that is known and not
// implemented, but for the given values.
var unless = only[request]

// chatFields is every member of a chat request that is known. What OpenAI's API
// has and this surface does not is listed with the values that ask for nothing.
var chatFields = joined(sharedFields, fields[request]{
	"messages":              (*decoder).setMessages,
	"max_completion_tokens": limit(func(r *request, n int) { r.maxCompletion = &n }),
	"logprobs":              boolean(func(r *request, b bool) { r.logprobs = b }),
	"top_logprobs": integer(0, inference.MaxTopLogprobs, func(r *request, i int64) {
		r.topLogprobs = int(i)
	}),

	// Labels and hints: nothing has to happen for them to be honoured.
	"safety_identifier":   text(func(*request, string) {}),
	"metadata":            (*decoder).setMetadata,
	"parallel_tool_calls": boolean(func(*request, bool) {}), // says nothing without tools

	"store":                  unless("false", isFalse),
	"tools":                  unless("[]", (*decoder).isEmpty),
	"functions":              unless("[]", (*decoder).isEmpty),
	"tool_choice":            unless(`"none"`, isText("none", "auto")),
	"function_call":          unless(`"none"`, isText("none", "auto")),
	"service_tier":           unless(`"auto"`, isText("auto", "default")),
	"verbosity":              unless(`"medium"`, isText("medium")),
	"prompt_cache_retention": unless(`"in_memory"`, isText("in_memory")),
	"response_format":        (*decoder).setResponseFormat,
	"modalities":             (*decoder).setModalities,
	"audio":                  unless("null", never),
	"moderation":             unless("null", never),
	"prediction":             unless("null", never),
	"prompt_cache_options":   unless("null", never),
	"reasoning_effort":       unless("null", never),
	"web_search_options":     unless("null", never),
})

// decodeChat decodes the body of a chat request.
func decodeChat(body []byte) (*request, error) {
	return decodeRequest(body, chatFields, (*decoder).checkChat)
}

func (d *decoder) checkChat(r *request) error {
	switch {
	case r.messages == nil:
		return d.missing("messages")
	case r.topLogprobs > 0 && !r.logprobs:
		return d.at("top_logprobs").invalid("is only allowed when logprobs is true")
	case r.maxTokens != nil && r.maxCompletion != nil && *r.maxTokens != *r.maxCompletion:
		return d.at("max_completion_tokens").invalid("contradicts max_tokens (%d and %d); send one of them", *r.maxCompletion, *r.maxTokens)
	}
	return nil
}

func (d *decoder) setMessages(r *request, t token) (err error) {
	r.messages, err = d.messages(t)
	return err
}

func (d *decoder) setMetadata(_ *request, t token) error {
	if t.kind != kindObject {
		return d.expected("an object", t)
	}
	return d.skip(t)
}

func (d *decoder) setResponseFormat(_ *request, t token) error {
	format := ""
	err := d.object(t, maxMembers, func(name string, t token) (err error) {
		switch name {
		case "type":
			if format, err = d.text(t); err == nil && format != "text" {
				err = d.unsupported("the response format %q is not supported; leave it out or set it to \"text\"", clip(format))
			}
		case "json_schema":
			err = d.unsupported("not supported; leave it out")
		default:
			err = d.unknown(t)
		}
		return err
	})
	if err == nil && format == "" {
		err = d.missing("type")
	}
	return err
}

func (d *decoder) setModalities(_ *request, t token) error {
	return d.list(t, func(t token) error {
		s, err := d.text(t)
		if err == nil && s != "text" {
			err = d.unsupported("the modality %q is not supported; the only one is \"text\"", clip(s))
		}
		return err
	})
}
