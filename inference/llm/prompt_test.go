package llm_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

func raw(id string, p inference.Prompt, maxTokens int) *inference.Request {
	return &inference.Request{ID: id, Prompt: &p, Params: inference.Params{MaxTokens: maxTokens, TopP: 1}}
}

func TestRawPromptIsContinuedAsTextAndAsTokens(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	const text = "The capital of France is"
	a := mustCollect(t, l, raw("text", inference.Prompt{Text: text}, 6))
	if !strings.Contains(a.text, "Paris") {
		t.Errorf("continued with %q", a.text)
	}
	tokens, err := l.Tokenize(t.Context(), text, true)
	if err != nil {
		t.Fatal(err)
	}
	b := mustCollect(t, l, raw("tokens", inference.Prompt{Tokens: tokens}, 6))
	if a.text != b.text || a.usage.PromptTokens != len(tokens) || b.usage.PromptTokens != len(tokens) {
		t.Errorf("text: %q after %d tokens; tokens: %q after %d", a.text, a.usage.PromptTokens, b.text, b.usage.PromptTokens)
	}
}

// What a conversation renders to, given as a prompt, is the conversation.
func TestRenderIsWhatAConversationBecomes(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	chat := ask("chat", "Name a colour.", 8)
	text, err := l.Render(t.Context(), chat, true)
	if err != nil {
		t.Fatal(err)
	}
	// Each is read whole: what is read in other pieces may fall otherwise at a near tie.
	cold := start(t, enginetest.DemoModel(t), nil)
	if a, b := mustCollect(t, l, chat), mustCollect(t, cold, raw("raw", inference.Prompt{Text: text}, 8)); a.text != b.text || a.usage.PromptTokens != b.usage.PromptTokens {
		t.Errorf("conversation: %+v; prompt: %+v", a, b)
	}
	closed, err := l.Render(t.Context(), chat, false)
	if err != nil || !strings.HasPrefix(text, closed) || closed == text {
		t.Errorf("without the opening: %q, %v", closed, err)
	}
}

func TestTokensGoThereAndBack(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	const text = "두레는 함께 일한다 🌾 <|im_end|>"
	for _, special := range []bool{false, true} {
		tokens, err := l.Tokenize(t.Context(), text, special)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := l.Detokenize(t.Context(), tokens)
		if got := string(slices.Concat(pieces...)); err != nil || got != text {
			t.Errorf("special %t: %q, %v", special, got, err)
		}
	}
}

func TestBadPrompts(t *testing.T) {
	l := tiny(t, nil)
	vocabulary := int32(l.Info().Vocabulary)
	both := raw("both", inference.Prompt{Text: "a"}, 1)
	both.Messages = ask("", "hi", 1).Messages
	for name, c := range map[string]struct {
		req   *inference.Request
		code  error
		param string
	}{
		"empty":    {raw("", inference.Prompt{Tokens: []int32{}}, 1), inference.ErrInvalidRequest, "prompt"},
		"both":     {both, inference.ErrInvalidRequest, "prompt"},
		"negative": {raw("", inference.Prompt{Tokens: []int32{1, -1}}, 1), inference.ErrInvalidRequest, "prompt[1]"},
		"beyond":   {raw("", inference.Prompt{Tokens: []int32{vocabulary}}, 1), inference.ErrInvalidRequest, "prompt[0]"},
		"too long": {raw("", inference.Prompt{Text: strings.Repeat("a b ", 9000)}, 1), inference.ErrContextExceeded, "prompt"},
		"tokens":   {raw("", inference.Prompt{Tokens: make([]int32, l.Info().Context)}, 1), inference.ErrContextExceeded, "prompt"},
	} {
		_, err := collect(t.Context(), l, c.req)
		var e *inference.Error
		if !errors.Is(err, c.code) || !errors.As(err, &e) || e.Param != c.param {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
	if _, err := l.Detokenize(t.Context(), []int32{vocabulary}); !errors.Is(err, inference.ErrInvalidRequest) {
		t.Errorf("detokenize beyond the vocabulary: %v", err)
	}
}

// What a greedy answer would say is suppressed by the file; a request's own
// bias comes before that.
func TestSuppressedTokensAreNotDrawn(t *testing.T) {
	req := ask("free", "hello", 8)
	req.Params.IgnoreEOS, req.Params.Logprobs = true, true
	_, free, _ := events(t, tiny(t, nil), req)
	unwanted := free[0].Token
	l := start(t, enginetest.Llama(t, synth.Config{Suppress: []int32{unwanted}}), nil)
	_, got, _ := events(t, l, req)
	if slices.ContainsFunc(got, func(p inference.TokenLogprob) bool { return p.Token == unwanted }) {
		t.Errorf("token %d was drawn: %+v", unwanted, got)
	}
	req.Params.LogitBias = []inference.TokenBias{{Token: unwanted, Bias: 0}}
	if _, got, _ := events(t, l, req); got[0].Token != unwanted {
		t.Errorf("with a bias of its own: %+v", got[0])
	}
}

// events of a whole answer with logprobs.
func events(t *testing.T, m inference.Model, req *inference.Request) (text string, logprobs []inference.TokenLogprob, usage inference.Usage) {
	t.Helper()
	for ev, err := range m.Generate(context.Background(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == inference.EventText && ev.Text == "" && ev.Logprobs == nil {
			t.Error("an event that says nothing")
		}
		text += ev.Text
		logprobs = append(logprobs, ev.Logprobs...)
		if ev.Kind == inference.EventDone {
			usage = *ev.Usage
		}
	}
	return text, logprobs, usage
}

// Greedy answers: each token is the likeliest, the tokens' bytes are the text,
// and what Tap saw gives the same numbers.
func TestLogprobsAreOfTheTokensOfTheAnswer(t *testing.T) {
	var rows [][]float32
	l := start(t, enginetest.DemoModel(t), func(c *llm.Config) {
		c.Tap = func(_ string, _ int, logits []float32) { rows = append(rows, slices.Clone(logits)) }
	})
	req := ask("lp", "Write 안녕 and an emoji.", 24)
	req.Params.Logprobs, req.Params.TopLogprobs, req.Params.IgnoreEOS = true, 3, true
	text, logprobs, usage := events(t, l, req)
	if len(logprobs) != usage.CompletionTokens || len(logprobs) != 24 {
		t.Fatalf("%d logprobs for %d tokens", len(logprobs), usage.CompletionTokens)
	}
	var bytes []byte
	for i, p := range logprobs {
		bytes = append(bytes, p.Bytes...)
		if len(p.Top) != 3 || p.Top[0].Token != p.Token || p.Top[0].Logprob != p.Logprob || p.Top[1].Logprob > p.Top[0].Logprob {
			t.Fatalf("token %d: %+v", i, p)
		}
		sum := 0.0
		for _, v := range rows[i] {
			sum += math.Exp(float64(v))
		}
		if want := float64(rows[i][p.Token]) - math.Log(sum); math.Abs(want-float64(p.Logprob)) > 1e-4 {
			t.Errorf("token %d: logprob %v, the row says %v", i, p.Logprob, want)
		}
	}
	if ignoringControl := strings.NewReplacer("<|im_end|>", "", "<|im_start|>", ""); ignoringControl.Replace(string(bytes)) != text {
		t.Errorf("tokens %q, text %q", bytes, text)
	}
}

// A stop string takes away the logprobs of the tokens it takes whole.
func TestLogprobsEndWithTheText(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	req := ask("whole", "Count from 1 to 10, separated by commas.", 40)
	req.Params.Logprobs = true
	whole, _, _ := events(t, l, req)
	for _, n := range []int{1, 3, 7} {
		at := len(whole)/2 + n
		req.Params.Stop = []string{whole[at : at+n]}
		text, logprobs, _ := events(t, l, req)
		size, last := 0, 0
		for _, p := range logprobs {
			last = len(p.Bytes)
			size += last
		}
		if size < len(text) || size-last >= len(text) {
			t.Errorf("stop %q: text of %d bytes, logprobs of %d, the last of %d", req.Params.Stop[0], len(text), size, last)
		}
	}
}

// The engine's tokeniser cannot be ended: what would keep it busy for long is
// refused, and one who waits for another's text can leave.
func TestLargeTextsAreBounded(t *testing.T) {
	l := tiny(t, nil)
	var e *inference.Error
	if _, err := l.Tokenize(t.Context(), strings.Repeat(" ", 5<<20), false); !errors.As(err, &e) || e.Code != inference.CodeInvalidRequest || !strings.Contains(e.Message, "4194304") {
		t.Errorf("5 MiB: %v", err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := l.Tokenize(ctx, strings.Repeat("a b ", 50_000), false); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
}

// A stop string ends an answer as it was meant to end.
func TestStopStringIsNoCancel(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	req := ask("s", "Count from 1 to 10, separated by commas.", 60)
	req.Params.Stop = []string{"3"}
	mustCollect(t, l, req)
	mustCollect(t, l, ask("after", "hi", 2)) // the owner has heard of the end by now
	if s := l.Stats(); s.CancelledDecode+s.CancelledPrefill+s.CancelledQueued != 0 {
		t.Errorf("%+v", s)
	}
}
