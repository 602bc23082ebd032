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
		"plan smollm2-135m --context many":                "65536 or 64k",
		"plan smollm2-135m --vram lots":                   "200GiB",
		"plan smollm2-135m --vram 24":                     "name the unit",
		"plan smollm2-135m --turns":                       "--with",
		"plan smollm2-135m --kv q9":                       "q8_0/q4_0",
		"plan smollm2-135m --pool shared":                 "split or unified",
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
		if err := m.add(model, shape, []llm.Memory{{Device: "CPU", Compute: compute}, {Device: "CPU", Compute: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openMeasured(home, "cpu 1")
	if err != nil {
		t.Fatal(err)
	}
	if got := again.shapes(model); len(got) != 1 || got[0].Shape != shape || got[0].Compute["CPU"] != 21 {
		t.Errorf("%+v", got)
	}
	other, err := openMeasured(home, "cpu 2")
	if err != nil || len(other.shapes(model)) != 0 {
		t.Errorf("of another engine: %+v, %v", other.shapes(model), err)
	}
}
