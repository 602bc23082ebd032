package openai

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"dure/inference"

	"github.com/google/go-cmp/cmp"
)

func TestWholeTextCompletion(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("a<b>"), says(" 끝"), done()))
	got := w.complete(`{"prompt":"once","foo":1}`)
	want := `{"id":0,"object":"text_completion","created":0,"model":"small","system_fingerprint":"v1",` +
		`"choices":[{"text":"a<b> 끝","index":0,"logprobs":null,"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2},` +
		`"dure":{"queue_ms":1.5,"restore_ms":0,"prefill_ms":2.5,"decode_ms":3.5,"seed":0}},"warnings":["foo: unknown field, ignored"]}` + "\n"
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, header %v", got.status, got.header)
	}
	if diff := cmp.Diff(want, steady(got.body)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got.body, `"id":"cmpl-`) {
		t.Error(got.body)
	}
}

func textChunk(text, index, logprobs, finish string) string {
	return `{"id":0,"object":"text_completion","created":0,"model":"small","system_fingerprint":"v1",` +
		`"choices":[{"text":` + text + `,"index":` + index + `,"logprobs":` + logprobs + `,"finish_reason":` + finish + `}]`
}

func TestStreamedTextCompletion(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("a\"b"), says("<\n"), done()))
	const null = `,"usage":null}`
	for fields, want := range map[string][]string{
		`"foo":1`: {textChunk(`"a\"b"`, "0", "null", "null") + "}", textChunk(`"<\n"`, "0", "null", "null") + "}",
			textChunk(`""`, "0", "null", `"stop"`) + `,"warnings":["foo: unknown field, ignored"]}`, "[DONE]"},
		`"echo":true,"stream_options":{"include_usage":true}`: {textChunk(`"once"`, "0", "null", "null") + null,
			textChunk(`"a\"b"`, "0", "null", "null") + null, textChunk(`"<\n"`, "0", "null", "null") + null,
			textChunk(`""`, "0", "null", `"stop"`) + null,
			`{"id":0,"object":"text_completion","created":0,"model":"small","system_fingerprint":"v1","choices":[],"usage":{"prompt_tokens":7,` +
				`"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2},` +
				`"dure":{"queue_ms":1.5,"restore_ms":0,"prefill_ms":2.5,"decode_ms":3.5,"seed":0}}}`, "[DONE]"},
	} {
		got := w.complete(`{"stream":true,"prompt":"once",` + fields + `}`)
		if diff := cmp.Diff(want, events(t, steady(got.body))); got.status != 200 || diff != "" {
			t.Error(fields, diff)
		}
	}
}

// The prompts and choices reach the model as they were sent, each with its own
// seed, and come back under their index.
func TestPromptsTimesChoices(t *testing.T) {
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		p := req.Params
		if req.ID == "" || req.Messages != nil || p.MaxTokens != 9 {
			return script(fmt.Errorf("request %+v", req))(nil, nil)
		}
		return script(nil, started(), says(fmt.Sprintf("%s%v%d", req.Prompt.Text, req.Prompt.Tokens, p.Seed)), done())(nil, nil)
	})
	for _, tt := range []struct {
		prompt string
		want   []string
	}{
		{`["a","b"]`, []string{"[256 97]5", "[256 97]6", "[256 98]5", "[256 98]6"}},
		{`["a"]`, []string{"a[]5", "a[]6"}},
		{`"a"`, []string{"a[]5", "a[]6"}},
		{`[1,2]`, []string{"[1 2]5", "[1 2]6"}},
		{`[[72,105],[256]]`, []string{"[72 105]5", "[72 105]6", "[256]5", "[256]6"}},
	} {
		got := w.answer(t, "/v1/completions", `{"prompt":`+tt.prompt+`,"n":2,"seed":5,"max_tokens":9}`)
		if diff := cmp.Diff(tt.want, got.texts()); diff != "" {
			t.Errorf("%s: %s", tt.prompt, diff)
		}
		prompts := len(tt.want) / 2
		if u := got.Usage; u.Prompt != 7*prompts || u.Completion != 6*prompts || u.Total != 13*prompts || u.Details.Cached != 2*prompts ||
			u.Dure.QueueMS != 3*float64(prompts) || u.Dure.Seed != 5 {
			t.Errorf("%s: usage %+v", tt.prompt, u)
		}
	}
}

func TestEcho(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("!"), done()))
	for prompt, want := range map[string][]string{
		`"ab"`:                 {"ab!", "ab!"},
		`["ab",""]`:            {"ab!", "ab!", "!", "!"},
		`[72,105]`:             {"Hi!", "Hi!"},
		`[[256,72],[226,130]]`: {"<s>H!", "<s>H!", "\ufffd!", "\ufffd!"},
	} {
		body := `{"prompt":` + prompt + `,"echo":true,"n":2}`
		if diff := cmp.Diff(want, w.answer(t, "/v1/completions", body).texts()); diff != "" {
			t.Errorf("%s: %s", prompt, diff)
		}
		if diff := cmp.Diff(want, w.streamed(t, "/v1/completions", body).texts()); diff != "" {
			t.Errorf("%s, streamed: %s", prompt, diff)
		}
	}
	w.complete(`{"prompt":[300],"echo":true}`).wantError(t, 400, kindInvalid, "invalid_request", "prompt[0]", "token 300")
	w.models.Remote = true
	w.complete(`{"prompt":[72],"echo":true}`).wantError(t, 400, kindInvalid, "unsupported_parameter", "echo", "runs elsewhere")
	if got := w.complete(`{"prompt":"a","echo":true}`); got.status != 200 {
		t.Error(got.body)
	}
}

func TestTextCompletionLength(t *testing.T) {
	var asked []int
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		asked = append(asked, req.Params.MaxTokens)
		return script(nil, started(), done())(nil, nil)
	})
	w.complete(`{"prompt":"a"}`)                                // the entry says 64
	w.complete(`{"prompt":"a","model":"org/large"}`)            // the entry says nothing
	w.complete(`{"prompt":"a","max_tokens":-1}`)                // no limit
	w.complete(`{"prompt":"a","max_tokens":3,"model":"small"}`) // the request says 3
	w.chat(`{"model":"org/large","messages":[{"role":"user","content":"hi"}]}`)
	if diff := cmp.Diff([]int{64, 16, 0, 3, 0}, asked); diff != "" {
		t.Error(diff)
	}
}
