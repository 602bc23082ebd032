package engine_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

// rowBytes of one cell of the tiny llama: 2 layers, keys and values of 2 heads
// of 32, as halves.
const rowBytes = 2 * 2 * 2 * 32 * 2

func TestBreakdownHasTheCache(t *testing.T) {
	_, c := open(t, func(o *engine.ContextOptions) { o.Cells, o.Sequences, o.Outputs = 4096, 2, 2 })
	b, err := c.Breakdown()
	if err != nil {
		t.Fatal(err)
	}
	var cache, weights, compute uint64
	for _, x := range b.Buffers {
		if x.Name == "" || x.Device != "CPU" {
			t.Errorf("%+v", x)
		}
		cache, weights, compute = cache+x.Cache, weights+x.Weights, compute+x.Compute
	}
	if cache != 4096*rowBytes || weights == 0 || compute == 0 || b.Total() != cache+weights+compute {
		t.Errorf("cache %d, want %d; weights %d, compute %d, total %d", cache, 4096*rowBytes, weights, compute, b.Total())
	}
}

func TestCacheTypes(t *testing.T) {
	m := enginetest.Load(t, enginetest.Llama(t, synth.Config{}))
	opt := engine.ContextOptions{Cells: 1024, Sequences: 1, Batch: 64, MicroBatch: 64, Outputs: 1, Threads: 1, FlashAttention: engine.FlashOn}
	for _, c := range []struct {
		keys, values string
		bytes        uint64 // of a row of 64
	}{{"f16", "", 256}, {"q8_0", "q8_0", 136}, {"q8_0", "q4_0", 68 + 36}, {"f32", "f32", 512}, {"bf16", "iq4_nl", 128 + 36}} {
		o := opt
		o.KeyType, o.ValueType = c.keys, c.values
		b, err := newContext(t, m, o).Breakdown()
		if err != nil {
			t.Fatal(err)
		}
		var cache uint64
		for _, x := range b.Buffers {
			cache += x.Cache
		}
		if want := 2 * 1024 * c.bytes; cache != want {
			t.Errorf("%s/%s: %d bytes, want %d", c.keys, c.values, cache, want)
		}
	}
	for _, bad := range []engine.ContextOptions{{KeyType: "q3_k"}, {ValueType: "Q8_0"}, {ValueType: "q8_0", FlashAttention: engine.FlashOff}} {
		o := opt
		o.KeyType, o.ValueType = bad.KeyType, bad.ValueType
		if bad.FlashAttention != "" {
			o.FlashAttention = bad.FlashAttention
		}
		if _, err := m.NewContext(o); err == nil || !strings.Contains(err.Error(), "type") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// probeVariable makes the test binary lay out one job and print the answer: the
// engine allocates recurrent state even then, so a probe has its own process.
const probeVariable = "DURE_ENGINE_PROBE"

type probeJob struct {
	Dir     string
	Options engine.ProbeOptions
}

func TestMain(m *testing.M) {
	var err error
	if job := os.Getenv(probeVariable); job != "" {
		err = probeAsChild([]byte(job))
	} else if path := os.Getenv(crowdModel); path != "" {
		err = crowd(os.Getenv(crowdDir), path)
	} else {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func probeAsChild(text []byte) error {
	var job probeJob
	if err := json.Unmarshal(text, &job); err != nil {
		return err
	}
	lib, err := engine.Open(job.Dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	l, err := lib.Probe(job.Options)
	out, _ := json.Marshal(map[string]any{"layout": l, "err": fmt.Sprint(err)})
	fmt.Printf("probe %s\n", out)
	return nil
}

type probed struct {
	Layout engine.Layout
	Err    string
}

func probeInChild(t *testing.T, o engine.ProbeOptions) probed {
	t.Helper()
	job, err := json.Marshal(probeJob{enginetest.Dir(t), o})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), probeVariable+"="+string(job), "GGML_NO_BACKTRACE=1")
	out, err := cmd.CombinedOutput()
	_, line, found := strings.Cut(string(out), "probe ")
	if err != nil || !found {
		t.Fatalf("%v\n%s", err, out)
	}
	line, _, _ = strings.Cut(line, "\n")
	var p probed
	if err := json.Unmarshal([]byte(line), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestProbe: what is laid out without allocating equals what is loaded.
func TestProbe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "qwen35.gguf")
	w, err := synth.NewQwen35(synth.Config{MTP: 1, Weights: gguf.Q8_0})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	o := engine.ProbeOptions{
		Path: path, MTP: true, Rollback: 2,
		Context: engine.ContextOptions{
			Cells: 2000, Sequences: 3, Batch: 128, MicroBatch: 128, Outputs: 9, Threads: 1, KeyType: "q8_0", ValueType: "q8_0",
		},
	}
	dry := probeInChild(t, o)
	o.Load = true
	wet := probeInChild(t, o)
	if dry.Err != "<nil>" || wet.Err != "<nil>" {
		t.Fatal(dry.Err, wet.Err)
	}
	sum := func(l engine.Layout) (cache, compute uint64) {
		for _, b := range l.Buffers {
			cache, compute = cache+b.Cache, compute+b.Compute
		}
		return cache, compute
	}
	c1, x1 := sum(dry.Layout)
	c2, x2 := sum(wet.Layout)
	if c1 != c2 || x1 != x2 || c1 == 0 || x1 == 0 {
		t.Errorf("laid out %d and %d, loaded %d and %d", c1, x1, c2, x2)
	}
	// 2000 cells of 3 sequences become 768 for each; one layer of cells, three
	// of state: the last 3 of 256 inputs and 4 heads of 32 x 32, three times each.
	const cells, state = 3 * 768 * 2 * 68, 3 * 3 * 3 * (3*256 + 4*32*32) * 4
	if wet.Layout.Cells != 3*768 || wet.Layout.SequenceCells != 768 || c2 != cells+state {
		t.Errorf("%d cells, %d a sequence, %d bytes, want %d", wet.Layout.Cells, wet.Layout.SequenceCells, c2, cells+state)
	}
	near := func(what string, got map[string]uint64, want uint64) {
		if d := int64(got["CPU"]) - int64(want); d > 5300 || d < -5300 { // two decimals of a MiB
			t.Errorf("%s of %d, want %d", what, got["CPU"], want)
		}
	}
	near("cells", wet.Layout.KV, cells)
	near("state", wet.Layout.Recurrent, state)
	if wet.Layout.Output["CPU"] == 0 {
		t.Error("no output rows")
	}
	o.Rollback = 99
	if p := probeInChild(t, o); !strings.Contains(p.Err, "rollback") {
		t.Errorf("rollback of 99: %s", p.Err)
	}
	o.Rollback, o.Path = 0, path+".missing"
	if p := probeInChild(t, o); !strings.Contains(p.Err, "missing") {
		t.Errorf("a missing file: %s", p.Err)
	}
}
