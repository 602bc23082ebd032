package openai

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"dure/inference"

	client "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

var write = flag.Bool("write", false, "write docs/openai-fields.md and golden files anew")

// What becomes of a field.
const (
	implemented = "implemented"
	label       = "accepted; nothing has to happen for it"
	neutral     = "refused by name, but for the value that asks for nothing"
)

// fieldSample is a value of a field, as JSON, and what becomes of it.
type fieldSample struct {
	value, fate, note string
	beside            string // what else the request needs
}

func works(value string, beside ...string) fieldSample {
	return fieldSample{value: value, fate: implemented, beside: strings.Join(beside, ",")}
}
func only(refused, note string) fieldSample {
	return fieldSample{value: refused, fate: neutral, note: note}
}
func told(value string) fieldSample { return fieldSample{value: value, fate: label} }

// shared are fields of both chats and text completions.
var sharedSamples = map[string]fieldSample{
	"model": works(`"small"`), "frequency_penalty": works("1"), "presence_penalty": works("1"), "max_tokens": works("5"), "n": works("2"),
	"seed": works("1"), "temperature": works("0.1"), "top_p": works("0.1"), "logit_bias": works(`{"5":1}`), "stop": works(`["x"]`),
	"stream_options": works(`{"include_usage":true}`, `"stream":true`), "user": told(`"u"`),
}

var chatSamples = map[string]fieldSample{
	"messages": works(`[{"role":"user","content":"other"}]`), "logprobs": works("true"), "max_completion_tokens": works("5"),
	"top_logprobs": works("2", `"logprobs":true`), "parallel_tool_calls": works("false"), "prompt_cache_key": works(`"k"`),
	"reasoning_effort": works(`"low"`), "response_format": works(`{"type":"json_object"}`),
	"tool_choice": works(`"none"`), "tools": works(`[` + look + `]`),
	"safety_identifier": told(`"s"`), "metadata": told(`{"a":"b"}`),
	"store":     only("true", "chat completions are not kept; responses are"),
	"functions": only(`[{"name":"f"}]`, "send `tools`"), "function_call": only(`{"name":"f"}`, "send `tool_choice`"),
	"modalities": only(`["audio"]`, "`[\"text\"]`"), "service_tier": only(`"flex"`, "`\"auto\"`, `\"default\"`"), "verbosity": only(`"low"`, "`\"medium\"`"),
	"prompt_cache_retention": only(`"24h"`, "`\"in_memory\"`"), "audio": only(`{"voice":"x"}`, ""), "moderation": only(`{"a":1}`, ""),
	"prediction": only(`{"type":"content"}`, ""), "prompt_cache_options": only(`{"a":1}`, ""), "web_search_options": only(`{}`, ""),
}

var textSamples = map[string]fieldSample{
	"prompt": works(`"other"`), "best_of": works("2", `"n":2`), "echo": works("true"), "logprobs": works("2"), "suffix": only(`"s"`, "`\"\"`"),
}

var responseSamples = map[string]fieldSample{
	"input": works(`"other"`), "model": works(`"small"`), "instructions": works(`"be brief"`), "max_output_tokens": works("5"), "temperature": works("0.1"),
	"top_p": works("0.1"), "parallel_tool_calls": works("false"), "prompt_cache_key": works(`"k"`), "background": works("true", `"stream":true`), "store": works("false"),
	"top_logprobs": works("2", `"include":["message.output_text.logprobs"]`), "include": works(`["message.output_text.logprobs"]`),
	"previous_response_id": works(`"resp_X"`), "reasoning": works(`{"effort":"low"}`), "text": works(`{"format":{"type":"json_object"}}`),
	"tool_choice": works(`"none"`), "tools": works(`[{"type":"function","name":"f"}]`),
	"metadata": told(`{"a":"b"}`), "user": told(`"u"`), "safety_identifier": told(`"s"`),
	"max_tool_calls": {value: "3", fate: label, note: "it counts the calls of a server's own tools, of which there are none"},
	"stream_options": {value: `{"include_obfuscation":true}`, fate: neutral, note: "`{\"include_obfuscation\":false}`", beside: `"stream":true`},
	"truncation":     only(`"auto"`, "`\"disabled\"`"), "service_tier": only(`"flex"`, "`\"auto\"`, `\"default\"`"),
	"prompt_cache_retention": only(`"24h"`, "`\"in_memory\"`"), "context_management": only(`[{"type":"compaction"}]`, "`[]`"),
	"conversation": only(`"conv_1"`, "send `previous_response_id`"), "prompt": only(`{"id":"p"}`, ""), "moderation": only(`{"a":1}`, ""),
	"prompt_cache_options": only(`{"a":1}`, ""), "access_programs": only(`{"a":1}`, ""), "image": only(`{"a":1}`, ""),
}

// Every field of the stock client's requests is implemented, needs nothing, or is
// refused by name; docs/openai-fields.md says which.
func TestFieldsOfTheStockClient(t *testing.T) {
	var page bytes.Buffer
	page.WriteString("# Fields of OpenAI's requests\n\nWhat becomes of each field that the pinned Go client (`github.com/openai/openai-go/v3`) can send. " +
		"Fields that are not known are accepted and named in the answer's `warnings`. Made by the tests of `inference/openai`.\n")
	for _, route := range []struct {
		path, base string
		params     any
		samples    []map[string]fieldSample
	}{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"hi"}]`, client.ChatCompletionNewParams{}, []map[string]fieldSample{sharedSamples, chatSamples}},
		{"/v1/completions", `"prompt":"hi"`, client.CompletionNewParams{}, []map[string]fieldSample{sharedSamples, textSamples}},
		{"/v1/responses", `"input":"hi"`, responses.ResponseNewParams{}, []map[string]fieldSample{responseSamples}},
	} {
		fmt.Fprintf(&page, "\n## POST %s\n\n| field | | |\n|---|---|---|\n", route.path)
		known := map[string]fieldSample{}
		for _, samples := range route.samples {
			for name, s := range samples {
				known[name] = s
			}
		}
		for f := range reflect.TypeOf(route.params).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			s, ok := known[name]
			if !ok {
				t.Errorf("%s: the client has a field %s that is not known here", route.path, name)
				continue
			}
			delete(known, name)
			checkField(t, route.path, route.base, name, s)
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", name, s.fate, s.note)
		}
		for name := range known {
			t.Errorf("%s: the client has no field %s", route.path, name)
		}
	}
	file := filepath.Join("..", "..", "docs", "openai-fields.md")
	if *write {
		if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, page.Bytes()) {
		t.Errorf("%s is not what the tables say (%v): run go test ./inference/openai -run TestFieldsOfTheStockClient -args -write", file, err)
	}
}

// checkField sends a field and looks whether its fate is what the table says.
func checkField(t *testing.T, path, base, name string, s fieldSample) {
	t.Helper()
	if strings.HasPrefix(base, `"`+name+`"`) {
		base = `"seed":1`
	}
	members := []string{base}
	if s.beside != "" {
		members = append(members, s.beside)
	}
	without, reply := askedFor(t, path, members)
	if s.fate != implemented && reply.status != 200 {
		t.Fatalf("%s: %s", path, reply.body)
	}
	with, reply := askedFor(t, path, append(members, `"`+name+`":`+s.value))
	switch {
	case s.fate == neutral && (reply.status != 400 || !strings.Contains(reply.body, `"param":"`+name) || !strings.Contains(reply.body, "unsupported_parameter")):
		t.Errorf("%s %s: %s", path, name, reply.body)
	case s.fate != neutral && strings.Contains(reply.body, "unknown field"):
		t.Errorf("%s %s: %s", path, name, reply.body)
	case s.fate == label && (reply.status != 200 || with != without):
		t.Errorf("%s %s: %d, got %s, without it %s", path, name, reply.status, with, without)
	case s.fate == implemented && strings.Contains(reply.body, "unsupported_parameter"):
		t.Errorf("%s %s: %s", path, name, reply.body)
	}
}

// askedFor is what the model was asked for a body of these members.
func askedFor(t *testing.T, path string, members []string) (string, reply) {
	t.Helper()
	var got atomic.Pointer[inference.Request]
	w := newWorld(t, func(ctx context.Context, r *inference.Request) iter.Seq2[inference.Event, error] {
		plain := *r
		plain.ID, plain.Params.Seed = "", 0
		got.Store(&plain)
		return talker(ctx, r)
	})
	r := w.do("POST", path, "{"+strings.Join(members, ",")+"}", "Content-Type", "application/json")
	return toJSON(t, got.Load()), r
}
