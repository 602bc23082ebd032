package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"dure/inference/front"
	"dure/inference/front/strict"
)

// with is a body that is right but for the given members.
func with(members string) string {
	return `{` + members + `,"messages":[{"role":"user","content":"hi"}]}`
}

func TestDecodeAccepts(t *testing.T) {
	for _, members := range []string{
		`"n":1`, `"store":false`, `"logprobs":false`, `"top_logprobs":0`, `"logit_bias":{}`, `"frequency_penalty":0`,
		`"frequency_penalty":-0.0`, `"presence_penalty":0.0`, `"tools":[]`, `"functions":[]`, `"tool_choice":"none"`, `"tool_choice":"auto"`,
		`"function_call":"auto"`, `"response_format":{"type":"text"}`, `"modalities":["text"]`, `"modalities":[]`, `"service_tier":"auto"`,
		`"service_tier":"default"`, `"verbosity":"medium"`, `"parallel_tool_calls":true`, `"user":"u"`, `"metadata":{"a":"b"}`,
		`"safety_identifier":"x"`, `"prompt_cache_key":"x"`, `"prompt_cache_retention":"in_memory"`, `"audio":null`, `"tools":null`,
		`"reasoning_effort":null`, `"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":null}`, `"stream_options":null`,
		`"seed":-9223372036854775808`, `"temperature":5`, `"temperature":1e-400`, `"stop":[]`, `"max_tokens":2147483647`,
	} {
		r, err := decodeChat([]byte(with(members)))
		if err != nil || len(r.warnings) > 0 || len(r.messages) != 1 {
			t.Errorf("%s: %v, %+v", members, err, r)
		}
	}
}

// An answer's message, sent back as the stock clients do, is a message.
func TestDecodeAnswerSentBack(t *testing.T) {
	r, err := decodeChat([]byte(`{"messages":[{"role":"assistant","content":"a","refusal":null,"annotations":[],"audio":null,
		"function_call":null,"tool_calls":null},{"role":"user","content":"\u00e9\\ud800\ud83d\ude00` + "\ufffd" + `","reasoning":null}]}`))
	if err != nil || len(r.warnings) > 0 {
		t.Fatalf("%v %+v", err, r)
	}
	if got := r.messages[1].Content; got != `é\ud800😀`+"\ufffd" {
		t.Errorf("%q", got)
	}
}

func TestWarnings(t *testing.T) {
	r, err := decodeChat([]byte(`{"foo":1,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}],"mood":"x"}],
		"stream":true,"stream_options":{"bar":[[{}]]},"Model":"case matters"}`))
	want := []string{"foo", "messages[0].content[0].cache_control", "messages[0].mood", "stream_options.bar", "Model"}
	if err != nil || len(r.warnings) != len(want) {
		t.Fatalf("%v %q", err, r.warnings)
	}
	for i, path := range want {
		if r.warnings[i] != path+": unknown field, ignored" {
			t.Errorf("got %q", r.warnings[i])
		}
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`"k%d":0`, i))
	}
	r, err = decodeChat([]byte(with(strings.Join(many, ","))))
	if err != nil || len(r.warnings) != strict.MaxWarnings+1 || r.warnings[strict.MaxWarnings] != "68 more unknown fields, ignored" {
		t.Errorf("%v %q", err, r.warnings)
	}
}

func TestBodyLimits(t *testing.T) {
	w := newWorld(t, script(nil, started(), done()))
	fits := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", front.MaxBody-45) + `"}]}`
	fits += strings.Repeat(" ", front.MaxBody-len(fits))
	if got := w.chat(fits); got.status != 200 {
		t.Errorf("%d %s", got.status, strict.Clip(got.body))
	}
	<-w.Over
	w.chat(fits+" ").wantError(t, 413, kindInvalid, "request_too_large", "", fmt.Sprint(front.MaxBody))
	// Without a length in the header the limit is met while reading. The
	// server may have closed before the client sent all.
	req, _ := http.NewRequest("POST", w.URL+"/v1/chat/completions", struct{ *strings.Reader }{strings.NewReader(fits + " ")})
	if res, err := w.Client.Do(req); err == nil {
		if res.StatusCode != 413 {
			t.Errorf("status %d", res.StatusCode)
		}
		res.Body.Close()
	}
	<-w.Over
	<-w.Over
	if got := w.Metric(`dure_http_requests_total{route="/v1/chat/completions",status="413"}`); got != "2" {
		t.Errorf("status 413: %q", got)
	}
}

func TestContentType(t *testing.T) {
	w := newWorld(t, script(nil, started(), done()))
	for header, ok := range map[string]bool{
		"": true, "application/json": true, "application/json; charset=utf-8": true, "Application/JSON": true,
		"application/x-www-form-urlencoded": false, "text/plain": false, "garbage;": false,
	} {
		var headers []string
		if header != "" {
			headers = []string{"Content-Type", header}
		}
		got := w.do("POST", "/v1/chat/completions", hello, headers...)
		if ok && got.status != 200 {
			t.Errorf("%q: %s", header, got.body)
		}
		if !ok {
			got.wantError(t, 415, kindInvalid, "unsupported_media_type", "", "application/json")
		}
	}
	w.do("POST", "/v1/chat/completions", hello, "Content-Encoding", "gzip").
		wantError(t, 415, kindInvalid, "unsupported_media_type", "", "gzip")
	if got := w.do("POST", "/v1/chat/completions", hello, "Content-Encoding", "identity"); got.status != 200 {
		t.Error(got.body)
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(with(`"foo":` + strings.Repeat(`[`, n) + `"[\""` + strings.Repeat(`]`, n)))
	}
	if _, err := decodeChat(nested(strict.MaxDepth)); err != nil {
		t.Error(err)
	}
	if _, err := decodeChat(nested(strict.MaxDepth + 1)); err == nil {
		t.Error("one level too many is accepted")
	}
}
