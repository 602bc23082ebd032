package plan_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/plan"
)

const gib = 1 << 30

// model27B is the directory of a model of 27 billion parameters at 4 or 8 bits,
// or unquantised.
func model27B(t testing.TB, weights gguf.TensorType, mtp int) plan.Model {
	t.Helper()
	return header(t, synth.Qwen27B(weights, mtp))
}

var headers sync.Map // of plan.Model by path or by the text of its synth.Config

func header(t testing.TB, c synth.Config) plan.Model {
	t.Helper()
	if m, ok := headers.Load(fmt.Sprint(c)); ok {
		return m.(plan.Model)
	}
	w, err := synth.NewQwen35(c)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	m := read(t, path)
	headers.Store(fmt.Sprint(c), m)
	return m
}

// read reads a header, once.
func read(t testing.TB, path string) plan.Model {
	t.Helper()
	if m, ok := headers.Load(path); ok {
		return m.(plan.Model)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := plan.FromFile(f)
	if err != nil {
		t.Fatal(err)
	}
	headers.Store(path, m)
	return m
}

func cards(t testing.TB, names ...string) []plan.Device {
	t.Helper()
	var devices []plan.Device
	for i, n := range names {
		d, err := plan.Card(n, i)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, d)
	}
	return devices
}

func cache(t gguf.TensorType) *plan.Cache { return &plan.Cache{Keys: t, Values: t} }

var (
	f16, q8, q4 = cache(gguf.F16), cache(gguf.Q8_0), cache(gguf.Q4_0)
	host        = plan.Device{Name: "CPU", Kind: plan.CPU, Backend: "CPU", TotalBytes: 64 * gib, FreeBytes: 60 * gib}
)

// voice is a realtime voice model beside another one, as large as its makers say.
func voice(device string, turns bool) plan.Claim {
	return plan.Claim{Name: "haru-4b", Device: device, Bytes: 12_000_000_000, Turns: turns}
}

// TestGolden has the questions that people ask of 24 and 32 GB cards.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name    string
		weights gguf.TensorType
		mtp     int
		card    string
		wish    plan.Wish
		fits    bool
	}{
		{"bf16 on 24 GB", gguf.BF16, 0, "rtx-4090", plan.Wish{}, false},
		{"bf16 on 32 GB", gguf.BF16, 0, "rtx-5090", plan.Wish{}, false},
		{"Q4 on 24 GB with 128k q8_0", gguf.Q4K, 0, "rtx-3090", plan.Wish{Context: 131072, Cache: q8}, true},
		{"the same on AMD", gguf.Q4K, 0, "rx-7900-xtx", plan.Wish{Context: 131072, Cache: q8}, true},
		{"Q4 on 24 GB with 128k f16", gguf.Q4K, 0, "rtx-3090", plan.Wish{Context: 131072, Cache: f16}, false},
		{"Q8 on 24 GB", gguf.Q8_0, 0, "rtx-4090", plan.Wish{}, false},
		{"Q8 on 32 GB, 32k, 2 sequences", gguf.Q8_0, 0, "rtx-5090", plan.Wish{Context: 16384, Agents: 2, Active: 2, Cache: q8}, true},
		{"Q8 on 32 GB, 128k f16", gguf.Q8_0, 0, "rtx-5090", plan.Wish{Context: 131072, Cache: f16}, false},
		{"Q8 on 32 GB, native window", gguf.Q8_0, 0, "rtx-5090", plan.Wish{Context: 262144, Cache: q4}, false},
		{"Q8 on 32 GB, 16 sequences", gguf.Q8_0, 0, "rtx-5090", plan.Wish{Context: 32768, Agents: 16, Active: 16, Cache: q4}, false},
		{"Q4 beside the voice on 32 GB", gguf.Q4K, 0, "rtx-5090", plan.Wish{Context: 32768, Agents: 2, Active: 2, Beside: []plan.Claim{voice("CUDA0", false)}}, true},
		{"Q4 beside the voice on R9700", gguf.Q4K, 0, "r9700", plan.Wish{Context: 32768, Agents: 2, Active: 2, Beside: []plan.Claim{voice("Vulkan0", false)}}, true},
		{"Q4 beside the voice on 24 GB", gguf.Q4K, 0, "rtx-4090", plan.Wish{Context: 8192, Beside: []plan.Claim{voice("CUDA0", false)}}, false},
		{"Q4 and the voice by turns on 24 GB", gguf.Q4K, 0, "rtx-4090", plan.Wish{Context: 65536, Beside: []plan.Claim{voice("CUDA0", true)}}, true},
		{"Q4 on 24 GB, the voice on the CPU", gguf.Q4K, 0, "rtx-4090", plan.Wish{Context: 65536, Beside: []plan.Claim{voice("CPU", false)}}, true},
		{"native window on 24 GB, q4_0", gguf.Q4K, 0, "rtx-4090", plan.Wish{Context: 262144, Cache: q4}, true},
		{"native window on 24 GB, q8_0", gguf.Q4K, 0, "rtx-4090", plan.Wish{Context: 262144, Cache: q8}, false},
		{"native window on 32 GB, q8_0", gguf.Q4K, 0, "rtx-5090", plan.Wish{Context: 262144, Cache: q8}, true},
		{"native window on 32 GB, f16", gguf.Q4K, 0, "rtx-5090", plan.Wish{Context: 262144, Cache: f16}, false},
		{"16 x 32k on 24 GB", gguf.Q4K, 0, "rtx-4090", plan.Wish{Context: 32768, Agents: 16, Active: 16}, false},
		{"16 x 8k on 24 GB", gguf.Q4K, 0, "rtx-4090", plan.Wish{Context: 8192, Agents: 16, Active: 16}, true},
		{"256k pool of 8 with MTP 3 on 32 GB", gguf.Q4K, 1, "rtx-5090", plan.Wish{Context: 32768, Agents: 8, Active: 8, MTP: 3, Cache: q4}, true},
		{"256k pool of 16 with MTP 3 on 32 GB", gguf.Q4K, 1, "rtx-5090", plan.Wish{Context: 16384, Agents: 16, Active: 16, MTP: 3, Cache: q8}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := plan.Input{Model: model27B(t, c.weights, c.mtp), Devices: cards(t, c.card), Wish: c.wish}
			p, err := plan.Make(in)
			if (err == nil) != c.fits {
				t.Fatalf("fits: %v, want %v: %v\n%s", err == nil, c.fits, err, p.Explain())
			}
			var refused *plan.RefusedError
			if err != nil && !errors.As(err, &refused) {
				t.Fatalf("not a refusal: %v", err)
			}
			if refused != nil && c.weights == gguf.Q4K {
				checkAlternatives(t, in, refused)
			}
		})
	}
}

// checkAlternatives: three, all of them fit, and the text has their numbers.
func checkAlternatives(t *testing.T, in plan.Input, e *plan.RefusedError) {
	t.Helper()
	if len(e.Nearest) == 0 {
		t.Fatalf("no alternative: %v", e)
	}
	for _, n := range e.Nearest {
		if !n.Plan.Fits() {
			t.Errorf("alternative %q does not fit:\n%s", n.Change, n.Plan.Explain())
		}
		if !strings.Contains(e.Error(), n.Change) {
			t.Errorf("%q is not in %q", n.Change, e)
		}
	}
	t.Log(e)
}

func TestSixteenAgentsBySomeActive(t *testing.T) {
	p, err := plan.Make(plan.Input{
		Model: model27B(t, gguf.Q4K, 0), Devices: append(cards(t, "rtx-4090"), host),
		Wish: plan.Wish{Context: 32768, Agents: 16},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Active < 6 || p.Active > 10 || p.Agents != 16 || p.Cache != *q4 || p.Layers != p.All {
		t.Errorf("%d of %d active, cache %v, %d layers", p.Active, p.Agents, p.Cache, p.Layers)
	}
	if !strings.Contains(p.Binding, "CUDA0: one more active agent needs") {
		t.Errorf("bound by %q", p.Binding)
	}
	cpu := p.Devices[len(p.Devices)-1]
	if cpu.Bytes(plan.Parked) == 0 {
		t.Errorf("no memory for parked agents:\n%s", p.Explain())
	}
}

func TestAutoTakesTheLongestContext(t *testing.T) {
	for _, c := range []struct {
		card    string
		context int
		cache   *plan.Cache
	}{{"rtx-4090", 262144, q4}, {"rtx-5090", 262144, q8}, {"rtx-pro-6000", 262144, f16}, {"rtx-5080", 0, nil}} {
		p, err := plan.Make(plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, c.card)})
		if c.context == 0 {
			if err == nil {
				t.Errorf("%s: fits\n%s", c.card, p.Explain())
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Cache != *c.cache || p.Context != c.context || p.Binding == "" {
			t.Errorf("%s: %d tokens with %v, want %d with %v; bound by %q", c.card, p.Context, p.Cache, c.context, *c.cache, p.Binding)
		}
	}
	p, err := plan.Make(plan.Input{Model: model27B(t, gguf.Q8_0, 0), Devices: cards(t, "rtx-5090")})
	if err != nil {
		t.Fatal(err)
	}
	if p.Context >= 262144 || p.Cache != *q4 || p.Devices[0].Free > 16<<20 || !strings.Contains(p.Binding, "a longer context") {
		t.Errorf("%s", p.Explain())
	}
}

func TestLayersGoToTheCPUWithTheirCost(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q8_0, 0), Devices: append(cards(t, "rtx-4090"), host), Wish: plan.Wish{Context: 32768}}
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	if p.Layers >= p.All || p.Layers < p.All/2 || p.Slowdown < 2 {
		t.Errorf("%d of %d layers, slower by %.1f", p.Layers, p.All, p.Slowdown)
	}
	if !strings.Contains(strings.Join(p.Notes, " "), "on the CPU") || !strings.Contains(p.Binding, "one more layer") {
		t.Errorf("notes %q, bound by %q", p.Notes, p.Binding)
	}
	in.Wish.Layers = plan.LayersAll
	var refused *plan.RefusedError
	if _, err := plan.Make(in); !errors.As(err, &refused) || len(refused.Nearest) == 0 {
		t.Errorf("all layers: %v", err)
	}
}

func TestLongContextIsAProfile(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, "rtx-pro-6000"), Wish: plan.Wish{Context: 1_010_000}}
	if _, err := plan.Make(in); err == nil || !strings.Contains(err.Error(), "YaRN") {
		t.Errorf("without the profile: %v", err)
	}
	in.Wish.LongContext = true
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(p.Notes, " "), "short prompts") {
		t.Errorf("notes %q", p.Notes)
	}
}

func TestTwoCards(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q8_0, 0), Devices: cards(t, "rtx-4090", "r9700"), Wish: plan.Wish{Context: 131072}}
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	if p.Devices[0].Layers == 0 || p.Devices[1].Layers <= p.Devices[0].Layers || p.Devices[0].Layers+p.Devices[1].Layers != 64 {
		t.Errorf("%d and %d layers", p.Devices[0].Layers, p.Devices[1].Layers)
	}
}

// TestKnownNumbers: the state and cells of the 27B as published logs have them.
func TestKnownNumbers(t *testing.T) {
	p, err := plan.Make(plan.Input{
		Model: model27B(t, gguf.Q4K, 1), Devices: cards(t, "rtx-pro-6000"),
		Wish: plan.Wish{Context: 65536, Agents: 4, Active: 4, Cache: q4, MTP: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := p.Devices[0]
	for kind, want := range map[string]uint64{
		plan.KV:        4 * 65536 * 18432,
		plan.Recurrent: 4 * 4 * 156893184,
		plan.DraftKV:   4 * 65536 * 1152,
	} {
		if got := a.Bytes(kind); got != want {
			t.Errorf("%s: %d, want %d", kind, got, want)
		}
	}
}

// A unified pool has one sequence more than there are agents: it takes no cells,
// but a recurrent state.
func TestUnifiedHasASpareSequence(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, "rtx-pro-6000"), Wish: plan.Wish{Context: 8192, Agents: 4, Active: 4, Cache: q8}}
	split, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Wish.Pool = plan.Unified
	one, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	const state = 156893184
	if a, b := split.Devices[0], one.Devices[0]; a.Bytes(plan.Recurrent) != 4*state || b.Bytes(plan.Recurrent) != 5*state || a.Bytes(plan.KV) != b.Bytes(plan.KV) {
		t.Errorf("split %s\nunified %s", split.Explain(), one.Explain())
	}
	if split.Sequences != 4 || one.Sequences != 5 || one.Active != 4 || one.Outputs != 5 || one.Shape().Sequences != 5 || one.Cells != split.Cells {
		t.Errorf("%d and %d sequences, %d rows, %+v", split.Sequences, one.Sequences, one.Outputs, one.Shape())
	}
	in.Wish.Agents, in.Wish.Active = 256, 256
	if _, err := plan.Make(in); err == nil || !strings.Contains(err.Error(), "255 of them at most in a unified pool") {
		t.Errorf("256 agents: %v", err)
	}
}

// What a driver was seen to take stands in place of the usual.
func TestMeasuredDriver(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, "rtx-5090"), Wish: plan.Wish{Context: 32768, Cache: q8}}
	in.Measured = []plan.Measurement{{Driver: map[string]uint64{"CUDA0": 300 << 20}}, {Driver: map[string]uint64{"CUDA0": 700 << 20}}, {Driver: map[string]uint64{"CUDA1": 1 << 30}}}
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	if p.Devices[0].Bytes(plan.Driver) != 700<<20 || !strings.Contains(p.Explain(), "700.0 MiB  measured") {
		t.Errorf("%s", p.Explain())
	}
}
