package llm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

// start serves a model file with a configuration that suits small tests.
func start(t *testing.T, path string, change func(*llm.Config)) *llm.LLM {
	t.Helper()
	cfg := llm.Config{Name: "test", Context: 512, Sequences: 2, Queue: 2, Threads: 1, FlashAttention: engine.FlashOff}
	if change != nil {
		change(&cfg)
	}
	l, err := llm.New(enginetest.Load(t, path), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func tiny(t *testing.T, change func(*llm.Config)) *llm.LLM {
	return start(t, enginetest.Llama(t, synth.Config{}), change)
}

// ask builds a greedy request of one user message.
func ask(id, text string, maxTokens int) *inference.Request {
	return &inference.Request{ID: id, Messages: []inference.Message{{Role: inference.RoleUser, Content: text}},
		Params: inference.Params{MaxTokens: maxTokens, TopP: 1}}
}

// answer is a whole stream.
type answer struct {
	text   string
	finish inference.FinishReason
	usage  inference.Usage
}

func collect(ctx context.Context, m inference.Model, req *inference.Request) (a answer, err error) {
	var b strings.Builder
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			return answer{text: b.String()}, err
		}
		b.WriteString(ev.Text)
		if ev.Kind == inference.EventDone {
			a.finish, a.usage = ev.Finish, *ev.Usage
		}
	}
	a.text = b.String()
	return a, nil
}

func mustCollect(t *testing.T, m inference.Model, req *inference.Request) answer {
	t.Helper()
	a, err := collect(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRealModelAnswers(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	a := mustCollect(t, l, ask("r", "What is the capital of France? Answer in one word.", 16))
	if !strings.Contains(a.text, "Paris") || a.finish != inference.FinishStop {
		t.Errorf("got %q, finish %s", a.text, a.finish)
	}
	if a.usage.PromptTokens < 20 || a.usage.CompletionTokens == 0 || a.usage.CachedTokens != 0 || a.usage.DecodeMS <= 0 {
		t.Errorf("usage %+v", a.usage)
	}
}

func TestLimits(t *testing.T) {
	l := tiny(t, nil)
	long := ask("long", "hi", 0)
	long.Params.IgnoreEOS = true
	a := mustCollect(t, l, long)
	if a.finish != inference.FinishLength || a.usage.PromptTokens+a.usage.CompletionTokens != l.Info().Context {
		t.Errorf("up to the end of the context: finish %s, usage %+v, context %d", a.finish, a.usage, l.Info().Context)
	}
	short := ask("short", "hi", 5)
	short.Params.IgnoreEOS = true
	if a := mustCollect(t, l, short); a.finish != inference.FinishLength || a.usage.CompletionTokens != 5 {
		t.Errorf("max_tokens 5: %+v", a)
	}
}

func TestPromptOverTheContextIsRefusedAndNamesTheLargestMessage(t *testing.T) {
	l := tiny(t, nil)
	req := ask("big", "short", 5)
	req.Messages = append(req.Messages, inference.Message{Role: inference.RoleAssistant, Content: strings.Repeat("word ", 600)},
		inference.Message{Role: inference.RoleUser, Content: "end"})
	_, err := collect(t.Context(), l, req)
	var e *inference.Error
	if !errors.As(err, &e) || e.Code != inference.CodeContextExceeded {
		t.Fatal(err)
	}
	if e.PromptTokens <= e.ContextTokens || e.ContextTokens != l.Info().Context || !strings.Contains(e.Message, "messages[1] (assistant)") {
		t.Errorf("%+v", e)
	}
}

func TestBadRequests(t *testing.T) {
	l := tiny(t, nil)
	for name, change := range map[string]func(*inference.Request){
		"no messages": func(r *inference.Request) { r.Messages = nil },
		"temperature": func(r *inference.Request) { r.Params.Temperature = -1 },
		"empty stop":  func(r *inference.Request) { r.Params.Stop = []string{""} },
	} {
		req := ask(name, "hi", 4)
		change(req)
		if _, err := collect(t.Context(), l, req); !errors.Is(err, inference.ErrInvalidRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStopStringEndsTheAnswerBeforeIt(t *testing.T) {
	l := start(t, enginetest.DemoModel(t), nil)
	req := ask("s", "Count from 1 to 10, separated by commas.", 60)
	whole := mustCollect(t, l, req).text
	at := len(whole) / 2
	stop := whole[at : at+5]
	req.Params.Stop = []string{stop}
	a := mustCollect(t, l, req)
	if want := whole[:strings.Index(whole, stop)]; a.text != want || a.finish != inference.FinishStop {
		t.Errorf("with stop %q got %q (%s), want %q", stop, a.text, a.finish, want)
	}
	mustCollect(t, l, ask("after", "hi", 3)) // the sequence was given back
}

func TestSeedDecidesTheText(t *testing.T) {
	l := tiny(t, func(c *llm.Config) { c.Sequences = 1 })
	draw := func(seed uint64) string {
		req := ask("seed", "hello", 40)
		req.Params = inference.Params{Temperature: 1, TopP: 1, Seed: seed, MaxTokens: 40, IgnoreEOS: true}
		return mustCollect(t, l, req).text
	}
	if a, b := draw(1), draw(1); a != b {
		t.Errorf("one seed, two texts: %q and %q", a, b)
	}
	if a, b := draw(1), draw(2); a == b {
		t.Errorf("two seeds, one text: %q", a)
	}
}

// endless is a request that goes on until it is cancelled.
func endless(id string) *inference.Request {
	req := ask(id, "go on", 0)
	req.Params.IgnoreEOS = true
	return req
}

// run starts a request and returns once it is admitted.
func run(t *testing.T, l *llm.LLM, req *inference.Request) (cancel func(), ended <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	admitted, end := make(chan struct{}), make(chan error, 1)
	go func() {
		var once sync.Once
		defer once.Do(func() { close(admitted) })
		for _, err := range l.Generate(ctx, req) {
			once.Do(func() { close(admitted) })
			if err != nil {
				end <- err
				return
			}
		}
		end <- nil
	}()
	<-admitted
	return stop, end
}

func TestQueueFullSaysWhenToComeBack(t *testing.T) {
	l := tiny(t, func(c *llm.Config) { c.Context, c.Queue = 2048, 1 })
	var stops []func()
	for i := range 3 { // two run, one waits
		cancel, ended := run(t, l, endless(fmt.Sprint(i)))
		stops = append(stops, func() { cancel(); <-ended })
	}
	_, err := collect(t.Context(), l, endless("one too many"))
	var e *inference.Error
	if !errors.As(err, &e) || e.Code != inference.CodeQueueFull || e.RetryAfter <= 0 {
		t.Fatal(err)
	}
	for _, stop := range stops {
		stop()
	}
	mustCollect(t, l, ask("later", "hi", 2))
	if s := l.Stats(); s.Rejected != 1 {
		t.Errorf("rejected %d", s.Rejected)
	}
}

// A cancel takes effect within one step wherever the request is, and the
// sequence is free afterwards.
func TestCancelEverywhere(t *testing.T) {
	l := tiny(t, func(c *llm.Config) { c.Context, c.Sequences, c.Queue = 2048, 1, 4 })
	stopRunning, ended := run(t, l, endless("decoding"))
	for l.Stats().DecodedTokens == 0 { // admitted is not yet decoding
		time.Sleep(time.Millisecond)
	}
	stopWaiting, waitEnded := run(t, l, endless("waiting"))
	stopWaiting()
	if err := <-waitEnded; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
	stopRunning()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while decoding: %v", err)
	}
	stopPrefill, prefillEnded := run(t, l, ask("prefill", strings.Repeat("long prompt ", 150), 1))
	stopPrefill()
	<-prefillEnded
	a := mustCollect(t, l, ask("after", "hi", 3)) // only the freed sequence can serve it
	if a.usage.CompletionTokens == 0 {
		t.Error("no answer after the cancels")
	}
	s := l.Stats()
	// The third one is met while it waits or while its prompt is read.
	if s.CancelledQueued < 1 || s.CancelledDecode != 1 || s.CancelledQueued+s.CancelledPrefill != 2 || s.MaxCancelSteps > 1 {
		t.Errorf("stats %+v", s)
	}
	if s.Decoding+s.Prefilling+s.Waiting+s.Blocked != 0 {
		t.Errorf("something is left: %+v", s)
	}
}

func TestLeavingTheRangeCancels(t *testing.T) {
	l := tiny(t, func(c *llm.Config) { c.Context, c.Sequences, c.Queue = 2048, 1, 0 })
	n := 0
	for _, err := range l.Generate(t.Context(), endless("left")) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 5 {
			break
		}
	}
	mustCollect(t, l, ask("next", "hi", 3)) // Queue 0: admitted only if the slot is free again
}

// A reader that stops reading pauses its own sequence only, and loses nothing.
func TestSlowReaderPausesAloneAndLosesNothing(t *testing.T) {
	l := tiny(t, func(c *llm.Config) { c.Context = 2048 })
	want := mustCollect(t, l, endless("alone")).text
	gate := make(chan struct{})
	got := make(chan string, 1)
	go func() {
		var b strings.Builder
		for ev, err := range l.Generate(t.Context(), endless("slow")) {
			if err != nil {
				t.Error(err)
			}
			if ev.Kind == inference.EventStarted {
				<-gate
			}
			b.WriteString(ev.Text)
		}
		got <- b.String()
	}()
	// On a fast machine the whole answer may fit into what waits for a reader.
	for i := 0; i < 300 && l.Stats().Stalls == 0; i++ {
		mustCollect(t, l, ask("other", "hi", 20)) // others are served meanwhile
	}
	close(gate)
	if text := <-got; text != want {
		t.Errorf("the slow reader got %d bytes, want %d", len(text), len(want))
	}
}

// Readers that are slow give their sequences to others, and get them back.
func TestSlowReadersKeepNobodyOut(t *testing.T) {
	l := tiny(t, func(c *llm.Config) { c.Context, c.Sequences, c.CacheRAM = 2048, 2, 64<<20 })
	want := mustCollect(t, l, endless("alone")).text
	gate, begun := make(chan struct{}), make(chan struct{}, 2)
	got := make(chan string, 2)
	for range 2 {
		go func() {
			var b strings.Builder
			for ev, err := range l.Generate(t.Context(), endless("slow")) {
				if err != nil {
					t.Error(err)
				}
				if ev.Kind == inference.EventStarted {
					begun <- struct{}{}
					<-gate
				}
				b.WriteString(ev.Text)
			}
			got <- b.String()
		}()
		<-begun
	}
	// On a fast machine a whole answer may fit into what waits for a reader.
	stuck := false
	for range 300 {
		if stuck = l.Stats().Blocked == 2; stuck {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only to fail without hanging
	defer cancel()
	for range 3 {
		if _, err := collect(ctx, l, ask("other", "hi", 20)); err != nil {
			t.Errorf("beside slow readers: %v", err)
		}
	}
	if stuck && l.Stats().Parked == 0 {
		t.Error("no slow reader gave its sequence away")
	}
	close(gate)
	for range 2 {
		if text := <-got; text != want {
			t.Errorf("a slow reader got %d bytes, want %d", len(text), len(want))
		}
	}
}

func TestCloseEndsRunningRequestsWithATypedError(t *testing.T) {
	l := tiny(t, func(c *llm.Config) { c.Context, c.Sequences = 2048, 1 })
	_, running := run(t, l, endless("running"))
	_, waiting := run(t, l, endless("waiting"))
	l.Close()
	for _, ended := range []<-chan error{running, waiting} {
		if err := <-ended; !errors.Is(err, inference.ErrShuttingDown) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := collect(t.Context(), l, ask("late", "hi", 1)); !errors.Is(err, inference.ErrShuttingDown) {
		t.Errorf("after close: %v", err)
	}
}

// tap collects the logits of every request by position.
type tap struct {
	mu   sync.Mutex
	rows map[string]map[int][]float32
}

func (p *tap) see(id string, pos int, logits []float32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows[id] == nil {
		p.rows[id] = map[int][]float32{}
	}
	p.rows[id][pos] = append([]float32(nil), logits...)
}

var prompts = []string{
	"What is the capital of France?", "Write a haiku about rice fields.", "Explain gravity to a child.",
	"두레는 무엇인가요?", "List three prime numbers.", "Translate 'good morning' to Spanish.",
	"Who wrote Hamlet?", "Describe the colour blue in two sentences, without naming any object.",
}

// Eight requests at once give what each gives alone, but for float noise. With
// quantised weights the engine rounds what it computes by pieces, so that prompts
// read in other pieces give other logits; only the model without is compared by
// them.
func TestNeighboursDoNotChangeTheAnswer(t *testing.T) {
	for _, tc := range []struct {
		model string
		flash engine.FlashAttention
		same  func(t *testing.T, solo, together []float32) (comparable bool)
	}{
		{enginetest.Llama(t, synth.Config{Context: 512}), engine.FlashOff, func(t *testing.T, a, b []float32) bool {
			if d := maxDiff(a, b); d > 1e-3 {
				t.Errorf("logits differ by %g", d)
			}
			return true
		}},
		{enginetest.DemoModel(t), engine.FlashOn, func(t *testing.T, a, b []float32) bool {
			if kl := enginetest.Divergence(a, b); kl > 2e-3 {
				t.Errorf("KL divergence %g", kl)
			}
			return top2Gap(a) > 0.5
		}},
	} {
		t.Run("flash "+string(tc.flash), func(t *testing.T) {
			seen := &tap{rows: map[string]map[int][]float32{}}
			l := start(t, tc.model, func(c *llm.Config) {
				c.Sequences, c.Context, c.Queue, c.FlashAttention, c.Tap = 8, 256, 8, tc.flash, seen.see
			})
			const n = 24
			for i, p := range prompts {
				mustCollect(t, l, ask(fmt.Sprint("solo", i), p, n))
			}
			var wg sync.WaitGroup
			for i, p := range prompts {
				wg.Go(func() {
					if _, err := collect(t.Context(), l, ask(fmt.Sprint("together", i), p, n)); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for i := range prompts {
				compareUntilTheyMayPart(t, seen.rows[fmt.Sprint("solo", i)], seen.rows[fmt.Sprint("together", i)], tc.same)
			}
		})
	}
}

// compareUntilTheyMayPart compares rows position by position; after a row whose
// best two tokens are near a tie the two runs may go on with different tokens.
func compareUntilTheyMayPart(t *testing.T, solo, together map[int][]float32, same func(*testing.T, []float32, []float32) bool) {
	t.Helper()
	first := math.MaxInt
	for pos := range solo {
		first = min(first, pos)
	}
	compared := 0
	for pos := first; solo[pos] != nil && together[pos] != nil; pos++ {
		compared++
		decided := same(t, solo[pos], together[pos])
		if argmax(solo[pos]) != argmax(together[pos]) {
			if decided {
				t.Errorf("position %d: greedy tokens differ although the gap is clear", pos)
			}
			break
		}
	}
	if compared < 3 {
		t.Errorf("only %d rows compared", compared)
	}
}

func maxDiff(a, b []float32) (d float64) {
	for i := range a {
		d = max(d, math.Abs(float64(a[i]-b[i])))
	}
	return d
}

func argmax(a []float32) (best int) {
	for i := range a {
		if a[i] > a[best] {
			best = i
		}
	}
	return best
}

func top2Gap(a []float32) float32 {
	best := argmax(a)
	second := float32(math.Inf(-1))
	for i := range a {
		if i != best {
			second = max(second, a[i])
		}
	}
	return a[best] - second
}
