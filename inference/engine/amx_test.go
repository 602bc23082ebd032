package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

// Variables of the child that decodes: what goes wrong there ends the process.
const (
	crowdModel = "DURE_ENGINE_CROWD_MODEL"
	crowdDir   = "DURE_ENGINE_CROWD_DIR"
)

// TestCrowdOfSequences: sequences that hold the same tokens get the same logits
// in one batch, however many they are, as the first one alone. On CPUs with AMX
// the engine by itself computes another thing for all but the first sequence of a
// model with recurrent layers, and crashes with more than sixteen.
func TestCrowdOfSequences(t *testing.T) {
	hybrid := synth.Config{Embedding: 256, FeedForward: 256, Heads: 4}
	for name, tc := range map[string]struct {
		write   func(io.Writer, synth.Config) error
		cfg     synth.Config
		weights gguf.TensorType
	}{
		"hybrid q4_1": {synth.Qwen35, hybrid, gguf.Q4_1},
		"hybrid q4_0": {synth.Qwen35, hybrid, gguf.Q4_0},
		"hybrid q8_0": {synth.Qwen35, hybrid, gguf.Q8_0},
		"hybrid f16":  {synth.Qwen35, hybrid, gguf.F16},
		"plain q4_1":  {synth.Llama, synth.Config{Embedding: 256, FeedForward: 256}, gguf.Q4_1},
		"window q8_0": {synth.Gemma3, synth.Config{}, gguf.Q8_0},
	} {
		t.Run(name, func(t *testing.T) {
			tc.cfg.Weights = tc.weights
			path := filepath.Join(t.TempDir(), "m.gguf")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(tc.write(f, tc.cfg), f.Close()); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), crowdModel+"="+path, crowdDir+"="+enginetest.Dir(t), "GGML_NO_BACKTRACE=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// crowd decodes the same tokens in up to 40 sequences, in both kinds of pool.
func crowd(dir, path string) error {
	lib, err := engine.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	for _, unified := range []bool{false, true} {
		for _, n := range []int{1, 2, 17, 40} {
			if err := crowdOf(lib, path, n, unified); err != nil {
				return fmt.Errorf("%d sequences, unified pool %v: %w", n, unified, err)
			}
		}
	}
	return nil
}

func crowdOf(lib *engine.Library, path string, n int, unified bool) (err error) {
	m, err := lib.LoadModel(context.Background(), engine.LoadOptions{Path: path})
	if err != nil {
		return err
	}
	defer m.Close()
	c, err := m.NewContext(engine.ContextOptions{
		Cells: 64 * n, Sequences: n, Batch: 64, MicroBatch: 64, Outputs: max(n, 1), Threads: 1, FlashAttention: engine.FlashOff, Unified: unified,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	b := c.NewBatch()
	defer b.Close()
	var alone []float32
	for s := range n {
		b.Reset()
		for i := range 12 {
			if err := b.Add(engine.Token(i*7+20), i, s, i == 11); err != nil {
				return err
			}
		}
		if err := c.Decode(b); err != nil {
			return err
		}
	}
	for step := range 3 {
		b.Reset()
		for s := range n {
			if err := b.Add(engine.Token(40+step), 12+step, s, true); err != nil {
				return err
			}
		}
		if err := c.Decode(b); err != nil {
			return err
		}
		for s := range n {
			row, err := c.Logits(s)
			if err != nil {
				return err
			}
			if s == 0 {
				alone = append(alone[:0], row...)
			}
			for i := range row {
				if d := math.Abs(float64(row[i] - alone[i])); !(d <= 1e-2) {
					return fmt.Errorf("step %d: logit %d of sequence %d is %v, of sequence 0 %v", step, i, s, row[i], alone[i])
				}
			}
		}
	}
	return nil
}
