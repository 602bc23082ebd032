package plan_test

import (
	"strings"
	"testing"

	"dure/gguf"
	"dure/inference/plan"
)

// 32 agents of 64k tokens, 16k of them shared, on a model of 27 billion parameters: the
// shared rows count once, each agent has a state of its own. That such figures are what
// lies on disk: kvcache/store's TestParkedAsPlanned.
func TestWaiting(t *testing.T) {
	g := model27B(t, gguf.Q4K, 0).Geometry
	f16 := plan.Cache{Keys: gguf.F16, Values: gguf.F16}
	s, err := plan.ParkedStates(g, f16, 32, plan.Waiting{Context: 65536, Shared: 16384}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Fields of the engine's bytes around rows and cells (kvcache/blob), of a file of rows
	// and one of a state.
	const token, state = 65536 + 24, 156893184
	const rows = 8 + 4 + 4 + 8 + 2*16*12 + 12 + 96*12
	const alone = 8 + 12 + 96*12 + 8
	if s.Raw.Trunk != 16384*token+state+rows+alone || s.Raw.Agent != 49152*token+state+rows+alone || s.Raw.Bytes != s.Raw.Trunk+32*s.Raw.Agent || s.Raw.Source != plan.Exact {
		t.Errorf("%+v", s.Raw)
	}
	least := map[string]float64{"exact": 0.99, "near": 2.5, "near-small": 2.8, "small": 4.8, "calibrated": 6}
	last := s.Raw.Bytes + s.Raw.Bytes/1000
	for _, c := range s.Classes {
		if ratio := float64(s.Raw.Bytes) / float64(c.Bytes); ratio < least[c.Class] || c.Bytes > last || c.Source != plan.Formula {
			t.Errorf("%+v: %.2f times smaller", c, ratio)
		}
		last = c.Bytes
	}
	if more, err := plan.ParkedStates(g, f16, 32, plan.Waiting{Context: 65536}, nil); err != nil || more.Raw.Trunk != 0 || more.Raw.Agent != s.Raw.Agent+16384*token {
		t.Errorf("nothing shared: %+v, %v", more, err)
	}
	for _, w := range []plan.Waiting{{}, {Context: 10, Shared: 11}, {Context: 10, Shared: -1}} {
		if _, err := plan.ParkedStates(g, f16, 32, w, nil); err == nil {
			t.Errorf("%+v is taken", w)
		}
	}
}

// A measured ratio counts for the cells it was measured with, and is said to be one.
func TestWaitingAsMeasured(t *testing.T) {
	g := &gguf.Geometry{Architecture: "llama", Layers: []gguf.Layer{{KVHeads: 1, KeyDim: 64, ValueDim: 64}}}
	in := plan.Waiting{Context: 1000}
	for _, typ := range []gguf.TensorType{gguf.F16, gguf.Q8_0} {
		s, err := plan.ParkedStates(g, plan.Cache{Keys: typ, Values: typ}, 2, in, map[string]float64{"small": 8})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Classes {
			measured := typ == gguf.F16 && c.Class == "small"
			if measured != (c.Source == plan.Measured) || measured && c.Agent != s.Raw.Agent/8+4000+4096 {
				t.Errorf("%v: %+v of %+v", typ, c, s.Raw)
			}
		}
	}
}

func TestWaitingInAPlan(t *testing.T) {
	card, err := plan.Card("rtx-5090", 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: []plan.Device{card},
		Wish: plan.Wish{Agents: 32, Waiting: &plan.Waiting{Context: 65536, Shared: 16384}}})
	if err != nil {
		t.Fatal(err)
	}
	text := p.Explain()
	for _, want := range []string{"32 agents x 65536 tokens parked, 16384 of them shared and stored once", "on disk, small", "at most", "not the 65536 that are to be parked"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if p.Waiting == nil || p.Waiting.Agents != 32 {
		t.Errorf("%+v", p.Waiting)
	}
}
