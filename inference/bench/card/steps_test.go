package card

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine/enginetest"
)

// TestStepsMeasureAllThatWasAsked runs the real engine on tiny models: every point
// that was asked for comes once, is positive, and none that is there already.
func TestStepsMeasureAllThatWasAsked(t *testing.T) {
	hybrid := filepath.Join(t.TempDir(), "hybrid.gguf")
	f, err := os.Create(hybrid)
	if err != nil {
		t.Fatal(err)
	}
	if err := synth.Qwen35(f, synth.Config{}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for name, path := range map[string]string{"llama": enginetest.Llama(t, synth.Config{}), "hybrid": hybrid} {
		for kind, want := range map[string]int{
			KindPrefill: 2 + 3*3, // lengths; positions x sizes
			KindDecode:  2 * 2 * 2,
			KindShare:   2 * 3, // "read again" twice, the journal keeps one
			KindKV:      2 * (1 + 2),
		} {
			opt := StepOptions{EngineDir: enginetest.Dir(t), ModelPath: path, Threads: 1, MicroBatch: 64, Kind: kind,
				Loads: []Load{{100, []int{1, 3}}, {200, []int{1, 3}}}, Types: []string{"f16"}, Repetitions: 1, KeyType: "f16", ValueType: "f16"}
			got := run(t, opt, name)
			if len(got) != want {
				t.Errorf("%s, %s: %d points, want %d: %v", name, kind, len(got), want, got)
			}
			for key := range got {
				opt.Done = append(opt.Done, key)
			}
			for key := range run(t, opt, name) {
				if !strings.HasPrefix(key, FigurePrefill) { // read on the way to what is missing
					t.Errorf("%s, %s: %s was measured again", name, kind, key)
				}
			}
		}
	}
}

func run(t *testing.T, opt StepOptions, name string) map[string]Point {
	t.Helper()
	got := map[string]Point{}
	err := Steps(context.Background(), opt, func(p Point, note string) error {
		switch {
		case note != "":
			t.Errorf("%s, %s: %s", name, opt.Kind, note)
		case !(p.Value > 0) || p.Low > p.Value || p.High < p.Value || p.Samples < 1:
			t.Errorf("%s: %+v", name, p)
		default:
			got[p.Key()] = p
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s, %s: %v", name, opt.Kind, err)
	}
	return got
}

func TestStepsRefuse(t *testing.T) {
	for _, opt := range []StepOptions{{Kind: "other", Repetitions: 1, MicroBatch: 1}, {Kind: KindDecode, MicroBatch: 1}, {Kind: KindDecode, Repetitions: 1}} {
		if err := Steps(context.Background(), opt, nil); err == nil {
			t.Errorf("%+v was taken", opt)
		}
	}
}
