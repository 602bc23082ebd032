package embed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/embed"
	"dure/inference/engine/enginetest"
)

var (
	_ inference.Embedder = (*embed.Embedder)(nil)
	_ inference.Reranker = (*embed.Embedder)(nil)
)

func write(t testing.TB, make func(io.Writer, synth.Config) error, cfg synth.Config) string {
	t.Helper()
	var b bytes.Buffer
	if err := make(&b, cfg); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, cfg embed.Config) *embed.Embedder {
	t.Helper()
	m := enginetest.Load(t, path)
	cfg.Name, cfg.Threads = "tiny", 1
	full, _, err := embed.Derive(cfg, m)
	if err != nil {
		t.Fatal(err)
	}
	e, err := embed.New(m, full, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func texts(all ...string) (inputs []inference.Prompt) {
	for _, s := range all {
		inputs = append(inputs, inference.Prompt{Text: s})
	}
	return inputs
}

func ask(t testing.TB, e *embed.Embedder, req *inference.EmbedRequest) *inference.Embeddings {
	t.Helper()
	out, err := e.Embed(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestEmbed(t *testing.T) {
	e := open(t, write(t, synth.BERT, synth.Config{}), embed.Config{})
	if a := e.Embedding(); a.Dimensions != 128 || a.MaxInput != 512 || a.Pooling != "mean" || a.Shortens || a.Reranks {
		t.Errorf("%+v", a)
	}
	in := []string{"hello the world", "how is that", strings.Repeat("model and token ", 40), "hello the world"}
	out := ask(t, e, &inference.EmbedRequest{Inputs: texts(in...)})
	if len(out.Vectors) != 4 || out.ComputeMS <= 0 {
		t.Fatalf("%d vectors, %+v", len(out.Vectors), out)
	}
	count := 0
	for i, v := range out.Vectors {
		tokens, err := e.Tokenize(t.Context(), in[i], true)
		if err != nil {
			t.Fatal(err)
		}
		count += len(tokens)
		if d := dot(v, v); math.Abs(d-1) > 1e-5 {
			t.Errorf("vector %d has length %v", i, math.Sqrt(d))
		}
		same := ask(t, e, &inference.EmbedRequest{Inputs: []inference.Prompt{{Tokens: tokens}}}).Vectors[0]
		if d := dot(v, same); d < 0.99999 {
			t.Errorf("the tokens of text %d have another vector: cosine %v", i, d)
		}
	}
	if out.PromptTokens != count {
		t.Errorf("%d tokens, want %d", out.PromptTokens, count)
	}
	if a, b := dot(out.Vectors[0], out.Vectors[3]), dot(out.Vectors[0], out.Vectors[1]); a < 0.99999 || b > 0.99 {
		t.Errorf("same texts %v, different ones %v", a, b)
	}
	if s := e.Stats(); s.Inputs != 8 || s.Tokens != uint64(2*count) || len(s.Memory) == 0 {
		t.Errorf("%+v", s)
	}
}

func TestDimensions(t *testing.T) {
	path := write(t, synth.BERT, synth.Config{})
	whole := open(t, path, embed.Config{})
	short := open(t, path, embed.Config{Shortest: 32})
	if a := short.Embedding(); !a.Shortens || a.MinDimensions != 32 {
		t.Errorf("%+v", a)
	}
	full := ask(t, short, &inference.EmbedRequest{Inputs: texts("hello")}).Vectors[0]
	cut := ask(t, short, &inference.EmbedRequest{Inputs: texts("hello"), Dimensions: 48}).Vectors[0]
	if len(cut) != 48 || math.Abs(dot(cut, cut)-1) > 1e-5 {
		t.Fatalf("%d numbers of length %v", len(cut), math.Sqrt(dot(cut, cut)))
	}
	if d := dot(cut, full[:48]) / math.Sqrt(dot(full[:48], full[:48])); d < 0.99999 {
		t.Errorf("it points elsewhere: cosine %v", d)
	}
	for _, c := range []struct {
		e    *embed.Embedder
		n    int
		code inference.Code
	}{
		{whole, 128, ""}, {whole, 64, inference.CodeUnsupported}, {short, 31, inference.CodeInvalidRequest},
		{short, 129, inference.CodeInvalidRequest}, {short, 32, ""}, {short, -1, inference.CodeInvalidRequest},
	} {
		_, err := c.e.Embed(t.Context(), &inference.EmbedRequest{Inputs: texts("hello"), Dimensions: c.n})
		expect(t, fmt.Sprint(c.n, " dimensions"), err, c.code, "dimensions")
	}
}

// expect holds an error to its code and parameter; no code is no error.
func expect(t *testing.T, what string, err error, code inference.Code, param string) {
	t.Helper()
	var e *inference.Error
	switch {
	case code == "" && err == nil:
	case !errors.As(err, &e) || e.Code != code || e.Param != param:
		t.Errorf("%s: %#v, want %s of %s", what, err, code, param)
	}
}

func TestRefusals(t *testing.T) {
	e := open(t, write(t, synth.BERT, synth.Config{Context: 64}), embed.Config{})
	long := strings.Repeat("the ", 100)
	for name, c := range map[string]struct {
		req   inference.EmbedRequest
		code  inference.Code
		param string
	}{
		"nothing":          {inference.EmbedRequest{}, inference.CodeInvalidRequest, "input"},
		"too long":         {inference.EmbedRequest{Inputs: texts("the", long)}, inference.CodeContextExceeded, "input[1]"},
		"too many tokens":  {inference.EmbedRequest{Inputs: []inference.Prompt{{Tokens: make([]int32, 65)}}}, inference.CodeContextExceeded, "input[0]"},
		"no tokens":        {inference.EmbedRequest{Inputs: []inference.Prompt{{Tokens: []int32{}}}}, inference.CodeInvalidRequest, "input[0]"},
		"no such token":    {inference.EmbedRequest{Inputs: []inference.Prompt{{Tokens: []int32{1, 1 << 20}}}}, inference.CodeInvalidRequest, "input[0][1]"},
		"a huge text":      {inference.EmbedRequest{Inputs: texts(strings.Repeat("a", 5<<20))}, inference.CodeInvalidRequest, "input[0]"},
		"no such priority": {inference.EmbedRequest{Inputs: texts("a"), Caller: inference.Caller{Priority: "now"}}, inference.CodeInvalidRequest, "priority"},
	} {
		_, err := e.Embed(t.Context(), &c.req)
		expect(t, name, err, c.code, c.param)
		var typed *inference.Error
		if errors.As(err, &typed) && c.code == inference.CodeContextExceeded && (typed.PromptTokens < 65 || typed.ContextTokens != 64) {
			t.Errorf("%s: %+v", name, typed)
		}
	}
	_, err := e.Rerank(t.Context(), &inference.RerankRequest{Query: "a", Documents: []string{"b"}})
	expect(t, "ranking", err, inference.CodeUnsupported, "model")
}

// TestRerank: scores are those of the pairs as tokens, whatever is asked together.
func TestRerank(t *testing.T) {
	e := open(t, write(t, synth.BERT, synth.Config{Pooling: 4, Segments: 1}), embed.Config{})
	if a := e.Embedding(); !a.Reranks || a.Dimensions != 0 {
		t.Errorf("%+v", a)
	}
	docs := []string{"hello the world", "you is what", "model " + strings.Repeat("token ", 50)}
	out, err := e.Rerank(t.Context(), &inference.RerankRequest{Query: "how the world", Documents: docs})
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	for i, doc := range docs {
		one, err := e.Rerank(t.Context(), &inference.RerankRequest{Query: "how the world", Documents: []string{doc}})
		if err != nil || math.Abs(float64(one.Scores[0]-out.Scores[i])) > 1e-3 {
			t.Errorf("document %d: %v together, alone %v, %v", i, out.Scores[i], one, err)
		}
		q, _ := e.Tokenize(t.Context(), "how the world", true)
		d, _ := e.Tokenize(t.Context(), doc, true)
		tokens += len(q) + len(d) - 1 // one opening token for both
	}
	if out.PromptTokens != tokens {
		t.Errorf("%d tokens, want %d", out.PromptTokens, tokens)
	}
	if out.Scores[0] == out.Scores[1] || out.Scores[0] <= 0 || out.Scores[0] >= 1 {
		t.Errorf("scores %v", out.Scores)
	}
	for name, c := range map[string]struct {
		req   inference.RerankRequest
		code  inference.Code
		param string
	}{
		"no query":     {inference.RerankRequest{Documents: docs}, inference.CodeInvalidRequest, "query"},
		"no documents": {inference.RerankRequest{Query: "a"}, inference.CodeInvalidRequest, "documents"},
		"too long":     {inference.RerankRequest{Query: "a", Documents: []string{"b", strings.Repeat("the ", 600)}}, inference.CodeContextExceeded, "documents[1]"},
	} {
		_, err := e.Rerank(t.Context(), &c.req)
		expect(t, name, err, c.code, c.param)
	}
	_, err = e.Embed(t.Context(), &inference.EmbedRequest{Inputs: texts("a")})
	expect(t, "a vector", err, inference.CodeUnsupported, "model")
}

func TestLoadsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		cfg  embed.Config
		want string
	}{
		"segments":        {write(t, synth.BERT, synth.Config{Pooling: 4}), embed.Config{}, "segments"},
		"a classifier":    {write(t, synth.BERT, synth.Config{Pooling: 4, Segments: 1, Classes: []string{"good", "bad"}}), embed.Config{}, "does not rank"},
		"no pooling":      {enginetest.Llama(t, synth.Config{}), embed.Config{}, "pooling"},
		"another pooling": {write(t, synth.BERT, synth.Config{}), embed.Config{Pooling: "cls"}, "leave it out"},
		"too long":        {write(t, synth.BERT, synth.Config{}), embed.Config{MaxInput: 513}, "512"},
	} {
		m := enginetest.Load(t, c.path)
		c.cfg.Threads = 1
		full, _, err := embed.Derive(c.cfg, m)
		if err == nil {
			var e *embed.Embedder
			if e, err = embed.New(m, full, slog.New(slog.DiscardHandler)); err == nil {
				e.Close()
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// gate holds the owner in front of each engine call until it is opened.
type gate struct{ at, open chan struct{} }

func (g gate) Take(bool) { g.at <- struct{}{}; <-g.open }
func (gate) Give()       {}

// TestCancelAndDeadline: who leaves, or is late, takes part in no further batch; the
// others are answered.
func TestCancelAndDeadline(t *testing.T) {
	g := gate{make(chan struct{}), make(chan struct{})}
	e := open(t, write(t, synth.BERT, synth.Config{}), embed.Config{Inputs: 2, Queue: 2, Turns: g})
	var work sync.WaitGroup
	send := func(ctx context.Context, n int, who inference.Caller) <-chan error {
		answer := make(chan error, 1)
		work.Go(func() {
			_, err := e.Embed(ctx, &inference.EmbedRequest{Inputs: texts(strings.Fields(strings.Repeat("the ", n))...), Caller: who})
			answer <- err
		})
		return answer
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := send(ctx, 100, inference.Caller{})
	<-g.at // its first two inputs are being computed
	late := send(t.Context(), 3, inference.Caller{DeadlineMS: 1})
	if err := <-late; !errors.Is(err, inference.ErrDeadline) {
		t.Errorf("late: %v", err)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	stays := send(t.Context(), 2, inference.Caller{})
	g.open <- struct{}{}
	<-g.at // only the one that stays
	g.open <- struct{}{}
	if err := <-stays; err != nil {
		t.Error(err)
	}
	work.Wait()
	if s := e.Stats(); s.Inputs != 4 || s.Cancelled != 2 {
		t.Errorf("%d inputs computed, %d requests cancelled, want 4 and 2", s.Inputs, s.Cancelled)
	}
}

// await is for what another goroutine is about to do.
func await(t *testing.T, what func() bool) {
	t.Helper()
	for !what() {
		if t.Context().Err() != nil {
			t.Fatal("it did not come")
		}
		runtime.Gosched()
	}
}

// TestFullAndUnloaded: beyond the queue requests are refused with a time to come back,
// and the end of the model is told to all who wait.
func TestFullAndUnloaded(t *testing.T) {
	g := gate{make(chan struct{}), make(chan struct{})}
	e := open(t, write(t, synth.BERT, synth.Config{}), embed.Config{Inputs: 1, Queue: 2, Turns: g})
	send := func() <-chan error {
		answer := make(chan error, 1)
		go func() {
			_, err := e.Embed(t.Context(), &inference.EmbedRequest{Inputs: texts("the")})
			answer <- err
		}()
		return answer
	}
	answers := []<-chan error{send()}
	<-g.at
	for i := range 3 { // of which two may wait
		answers = append(answers, send())
		await(t, func() bool { return e.Pending() == i+1 })
	}
	g.open <- struct{}{}
	<-g.at
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	await(t, e.Stopping)
	g.open <- struct{}{}
	for i, want := range []error{nil, nil, inference.ErrShuttingDown, inference.ErrQueueFull} {
		err := <-answers[i]
		var typed *inference.Error
		if !errors.Is(err, want) || want == inference.ErrQueueFull && (!errors.As(err, &typed) || typed.RetryAfter <= 0) {
			t.Errorf("request %d: %#v, want %v", i, err, want)
		}
	}
	<-closed
	if _, err := e.Embed(t.Context(), &inference.EmbedRequest{Inputs: texts("the")}); !errors.Is(err, inference.ErrShuttingDown) {
		t.Errorf("after the end: %v", err)
	}
}
