package openai

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front/strict"
)

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
		{message(`{"role":"function","content":""}`), unsupported, "messages[1].role", "tool_call_id"},
		{message(`{"role":"tool","content":""}`), badRequest, "messages[1].tool_call_id", "is required"},
		{message(`{"role":"user","content":"a","name":[]}`), badRequest, "messages[1].name", "expected a string, got a list"},
		{message(`{"role":"assistant","content":"a","tool_calls":[{}]}`), badRequest, "messages[1].tool_calls[0].function", "is required"},
		{message(`{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}`), badRequest, "messages[1].tool_calls[0].id", "is required"},
		{message(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[1]"}}]}`), badRequest, "messages[1].tool_calls[0].function.arguments", "JSON object"},
		{message(`{"role":"assistant","tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}`), badRequest, "messages[1].tool_calls[0].function.name", "is required"},
		{message(`{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{}}]}`), unsupported, "messages[1].tool_calls[0].type", "custom"},
		{message(`{"role":"user","content":"a","tool_calls":[{"id":"a","function":{"name":"f"}}]}`), badRequest, "messages[1].tool_calls", "assistant"},
		{message(`{"role":"assistant","content":"a","tool_call_id":"x"}`), badRequest, "messages[1].tool_call_id", "role tool"},
		{message(`{"role":"assistant","content":null,"function_call":{}}`), unsupported, "messages[1].function_call", "tool_calls"},
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
		{with(`"top_logprobs":5`), badRequest, "top_logprobs", "only allowed when logprobs is true"},
		{with(`"logprobs":true,"top_logprobs":21`), badRequest, "top_logprobs", "between 0 and 20"},
		{with(`"logprobs":true,"top_logprobs":-1`), badRequest, "top_logprobs", "between 0 and 20"},
		{with(`"logprobs":1`), badRequest, "logprobs", "expected true or false, got a number"},
		{with(`"store":true`), unsupported, "store", "set it to false"},
		{with(`"functions":[{}]`), unsupported, "functions", ""},
		{with(`"response_format":{}`), badRequest, "response_format.type", "is required"},
		{with(`"modalities":["text","audio"]`), unsupported, "modalities[1]", "audio"},
		{with(`"audio":{}`), unsupported, "audio", ""},
		{with(`"prediction":{"type":"content"}`), unsupported, "prediction", ""},
		{with(`"service_tier":"flex"`), unsupported, "service_tier", ""},
		{with(`"verbosity":"low"`), unsupported, "verbosity", ""},
		{with(`"web_search_options":{}`), unsupported, "web_search_options", ""},
	}
}

func TestDecodeRefuses(t *testing.T) {
	chats, texts := refusedBodies(), refusedTexts()
	for _, shared := range refusedShared() {
		members := shared.body
		shared.body = with(members)
		chats = append(chats, shared)
		shared.body = `{"prompt":"a",` + members + `}`
		texts = append(texts, shared)
	}
	t.Run("chat", func(t *testing.T) { checkRefused(t, decodeChat, chats) })
	t.Run("text", func(t *testing.T) { checkRefused(t, decodeText, texts) })
}

func checkRefused(t *testing.T, decode func([]byte) (*request, error), bodies []refusedBody) {
	for _, tt := range bodies {
		t.Run(strict.Clip(tt.body), func(t *testing.T) {
			_, err := decode([]byte(tt.body))
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
