package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front/strict"
)

// Every field of other servers that would change an answer is refused on each
// route, but for null and the value that the refusal names.
func TestFieldsOfOtherServers(t *testing.T) {
	chat := func(body []byte) ([]string, error) {
		r, err := decodeChat(body)
		return r.warnings, err
	}
	text := func(body []byte) ([]string, error) {
		r, err := decodeText(body)
		return r.warnings, err
	}
	render := func(body []byte) ([]string, error) {
		return strict.Decode(body, renderFields, &renderRequest{}, checkRender)
	}
	const messages = `,"messages":[{"role":"user","content":"hi"}]}`
	all := refusedFields[request]()
	for _, name := range []string{"grammar", "json_schema", "n_predict", "chat_template_kwargs", "guided_json", "guided_regex",
		"guided_choice", "lora", "cache_prompt", "response_fields", "samplers", "min_tokens"} {
		if all[name] == nil {
			t.Errorf("%s is not known", name)
		}
	}
	for name := range all {
		for route, to := range map[string]struct {
			decode func([]byte) ([]string, error)
			rest   string
		}{"chat": {chat, messages}, "text": {text, `,"prompt":"a"}`}, "render": {render, messages}} {
			if route == "render" && renderOnly[name] || route == "chat" && wishFields[name] != nil || route != "render" && formatFields[name] != nil {
				continue // implemented there
			}
			for _, value := range []string{`{"a":[1]}`, `["x"]`, `"x"`, `7`} {
				_, err := to.decode([]byte(`{"` + name + `":` + value + to.rest))
				var e *inference.Error
				if !errors.As(err, &e) || e.Code != inference.CodeUnsupported || e.Param != name {
					t.Fatalf("%s: %s %s: %v", route, name, value, err)
				}
				neutral := "null"
				if _, told, ok := strings.Cut(e.Message, "set it to "); ok {
					neutral = told
				} else if !strings.Contains(e.Message, "under this name; send ") {
					t.Errorf("%s: no way out", e.Message)
				}
				if !json.Valid([]byte(neutral)) {
					t.Errorf("%s: %s is no value", name, neutral)
				}
				for _, off := range []string{neutral, "null"} {
					if warnings, err := to.decode([]byte(`{"` + name + `":` + off + to.rest)); err != nil || len(warnings) > 0 {
						t.Errorf("%s: %s %s: %v %q", route, name, off, err, warnings)
					}
				}
			}
		}
	}
	for _, off := range []string{`"top_n_sigma":-1.0`, `"top_n_sigma":0`, `"repetition_penalty":1e0`, `"n_probs":0`, `"t_max_predict_ms":-1`} {
		if warnings, err := chat([]byte(`{` + off + messages)); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %q", off, err, warnings)
		}
	}
}

// renderOnly are fields that apply-template takes and others do not.
var renderOnly = map[string]bool{"add_generation_prompt": true}
