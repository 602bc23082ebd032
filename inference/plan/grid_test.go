package plan_test

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	oracle "github.com/gpustack/gguf-parser-go"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/inference/library"
	"dure/inference/plan"
)

var wholeGrid = flag.Bool("grid", false, "check the plan against every load of the grid, and print the table")

// A load is one row of the grid: a model, a wish, and where it runs.
type load struct {
	model string
	wish  plan.Wish
	gpu   bool // on the software Vulkan device
	short bool // part of every run
	dry   bool // laid out only
}

// gridModels writes the models of the grid and finds the real ones.
func gridModels(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	models := map[string]string{"smollm2": enginetest.DemoModel(t), "gemma3-270m": filepath.Join(enginetest.Home(t), "models", "gemma-3-270m", "gemma-3-270m.gguf")}
	put := func(name string, w *gguf.Writer, err error) {
		models[name] = filepath.Join(dir, name+".gguf")
		if err == nil {
			err = w.WriteFile(models[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	build := func(name string, f func(synth.Config) (*gguf.Writer, error), c synth.Config) {
		w, err := f(c)
		put(name, w, err)
	}
	hybrid := synth.HybridShape()
	hybrid.Context = 131072
	build("qwen35-120m", synth.NewQwen35, hybrid)
	hybrid.MTP = 1
	build("qwen35-120m-mtp", synth.NewQwen35, hybrid)
	build("qwen35", synth.NewQwen35, synth.Config{Context: 131072})
	build("qwen35-mtp", synth.NewQwen35, synth.Config{Context: 131072, MTP: 1})
	build("llama", synth.NewLlama, synth.Config{Context: 131072})
	build("llama-tied", synth.NewLlama, synth.Config{Context: 131072, Tied: true, Weights: gguf.Q8_0})
	build("llama-135m", synth.NewLlama, synth.SmolShape())
	build("gemma3", synth.NewGemma3, synth.Config{Layers: 13, Context: 131072})
	w, err := synth.NewLlama(synth.SmolShape())
	if err != nil {
		t.Fatal(err)
	}
	paths, err := w.WriteShards(filepath.Join(dir, "shards"), 100)
	if err != nil {
		t.Fatal(err)
	}
	models["llama-135m-split"] = paths[0]
	return models
}

// grid is every load: models, contexts, cache types, sequences, pools, layers.
func grid() []load {
	var rows []load
	add := func(short bool, model string, gpu bool, context, n int, c *plan.Cache, change ...func(*plan.Wish)) {
		w := plan.Wish{Context: context, Agents: n, Active: n, Cache: c}
		if gpu {
			w.Layers = plan.LayersAll
		}
		for _, f := range change {
			f(&w)
		}
		rows = append(rows, load{model: model, wish: w, gpu: gpu, short: short})
	}
	unified := func(w *plan.Wish) { w.Pool = plan.Unified }
	window := func(w *plan.Wish) { w.ShortWindow = true }
	noFlash := func(w *plan.Wish) { w.NoFlash = true }
	mtp := func(n int) func(*plan.Wish) { return func(w *plan.Wish) { w.MTP = n } }
	micro := func(n int) func(*plan.Wish) { return func(w *plan.Wish) { w.MicroBatch = n } }
	layers := func(n int) func(*plan.Wish) { return func(w *plan.Wish) { w.Layers = n } }

	for _, m := range []string{"smollm2", "llama-135m-split"} {
		add(m != "smollm2", m, false, 2048, 1, f16)
		add(false, m, false, 8192, 4, q8)
		add(false, m, false, 2048, 16, q4, unified)
		add(false, m, false, 8192, 1, f16, noFlash)
	}
	add(true, "smollm2", false, 1024, 64, q4)
	add(false, "smollm2", false, 1024, 64, q4, unified)
	add(false, "smollm2", false, 8192, 16, q4, unified)
	add(false, "llama-135m", false, 4096, 3, q8, micro(128))
	for _, m := range []string{"qwen35-120m", "qwen35-120m-mtp"} {
		add(false, m, false, 2048, 1, f16)
		add(false, m, false, 32768, 1, f16)
		add(false, m, false, 131072, 1, q8)
		add(true, m, false, 8192, 8, q8)
		add(false, m, false, 8192, 8, q8, unified)
		add(false, m, false, 2048, 16, q4)
		add(false, m, false, 2048, 64, q4, unified)
		add(false, m, false, 8192, 1, f16, noFlash)
	}
	add(true, "qwen35-120m-mtp", false, 8192, 4, q8, mtp(3))
	add(false, "qwen35-120m-mtp", false, 8192, 8, f16, mtp(3), unified)
	add(false, "qwen35-120m-mtp", false, 2048, 16, q4, mtp(1))
	add(false, "qwen35-mtp", false, 131072, 1, f16, mtp(2))
	add(false, "qwen35", false, 131072, 1, f16)
	add(false, "qwen35", false, 2048, 64, q8)
	for _, m := range []string{"llama", "llama-tied"} {
		add(false, m, false, 131072, 1, f16)
		add(false, m, false, 16384, 8, f16, unified)
	}
	for _, m := range []string{"gemma3-270m", "gemma3"} {
		add(false, m, false, 2048, 1, f16)
		add(m == "gemma3", m, false, 32768, 2, f16, window)
		add(false, m, false, 4096, 8, f16, window, unified)
	}
	add(false, "gemma3-270m", false, 32768, 2, q8)
	// On the device: everything, some layers, none but the output.
	for i, m := range []string{"smollm2", "qwen35-120m", "gemma3-270m", "llama-135m-split"} {
		add(i == 1, m, true, 2048, 1, f16)
		add(false, m, true, 2048, 4, f16)
		add(i == 0, m, true, 2048, 1, f16, layers(6))
		add(false, m, true, 2048, 2, f16, layers(10), unified)
		add(false, m, true, 2048, 1, f16, layers(1))
	}
	add(false, "qwen35-120m-mtp", true, 2048, 2, f16, mtp(2))
	add(false, "qwen35-120m-mtp", true, 2048, 2, f16, mtp(2), layers(7))
	add(false, "llama", true, 8192, 2, f16)
	add(false, "llama-tied", true, 8192, 2, f16, layers(2))
	add(false, "gemma3", true, 4096, 4, f16, window)
	return rows
}

// checked is a row with its plan and what the engine said.
type checked struct {
	load
	plan  plan.Plan
	input plan.Input
	path  string
	jobs  []engine.ProbeOptions
	said  []answer
}

// TestPlanAgainstLoads loads models and compares the engine's buffers with the
// plan, item by item. Weights, cells and state must be equal to the byte.
func TestPlanAgainstLoads(t *testing.T) {
	models := gridModels(t)
	byEngine := map[bool][]*checked{}
	for _, row := range grid() {
		if !row.short && !*wholeGrid {
			continue
		}
		c := &checked{load: row, path: models[row.model]}
		c.prepare(t)
		byEngine[row.gpu] = append(byEngine[row.gpu], c)
	}
	for gpu, rows := range byEngine {
		askAll(t, gpu, rows)
	}
	var table strings.Builder
	worst := tally{}
	n := 0
	for _, gpu := range []bool{false, true} {
		for _, c := range byEngine[gpu] {
			if c.said == nil {
				continue
			}
			n++
			c.compare(t, &table, &worst)
		}
	}
	if *wholeGrid {
		t.Logf("%d loads\n%s\n%s", n, &table, worst)
	}
}

// askAll asks one engine for all rows. Rows for a GPU stay unanswered where
// there is none, loudly.
func askAll(t *testing.T, gpu bool, rows []*checked) {
	t.Helper()
	variant := library.CPU
	if gpu {
		variant = library.Vulkan
	}
	set, err := library.Open(enginetest.Home(t), variant)
	if err != nil {
		if gpu {
			t.Logf("SKIPPED %d loads: %v; `dure engine install vulkan` and a Vulkan driver bring them", len(rows), err)
			return
		}
		t.Fatal(err)
	}
	var jobs []engine.ProbeOptions
	for _, c := range rows {
		jobs = append(jobs, c.jobs...)
	}
	said := ask(t, set.Lib(), jobs)
	if gpu && !slices.ContainsFunc(said[0].Devices, func(d engine.Device) bool { return d.Name == "Vulkan0" }) {
		t.Logf("SKIPPED %d loads: no Vulkan device; Mesa's software Vulkan (package mesa-vulkan-drivers) brings one", len(rows))
		return
	}
	for _, c := range rows {
		c.said, said = said[:len(c.jobs)], said[len(c.jobs):]
		if c.dry { // what was laid out stands for what would be loaded
			var twice []answer
			for _, a := range c.said {
				twice = append(twice, a, a)
			}
			c.said = twice
		}
	}
}

func (c *checked) prepare(t *testing.T) {
	t.Helper()
	c.input = plan.Input{Model: read(t, c.path), Wish: c.wish}
	if c.gpu {
		c.input.Devices = []plan.Device{{Name: "Vulkan0", Kind: plan.GPU, Backend: "Vulkan", TotalBytes: 1 << 40, FreeBytes: 1 << 40, MaxTensor: 128 << 20}}
	}
	var err error
	if c.plan, err = plan.Make(c.input); err != nil {
		t.Fatalf("%s %+v: %v", c.model, c.wish, err)
	}
	shapes := []plan.Shape{c.plan.Shape()}
	if c.plan.MTP > 0 {
		shapes = append(shapes, c.plan.DraftShape())
	}
	for _, s := range shapes {
		job := probeOptions(c.path, s, c.plan.MTP > 0)
		job.NoRepack = true
		c.jobs = append(c.jobs, job)
		if !c.dry {
			job.Load = true
			c.jobs = append(c.jobs, job)
		}
	}
}

// probeOptions is a shape as the engine takes it.
func probeOptions(path string, s plan.Shape, mtp bool) engine.ProbeOptions {
	flash := engine.FlashOn
	if s.NoFlash {
		flash = engine.FlashOff
	}
	return engine.ProbeOptions{
		Path: path, GPULayers: s.Layers, MTP: mtp, Rollback: s.Rollback, Draft: s.Draft,
		Context: engine.ContextOptions{
			Cells: s.Cells, Sequences: s.Sequences, Batch: max(s.MicroBatch, s.Outputs), MicroBatch: s.MicroBatch, Outputs: s.Outputs,
			Threads: 2, FlashAttention: flash, Unified: s.Pool == plan.Unified, ShortWindow: s.ShortWindow,
			KeyType: strings.ToLower(s.Cache.Keys.String()), ValueType: strings.ToLower(s.Cache.Values.String()),
		},
	}
}

// sides are the engine's sums on one device.
type sides struct{ weights, cache, compute uint64 }

func sum(l engine.Layout, host bool) (s sides) {
	for _, b := range l.Buffers {
		if (b.Device == "CPU") == host {
			s.weights += b.Weights
			s.cache += b.Cache
			s.compute += b.Compute
		}
	}
	return s
}

// tally keeps the largest errors.
type tally struct {
	exact, formula     int
	worstBytes         int64
	worstShare         float64
	outside            int
	ours, theirs       float64
	oursMax, theirsMax float64
}

func (w tally) String() string {
	return fmt.Sprintf("%d exact comparisons; %d compute buffers by formula: %d outside max(5 %%, 4 MiB), worst %+.1f MiB, %+.1f %%\n"+
		"error of the total: ours mean %.2f MiB, worst %.1f; gguf-parser-go mean %.1f MiB, worst %.1f",
		w.exact, w.formula, w.outside, mib(w.worstBytes), w.worstShare*100, w.ours/float64(max(1, w.exact)), w.oursMax, w.theirs/float64(max(1, w.exact)), w.theirsMax)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func (c *checked) compare(t *testing.T, table *strings.Builder, w *tally) {
	t.Helper()
	for i, a := range c.said {
		if a.Err != "" {
			t.Fatalf("%s %+v, job %d: %s", c.model, c.wish, i, a.Err)
		}
	}
	name := fmt.Sprintf("%s ctx %d x %d %v %s layers %d mtp %d", c.model, c.plan.Context, c.plan.Active, c.plan.Cache, c.plan.Pool, c.plan.Layers, c.plan.MTP)
	if got := c.said[1].Layout; got.Cells != c.plan.PoolCells || got.SequenceCells != c.plan.SequenceCells {
		t.Errorf("%s: %d cells, %d a sequence; planned %d, %d", name, got.Cells, got.SequenceCells, c.plan.PoolCells, c.plan.SequenceCells)
	}
	var planned, real uint64
	var errs []string
	for i := range c.plan.Devices {
		a := &c.plan.Devices[i]
		host := a.Device.Kind == plan.CPU
		dry, wet := sum(c.said[0].Layout, host), sum(c.said[1].Layout, host)
		exact := func(what string, got, want uint64) {
			w.exact++
			if got != want {
				t.Errorf("%s: %s on %s: planned %d, the engine has %d", name, what, a.Device.Name, want, got)
			}
		}
		exact("weights", dry.weights, a.Bytes(plan.Weights))
		exact("cells and state", wet.cache, a.Bytes(plan.KV)+a.Bytes(plan.Recurrent))
		if !host {
			exact("loaded weights", wet.weights, a.Bytes(plan.Weights))
		}
		// Pinned memory has a spare of 32 bytes, which a probe does not see.
		if d := wet.compute - dry.compute; d != 0 && (d != 32 || !c.gpu) {
			t.Errorf("%s: compute buffers on %s: probed %d, loaded %d", name, a.Device.Name, dry.compute, wet.compute)
		}
		errs = append(errs, c.formula(t, name, a, plan.Compute, wet.compute, w))
		planned += a.Bytes(plan.Weights) + a.Bytes(plan.KV) + a.Bytes(plan.Recurrent) + a.Bytes(plan.Compute)
		real += dry.weights + wet.cache + wet.compute
		if c.plan.MTP > 0 {
			draft := sum(c.said[3].Layout, host)
			exact("cells of the draft", draft.cache, a.Bytes(plan.DraftKV))
			errs = append(errs, c.formula(t, name, a, plan.DraftComp, draft.compute, w))
			planned += a.Bytes(plan.DraftKV) + a.Bytes(plan.DraftComp)
			real += draft.cache + draft.compute
		}
	}
	if !c.dry {
		c.logged(t, name)
	}
	theirs := uint64(0)
	if *wholeGrid {
		theirs = c.estimate(t)
	}
	ours := mib(int64(planned) - int64(real))
	other := mib(int64(theirs) - int64(real))
	w.ours += math.Abs(ours)
	w.theirs += math.Abs(other)
	w.oursMax, w.theirsMax = max(w.oursMax, math.Abs(ours)), max(w.theirsMax, math.Abs(other))
	fmt.Fprintf(table, "%-78s real %8.1f  plan %+7.2f  gguf-parser %+9.1f  compute %s\n", name, mib(int64(real)), ours, other, strings.Join(errs, " "))
}

// formula compares a compute buffer and says how far off it is.
func (c *checked) formula(t *testing.T, name string, a *plan.Allocation, kind string, real uint64, w *tally) string {
	t.Helper()
	planned := a.Bytes(kind)
	w.formula++
	diff := int64(planned) - int64(real)
	share := float64(diff) / float64(max(1, real))
	if math.Abs(mib(diff)) > math.Abs(mib(w.worstBytes)) {
		w.worstBytes = diff
	}
	limit := max(float64(real)*0.05, 4<<20)
	if math.Abs(float64(diff)) > limit {
		w.outside++
		if math.Abs(share) > math.Abs(w.worstShare) {
			w.worstShare = share
		}
		t.Errorf("%s: %s on %s: planned %d, the engine has %d", name, kind, a.Device.Name, planned, real)
	}
	return fmt.Sprintf("%s %.1f(%+.2f)", a.Device.Name, mib(int64(real)), mib(diff))
}

// logged checks cells and state apart, as far as the engine's log tells them.
func (c *checked) logged(t *testing.T, name string) {
	t.Helper()
	var kv, state, wantKV, wantState uint64
	for _, n := range c.said[1].Layout.KV {
		kv += n
	}
	for _, n := range c.said[1].Layout.Recurrent {
		state += n
	}
	for i := range c.plan.Devices {
		wantKV += c.plan.Devices[i].Bytes(plan.KV)
		wantState += c.plan.Devices[i].Bytes(plan.Recurrent)
	}
	const rounding = 4 * 5243 // two decimals of a MiB, a few buffers
	if d := int64(kv) - int64(wantKV); d > rounding || d < -rounding {
		t.Errorf("%s: the log has %d bytes of cells, planned %d", name, kv, wantKV)
	}
	if d := int64(state) - int64(wantState); d > rounding || d < -rounding {
		t.Errorf("%s: the log has %d bytes of state, planned %d", name, state, wantState)
	}
}

// estimate is the total of an independent estimator, without what it adds for
// the process itself.
func (c *checked) estimate(t *testing.T) (total uint64) {
	t.Helper()
	f, err := oracle.ParseGGUFFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	p := &c.plan
	opts := []oracle.GGUFRunEstimateOption{
		oracle.WithParallelSize(int32(p.Active)), oracle.WithLLaMACppContextSize(int32(p.Cells)),
		oracle.WithLLaMACppLogicalBatchSize(int32(p.Batch)), oracle.WithLLaMACppPhysicalBatchSize(int32(p.MicroBatch)),
		oracle.WithLLaMACppCacheKeyType(oracle.GGMLType(p.Cache.Keys)), oracle.WithLLaMACppCacheValueType(oracle.GGMLType(p.Cache.Values)),
		oracle.WithLLaMACppOffloadLayers(uint64(p.Layers)),
	}
	if !p.NoFlash {
		opts = append(opts, oracle.WithFlashAttention())
	}
	if !p.ShortWindow {
		opts = append(opts, oracle.WithLLaMACppFullSizeSWACache())
	}
	for _, d := range f.EstimateLLaMACppRun(opts...).Devices {
		w, kv, x := d.Weight, d.KVCache, d.Computation
		for _, n := range []oracle.GGUFBytesScalar{w.Input, w.Compute, w.Output, kv.Key, kv.Value, x.Input, x.Compute, x.Output} {
			total += uint64(n)
		}
	}
	return total
}
