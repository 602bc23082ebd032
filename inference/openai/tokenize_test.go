package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front/strict"
)

func TestTokenize(t *testing.T) {
	w := newWorld(t, nil)
	for _, tt := range []struct{ path, body, want string }{
		{"tokenize", `{"content":"Hi"}`, `{"tokens":[72,105]}`},
		{"tokenize", `{"model":"org/large","text":"Hi","add_special":true}`, `{"tokens":[256,72,105]}`},
		{"tokenize", `{"prompt":"","parse_special":false,"with_pieces":null}`, `{"tokens":[]}`},
		{"tokenize", `{"prompt":"","with_pieces":true}`, `{"tokens":[]}`},
		{"tokenize", `{"content":"Hé","add_special":true,"parse_special":true,"with_pieces":true}`,
			`{"tokens":[{"id":256,"piece":"<s>"},{"id":72,"piece":"H"},{"id":195,"piece":[195]},{"id":169,"piece":[169]}]}`},
		{"tokenize", `{"content":"","foo":1}`, `{"tokens":[],"warnings":["foo: unknown field, ignored"]}`},
		{"detokenize", `{"tokens":[256,72,195,169]}`, `{"content":"<s>Hé"}`},
		{"detokenize", `{"tokens":[],"model":"small"}`, `{"content":""}`},
		{"detokenize", `{"tokens":[195,72],"foo":1}`, `{"content":"` + "\ufffd" + `H","warnings":["foo: unknown field, ignored",` +
			`"content: holds bytes that are no characters, shown as U+FFFD"]}`},
		{"apply-template", `{"messages":[{"role":"developer","content":"a"},{"role":"user","content":[{"type":"text","text":"<b>"}]}]}`,
			`{"prompt":"[system]a[user]<b>[assistant]"}`},
		{"apply-template", `{"messages":[{"role":"user","content":"b"}],"add_generation_prompt":false,"tools":[],"chat_template_kwargs":{}}`,
			`{"prompt":"[user]b"}`},
		{"apply-template", `{"messages":[{"role":"user","content":"b","x":0}],"add_generation_prompt":true}`,
			`{"prompt":"[user]b[assistant]","warnings":["messages[0].x: unknown field, ignored"]}`},
	} {
		if got := w.do("POST", "/v1/"+tt.path, tt.body); got.status != 200 || got.body != tt.want+"\n" {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, got.status, got.body)
		}
	}
	if o, r := w.models.Opened.Load(), w.models.Released.Load(); o == 0 || o != r {
		t.Errorf("opened %d, released %d", o, r)
	}
	if line := w.Lines()[1]; line["model"] != "org/large" || line["prompt_tokens"] != nil {
		t.Errorf("log line %v", line)
	}
}

func TestTokenizeRefuses(t *testing.T) {
	w := newWorld(t, nil)
	long := `{"tokens":[` + strings.Repeat("0,", strict.MaxTokens) + `0]}`
	for _, tt := range []struct{ path, body, code, param, message string }{
		{"tokenize", `{}`, "invalid_request", "content", "is required"},
		{"tokenize", `{"content":null}`, "invalid_request", "content", "is required"},
		{"tokenize", `{"content":["a"]}`, "invalid_request", "content", "expected a string, got a list"},
		{"tokenize", `{"content":"a","prompt":"a"}`, "invalid_request", "prompt", "send one of them"},
		{"tokenize", `{"text":"\u0000"}`, "invalid_request", "text", "NUL"},
		{"tokenize", `{"text":"\ud800"}`, "invalid_request", "text", "surrogate"},
		{"tokenize", `{"text":"a","add_special":1}`, "invalid_request", "add_special", "expected true or false"},
		{"tokenize", `{"text":"a","parse_special":true}`, "unsupported_parameter", "parse_special", "set it to false"},
		{"tokenize", `{"parse_special":false,"text":"a","add_special":true}`, "unsupported_parameter", "parse_special", "set it to true"},
		{"tokenize", `[]`, "invalid_request", "", "expected an object"},
		{"detokenize", `{}`, "invalid_request", "tokens", "is required"},
		{"detokenize", `{"tokens":"a"}`, "invalid_request", "tokens", "expected a list"},
		{"detokenize", `{"tokens":[1,-1]}`, "invalid_request", "tokens[1]", "between 0"},
		{"detokenize", `{"tokens":[1e999]}`, "invalid_request", "tokens[0]", "expected an integer"},
		{"detokenize", `{"tokens":[1.0]}`, "invalid_request", "tokens[0]", "expected an integer"},
		{"detokenize", `{"tokens":[9999]}`, "invalid_request", "tokens", "no token 9999"},
		{"detokenize", long, "invalid_request", fmt.Sprintf("tokens[%d]", strict.MaxTokens), "at most 1048576 tokens"},
		{"apply-template", `{}`, "invalid_request", "messages", "is required"},
		{"apply-template", `{"messages":[]}`, "invalid_request", "messages", "at least one"},
		{"apply-template", `{"messages":[{"role":"user","content":"a"}],"tools":[{}]}`, "unsupported_parameter", "tools", "not supported"},
		{"apply-template", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "unsupported_parameter", "messages[0].content[0]", "image_url"},
		{"apply-template", `{"messages":[{"role":"user","content":"a"}],"add_generation_prompt":"yes"}`, "invalid_request", "add_generation_prompt", "true or false"},
	} {
		w.do("POST", "/v1/"+tt.path, tt.body).wantError(t, 400, kindInvalid, tt.code, tt.param, tt.message)
	}
	if w.models.Opened.Load() > 1 { // only to learn that there is no token 9999
		t.Errorf("%d models were opened for bad requests", w.models.Opened.Load())
	}
	bodies := map[string]string{"tokenize": `{"text":"a"`, "detokenize": `{"tokens":[1]`, "apply-template": `{"messages":[{"role":"user","content":"a"}]`}
	for path, body := range bodies {
		w.do("POST", "/v1/"+path, body+`,"model":"nope"}`).wantError(t, 404, kindInvalid, "model_not_found", "model", "small")
		w.models.Remote = true
		w.do("POST", "/v1/"+path, body+`}`).wantError(t, 400, kindInvalid, "unsupported_parameter", "model", "runs elsewhere")
		w.models.Remote = false
		w.models.OnOpen = func(context.Context, string) error {
			return &inference.Error{Code: inference.CodeLoadFailed, Message: "no memory"}
		}
		w.do("POST", "/v1/"+path, body+`}`).wantError(t, 503, kindServer, "model_load_failed", "", "no memory")
		w.models.OnOpen = func(context.Context, string) error { return errors.New("secret") }
		w.do("POST", "/v1/"+path, body+`}`).wantError(t, 500, kindServer, "internal_error", "", "internal error")
		w.models.OnOpen = nil
	}
	if o, r := w.models.Opened.Load(), w.models.Released.Load(); o != r {
		t.Errorf("opened %d, released %d", o, r)
	}
}
