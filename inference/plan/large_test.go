package plan_test

import (
	"path/filepath"
	"strings"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/plan"
)

// TestPlanAgainstTheLayoutOf27B lays out a model of 27 billion parameters, all
// zero and without allocating it, and compares item by item. The file takes the
// disk of its header only.
func TestPlanAgainstTheLayoutOf27B(t *testing.T) {
	const allowed = 256 // MiB, of the total
	dir := t.TempDir()
	files := map[string]synth.Config{"27b-q4": synth.Qwen27B(gguf.Q4K, 1), "27b-q8": synth.Qwen27B(gguf.Q8_0, 0)}
	if !*wholeGrid {
		delete(files, "27b-q8")
	}
	for name, cfg := range files {
		w, err := synth.NewQwen35(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteFile(filepath.Join(dir, name+".gguf")); err != nil {
			t.Fatal(err)
		}
	}
	wishes := []plan.Wish{
		{Context: 131072, Agents: 1, Active: 1, Cache: q4},
		{Context: 8192, Agents: 1, Active: 1, Cache: f16},
		{Context: 262144, Agents: 1, Active: 1, Cache: q8, MicroBatch: 256},
		{Context: 16384, Agents: 4, Active: 4, Cache: q8},
		{Context: 16384, Agents: 4, Active: 4, Cache: q8, Pool: plan.Unified},
		{Context: 32768, Agents: 1, Active: 1, Cache: q8, MTP: 3},
		{Context: 131072, Agents: 1, Active: 1, Cache: q4, MTP: 1},
		{Context: 32768, Agents: 1, Active: 1, Cache: f16, Outputs: 256},
	}
	for _, gpu := range []bool{false, true} {
		var rows []*checked
		for name := range files {
			for _, w := range wishes {
				if w.MTP > 0 && files[name].MTP == 0 || !*wholeGrid && len(rows) == 2 {
					continue
				}
				if gpu && w.Context > 131072 {
					continue // software Vulkan aborts on cells of that size
				}
				if gpu {
					w.Layers = plan.LayersAll
				}
				c := &checked{load: load{model: name, wish: w, gpu: gpu, dry: true}, path: filepath.Join(dir, name+".gguf")}
				c.prepare(t)
				rows = append(rows, c)
			}
		}
		askAll(t, gpu, rows)
		var table strings.Builder
		worst := tally{}
		for _, c := range rows {
			if c.said != nil {
				c.compare(t, &table, &worst)
			}
		}
		if worst.oursMax > allowed {
			t.Errorf("the total is off by up to %.1f MiB, allowed are %d", worst.oursMax, allowed)
		}
		t.Logf("\n%s%s", &table, worst)
	}
}
