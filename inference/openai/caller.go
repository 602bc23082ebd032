package openai

import (
	"net/http"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// callerFields are the fields of a body that tell about its caller.
func callerFields() strict.Fields[request] {
	return strict.Joined(front.CallerFields(func(r *request) *inference.Caller { return &r.caller }), strict.Fields[request]{
		// OpenAI's name for what belongs together in the cache.
		"prompt_cache_key": func(d *strict.Decoder, r *request, v strict.Value) (err error) {
			if strict.IsText("")(d, v) {
				return nil // some clients send it where there is none
			}
			r.cacheKey, err = d.Label(v)
			return err
		},
	})
}

// addHeaders puts what the headers tell about the caller to what the body tells.
func (r *request) addHeaders(header http.Header) error {
	warnings, err := front.AddHeaders(&r.caller, r.present, header)
	r.warnings = append(r.warnings, warnings...)
	c := &r.caller
	switch {
	case err != nil:
		return err
	case r.cacheKey == "":
	case c.Session == "":
		c.Session = r.cacheKey
	case c.Session != r.cacheKey:
		return front.Contradiction("session", "prompt_cache_key")
	}
	return nil
}
