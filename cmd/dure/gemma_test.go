package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/engine/enginetest"
)

// Gemma 3 270M is what the demo model is not: a sliding window of 512 tokens in
// five layers of six, 262,144 tokens, and Korean. It is the pretrained model,
// so it is asked to continue text rather than to answer.
const gemma = "gemma-3-270m"

// pullGemma makes sure of the model as a user would: its parts are fetched and
// joined where it is not on this machine yet.
func pullGemma(t *testing.T) {
	t.Helper()
	if out, err := dureCommand(t, "pull", gemma).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestGemma(t *testing.T) {
	pullGemma(t)
	t.Setenv(envBeDure, "1") // its runner is this test binary too
	t.Setenv(envHome, enginetest.Home(t))
	t.Setenv(envEngine, "cpu")
	m, params, done, err := loadModel(t.Context(), []string{gemma}, runOptions{hostOptions: hostOptions{
		threads: 1, context: 2048, sequences: 2, flash: "auto", logLevel: "error"}})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if params.TopK != 64 || params.TopP != 0.95 || params.Temperature != 1 {
		t.Errorf("a request gets %+v", params)
	}
	t.Run("vocabulary", func(t *testing.T) { testGemmaVocabulary(t, m) })
	t.Run("korean", func(t *testing.T) { testGemmaKorean(t, m) })
	t.Run("window", func(t *testing.T) { testGemmaWindow(t, m) })
}

// continued is what a model made of a raw prompt.
type continued struct {
	pieces []string // as they were streamed
	text   string
	usage  inference.Usage
}

// proceed has the model continue a prompt with its likeliest tokens.
func proceed(ctx context.Context, m inference.Model, p inference.Prompt, maxTokens int) (continued, error) {
	params := inference.DefaultParams()
	params.Temperature, params.MaxTokens = 0, maxTokens
	var c continued
	for e, err := range m.Generate(ctx, &inference.Request{ID: "gemma", Prompt: &p, Params: params}) {
		if err != nil {
			return c, err
		}
		if e.Text != "" {
			c.pieces = append(c.pieces, e.Text)
			c.text += e.Text
		}
		if e.Kind == inference.EventDone {
			c.usage = *e.Usage
		}
	}
	return c, nil
}

func mustProceed(t *testing.T, m inference.Model, text string, maxTokens int) continued {
	t.Helper()
	c, err := proceed(t.Context(), m, inference.Prompt{Text: text}, maxTokens)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A smaller vocabulary needs several tokens for a Korean word, and ids of 16
// bits would wrap.
func testGemmaVocabulary(t *testing.T, m inference.Model) {
	if v := m.Info().Vocabulary; v != 262144 {
		t.Fatalf("the vocabulary has %d tokens", v)
	}
	if c := mustProceed(t, m, "대한민국의 수도는", 1); c.usage.PromptTokens != 6 {
		t.Errorf("the prompt has %d tokens, want BOS and 5", c.usage.PromptTokens)
	}
	if _, err := proceed(t.Context(), m, inference.Prompt{Tokens: []int32{2, 262143}}, 1); err != nil {
		t.Errorf("the last token: %v", err)
	}
	_, err := proceed(t.Context(), m, inference.Prompt{Tokens: []int32{2, 262144}}, 1)
	if err == nil || !strings.Contains(err.Error(), "262144") {
		t.Errorf("a token past the last: %v", err)
	}
}

func testGemmaKorean(t *testing.T, m inference.Model) {
	c := mustProceed(t, m, "질문: 대한민국의 수도는 어디입니까?\n답:", 8)
	if !strings.Contains(c.text, "서울") {
		t.Errorf("the capital of Korea is %q", c.text)
	}
	// The vocabulary has two of these three syllables only as single bytes: a
	// stream that sends each token as it comes would break them.
	const rare = "뷁꿹쬽"
	c = mustProceed(t, m, strings.TrimSpace(strings.Repeat(rare+" ", 6)), 24)
	for _, piece := range c.pieces {
		if !utf8.ValidString(piece) || strings.ContainsRune(piece, utf8.RuneError) {
			t.Errorf("broken piece %q", piece)
		}
	}
	if strings.Count(c.text, rare) < 2 || len(c.pieces) >= c.usage.CompletionTokens {
		t.Errorf("%d pieces of %d tokens: %q", len(c.pieces), c.usage.CompletionTokens, c.text)
	}
}

// What the prompt says first is out of every window when the end is read; only
// the layers without one can tell it. Read in other pieces, beside an answer
// that is being written, the prompt gets the same continuation.
func testGemmaWindow(t *testing.T, m inference.Model) {
	var prompt strings.Builder
	prompt.WriteString("The password of the harbour is \"violet-7391\".\n")
	for day := range 28 {
		fmt.Fprintf(&prompt, "Day %d: the sea was calm, the wind came from the north, and we sailed %d miles. ", day+1, 100+day*37%50)
	}
	prompt.WriteString("\nThe password of the harbour is \"")
	alone := mustProceed(t, m, prompt.String(), 16)
	if alone.usage.PromptTokens <= 512+100 {
		t.Fatalf("the prompt has %d tokens: hardly more than the window", alone.usage.PromptTokens)
	}
	if !strings.HasPrefix(alone.text, "violet-7391\"") {
		t.Errorf("%d tokens later the password is %q", alone.usage.PromptTokens, alone.text)
	}
	stop := keepBusy(t, m)
	defer stop()
	if beside := mustProceed(t, m, prompt.String(), 16); beside.text != alone.text {
		t.Errorf("beside another answer it continues %q, alone %q", beside.text, alone.text)
	}
}

// keepBusy has the model write an endless answer until stop is called; it
// returns when that is under way.
func keepBusy(t *testing.T, m inference.Model) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	writing, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		params := inference.DefaultParams()
		params.Temperature, params.IgnoreEOS = 0, true
		first := true
		for e, err := range m.Generate(ctx, &inference.Request{ID: "busy", Prompt: &inference.Prompt{Text: "One, two, three,"}, Params: params}) {
			if err != nil {
				break
			}
			if first && e.Text != "" {
				first = false
				close(writing)
			}
		}
	}()
	select {
	case <-writing:
	case <-ended:
		t.Error("the endless answer ended before its first text")
	}
	return func() { cancel(); <-ended }
}

// Its file brings no chat template: ChatML is used, and that is said. What a
// client reads of a Korean stream is whole characters, the same text as without
// streaming.
func TestGemmaOverHTTP(t *testing.T) {
	pullGemma(t)
	s := startServer(t, gemma, "--context", "1024", "--sequences", "1")
	if !strings.Contains(s.errs.String(), "no chat template, ChatML is used") {
		t.Errorf("nobody was told that ChatML is used:\n%s", s.errs)
	}
	const fields = `{"messages":[{"role":"system","content":"한국어로 대답하세요."},{"role":"user","content":"대한민국의 수도는 어디입니까?"}],"temperature":0,"max_tokens":32`
	streamed := koreanStream(t, s.post(t.Context(), fields+`,"stream":true}`).Body)
	c := decode(t, s.post(t.Context(), fields+`}`))
	if len(c.Choices) != 1 || c.Choices[0].Message.Content != streamed {
		t.Errorf("streamed %q, at once %+v", streamed, c)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "ChatML") {
		t.Errorf("the answer's warnings: %q", c.Warnings)
	}
	if !strings.ContainsFunc(streamed, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }) {
		t.Errorf("no Korean in %q", streamed)
	}
}

// koreanStream puts a stream's text together and finds broken characters.
func koreanStream(t *testing.T, body io.Reader) string {
	t.Helper()
	var text strings.Builder
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil || !utf8.ValidString(data) {
			t.Fatalf("%v in %q", err, data)
		}
		for _, c := range chunk.Choices {
			if strings.ContainsRune(c.Delta.Content, utf8.RuneError) {
				t.Errorf("broken piece %q", c.Delta.Content)
			}
			text.WriteString(c.Delta.Content)
		}
	}
	return text.String()
}

func TestShowGemma(t *testing.T) {
	pullGemma(t)
	out, err := dureCommand(t, "show", gemma).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"gemma3", "18, of which 18 hold keys and values", "512 tokens in some layers", "18 KiB a token, 576.0 MiB for 32768", "262144 tokens", "tied to the output: true", "Q4_K_M"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	out, err = dureCommand(t, "show", gemma, "--json").Output()
	var g struct{ Layers []struct{ Window int } }
	if err := json.Unmarshal(out, &g); err != nil {
		t.Fatal(err)
	}
	if err != nil || len(g.Layers) != 18 {
		t.Fatalf("%v: %d layers", err, len(g.Layers))
	}
	for i, l := range g.Layers {
		if want := 512 * min(1, (i+1)%6); l.Window != want {
			t.Errorf("layer %d has a window of %d, want %d", i, l.Window, want)
		}
	}
}
