package plan_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"dure/gguf"
	"dure/inference/plan"
)

func refusal(t *testing.T, in plan.Input) *plan.RefusedError {
	t.Helper()
	p, err := plan.Make(in)
	var refused *plan.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("not refused: %v\n%s", err, p.Explain())
	}
	return refused
}

// TestLayersOnAMachineThatIsNotKnown: a card by name has some machine around it.
func TestLayersOnAMachineThatIsNotKnown(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q8_0, 1), Devices: cards(t, "rtx-4090")}
	e := refusal(t, in)
	if len(e.Nearest) != 1 {
		t.Fatalf("%v", e)
	}
	n := e.Nearest[0]
	for _, want := range []string{" of 66 layers on the GPU, about ", " times slower", "a context of ", "if the machine has ", " GiB for them"} {
		if !strings.Contains(n.Change, want) {
			t.Errorf("%q is not in %q", want, n.Change)
		}
	}
	if n.Plan.Layers < 40 || n.Plan.Layers >= 66 || strings.Contains(e.Error(), "no other configuration") {
		t.Errorf("%v", e)
	}
	// Where even the CPU does not help, it says so.
	in.Devices = []plan.Device{plan.Memory(600 << 20), {Name: "CPU", Kind: plan.CPU, Backend: "CPU", TotalBytes: gib, FreeBytes: gib}}
	if e = refusal(t, in); len(e.Nearest) != 0 || !strings.Contains(e.Error(), "no other configuration fits here") {
		t.Errorf("%v", e)
	}
}

// TestAlternativesSayAllTheyChange: nothing is dropped silently, and no two are
// the same plan.
func TestAlternativesSayAllTheyChange(t *testing.T) {
	model := model27B(t, gguf.Q4K, 1)
	for _, w := range []plan.Wish{
		{Context: 262144, Agents: 1, Active: 1, MTP: 3, Cache: f16},
		{Context: 262144, MTP: 8, Cache: q8},
		{Context: 65536, Agents: 8, Active: 8, MTP: 3},
		{MTP: 8, MicroBatch: 4096, Agents: 16, Active: 16},
	} {
		e := refusal(t, plan.Input{Model: model, Devices: cards(t, "rtx-4090"), Wish: w})
		if len(e.Nearest) == 0 {
			t.Errorf("%+v: %v", w, e)
		}
		for i, n := range e.Nearest {
			t.Log(n.Change)
			if strings.Contains(n.Change, "without MTP") != (n.Plan.MTP == 0) {
				t.Errorf("%q has an MTP depth of %d", n.Change, n.Plan.MTP)
			}
			for _, other := range e.Nearest[:i] {
				if reflect.DeepEqual(other.Plan.Devices, n.Plan.Devices) {
					t.Errorf("%q and %q are one plan", other.Change, n.Change)
				}
			}
		}
	}
}

func TestTurnsHaveARowAndAreChecked(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q4K, 0), Devices: cards(t, "rtx-4090"), Wish: plan.Wish{Context: 65536}}
	row := func(p *plan.Plan) (it plan.Item) {
		for _, i := range p.Devices[0].Items {
			if i.Kind == plan.Companion {
				it = i
			}
		}
		return it
	}
	alone, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Wish.Beside = []plan.Claim{voice("CUDA0", true)}
	p, err := plan.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	if it := row(&p); it.Label != "haru-4b by turns, 11.18 GiB" || it.Bytes != 0 || p.Devices[0].Used != alone.Devices[0].Used {
		t.Errorf("%+v", it)
	}
	in.Wish.Beside[0].Bytes = p.Devices[0].Device.FreeBytes - plan.DefaultReserve
	if p, err = plan.Make(in); err != nil {
		t.Fatal(err)
	}
	if it := row(&p); !strings.HasSuffix(it.Label, ", beyond the model") || it.Bytes == 0 || p.Devices[0].Free != 0 {
		t.Errorf("%+v\n%s", it, p.Explain())
	}
	in.Wish.Beside[0].Bytes++
	if e := refusal(t, in); e.Need != e.Free+1 || !strings.Contains(e.Error(), "haru-4b on the CPU") {
		t.Errorf("%v", e)
	}
}

func TestExplainIsPlain(t *testing.T) {
	model := model27B(t, gguf.Q4K, 1)
	explain := func(w plan.Wish, devices ...plan.Device) string {
		p, err := plan.Make(plan.Input{Model: model, Devices: devices, Wish: w})
		if err != nil {
			t.Fatal(err)
		}
		return p.Explain()
	}
	card := cards(t, "rtx-4090")[0]
	has := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%q is missing in\n%s", w, text)
			}
		}
	}
	one := explain(plan.Wish{}, card)
	if !strings.HasPrefix(one, "FITS: 1 agent x 262144 tokens, cache q4_0\nbound by: ") {
		t.Error(one)
	}
	has(one, "all 66 layers on GPUs (the output counts as one)", "CUDA0: 66 layers, the output among them", "CPU: 0 layers", "1 output row,")
	has(explain(plan.Wish{Agents: 16, Context: 32768}, card), "FITS: 16 agents x 32768 tokens, ", " active at once, cache q4_0\n")
	mixed := &plan.Cache{Keys: gguf.Q8_0, Values: gguf.Q4_0}
	has(explain(plan.Wish{Context: 4096, Cache: mixed}, card), "cache q8_0/q4_0\n")
	cpu := explain(plan.Wish{Context: 4096}, host)
	has(cpu, "all 66 layers on the CPU (the output counts as one)", "CPU: 66 layers, the output among them", "a second copy of weights in the CPU's own layout, up to ")
	has(explain(plan.Wish{Context: 4096, Layers: 50}, card, host), "50 of 66 layers on GPUs, 16 on the CPU", "CUDA0: 50 layers, the output among them", "CPU: 16 layers\n")
	e := refusal(t, plan.Input{Model: model, Devices: []plan.Device{card}, Wish: plan.Wish{Context: 262144, Cache: f16}})
	has(e.Asked.Explain(), "DOES NOT FIT: 1 agent x 262144 tokens, cache f16\n")
}

// TestSecondCopy: only quantised weights that the CPU computes with count.
func TestSecondCopy(t *testing.T) {
	copies := func(weights gguf.TensorType, geometry bool, devices ...plan.Device) bool {
		m := model27B(t, weights, 0)
		if geometry {
			m.Files = nil
		}
		p, err := plan.Make(plan.Input{Model: m, Devices: devices, Wish: plan.Wish{Context: 2048}})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(p.Notes, "\n"), "second copy")
	}
	card := cards(t, "rtx-pro-6000")[0]
	for _, geometry := range []bool{false, true} {
		if !copies(gguf.Q4K, geometry, host) || copies(gguf.BF16, geometry, host) || copies(gguf.Q4K, geometry, card) {
			t.Errorf("from the geometry: %v", geometry)
		}
	}
}

// TestJSON: snake case, lists are lists, and it reads back as it was.
func TestJSON(t *testing.T) {
	in := plan.Input{Model: model27B(t, gguf.Q4K, 1), Devices: cards(t, "rtx-4090"), Wish: plan.Wish{Context: 262144, Cache: q8, MTP: 2}}
	e := refusal(t, in)
	m := plan.Measurement{Shape: e.Asked.DraftShape(), Compute: map[string]uint64{"CUDA0": 5}}
	for _, v := range []any{e, &e.Asked, &m} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := json.Unmarshal(data, back); err != nil || !reflect.DeepEqual(v, back) {
			t.Errorf("%T: %v\n%s", v, err, data)
		}
		var plain any
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatal(err)
		}
		snake(t, plain, reflect.TypeOf(v).Elem().Name())
	}
}

// snake checks the names of all fields, and that no list is null.
func snake(t *testing.T, v any, at string) {
	switch v := v.(type) {
	case nil:
		t.Errorf("%s is null", at)
	case []any:
		for _, x := range v {
			snake(t, x, at)
		}
	case map[string]any:
		for k, x := range v {
			if k != strings.ToLower(k) && k != "CUDA0" {
				t.Errorf("%s.%s", at, k)
			}
			snake(t, x, at+"."+k)
		}
	}
}

// TestNoAlternativeOffersMore: less fits, never more than was asked for.
func TestNoAlternativeOffersMore(t *testing.T) {
	model := model27B(t, gguf.Q4K, 1)
	for _, w := range []plan.Wish{
		{Context: 131072, Cache: f16},
		{Context: 32768, Agents: 16, Active: 16},
		{Context: 65536, Agents: 8, Active: 8, MTP: 8, Cache: q8},
	} {
		for _, n := range refusal(t, plan.Input{Model: model, Devices: cards(t, "rtx-4090"), Wish: w}).Nearest {
			if n.Plan.Context > w.Context || n.Plan.Active > max(w.Active, 1) || strings.Contains(n.Plan.Binding, "the model takes at most") {
				t.Errorf("%q of %+v: bound by %q", n.Change, w, n.Plan.Binding)
			}
		}
	}
}
