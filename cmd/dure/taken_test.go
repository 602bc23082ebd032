package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dure/inference/device"
	"dure/inference/plan"
)

func TestWhatOthersTook(t *testing.T) {
	held := func(id, engine string, others device.Reading[uint64], free uint64) device.Device {
		d := card(id, engine, device.Is[uint64](0))
		d.Others, d.Free = others, device.Is(free)
		return d
	}
	unknown := device.Unknown[uint64]("not told")
	on := func(kind string, used uint64) *plan.Plan {
		return &plan.Plan{Devices: []plan.Allocation{{Device: plan.Device{Name: "CUDA0", Kind: kind}, Used: used}}}
	}
	before := held("a", "CUDA0", device.Is[uint64](100*mib), 9000*mib)
	for name, c := range map[string]struct {
		plan       *plan.Plan
		before, is device.Device
		want       string
	}{
		"a game":           {on(plan.GPU, 1), before, held("a", "CUDA0", device.Is[uint64](3100*mib), 500*mib), "2.9 GiB of CUDA0 since it was loaded, 500.0 MiB are free"},
		"a desktop":        {on(plan.GPU, 1), before, held("a", "CUDA0", device.Is[uint64](300*mib), 8800*mib), ""},
		"they gave back":   {on(plan.GPU, 1), before, held("a", "CUDA0", device.Is[uint64](0), 9100*mib), ""},
		"another card":     {on(plan.GPU, 1), before, held("b", "CUDA0", device.Is[uint64](3100*mib), 500*mib), ""},
		"not told now":     {on(plan.GPU, 1), before, held("a", "CUDA0", unknown, 500*mib), ""},
		"not told before":  {on(plan.GPU, 1), held("a", "CUDA0", unknown, 1), held("a", "CUDA0", device.Is[uint64](3100*mib), 500*mib), ""},
		"gone":             {on(plan.GPU, 1), before, held("a", "CUDA9", device.Is[uint64](3100*mib), 500*mib), ""},
		"a card not used":  {on(plan.GPU, 0), before, held("a", "CUDA0", device.Is[uint64](3100*mib), 500*mib), ""},
		"the main memory":  {on(plan.CPU, 1), before, held("a", "CUDA0", device.Is[uint64](3100*mib), 500*mib), ""},
		"without any plan": {nil, before, held("a", "CUDA0", device.Is[uint64](3100*mib), 500*mib), ""},
	} {
		all := placement{plan: c.plan, before: []device.Device{c.before}}.taken([]device.Device{c.is})
		if got := fmt.Sprint(all); c.want == "" && len(all) > 0 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", name, got, c.want)
		}
	}
}

// What the server tells of its models is one table: what is loaded, what failed, what
// comes back, and what others took.
func TestModelsOfAServer(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/dure/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"name":"a","state":"loaded","expires_ns":60000000000,"shrunk":1},{"name":"b","state":"absent","paused":true},
			{"name":"c","state":"absent","failures":5,"why":"signal: aborted","again_ns":90000000000}]}`)
	})
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `# TYPE dure_model_info gauge
dure_model_info{context="512",description="",device="CUDA0",model="a",pid="77",sequences="4"} 1
# TYPE dure_model_memory_taken_bytes gauge
dure_model_memory_taken_bytes{device="CUDA0",model="a"} 1073741824
# TYPE dure_model_memory_taken_free_bytes gauge
dure_model_memory_taken_free_bytes{device="CUDA0",model="a"} 1048576
`)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	models, err := pooledModels(t.Context(), strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	var table, memory bytes.Buffer
	if err := printModels(&table, models); err != nil {
		t.Fatal(err)
	}
	if err := printMemory(&memory, models); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"77", "in 1m0s", "made smaller to fit", "comes back with `dure load`", "failed 5 times lately, again in 1m30s: signal: aborted",
		"other programs took 1.0 GiB of CUDA0", "1.0 MiB are free"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, table.String())
		}
	}
	if !strings.Contains(memory.String(), "other programs took") {
		t.Errorf("memory:\n%s", memory.String())
	}
	d := &diagnosis{}
	for _, m := range models {
		d.checkPooled(m)
	}
	bad := 0
	for _, f := range d.Findings {
		if !f.OK && f.Fix != "" {
			bad++
		}
	}
	if bad != 3 || len(d.Findings) != 4 { // c failed, a is small, others took; b is paused
		t.Errorf("%+v", d.Findings)
	}
}
