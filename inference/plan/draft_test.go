package plan_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/inference/plan"
)

// What a draft model is planned to take is what the engine lays out for it: exactly
// for weights and cells, within what formulas are held to for scratch space.
func TestDraftModelIsPlannedAsTheEngineLaysItOut(t *testing.T) {
	target := enginetest.Llama(t, synth.Config{Context: 4096, Layers: 4})
	draft := enginetest.Llama(t, synth.Config{Context: 1024, Layers: 2, FeedForward: 96})
	for _, w := range []plan.Wish{
		{Context: 2048, Agents: 4, Active: 4},
		{Context: 512, Agents: 3, Active: 3, Pool: plan.Unified, NoFlash: true},
	} {
		small := read(t, draft)
		w.Draft = &small
		with, err := plan.Make(plan.Input{Model: read(t, target), Wish: w})
		if err != nil {
			t.Fatal(err)
		}
		flash := engine.FlashOn
		if w.NoFlash {
			flash = engine.FlashOff
		}
		said := ask(t, enginetest.Dir(t), []engine.ProbeOptions{{Path: draft, NoRepack: true, Context: engine.ContextOptions{
			Cells: min(w.Context, 1024) * w.Active, Sequences: w.Active, Batch: 512, MicroBatch: 512, Outputs: w.Active, Threads: 1,
			FlashAttention: flash, Unified: w.Pool == plan.Unified,
		}}})[0]
		if said.Err != "" {
			t.Fatal(said.Err)
		}
		got, want := &with.Devices[0], sum(said.Layout, true)
		if got.Bytes(plan.DraftWeights) != want.weights || got.Bytes(plan.DraftCells) != want.cache {
			t.Errorf("%+v: planned %d of weights and %d of cells, the engine has %d and %d", w, got.Bytes(plan.DraftWeights), got.Bytes(plan.DraftCells), want.weights, want.cache)
		}
		if off := int64(got.Bytes(plan.DraftScratch)) - int64(want.compute); off > 4<<20 || off < -4<<20 {
			t.Errorf("%+v: scratch space %d, the engine has %d", w, got.Bytes(plan.DraftScratch), want.compute)
		}
		w.Draft = nil
		without, err := plan.Make(plan.Input{Model: read(t, target), Wish: w})
		if err != nil {
			t.Fatal(err)
		}
		var sum uint64
		for _, kind := range []string{plan.DraftWeights, plan.DraftCells, plan.DraftScratch, plan.DraftRows} {
			sum += got.Bytes(kind)
		}
		if got.Used != without.Devices[0].Used+sum || got.Bytes(plan.DraftRows) == 0 {
			t.Errorf("%+v: the draft model adds %d, its items are %d", w, got.Used-without.Devices[0].Used, sum)
		}
	}
}

func TestDraftModelThatDoesNotFitIsLeftOutFirst(t *testing.T) {
	target := read(t, enginetest.Llama(t, synth.Config{Context: 4096}))
	in := plan.Input{Model: target, Wish: plan.Wish{Context: 4096, Agents: 2, Active: 2, Reserve: new(uint64)}}
	alone, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	draft := target
	in.Wish.Draft = &draft
	room := alone.Devices[0].Used + 1<<20
	in.Devices = []plan.Device{{Name: "CPU", Kind: plan.CPU, Backend: "CPU", TotalBytes: room, FreeBytes: room}}
	_, err = plan.Make(in)
	var refused *plan.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "without the draft model") {
		t.Errorf("%v", err)
	}
}

func TestDraftModelsThatCannotGuessAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(synth.Qwen35(f, synth.Config{MTP: 1}), f.Close()); err != nil {
		t.Fatal(err)
	}
	hybrid, plain := read(t, path), read(t, enginetest.Llama(t, synth.Config{}))
	for _, tc := range []struct {
		name string
		in   plan.Input
		want string
	}{
		{"recurrent draft", plan.Input{Model: plain, Wish: plan.Wish{Draft: &hybrid}}, "without recurrent layers"},
		{"rollback of a plain model", plan.Input{Model: plain, Wish: plan.Wish{Rollback: 2}}, "go back anywhere"},
		{"much rollback", plan.Input{Model: hybrid, Wish: plan.Wish{Rollback: 16}}, "15 at most"},
		{"recurrent model", plan.Input{Model: hybrid, Wish: plan.Wish{Draft: &plain}}, "go back"},
		{"and MTP", plan.Input{Model: hybrid, Wish: plan.Wish{Draft: &plain, MTP: 1}}, "leave out one"},
		{"nothing known", plan.Input{Model: plain, Wish: plan.Wish{Draft: &plan.Model{}}}, "not known"},
	} {
		if _, err := plan.Make(tc.in); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// Each guess that can be taken back costs a sequence one more state.
func TestRollbackCostsStates(t *testing.T) {
	m := header(t, synth.HybridShape())
	states := func(n int) uint64 {
		p, err := plan.Make(plan.Input{Model: m, Wish: plan.Wish{Context: 2048, Agents: 4, Active: 4, Rollback: n}})
		if err != nil {
			t.Fatal(err)
		}
		if p.Outputs != 4*(1+n) || p.Shape().Rollback != n {
			t.Errorf("%d rows, %d states in the shape", p.Outputs, p.Shape().Rollback)
		}
		return p.Devices[0].Bytes(plan.Recurrent)
	}
	if none, three := states(0), states(3); three != 4*none || none == 0 {
		t.Errorf("%d bytes of states, %d with three more of each", none, three)
	}
}
