package engine_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

func hybrid(t *testing.T, cfg synth.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	var b bytes.Buffer
	if err := errors.Join(synth.Qwen35(&b, cfg), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// next decodes one token of a sequence and returns the logits.
func next(t *testing.T, c *engine.Context, token engine.Token, pos, seq int) []float32 {
	t.Helper()
	if err := decode(t, c, row{token, pos, seq, true}); err != nil {
		t.Fatal(err)
	}
	logits, err := c.Logits(0)
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32(nil), logits...)
}

// Tokens taken back leave nothing behind: the sequence, a copy made before it was
// computed again, a copy put over it, and its saved state go on as if they had never
// been there, while others decode.
func TestRollback(t *testing.T) {
	text := []engine.Token{20, 27, 34, 41, 48, 55, 62, 69, 76, 83}
	for _, unified := range []bool{false, true} {
		m := enginetest.Load(t, hybrid(t, synth.Config{}))
		c := newContext(t, m, engine.ContextOptions{
			Cells: 4 * 256, Sequences: 4, Batch: 64, MicroBatch: 64, Outputs: 16, Threads: 1, FlashAttention: engine.FlashOff, Unified: unified, Rollback: 3,
		})
		prompt(t, c, 3, text)
		want := next(t, c, 90, len(text), 3)
		other := next(t, c, 91, len(text)+1, 3)
		taken := func(seq int) { // three wrong guesses behind the text's last token, taken back
			prompt(t, c, seq, text[:len(text)-1])
			rows := []row{{text[len(text)-1], len(text) - 1, seq, true}, {5, len(text), seq, true}, {6, len(text) + 1, seq, true}, {7, len(text) + 2, seq, true}}
			if err := errors.Join(decode(t, c, rows...), c.Remove(seq, len(text), engine.All)); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string, seq int) {
			t.Helper()
			if d := maxDiff(next(t, c, 90, len(text), seq), want); d > 1e-4 {
				t.Errorf("unified %v, %s: logits differ by %g", unified, what, d)
			}
			if d := maxDiff(next(t, c, 91, len(text)+1, seq), other); d > 1e-4 {
				t.Errorf("unified %v, %s, a token on: logits differ by %g", unified, what, d)
			}
		}
		clear := func(seqs ...int) {
			for _, s := range seqs {
				if err := c.Remove(s, engine.All, engine.All); err != nil {
					t.Fatal(err)
				}
			}
		}
		taken(0)
		next(t, c, 12, len(text)+2, 3) // another one decodes meanwhile
		if err := c.Copy(0, 1, engine.All, engine.All); err != nil {
			t.Fatal(err)
		}
		check("the copy", 1)
		check("the sequence", 0)
		clear(0, 1)
		taken(1)
		saved, err := c.State(nil, 1, engine.StateWhole)
		if err != nil {
			t.Fatal(err)
		}
		clear(1)
		if err := c.SetState(saved, 2, engine.StateWhole); err != nil {
			t.Fatal(err)
		}
		check("the saved state", 2)
		clear(2)
		taken(0)
		if err := c.Remove(0, len(text)-1, engine.All); err == nil {
			t.Errorf("unified %v: taken back twice", unified)
		}
		prompt(t, c, 1, text)
		if !unified { // over it
			if err := c.Copy(1, 0, engine.All, engine.All); err != nil {
				t.Fatal(err)
			}
		}
		check("a sequence copied over it", 0)
		rows := []row{{5, len(text), 1, true}, {6, len(text) + 1, 1, true}, {7, len(text) + 2, 1, true}, {8, len(text) + 3, 1, true}}
		if err := decode(t, c, rows...); err != nil {
			t.Fatal(err)
		}
		if err := c.Remove(1, len(text), engine.All); err == nil {
			t.Errorf("unified %v: all of a call taken back, or more than there are states", unified)
		}
		if err := c.Remove(1, len(text)+1, engine.All); err != nil {
			t.Errorf("unified %v: %v", unified, err)
		}
	}
}

func TestRollbackIsRefusedWhereThereIsNone(t *testing.T) {
	opt := engine.ContextOptions{Cells: 512, Sequences: 2, Batch: 64, MicroBatch: 64, Outputs: 2, Threads: 1, Rollback: 2}
	if _, err := enginetest.Load(t, enginetest.Llama(t, synth.Config{})).NewContext(opt); !errors.Is(err, engine.ErrRollback) {
		t.Errorf("plain model: %v", err)
	}
	m := enginetest.Load(t, hybrid(t, synth.Config{}))
	for _, change := range []func(*engine.ContextOptions){
		func(o *engine.ContextOptions) { o.Rollback = -1 },
		func(o *engine.ContextOptions) { o.Rollback = 65 },
		func(o *engine.ContextOptions) { o.Rollback, o.MicroBatch = 8, 9 },
	} {
		o := opt
		change(&o)
		if _, err := m.NewContext(o); !errors.Is(err, engine.ErrLoad) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
