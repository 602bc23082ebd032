package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

// open makes a context for the tiny model on this test's thread.
func open(t *testing.T, change func(*engine.ContextOptions)) (*engine.Model, *engine.Context) {
	t.Helper()
	m := enginetest.Load(t, enginetest.Llama(t, synth.Config{}))
	opt := engine.ContextOptions{Cells: 1024, Sequences: 4, Batch: 64, MicroBatch: 64, Outputs: 4, Threads: 2, FlashAttention: engine.FlashOff}
	if change != nil {
		change(&opt)
	}
	return m, newContext(t, m, opt)
}

func newContext(t *testing.T, m *engine.Model, opt engine.ContextOptions) *engine.Context {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	c, err := m.NewContext(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

type row struct {
	token    engine.Token
	pos, seq int
	output   bool
}

func decode(t *testing.T, c *engine.Context, rows ...row) error {
	t.Helper()
	b := c.NewBatch()
	defer b.Close()
	for _, r := range rows {
		if err := b.Add(r.token, r.pos, r.seq, r.output); err != nil {
			return err
		}
	}
	return c.Decode(b)
}

// prompt decodes tokens as a new sequence and returns the last row of logits.
func prompt(t *testing.T, c *engine.Context, seq int, tokens []engine.Token) []float32 {
	t.Helper()
	var rows []row
	for i, tok := range tokens {
		rows = append(rows, row{tok, i, seq, i == len(tokens)-1})
	}
	if err := decode(t, c, rows...); err != nil {
		t.Fatal(err)
	}
	logits, err := c.Logits(len(rows) - 1)
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32(nil), logits...)
}

func maxDiff(a, b []float32) float64 {
	var d float64
	for i := range a {
		d = max(d, math.Abs(float64(a[i]-b[i])))
	}
	return d
}

func TestOpenExplainsWhatIsWrong(t *testing.T) {
	enginetest.Library(t)
	if _, err := engine.Open(t.TempDir(), nil); !errors.Is(err, engine.ErrLibrary) {
		t.Fatalf("a second directory: %v", err)
	}
}

func TestDevicesAndVersion(t *testing.T) {
	lib := enginetest.Library(t)
	if v := lib.Version(); !strings.HasPrefix(v, "0.5.0") {
		t.Errorf("version %q", v)
	}
	var cpu bool
	for _, d := range lib.Devices() {
		cpu = cpu || d.Kind == "cpu"
	}
	if !cpu {
		t.Errorf("no CPU among %+v", lib.Devices())
	}
}

func TestLoadErrors(t *testing.T) {
	lib := enginetest.Library(t)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, err := os.ReadFile(enginetest.Llama(t, synth.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ path, want string }{
		"missing":   {filepath.Join(dir, "none.gguf"), "no such file"},
		"directory": {dir, "not a GGUF file"},
		"empty":     {write("empty.gguf", nil), "not a GGUF file"},
		"text":      {write("text.gguf", []byte("hello, world")), "begins with"},
		"truncated": {write("cut.gguf", whole[:len(whole)/2]), "cut.gguf"},
		"header":    {write("header.gguf", whole[:64]), "header.gguf"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := lib.LoadModel(t.Context(), engine.LoadOptions{Path: tc.path})
			if !errors.Is(err, engine.ErrLoad) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want a load error with %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "gave no reason") {
				t.Errorf("the error does not say why: %v", err)
			}
		})
	}
}

func TestLoadReportsProgressAndCancels(t *testing.T) {
	lib := enginetest.Library(t)
	path := enginetest.Llama(t, synth.Config{})
	var seen []float32
	m, err := lib.LoadModel(t.Context(), engine.LoadOptions{Path: path, Progress: func(p float32) { seen = append(seen, p) }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if len(seen) == 0 || seen[len(seen)-1] != 1 {
		t.Errorf("progress %v should end at 1", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = lib.LoadModel(ctx, engine.LoadOptions{Path: path, Progress: func(float32) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled load: %v", err)
	}
	again, err := lib.LoadModel(t.Context(), engine.LoadOptions{Path: path})
	if err != nil {
		t.Fatalf("load after a cancelled one: %v", err)
	}
	again.Close()
}

func TestTokensRoundTrip(t *testing.T) {
	m := enginetest.Load(t, enginetest.Llama(t, synth.Config{}))
	for _, text := range []string{"", "hello", "두레 농사", "🌾👩‍🌾", "a\x00b", "\xff\xfe broken", strings.Repeat("long ", 4000)} {
		tokens, err := m.Tokenize(t.Context(), text, false, false)
		if err != nil {
			t.Fatal(err)
		}
		var back []byte
		for _, tok := range tokens {
			back = append(back, m.Vocabulary().Piece(tok, false)...)
		}
		want := text
		if strings.Contains(text, "\xff") {
			continue // the tokeniser replaces invalid UTF-8; it only must not fail
		}
		if string(back) != want {
			t.Errorf("%.20q came back as %.20q", want, back)
		}
	}
}

// A long text is cut in front of control tokens; the tokens are those of the
// whole, and a conversation of many thousand messages takes no minutes.
func TestLongTextsAreTokenisedInPieces(t *testing.T) {
	m := enginetest.Load(t, enginetest.DemoModel(t))
	turn := func(i int) string {
		return fmt.Sprintf("<|im_start|>user\n%s %d 두레<|im_end|>\n", strings.Repeat("some words, ", i%40), i)
	}
	var all strings.Builder
	var want []engine.Token
	for i := range 400 {
		all.WriteString(turn(i))
		part, err := m.Tokenize(t.Context(), turn(i), false, true) // short: in one piece
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, part...)
	}
	got, err := m.Tokenize(t.Context(), all.String(), false, true)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d tokens, want %d, %v", len(got), len(want), err)
	}
	many := strings.Repeat("<|im_start|>user\n<|im_end|>\n", 20_000)
	if got, err := m.Tokenize(t.Context(), many, false, true); err != nil || len(got) != 100_000 {
		t.Errorf("%d tokens, %v", len(got), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Tokenize(ctx, many, false, true); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestContextOptionsThatAbortAreRefused(t *testing.T) {
	m := enginetest.Load(t, enginetest.Llama(t, synth.Config{}))
	good := engine.ContextOptions{Cells: 256, Sequences: 4, Batch: 32, MicroBatch: 32, Outputs: 4, Threads: 1}
	for name, change := range map[string]func(*engine.ContextOptions){
		"outputs < sequences": func(o *engine.ContextOptions) { o.Outputs = 3 },
		"no sequences":        func(o *engine.ContextOptions) { o.Sequences = 0 },
		"too many sequences":  func(o *engine.ContextOptions) { o.Sequences, o.Cells, o.Outputs, o.Batch = 257, 4096, 257, 512 },
		"no cells":            func(o *engine.ContextOptions) { o.Cells = 0 },
		"micro > batch":       func(o *engine.ContextOptions) { o.MicroBatch = 64 },
		"no threads":          func(o *engine.ContextOptions) { o.Threads = 0 },
		"attention":           func(o *engine.ContextOptions) { o.FlashAttention = "maybe" },
	} {
		opt := good
		change(&opt)
		if c, err := m.NewContext(opt); !errors.Is(err, engine.ErrLoad) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				c.Close()
			}
		}
	}
}

// Each of these aborts the process when it reaches the engine.
func TestBatchesThatAbortAreRefused(t *testing.T) {
	m, c := open(t, nil)
	tooMany := make([]row, 65)
	outputs := make([]row, 5)
	for i := range tooMany {
		tooMany[i] = row{5, i, 0, false}
	}
	for i := range outputs {
		outputs[i] = row{5, i, 0, true}
	}
	vocabulary := engine.Token(m.Facts().Vocabulary)
	for name, rows := range map[string][]row{
		"more rows than n_batch":      tooMany,
		"more outputs than n_outputs": outputs,
		"no rows":                     nil,
		"sequence beyond n_seq_max":   {{5, 0, 4, true}},
		"negative sequence":           {{5, 0, -1, true}},
		"token beyond the vocabulary": {{vocabulary, 0, 0, true}},
		"negative token":              {{-1, 0, 0, true}},
		"negative position":           {{5, -1, 0, true}},
	} {
		if err := decode(t, c, rows...); !errors.Is(err, engine.ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Logits(0); err == nil {
		t.Error("logits before any decode")
	}
	prompt(t, c, 0, []engine.Token{5, 6, 7}) // the context still works
	if _, err := c.Logits(0); err == nil {
		t.Error("logits of a row that asked for none")
	}
}

func TestSequenceOperationsThatAbortAreRefused(t *testing.T) {
	_, c := open(t, nil) // separate pools
	prompt(t, c, 0, []engine.Token{5, 6, 7, 8})
	if err := c.Copy(0, 1, 0, 2); !errors.Is(err, engine.ErrSequence) {
		t.Errorf("ranged copy between separate pools: %v", err)
	}
	for _, seq := range []int{-1, 4} {
		if err := c.Remove(seq, 0, -1); !errors.Is(err, engine.ErrSequence) {
			t.Errorf("remove of sequence %d: %v", seq, err)
		}
		if err := c.Copy(0, seq, 0, -1); !errors.Is(err, engine.ErrSequence) {
			t.Errorf("copy to sequence %d: %v", seq, err)
		}
		if _, err := c.State(nil, seq, engine.StateWhole); !errors.Is(err, engine.ErrSequence) {
			t.Errorf("state of sequence %d: %v", seq, err)
		}
	}
	if err := c.SetState([]byte("not a state"), 1, engine.StateWhole); !errors.Is(err, engine.ErrState) {
		t.Errorf("set of a broken state: %v", err)
	}
	if err := c.SetState(nil, 1, engine.StateWhole); !errors.Is(err, engine.ErrState) {
		t.Errorf("set of no state: %v", err)
	}
}

func TestPoolFullLeavesTheContextUsable(t *testing.T) {
	_, c := open(t, func(o *engine.ContextOptions) { o.Cells, o.Unified, o.Sequences, o.Outputs = 256, true, 2, 2 })
	long := make([]engine.Token, 60)
	for i := range long {
		long[i] = engine.Token(10 + i)
	}
	fill := func(seq, from int) error {
		var rows []row
		for i, tok := range long {
			rows = append(rows, row{tok, from + i, seq, false})
		}
		return decode(t, c, rows...)
	}
	var err error
	pos := 0
	for ; err == nil && pos < 1000; pos += len(long) {
		err = fill(0, pos)
	}
	if !errors.Is(err, engine.ErrPoolFull) {
		t.Fatalf("after %d tokens: %v", pos, err)
	}
	end, err := c.End(0)
	if err != nil || end != pos-len(long) {
		t.Fatalf("sequence ends at %d, %v; want %d", end, err, pos-len(long))
	}
	if err := c.Remove(0, engine.All, engine.All); err != nil {
		t.Fatal(err)
	}
	prompt(t, c, 1, long)
}

// After a copy or a state move a sequence gives the logits of the one it came
// from: to the bit in separate pools, within the noise of another order of
// summation where the new cell lies elsewhere in a shared pool.
func TestCopyAndStateAreExact(t *testing.T) {
	tokens := []engine.Token{40, 41, 42, 43, 44, 45, 46}
	for unified, allowed := range map[bool]float64{false: 0, true: 1e-4} {
		_, c := open(t, func(o *engine.ContextOptions) { o.Unified = unified })
		prompt(t, c, 0, tokens)
		next := func(seq int) []float32 {
			if err := decode(t, c, row{50, len(tokens), seq, true}); err != nil {
				t.Fatal(err)
			}
			l, err := c.Logits(0)
			if err != nil {
				t.Fatal(err)
			}
			return append([]float32(nil), l...)
		}
		if err := c.Copy(0, 1, engine.All, engine.All); err != nil {
			t.Fatal(err)
		}
		blob, err := c.State(nil, 0, engine.StateWhole)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetState(blob, 2, engine.StateWhole); err != nil {
			t.Fatal(err)
		}
		want := next(0)
		for seq := 1; seq <= 2; seq++ {
			if d := maxDiff(want, next(seq)); d > allowed {
				t.Errorf("unified=%v: sequence %d differs by %g", unified, seq, d)
			}
		}
	}
}

// The row of a sequence does not depend on what else is in the batch.
func TestNeighboursDoNotChangeLogits(t *testing.T) {
	_, c := open(t, func(o *engine.ContextOptions) { o.Sequences, o.Cells, o.Outputs = 8, 8*256, 8 })
	prompts := make([][]engine.Token, 8)
	solo := make([][]float32, 8)
	for s := range prompts {
		for i := range 3 + s*5 {
			prompts[s] = append(prompts[s], engine.Token(3+(s*37+i*11)%250))
		}
		solo[s] = prompt(t, c, s, prompts[s])
		if err := c.Remove(s, engine.All, engine.All); err != nil {
			t.Fatal(err)
		}
	}
	for s := range prompts { // all but the last token, one sequence after the other
		var rows []row
		for i, tok := range prompts[s][:len(prompts[s])-1] {
			rows = append(rows, row{tok, i, s, false})
		}
		if err := decode(t, c, rows...); err != nil {
			t.Fatal(err)
		}
	}
	var rows []row
	for s := range prompts { // then the last token of all, together
		last := len(prompts[s]) - 1
		rows = append(rows, row{prompts[s][last], last, s, true})
	}
	if err := decode(t, c, rows...); err != nil {
		t.Fatal(err)
	}
	for s := range prompts {
		l, err := c.Logits(s)
		if err != nil {
			t.Fatal(err)
		}
		if d := maxDiff(solo[s], l); d > 1e-3 {
			t.Errorf("sequence %d: logits differ by %g from its solo run", s, d)
		}
	}
}

func TestDecodeDoesNotAllocateWithContext(t *testing.T) {
	_, c := open(t, func(o *engine.ContextOptions) { o.Sequences, o.Outputs = 1, 1 })
	b := c.NewBatch()
	defer b.Close()
	pos := 0
	step := func() {
		b.Reset()
		if err := b.Add(40, pos, 0, true); err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(b); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Logits(0); err != nil {
			t.Fatal(err)
		}
		pos++
	}
	// The least of several: what the rest of the process allocates meanwhile is
	// counted too.
	least := func() float64 {
		n := testing.AllocsPerRun(20, step)
		for range 4 {
			n = min(n, testing.AllocsPerRun(20, step))
		}
		return n
	}
	early := least()
	for pos < 600 {
		step()
	}
	if late := least(); late > early {
		t.Errorf("a step allocates %.0f times at 600 tokens, %.0f at the start", late, early)
	}
}
