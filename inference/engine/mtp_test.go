package engine_test

import (
	"errors"
	"slices"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

// withMTP loads a model with the block that predicts further tokens, and makes both
// contexts.
func withMTP(t *testing.T, cfg synth.Config, change func(*engine.ContextOptions)) (*engine.Context, *engine.MTPContext) {
	t.Helper()
	cfg.MTP = 1
	m, err := enginetest.Library(t).LoadModel(t.Context(), engine.LoadOptions{Path: hybrid(t, cfg), MTP: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	opt := engine.ContextOptions{
		Cells: 4 * 256, Sequences: 4, Batch: 64, MicroBatch: 64, Outputs: 16, Threads: 1, FlashAttention: engine.FlashOff, Rollback: 3,
	}
	if change != nil {
		change(&opt)
	}
	c := newContext(t, m, opt)
	mtp, err := m.NewMTPContext(c, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mtp.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, mtp
}

// read has the MTP context read tokens of a sequence with the hidden rows of the
// places before, and returns the last row's logits.
func read(t *testing.T, c *engine.MTPContext, seq, from int, tokens []engine.Token, before [][]float32) []float32 {
	t.Helper()
	b := c.NewBatch()
	defer b.Close()
	for i, tok := range tokens {
		if err := b.Add(tok, before[i], from+i, seq, i == len(tokens)-1); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Decode(b); err != nil {
		t.Fatal(err)
	}
	logits, err := c.Logits(len(tokens) - 1)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(logits)
}

// hiddens of a prompt that the main context reads.
func hiddens(t *testing.T, c *engine.Context, seq int, tokens []engine.Token) (rows [][]float32) {
	t.Helper()
	prompt(t, c, seq, tokens)
	for i := range tokens {
		h, err := c.Hidden(i)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, slices.Clone(h))
	}
	return rows
}

func most(logits []float32) engine.Token {
	return engine.Token(slices.Index(logits, slices.Max(logits)))
}

// In a model that follows a chain, the block guesses the token behind the next.
func TestMTPGuessesFurtherTokens(t *testing.T) {
	c, mtp := withMTP(t, synth.Config{Chain: true, Noise: 0.1}, nil)
	text := []engine.Token{20, 21, 300, 301, 302}
	h := hiddens(t, c, 0, text)
	if guess := most(read(t, mtp, 0, 1, append(text[1:], 303), h)); guess != 304 {
		t.Errorf("guessed %d, want 304", guess)
	}
	row, err := mtp.Hidden(len(text) - 1)
	if err != nil {
		t.Fatal(err)
	}
	if guess := most(read(t, mtp, 0, len(text)+1, []engine.Token{304}, [][]float32{slices.Clone(row)})); guess != 305 {
		t.Errorf("then guessed %d, want 305", guess)
	}
}

// What the block says of a text does not depend on how it was read: at once, in
// pieces, again after tokens were taken back, beside others.
func TestMTPReadsInPieces(t *testing.T) {
	for _, unified := range []bool{false, true} {
		c, mtp := withMTP(t, synth.Config{}, func(o *engine.ContextOptions) { o.Unified = unified })
		text := []engine.Token{20, 27, 34, 41, 48, 55, 62, 69}
		h := hiddens(t, c, 0, text)
		next := append(slices.Clone(text[1:]), 90)
		want := read(t, mtp, 0, 1, next, h)
		read(t, mtp, 1, 1, next[:3], h[:3])
		read(t, mtp, 1, 4, []engine.Token{5, 6}, h[:2])
		if err := mtp.Remove(1, 4, engine.All); err != nil {
			t.Fatal(err)
		}
		if d := maxDiff(read(t, mtp, 1, 4, next[3:], h[3:]), want); d > 1e-4 {
			t.Errorf("unified %v: in pieces, logits differ by %g", unified, d)
		}
		// With places left out it still answers.
		read(t, mtp, 2, 50, next[:2], h[:2])
		read(t, mtp, 2, 80, next[:2], h[:2])
	}
}

// Hidden rows belong to the rows of the batch, also where several sequences have
// several rows each.
func TestHiddenRowsAreThoseOfTheBatch(t *testing.T) {
	for _, unified := range []bool{false, true} {
		c, _ := withMTP(t, synth.Config{}, func(o *engine.ContextOptions) { o.Unified = unified })
		text := []engine.Token{20, 27, 34, 41, 48, 55}
		want := hiddens(t, c, 3, text)
		for seq := range 3 {
			prompt(t, c, seq, text[:1+seq])
		}
		var rows []row
		for seq := range 3 {
			for p := 1 + seq; p < min(len(text), 4+seq); p++ {
				rows = append(rows, row{text[p], p, seq, true})
			}
		}
		if err := decode(t, c, rows...); err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			got, err := c.Hidden(i)
			if err != nil {
				t.Fatal(err)
			}
			if d := maxDiff(got, want[r.pos]); d > 1e-3 {
				t.Errorf("unified %v: row %d of sequence %d differs by %g", unified, i, r.seq, d)
			}
		}
		mixed := []row{{7, 6, 0, false}, {7, 6, 1, true}}
		if err := decode(t, c, mixed...); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Hidden(0); !errors.Is(err, engine.ErrBatch) {
			t.Errorf("rows of no known order: %v", err)
		}
		if _, err := c.Hidden(2); !errors.Is(err, engine.ErrBatch) {
			t.Errorf("a row beyond the batch: %v", err)
		}
	}
}

func TestMTPIsRefusedWhereThereIsNone(t *testing.T) {
	opt := engine.ContextOptions{Cells: 512, Sequences: 2, Batch: 64, MicroBatch: 64, Outputs: 2, Threads: 1}
	for name, m := range map[string]*engine.Model{
		"no block for it":    enginetest.Load(t, enginetest.Llama(t, synth.Config{})),
		"loaded without":     enginetest.Load(t, hybrid(t, synth.Config{MTP: 1})),
		"more than one":      enginetest.Load(t, hybrid(t, synth.Config{MTP: 2})),
		"hybrid without any": enginetest.Load(t, hybrid(t, synth.Config{})),
	} {
		c := newContext(t, m, opt)
		if _, err := m.NewMTPContext(c, opt); !errors.Is(err, engine.ErrMTP) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Hidden(0); !errors.Is(err, engine.ErrMTP) {
			t.Errorf("%s: hidden rows: %v", name, err)
		}
	}
	_, mtp := withMTP(t, synth.Config{}, nil)
	b := mtp.NewBatch()
	defer b.Close()
	if err := b.Add(5, make([]float32, mtp.Width()-1), 0, 0, true); !errors.Is(err, engine.ErrBatch) {
		t.Errorf("a short hidden row: %v", err)
	}
}
