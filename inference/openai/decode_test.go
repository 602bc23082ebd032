package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"dure/inference"

	"pgregory.net/rapid"
)

// with is a body that is right but for the given members.
func with(members string) string {
	return `{` + members + `,"messages":[{"role":"user","content":"hi"}]}`
}

type refusedBody struct {
	body    string
	code    inference.Code
	param   string
	message string
}

// refusedBodies also seed the fuzzer.
func refusedBodies() []refusedBody {
	const badRequest, unsupported = inference.CodeInvalidRequest, inference.CodeUnsupported
	message := func(m string) string { return `{"messages":[{"role":"user","content":"hi"},` + m + `]}` }
	part := func(p string) string {
		return message(`{"role":"user","content":[{"type":"text","text":"a"},` + p + `]}`)
	}
	deep := strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70)
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf(`"k%d":0`, i))
	}
	return []refusedBody{
		{``, badRequest, "", "empty"},
		{`   `, badRequest, "", "not valid JSON"},
		{"{\n \"model\": }", badRequest, "", "line 2, column 11 (offset 12)"},
		{`{"a":1`, badRequest, "", "unexpected end"},
		{hello + `x`, badRequest, "", "after top-level value"},
		{hello + hello, badRequest, "", "after top-level value"},
		{"{\"a\":\"\xff\"}", badRequest, "", "not valid UTF-8 at line 1, column 7 (offset 6)"},
		{"{\"\xed\xa0\x80\":1}", badRequest, "", "not valid UTF-8"},
		{strings.Repeat("[", 20000), badRequest, "", "not valid JSON"},
		{`[]`, badRequest, "", "the body: expected an object, got a list"},
		{`null`, badRequest, "", "expected an object, got null"},
		{`"x"`, badRequest, "", "expected an object, got a string"},
		{`{}`, badRequest, "messages", "messages: is required"},
		{`{"messages":null}`, badRequest, "messages", "is required"},
		{`{"messages":[]}`, badRequest, "messages", "at least one"},
		{`{"messages":{}}`, badRequest, "messages", "expected a list, got an object"},
		{message(`1`), badRequest, "messages[1]", "messages[1]: expected an object, got a number"},
		{message(`{}`), badRequest, "messages[1].role", "is required"},
		{message(`{"role":"user"}`), badRequest, "messages[1].content", "is required"},
		{message(`{"role":"user","content":null}`), badRequest, "messages[1].content", "is required"},
		{message(`{"role":"user","content":7}`), badRequest, "messages[1].content", "messages[1].content: expected a string or a list of text parts, got a number"},
		{message(`{"role":"boss","content":""}`), badRequest, "messages[1].role", `not "boss"`},
		{message(`{"role":3,"content":""}`), badRequest, "messages[1].role", "expected a string"},
		{message(`{"role":"tool","content":""}`), unsupported, "messages[1].role", "tool"},
		{message(`{"role":"user","content":"a","name":[]}`), badRequest, "messages[1].name", "expected a string, got a list"},
		{message(`{"role":"assistant","content":"a","tool_calls":[{}]}`), unsupported, "messages[1].tool_calls", "not supported"},
		{message(`{"role":"assistant","content":"a","tool_call_id":"x"}`), unsupported, "messages[1].tool_call_id", ""},
		{message(`{"role":"user","role":"user","content":"a"}`), badRequest, "messages[1].role", "twice"},
		{part(`{"type":"image_url","image_url":{"url":"data:"}}`), unsupported, "messages[1].content[1]", "image_url"},
		{part(`{"image_url":{"url":"data:"},"type":"image_url"}`), unsupported, "messages[1].content[1]", "image_url"},
		{part(`{"type":"input_audio"}`), unsupported, "messages[1].content[1]", "input_audio"},
		{part(`{"type":"hologram"}`), badRequest, "messages[1].content[1]", "hologram"},
		{part(`{"type":"text"}`), badRequest, "messages[1].content[1].text", "is required"},
		{part(`{"text":"a"}`), badRequest, "messages[1].content[1].type", "is required"},
		{part(`"a"`), badRequest, "messages[1].content[1]", "expected an object"},
		{part(`{"type":"text","text":1}`), badRequest, "messages[1].content[1].text", "expected a string"},
		{message(`{"role":"user","content":"a\u0000b"}`), badRequest, "messages[1].content", "NUL"},
		{message(`{"role":"user","content":"a\ud800b"}`), badRequest, "messages[1].content", "surrogate"},
		{message(`{"role":"user","content":"\\\udc00"}`), badRequest, "messages[1].content", "surrogate"},
		{message(`{"role":"user","content":"\ud800\ud800"}`), badRequest, "messages[1].content", "surrogate"},
		{message(`{"role":"user","content":"\ud83d\ude00\ude00"}`), badRequest, "messages[1].content", "surrogate"},
		{message(`{"role":"user","content":"` + "\ufffd" + `\ud8ff\n"}`), badRequest, "messages[1].content", "surrogate"},
		{with(`"model":1`), badRequest, "model", "expected a string, got a number"},
		{with(`"model":"a","model":"a"`), badRequest, "model", "twice"},
		{with(`"stream":"yes"`), badRequest, "stream", "expected true or false, got a string"},
		{with(`"stream_options":{}`), badRequest, "stream_options", "only allowed when stream"},
		{with(`"stream":true,"stream_options":1`), badRequest, "stream_options", "expected an object"},
		{with(`"stream":true,"stream_options":{"include_usage":1}`), badRequest, "stream_options.include_usage", "expected true or false"},
		{with(`"stream":true,"stream_options":{"include_obfuscation":true}`), unsupported, "stream_options.include_obfuscation", ""},
		{with(`"temperature":"hot"`), badRequest, "temperature", "expected a number, got a string"},
		{with(`"temperature":-0.1`), badRequest, "temperature", "between 0 and 5, not -0.1"},
		{with(`"temperature":5.1`), badRequest, "temperature", "between 0 and 5"},
		{with(`"temperature":1e999`), badRequest, "temperature", "1e999"},
		{with(`"temperature":` + strings.Repeat("9", 1000)), badRequest, "temperature", "999..."},
		{with(`"top_p":1.01`), badRequest, "top_p", "between 0 and 1"},
		{with(`"min_p":-1`), badRequest, "min_p", "between 0 and 1"},
		{with(`"top_k":-1`), badRequest, "top_k", "between 0"},
		{with(`"top_k":1.5`), badRequest, "top_k", "expected an integer, got 1.5"},
		{with(`"seed":1e3`), badRequest, "seed", "expected an integer"},
		{with(`"seed":9223372036854775808`), badRequest, "seed", "must be between"},
		{with(`"seed":"x"`), badRequest, "seed", "expected an integer, got a string"},
		{with(`"max_tokens":0`), badRequest, "max_tokens", "at least 1"},
		{with(`"max_tokens":-2`), badRequest, "max_tokens", "between"},
		{with(`"max_tokens":99999999999`), badRequest, "max_tokens", "between"},
		{with(`"max_tokens":5,"max_completion_tokens":6`), badRequest, "max_completion_tokens", "contradicts"},
		{with(`"stop":""`), badRequest, "stop", "1 to 1024 bytes"},
		{with(`"stop":["a",""]`), badRequest, "stop[1]", "1 to 1024 bytes"},
		{with(`"stop":["a",null]`), badRequest, "stop[1]", "expected a string, got null"},
		{with(`"stop":["` + strings.Repeat("x", 1025) + `"]`), badRequest, "stop[0]", "not 1025"},
		{with(`"stop":[` + strings.Repeat(`"x",`, 32) + `"x"]`), badRequest, "stop[32]", "at most 32"},
		{with(`"stop":5`), badRequest, "stop", "a string or a list of strings"},
		{with(`"user":5`), badRequest, "user", "expected a string"},
		{with(`"metadata":[]`), badRequest, "metadata", "expected an object"},
		{with(`"foo":` + deep), badRequest, "foo", "deeper than 64"},
		{with(`"metadata":{"a":` + deep + `}`), badRequest, "metadata", "deeper than 64"},
		{`{` + strings.Join(many, ",") + `}`, badRequest, "", "at most 256 members"},
		{with(`"n":2`), unsupported, "n", "set it to 1"},
		{with(`"store":true`), unsupported, "store", "set it to false"},
		{with(`"logprobs":true`), unsupported, "logprobs", ""},
		{with(`"top_logprobs":5`), unsupported, "top_logprobs", ""},
		{with(`"logit_bias":{"5":1}`), unsupported, "logit_bias", ""},
		{with(`"frequency_penalty":0.1`), unsupported, "frequency_penalty", "set it to 0"},
		{with(`"presence_penalty":-1`), unsupported, "presence_penalty", ""},
		{with(`"tools":[{"type":"function"}]`), unsupported, "tools", ""},
		{with(`"functions":[{}]`), unsupported, "functions", ""},
		{with(`"tool_choice":"required"`), unsupported, "tool_choice", ""},
		{with(`"tool_choice":{"type":"function"}`), unsupported, "tool_choice", ""},
		{with(`"response_format":{"type":"json_object"}`), unsupported, "response_format.type", "json_object"},
		{with(`"response_format":{"type":"json_schema","json_schema":{}}`), unsupported, "response_format.type", "json_schema"},
		{with(`"response_format":{}`), badRequest, "response_format.type", "is required"},
		{with(`"modalities":["text","audio"]`), unsupported, "modalities[1]", "audio"},
		{with(`"audio":{}`), unsupported, "audio", ""},
		{with(`"prediction":{"type":"content"}`), unsupported, "prediction", ""},
		{with(`"service_tier":"flex"`), unsupported, "service_tier", ""},
		{with(`"reasoning_effort":"high"`), unsupported, "reasoning_effort", ""},
		{with(`"verbosity":"low"`), unsupported, "verbosity", ""},
		{with(`"web_search_options":{}`), unsupported, "web_search_options", ""},
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tt := range refusedBodies() {
		t.Run(clip(tt.body), func(t *testing.T) {
			_, err := decodeChat([]byte(tt.body))
			var e *inference.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Code != tt.code || e.Param != tt.param || !strings.Contains(e.Message, tt.message) || len(e.Message) > 400 {
				t.Errorf("got %s, param %q, %q", e.Code, e.Param, e.Message)
			}
		})
	}
}

func TestDecodeAccepts(t *testing.T) {
	for _, members := range []string{
		`"n":1`, `"n":1.0`, `"store":false`, `"logprobs":false`, `"top_logprobs":0`, `"logit_bias":{}`, `"frequency_penalty":0`,
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
	r, err := decodeChat([]byte(`{"foo":1,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}],"reasoning":"x"}],
		"stream":true,"stream_options":{"bar":[[{}]]},"Model":"case matters"}`))
	want := []string{"foo", "messages[0].content[0].cache_control", "messages[0].reasoning", "stream_options.bar", "Model"}
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
	if err != nil || len(r.warnings) != maxWarnings+1 || r.warnings[maxWarnings] != "68 more unknown fields, ignored" {
		t.Errorf("%v %q", err, r.warnings)
	}
}

func TestBodyLimits(t *testing.T) {
	w := newWorld(t, script(nil, started(), done()))
	fits := `{"messages":[{"role":"user","content":"` + strings.Repeat("x", maxChatBody-45) + `"}]}`
	fits += strings.Repeat(" ", maxChatBody-len(fits))
	if got := w.chat(fits); got.status != 200 {
		t.Errorf("%d %s", got.status, clip(got.body))
	}
	<-w.over
	w.chat(fits+" ").wantError(t, 413, kindInvalid, "request_too_large", "", fmt.Sprint(maxChatBody))
	// Without a length in the header the limit is met while reading. The
	// server may have closed before the client sent all.
	req, _ := http.NewRequest("POST", w.url+"/v1/chat/completions", struct{ *strings.Reader }{strings.NewReader(fits + " ")})
	if res, err := w.client.Do(req); err == nil {
		if res.StatusCode != 413 {
			t.Errorf("status %d", res.StatusCode)
		}
		res.Body.Close()
	}
	<-w.over
	<-w.over
	if got := w.metric(`dure_http_requests_total{route="/v1/chat/completions",status="413"}`); got != "2" {
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

// checkDecoded says what holds for every body: a typed refusal, or a request
// that a model can take.
func checkDecoded(body []byte) error {
	r, err := decodeChat(body)
	if err != nil {
		var e *inference.Error
		if !errors.As(err, &e) || e.Message == "" || len(e.Message) > 2000 || !utf8.ValidString(e.Message) {
			return fmt.Errorf("error %#v", err)
		}
		if status := statuses[e.Code].status; status != http.StatusBadRequest {
			return fmt.Errorf("status %d for %v", status, err)
		}
		return nil
	}
	if !json.Valid(body) || !utf8.Valid(body) {
		return errors.New("a body that is not JSON was accepted")
	}
	if len(r.messages) == 0 {
		return errors.New("no message")
	}
	for _, m := range r.messages {
		if m.Role == "" || !utf8.ValidString(m.Content) || strings.ContainsRune(m.Content+m.Name, 0) {
			return fmt.Errorf("message %+v", m)
		}
	}
	p := r.params(inference.Params{TopP: 1})
	for _, f := range []float32{p.Temperature / maxTemperature, p.TopP, p.MinP} {
		if math.IsNaN(float64(f)) || f < 0 || f > 1 {
			return fmt.Errorf("params %+v", p)
		}
	}
	if p.TopK < 0 || p.MaxTokens < 0 || len(p.Stop) > maxStops || len(r.warnings) > maxWarnings+1 {
		return fmt.Errorf("params %+v, warnings %q", p, r.warnings)
	}
	return nil
}

func FuzzDecodeChat(f *testing.F) {
	for _, seed := range []string{hello, helloStream,
		with(`"temperature":0.5,"top_p":1,"top_k":3,"min_p":0,"seed":-1,"stop":["a","b"],"max_tokens":-1,"stream":true,"stream_options":{"include_usage":true}`),
		`{"messages":[{"role":"developer","content":[{"type":"text","text":"\ud83d\ude00"}]}],"foo":[{"a":[null]}]}`,
		with(`"response_format":{"type":"text"},"tools":[],"modalities":["text"],"metadata":{"a":[1]},"n":1,"logit_bias":{}`),
	} {
		f.Add([]byte(seed))
	}
	for _, refused := range refusedBodies() {
		f.Add([]byte(refused.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := checkDecoded(body); err != nil {
			t.Error(err)
		}
	})
}

// Whatever the order and spacing of members, the same request comes out.
func TestDecodeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clean := rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) })
		roleNames := []string{"system", "developer", "user", "assistant"}
		var want []inference.Message
		var sent []map[string]any
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			role := rapid.SampledFrom(roleNames).Draw(t, "role")
			parts := rapid.SliceOfN(clean, 1, 3).Draw(t, "parts")
			m := map[string]any{"role": role, "content": parts[0]}
			if len(parts) > 1 {
				var list []map[string]any
				for _, p := range parts {
					list = append(list, map[string]any{"type": "text", "text": p})
				}
				m["content"] = list
			}
			sent = append(sent, m)
			want = append(want, inference.Message{Role: roles[role], Content: strings.Join(parts, "\n")})
		}
		seed := rapid.Int64().Draw(t, "seed")
		temperature := rapid.Float32Range(0, 5).Draw(t, "temperature")
		body, err := json.Marshal(map[string]any{"messages": sent, "seed": seed, "temperature": temperature})
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "spaces") {
			var buf bytes.Buffer
			json.Indent(&buf, body, " ", "\t")
			body = buf.Bytes()
		}
		r, err := decodeChat(body)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if fmt.Sprint(r.messages) != fmt.Sprint(want) || *r.seed != uint64(seed) || *r.temperature != temperature {
			t.Fatalf("got %+v from %s", r, body)
		}
	})
}
