package openai

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"dure/inference"

	"github.com/google/go-cmp/cmp"
)

// What is wrong with one of several prompts is found before anything is
// generated for the others, however the answer is sent.
func TestPromptsAreCheckedFirst(t *testing.T) {
	var asked atomic.Int64
	w := newWorld(t, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		asked.Add(1)
		return script(nil, started(), says("x"), done())(nil, nil)
	})
	w.models.Info.Sequences, w.models.Info.Context = 1, 8
	for _, tt := range []struct{ prompt, code, param, message string }{
		{`["a","b","1234567"]`, "context_length_exceeded", "prompt[2]", "prompt[2]: the prompt has 8 tokens, the context holds 8"},
		{`["a","b","1234567"]`, "context_length_exceeded", "prompt[2]", "--context"},
		{`[[1],[2,257]]`, "invalid_request", "prompt[1][1]", "prompt[1][1]: token 257 is not in the vocabulary, which has 257 tokens"},
		{`[[1],[1,2,3,4,5,6,7,8]]`, "context_length_exceeded", "prompt[1]", "8 tokens"},
		{`[[999999]]`, "invalid_request", "prompt[0][0]", "token 999999"},
		{`[5,999999]`, "invalid_request", "prompt[1]", "token 999999"},
	} {
		for _, stream := range []string{"false", "true"} {
			w.complete(`{"stream":`+stream+`,"prompt":`+tt.prompt+`}`).wantError(t, 400, kindInvalid, tt.code, tt.param, tt.message)
		}
	}
	// No special token is added to an empty text by this model.
	w.models.Bare = true
	w.complete(`{"prompt":["a",""]}`).wantError(t, 400, kindInvalid, "invalid_request", "prompt[1]", "prompt[1]: the prompt is empty")
	if n := asked.Load(); n != 0 {
		t.Errorf("%d choices were asked for", n)
	}
	if o, r := w.models.Opened.Load(), w.models.Released.Load(); o == 0 || o != r {
		t.Errorf("opened %d, released %d", o, r)
	}
}

// A model whose tokens are not at hand checks its prompts itself, and what its
// tokenizer says is passed on.
func TestPromptsThatCannotBeChecked(t *testing.T) {
	var got []inference.Prompt
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		got = append(got, *req.Prompt)
		return script(nil, started(), says("x"), done())(nil, nil)
	})
	w.models.Remote = true
	w.models.Info.Sequences, w.models.Info.Context = 1, 2
	w.answer(t, "/v1/completions", `{"prompt":["abc",""]}`)
	w.answer(t, "/v1/completions", `{"prompt":[[1,2,3],[999999]]}`)
	want := []inference.Prompt{{Text: "abc"}, {Text: ""}, {Tokens: []int32{1, 2, 3}}, {Tokens: []int32{999999}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w.models.Remote = false
	w.models.TokenizeErr = &inference.Error{Code: inference.CodeRunnerLost, Message: "died"}
	w.complete(`{"prompt":["a","b"]}`).wantError(t, 502, kindServer, "runner_lost", "", "died")
}

// An error of the model says which prompt it is about, and only if it is about
// one.
func TestPromptAtFault(t *testing.T) {
	fail := func(code inference.Code, param string) error {
		e := inference.Errorf(code, "bad")
		e.Param = param
		return fmt.Errorf("wrapped: %w", e)
	}
	const invalid, exceeded = inference.CodeInvalidRequest, inference.CodeContextExceeded
	for _, tt := range []struct {
		err                              error
		status                           int
		param, message, flat, flatExpect string
	}{
		{fail(exceeded, ""), 400, "prompt[1]", "prompt[1]: bad", "", "bad"},
		{fail(exceeded, "prompt"), 400, "prompt[1]", "prompt[1]: bad", "prompt", "bad"},
		{fail(invalid, "prompt"), 400, "prompt[1]", "prompt[1]: bad", "prompt", "bad"},
		{fail(invalid, "prompt[3]"), 400, "prompt[1][3]", "prompt[1][3]: bad", "prompt[3]", "bad"},
		{fail(invalid, "repeat_last_n"), 400, "repeat_last_n", "bad", "repeat_last_n", "bad"},
		{fail(invalid, "prompt_cache_key"), 400, "prompt_cache_key", "bad", "prompt_cache_key", "bad"},
		{fail(invalid, ""), 400, "", "bad", "", "bad"},
		{fail(inference.CodeQueueFull, ""), 429, "", "bad", "", "bad"},
	} {
		w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
			if req.Prompt.Text == "bad" || len(req.Prompt.Tokens) == 4 { // <s>bad
				return script(tt.err)(nil, nil)
			}
			return script(nil, started(), says("x"), done())(nil, nil)
		})
		var e struct{ Error errorObject }
		for prompt, want := range map[string][2]string{
			`["a","bad"]`: {tt.param, tt.message}, `"bad"`: {tt.flat, tt.flatExpect},
		} {
			got := w.complete(`{"prompt":` + prompt + `}`)
			decodeInto(t, got.body, &e)
			param := ""
			if e.Error.Param != nil {
				param = *e.Error.Param
			}
			message, _, _ := strings.Cut(e.Error.Message, "; ")
			if got.status != tt.status || param != want[0] || message != want[1] {
				t.Errorf("%v, %s: %d %s", tt.err, prompt, got.status, got.body)
			}
			e.Error.Param = nil
		}
	}
}
