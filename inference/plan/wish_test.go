package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"dure/gguf"
	"dure/inference/plan"
)

// TestWrongFieldsAreNamed: the error says which field, what it is, and what it
// may be.
func TestWrongFieldsAreNamed(t *testing.T) {
	model := model27B(t, gguf.Q4K, 1) // 65 layers and the output
	for _, c := range []struct {
		wish plan.Wish
		want string
	}{
		{plan.Wish{Agents: -3}, "agents -3: must not be negative"},
		{plan.Wish{Active: -1}, "active agents -1: must not be negative"},
		{plan.Wish{Context: -2}, "context -2: must not be negative"},
		{plan.Wish{MTP: -1}, "MTP depth -1: must not be negative"},
		{plan.Wish{MicroBatch: -1}, "micro batch -1: must not be negative"},
		{plan.Wish{Outputs: -1}, "output rows -1: must not be negative"},
		{plan.Wish{Layers: -2}, "layers -2: must be a count"},
		{plan.Wish{Layers: 67}, "layers 67: the model has 66"},
		{plan.Wish{Layers: 66}, ""},
		{plan.Wish{Layers: plan.LayersAll}, ""},
		{plan.Wish{MicroBatch: 65537}, "micro batch 65537: must be 65536 at most"},
		{plan.Wish{MicroBatch: 65536}, ""},
		{plan.Wish{MTP: 16}, "MTP depth 16: 1 MTP layer of this model can draft 8 tokens at most"},
		{plan.Wish{MTP: 9}, "8 tokens at most"},
		{plan.Wish{MTP: 8}, ""},
		{plan.Wish{Pool: "shared"}, `pool "shared": must be "split" or "unified"`},
	} {
		_, err := plan.Make(plan.Input{Model: model, Devices: cards(t, "rtx-pro-6000"), Wish: c.wish})
		var refused *plan.RefusedError
		switch {
		case c.want == "" && err != nil && !errors.As(err, &refused):
			t.Errorf("%+v: %v", c.wish, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %q", c.wish, err, c.want)
		}
	}
}

func TestOneEngineDrivesAllGPUs(t *testing.T) {
	model := model27B(t, gguf.Q4K, 0)
	named := cards(t, "rtx-4090", "r9700")
	in := plan.Input{Model: model, Devices: named, Wish: plan.Wish{Context: 8192, Beside: []plan.Claim{voice("CUDA0", false)}}}
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	if p.Devices[0].Device.Name != "Vulkan0" || p.Devices[0].Device.Backend != "Vulkan" || p.Devices[1].Device.Name != "Vulkan1" {
		t.Errorf("%+v, %+v", p.Devices[0].Device, p.Devices[1].Device)
	}
	if p.Devices[0].Bytes(plan.Companion) == 0 || !strings.Contains(strings.Join(p.Notes, "\n"), "CUDA0 (CUDA), Vulkan1 (Vulkan) are planned as Vulkan devices") {
		t.Errorf("%s", p.Explain())
	}
	if named[0].Name != "CUDA0" || in.Wish.Beside[0].Device != "CUDA0" {
		t.Error("the input was changed")
	}
	// What an engine found stays what it is.
	found := slices.Clone(named)
	found[0].Assumed = false
	in.Devices = found
	if _, err = plan.Make(in); err == nil || !strings.Contains(err.Error(), "CUDA0 (CUDA), Vulkan1 (Vulkan): no variant of the engine drives all of them; plan them apart") {
		t.Errorf("two backends: %v", err)
	}
	in.Devices = cards(t, "rtx-4090", "rtx-3090")
	if p, err = plan.Make(in); err != nil || p.Devices[1].Device.Backend != "CUDA" {
		t.Errorf("one backend: %v", err)
	}
	in.Devices = []plan.Device{named[0], plan.Memory(24 * gib)}
	if p, err = plan.Make(in); err != nil || p.Devices[1].Device.Name != "GPU0" {
		t.Errorf("a card and a size: %v", err)
	}
}
