package runner_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/embed"
	"dure/inference/engine/enginetest"
	"dure/inference/runner"
)

var (
	_ inference.Embedder = (*runner.Client)(nil)
	_ inference.Reranker = (*runner.Client)(nil)
)

func startEmbedder(t *testing.T, write func(io.Writer, synth.Config) error, cfg synth.Config, how *embed.Config) *runner.Client {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := options(enginetest.Dir(t), path)
	opt.Config.LLM.Context, opt.Config.Embed = 0, how
	return start(t, opt)
}

func embedTexts(ctx context.Context, c *runner.Client, texts ...string) (*inference.Embeddings, error) {
	req := &inference.EmbedRequest{}
	for _, s := range texts {
		req.Inputs = append(req.Inputs, inference.Prompt{Text: s})
	}
	return c.Embed(ctx, req)
}

// TestVectorsCrossTheSocket: a model that can make nothing but vectors makes them
// without being told to.
func TestVectorsCrossTheSocket(t *testing.T) {
	c := startEmbedder(t, synth.BERT, synth.Config{}, nil)
	if a := c.Embedding(); a == nil || a.Dimensions != 128 || c.Info().Context != 512 || len(c.Notes()) == 0 {
		t.Fatalf("%+v, %+v, %v", a, c.Info(), c.Notes())
	}
	out, err := embedTexts(t.Context(), c, "hello", "what is that", "hello")
	if err != nil || len(out.Vectors) != 3 || out.PromptTokens == 0 || out.ComputeMS <= 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	length, same := 0.0, 0.0
	for i, x := range out.Vectors[0] {
		length += float64(x) * float64(x)
		same += float64(x) * float64(out.Vectors[2][i])
	}
	if math.Abs(length-1) > 1e-5 || same < 0.99999 {
		t.Errorf("length %v, cosine of the same text %v", length, same)
	}
	if tokens, err := c.Tokenize(t.Context(), "hello", true); err != nil || len(tokens) < 3 {
		t.Errorf("%v, %v", tokens, err)
	}
	if s, err := c.Stats(t.Context()); err != nil || s.PromptTokens == 0 || len(s.Memory) == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = embedTexts(t.Context(), c, "hello", strings.Repeat("the ", 600))
	var e *inference.Error
	if !errors.As(err, &e) || e.Code != inference.CodeContextExceeded || e.Param != "input[1]" || e.ContextTokens != 512 {
		t.Errorf("too long: %#v", err)
	}
	if _, _, err := collect(t.Context(), c, request("a", 1)); !errors.Is(err, inference.ErrUnsupported) {
		t.Errorf("text: %v", err)
	}
	if _, err := c.Render(t.Context(), nil, true); !errors.Is(err, inference.ErrUnsupported) {
		t.Errorf("template: %v", err)
	}
	if _, err := c.Rerank(t.Context(), &inference.RerankRequest{Query: "a", Documents: []string{"b"}}); !errors.Is(err, inference.ErrUnsupported) {
		t.Errorf("ranking: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedTexts(gone, c, "hello"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestScoresCrossTheSocket(t *testing.T) {
	c := startEmbedder(t, synth.BERT, synth.Config{Pooling: 4, Segments: 1}, nil)
	out, err := c.Rerank(t.Context(), &inference.RerankRequest{Query: "what is that", Documents: []string{"hello", "the world"}})
	if err != nil || len(out.Scores) != 2 || out.Scores[0] == out.Scores[1] {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestVectorsOfATextModel: what the file does not say, the configuration does.
func TestVectorsOfATextModel(t *testing.T) {
	c := startEmbedder(t, synth.Llama, synth.Config{}, &embed.Config{Name: "tiny", Pooling: "last", MaxInput: 100, Shortest: 16, Threads: 1})
	out, err := c.Embed(t.Context(), &inference.EmbedRequest{Inputs: []inference.Prompt{{Text: "hello"}}, Dimensions: 16})
	if err != nil || len(out.Vectors) != 1 || len(out.Vectors[0]) != 16 {
		t.Errorf("%+v, %v", out, err)
	}
	text := start(t, tiny(t))
	if _, err := embedTexts(t.Context(), text, "hello"); !errors.Is(err, inference.ErrUnsupported) || text.Embedding() != nil {
		t.Errorf("a model that writes: %v", err)
	}
}
