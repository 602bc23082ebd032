package main

import (
	"encoding/json"
	"strings"
	"testing"

	"dure/gguf"
	"dure/inference/llm"
	"dure/inference/plan"
)

// plans are what a person would ask before buying or downloading anything.
func TestPlanOfAModelThatIsNotHere(t *testing.T) {
	for _, c := range []struct {
		args string
		fits bool
		want []string
	}{
		{"--card rtx-4090 --context 128k --kv q8_0 --explain", true, []string{"what a larger choice would have needed", "a context of 262144 tokens", "a cache of f16"}},
		{"--card rtx-5090 --context 512k --yarn", true, []string{"FITS: 1 agent x 524288 tokens", "YaRN scales all positions 2 times", "short prompts change"}},
		{"--card rtx-pro-6000 --context 8k --agents 4 --active 4 --pool unified", true, []string{"unified pool of 32768 cells", "748.1 MiB  exact"}},
		{"--card rtx-4090 --context 128k --kv q8_0", true, []string{"FITS: 1 agent x 131072 tokens", "cache q8_0", "4.25 GiB  exact", "149.6 MiB  exact", "not on this machine"}},
		{"--card rtx-4090 --agents 16 --context 32k", true, []string{"16 agents", "x 32768 tokens"}},
		{"--card rtx-5090 --with haru-4b", true, []string{"beside (haru-4b)", "11.18 GiB"}},
		{"--card rtx-4090 --with haru-4b", false, []string{"does not fit", "by turns"}},
		{"--card rtx-4090 --with haru-4b --turns", true, []string{"FITS: 1 agent x", "haru-4b by turns"}},
		{"--vram 12GiB --layers 66", false, []string{"does not fit", "short"}},
		{"--card rtx-4090 --context 262144 --kv f16", false, []string{"what fits: cache"}},
		{"--card rtx-4090 --card r9700", true, []string{"Vulkan0", "Vulkan1"}},
	} {
		out, err := dureCommand(t, append([]string{"plan", "qwen3.8-27b"}, strings.Fields(c.args)...)...).CombinedOutput()
		if (err == nil) != c.fits {
			t.Errorf("%s: %v\n%s", c.args, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %q is missing in\n%s", c.args, want, out)
			}
		}
	}
}

func TestPlanOfThisMachine(t *testing.T) {
	out, err := dureCommand(t, "plan", "smollm2-135m", "--json", "--agents", "2", "--context", "2k").Output()
	if err != nil {
		t.Fatal(err)
	}
	var p plan.Plan
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	if p.Context != 2048 || p.Active != 2 || len(p.Devices) != 1 || p.Devices[0].Bytes(plan.KV) != 2*2048*23040 {
		t.Errorf("%+v", p)
	}
}

func TestPlanMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"plan":                                            "name one model",
		"plan nothing":                                    "nothing",
		"plan smollm2-135m --card rtx-9999":               "rtx-5090",
		"plan smollm2-135m --card RTX5090":                `did you mean "rtx-5090"?`,
		"plan qwen3.8-27 --card rtx-5090":                 `did you mean "qwen3.8-27b"?`,
		"plan smollm2-135m --yarn --context 4k":           "within the trained 8192",
		"plan smollm2-135m --reserve 3":                   "name the unit",
		"plan smollm2-135m --context many":                "65536 or 64k",
		"plan smollm2-135m --vram lots":                   "200GiB",
		"plan smollm2-135m --vram 24":                     "name the unit",
		"plan smollm2-135m --turns":                       "--with",
		"plan smollm2-135m --kv q9":                       "q8_0/q4_0",
		"plan smollm2-135m --pool unfied":                 `did you mean "unified"?`,
		"plan smollm2-135m --context 900k":                "the model takes 8192",
		"plan smollm2-135m --card rtx-4090 --layers 1000": "the model has",
		"plan smollm2-135m --mtp 2":                       "no MTP layers",
		"plan qwen3-embedding-0.6b --card rtx-3090":       "dure pull qwen3-embedding-0.6b",
	} {
		out, err := dureCommand(t, strings.Fields(args)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %q is missing in\n%s", args, err, want, out)
		}
	}
}

func TestParseTokens(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "4096": 4096, "64k": 65536, "1.5K": 1536, "1m": 1 << 20} {
		if n, err := parseTokens(text); err != nil || n != want {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "k", "-1", "1.0001k", "9999m", "99999999999", "1kk", "64 k"} {
		if n, err := parseTokens(text); err == nil {
			t.Errorf("%q: %d", text, n)
		}
	}
}

// What the engine holds is put beside the plan; only real differences are told.
func TestVerifyTellsWhatDiffers(t *testing.T) {
	gpu := plan.Allocation{Device: plan.Device{Name: "CUDA0"}, Items: []plan.Item{
		{Kind: plan.Weights, Bytes: 16 << 30}, {Kind: plan.KV, Bytes: 4 << 30}, {Kind: plan.Recurrent, Bytes: 150 << 20}, {Kind: plan.Compute, Bytes: 700 << 20}}}
	p := placement{plan: &plan.Plan{Devices: []plan.Allocation{gpu}, Cache: plan.Cache{Keys: gguf.F16, Values: gguf.F16}}}
	good := llm.Memory{Buffer: "CUDA0", Device: "CUDA0", Weights: 16 << 30, Cache: 4<<30 + 150<<20, Compute: 720 << 20}
	if d := p.verify([]llm.Memory{good}); len(d) > 0 {
		t.Errorf("within the slack: %+v", d)
	}
	host := plan.Allocation{Device: plan.Device{Name: "CPU"}, Items: []plan.Item{{Kind: plan.Weights, Bytes: 80 << 20}}}
	for buffer, want := range map[string]int{"CPU_Mapped": 0, "CPU": 1} {
		part := placement{plan: &plan.Plan{Devices: []plan.Allocation{host}}}
		if d := part.verify([]llm.Memory{{Buffer: buffer, Device: "CPU", Weights: 92 << 20}}); len(d) != want {
			t.Errorf("%s: %+v", buffer, d)
		}
	}
	copied := llm.Memory{Buffer: "AMX", Device: "CUDA0", Weights: 15 << 30}
	if d := p.verify([]llm.Memory{good, copied}); len(d) > 0 {
		t.Errorf("a second copy of the weights: %+v", d)
	}
	bad := good
	bad.Cache += 2 << 20
	bad.Compute += 100 << 20
	if d := p.verify([]llm.Memory{bad}); len(d) != 2 || d[1].Item != plan.Compute || d[1].Measured != 820<<20 {
		t.Errorf("%+v", d)
	}
	if d := p.verify(nil); d != nil {
		t.Errorf("engine that tells nothing: %+v", d)
	}
}

func TestMeasuredSizesAreKept(t *testing.T) {
	home := t.TempDir()
	m, err := openMeasured(home, "cpu 1")
	if err != nil {
		t.Fatal(err)
	}
	model := plan.Model{Geometry: &gguf.Geometry{Architecture: "llama", Bytes: 7}}
	shape := plan.Shape{Cells: 512, Sequences: 1}
	for _, compute := range []uint64{10, 20} { // the second replaces the first
		p := placement{plan: &plan.Plan{Cells: 512, Sequences: 1}, driver: map[string]driverReading{
			"CUDA0": {bytes: 700, by: byProcess}, "CUDA1": {bytes: 900, by: byCard}, "CUDA2": {why: "it does not tell"}}}
		held := []llm.Memory{{Device: "CPU", Compute: compute}, {Device: "CPU", Compute: 1}, {Device: "CUDA0", Weights: 400, Compute: 100}}
		if err := m.add(model, p.measurement(held)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openMeasured(home, "cpu 1")
	if err != nil {
		t.Fatal(err)
	}
	got := again.shapes(model)
	if len(got) != 1 || got[0].Shape != shape || got[0].Compute["CPU"] != 21 {
		t.Errorf("%+v", got)
	}
	// Only the driver's own figure for the process is kept: others' changes are in
	// the card's.
	if d := got[0].Driver; len(d) != 1 || d["CUDA0"] != 200 {
		t.Errorf("beyond the engine: %v", d)
	}
	other, err := openMeasured(home, "cpu 2")
	if err != nil || len(other.shapes(model)) != 0 {
		t.Errorf("of another engine: %+v, %v", other.shapes(model), err)
	}
}
