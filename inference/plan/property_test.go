package plan_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/plan"
)

// draw draws inputs over models, devices and wishes.
func draw(r *rapid.T, models []plan.Model) plan.Input {
	in := plan.Input{Model: models[rapid.IntRange(0, len(models)-1).Draw(r, "model")]}
	mib := func(name string) uint64 { return uint64(rapid.IntRange(1, 4096).Draw(r, name)) << 20 }
	backend := rapid.SampledFrom([]string{"CUDA", "Vulkan"}).Draw(r, "backend")
	for i := range rapid.IntRange(0, 2).Draw(r, "gpus") {
		d := plan.Device{Name: []string{"A", "B"}[i], Kind: plan.GPU, Backend: backend}
		d.TotalBytes = mib("total")
		d.FreeBytes = d.TotalBytes - d.TotalBytes/uint64(rapid.IntRange(2, 100).Draw(r, "taken"))
		in.Devices = append(in.Devices, d)
	}
	if len(in.Devices) == 0 || rapid.Bool().Draw(r, "host") {
		n := mib("ram") * 2
		in.Devices = append(in.Devices, plan.Device{Name: "CPU", Kind: plan.CPU, Backend: "CPU", TotalBytes: n, FreeBytes: n})
	}
	w := &in.Wish
	w.Agents = rapid.IntRange(1, 24).Draw(r, "agents")
	w.Active = rapid.IntRange(0, w.Agents).Draw(r, "active")
	w.Context = rapid.SampledFrom([]int{0, 512, 1000, 4096, 30000}).Draw(r, "context")
	w.Cache = rapid.SampledFrom([]*plan.Cache{nil, f16, q8, q4}).Draw(r, "cache")
	w.Pool = rapid.SampledFrom([]plan.Pool{"", plan.Unified}).Draw(r, "pool")
	w.MTP = rapid.IntRange(0, min(3, in.Model.Geometry.MTPLayers*3)).Draw(r, "mtp")
	w.ShortWindow = rapid.Bool().Draw(r, "window")
	if rapid.Bool().Draw(r, "beside") {
		w.Beside = []plan.Claim{{Name: "other", Device: in.Devices[0].Name, Bytes: mib("other"), Turns: rapid.Bool().Draw(r, "turns")}}
	}
	return in
}

func propertyModels(t *testing.T) []plan.Model {
	shape := synth.HybridShape()
	shape.MTP = 1
	models := []plan.Model{header(t, shape)}
	plain := models[0]
	plain.Files = nil
	return append(models, plain)
}

// check holds for every plan.
func check(t *rapid.T, p *plan.Plan) {
	for i := range p.Devices {
		a := &p.Devices[i]
		var sum uint64
		for _, it := range a.Items {
			sum += it.Bytes
			if it.Bytes == 0 && it.Kind != plan.Companion {
				t.Fatalf("an item of nothing: %+v", it)
			}
		}
		if sum != a.Used {
			t.Fatalf("%s: items add up to %d, used are %d", a.Device.Name, sum, a.Used)
		}
		known := a.Device.TotalBytes > 0
		if known && a.Used+a.Free != a.Device.FreeBytes+a.Short || a.Free > 0 && a.Short > 0 || !known && a.Free+a.Short > 0 {
			t.Fatalf("%s: used %d, free %d, short %d of %d", a.Device.Name, a.Used, a.Free, a.Short, a.Device.FreeBytes)
		}
	}
	if p.PoolCells < p.Cells || p.SequenceCells < p.Context {
		t.Fatalf("%d cells of %d, %d a sequence of %d", p.PoolCells, p.Cells, p.SequenceCells, p.Context)
	}
}

func TestPlansHold(t *testing.T) {
	models := propertyModels(t)
	rapid.Check(t, func(r *rapid.T) {
		in := draw(r, models)
		p, err := plan.Make(in)
		var refused *plan.RefusedError
		if errors.As(err, &refused) {
			check(r, &refused.Asked)
			if refused.Asked.Fits() || refused.Need <= refused.Free {
				r.Fatalf("refused what fits: %v", err)
			}
			for i := range refused.Nearest {
				check(r, &refused.Nearest[i].Plan)
			}
			alternatives(r, in, refused)
			return
		}
		if err != nil {
			r.Fatal(err)
		}
		check(r, &p)
		if !p.Fits() {
			r.Fatalf("returned what does not fit:\n%s", p.Explain())
		}
		if p.Active > p.Agents || in.Wish.Active > 0 && p.Active != in.Wish.Active || in.Wish.Context > 0 && p.Context != in.Wish.Context {
			r.Fatalf("not what was asked: %+v", p)
		}
		again(r, in, p)
	})
}

// alternatives fit, and say all that they change.
func alternatives(r *rapid.T, in plan.Input, e *plan.RefusedError) {
	said := map[string]bool{}
	for _, n := range e.Nearest {
		p := &n.Plan
		if !p.Fits() || said[n.Change] {
			r.Fatalf("%q: fits %v, or said twice", n.Change, p.Fits())
		}
		said[n.Change] = true
		all := len(in.Devices) > 0 && in.Devices[0].Kind == plan.GPU
		for text, changed := range map[string]bool{
			"without MTP":      p.MTP != in.Wish.MTP,
			" on the CPU":      all && p.Layers == 0,
			" layers on the G": p.Layers > 0 && p.Layers < p.All,
			"active at once":   in.Wish.Active > 0 && p.Active != in.Wish.Active || p.Active < p.Agents && in.Wish.Active == 0,
			"a context of":     p.Context != in.Wish.Context,
			"cache ":           in.Wish.Cache == nil || *in.Wish.Cache != p.Cache,
			"micro batch":      p.MicroBatch < 512,
		} {
			if strings.Contains(n.Change, text) != changed && !(text == " on the CPU" && strings.Contains(n.Change, "other on the CPU")) {
				r.Fatalf("%q: %q is said or left out wrongly: %+v of %+v", n.Change, text, p, in.Wish)
			}
		}
	}
}

// again plans what was chosen: it must fit, and be the same.
func again(r *rapid.T, in plan.Input, p plan.Plan) {
	in.Wish.Context, in.Wish.Active, in.Wish.Cache, in.Wish.Layers = p.Context, p.Active, &p.Cache, p.Layers
	if p.Layers == 0 {
		in.Wish.Layers = plan.LayersNone
	}
	q, err := plan.Make(in)
	if err != nil {
		r.Fatalf("its own choice: %v", err)
	}
	for i := range p.Devices {
		if p.Devices[i].Used != q.Devices[i].Used {
			r.Fatalf("%s: %d used, then %d", p.Devices[i].Device.Name, p.Devices[i].Used, q.Devices[i].Used)
		}
	}
}

// TestMoreTakesMore: more context or agents never take fewer cells or less
// state, and more memory never makes a plan fail.
func TestMoreTakesMore(t *testing.T) {
	models := propertyModels(t)
	rapid.Check(t, func(r *rapid.T) {
		in := draw(r, models)
		p, err := plan.Make(in)
		if err != nil {
			return
		}
		more := in
		more.Devices = append([]plan.Device(nil), in.Devices...)
		factor := uint64(rapid.IntRange(1, 4).Draw(r, "factor"))
		for i := range more.Devices { // all alike, so that layers stay where they were
			more.Devices[i].TotalBytes *= factor
			more.Devices[i].FreeBytes *= factor
		}
		if _, err := plan.Make(more); err != nil {
			r.Fatalf("%d times the memory: %v", factor, err)
		}
		in.Wish.Active, in.Wish.Cache, in.Wish.Layers, in.Wish.Context = p.Active, &p.Cache, p.Layers, p.Context
		if p.Layers == 0 {
			in.Wish.Layers = plan.LayersNone
		}
		for _, grow := range []func(*plan.Wish){
			func(w *plan.Wish) { w.Context = min(w.Context+1000, in.Model.Geometry.TrainContext) },
			func(w *plan.Wish) { w.Agents++; w.Active++ },
		} {
			larger := in
			grow(&larger.Wish)
			q, err := plan.Make(larger)
			var refused *plan.RefusedError
			if errors.As(err, &refused) {
				q = refused.Asked
			} else if err != nil {
				r.Fatal(err)
			}
			for i := range p.Devices {
				for _, kind := range []string{plan.Weights, plan.KV, plan.Recurrent, plan.DraftKV} {
					if a, b := p.Devices[i].Bytes(kind), q.Devices[i].Bytes(kind); b < a {
						r.Fatalf("%s on %s: %d used, with more %d", kind, p.Devices[i].Device.Name, a, b)
					}
				}
			}
		}
	})
}

func TestMeasuredReplacesFormula(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q4K, 1), Devices: cards(t, "rtx-5090"), Wish: plan.Wish{Context: 32768, MTP: 1, Cache: q8}}
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Measured = []plan.Measurement{
		{Shape: p.Shape(), Compute: map[string]uint64{"CUDA0": 123 << 20}},
		{Shape: p.DraftShape(), Compute: map[string]uint64{"CUDA0": 45 << 20}},
	}
	q, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	a := q.Devices[0]
	if a.Bytes(plan.Compute) != 123<<20 || a.Bytes(plan.DraftComp) != 45<<20 {
		t.Errorf("%s", q.Explain())
	}
	in.Wish.Context = 16384 // another shape: not measured
	if q, err = plan.Make(in); err != nil || q.Devices[0].Bytes(plan.Compute) == 123<<20 {
		t.Errorf("%v\n%s", err, q.Explain())
	}
}

func TestWishesThatMakeNoSense(t *testing.T) {
	good := plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, "rtx-4090")}
	for name, change := range map[string]func(*plan.Input){
		"no model":           func(in *plan.Input) { in.Model.Geometry = nil },
		"more active":        func(in *plan.Input) { in.Wish.Agents, in.Wish.Active = 1, 2 },
		"too many sequences": func(in *plan.Input) { in.Wish.Active = 257 },
		"MTP without layers": func(in *plan.Input) { in.Wish.MTP = 2 },
		"context":            func(in *plan.Input) { in.Wish.Context = 300_000 },
		"negative":           func(in *plan.Input) { in.Wish.Context = -1 },
		"no flash, quantised": func(in *plan.Input) {
			in.Wish.NoFlash, in.Wish.Cache = true, q8
		},
		"cache blocks":    func(in *plan.Input) { in.Wish.Cache = &plan.Cache{Keys: gguf.Q4K, Values: 99} },
		"same name":       func(in *plan.Input) { in.Devices = append(in.Devices, in.Devices[0]) },
		"free over total": func(in *plan.Input) { in.Devices[0].FreeBytes++ },
		"beside nothing":  func(in *plan.Input) { in.Wish.Beside = []plan.Claim{voice("CUDA7", false)} },
		"layers, no GPU":  func(in *plan.Input) { in.Devices = nil; in.Wish.Layers = 3 },
	} {
		in := good
		in.Devices = append([]plan.Device(nil), good.Devices...)
		change(&in)
		_, err := plan.Make(in)
		var refused *plan.RefusedError
		if err == nil || errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := plan.Card("rtx-9999", 0); err == nil {
		t.Error("an unknown card")
	}
}
