package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"dure/gguf"
	"dure/inference/engine"
	"dure/inference/llm"
	"dure/inference/plan"
)

// Every flag of a load is known to shape one: `run` would else use a server that
// has loaded otherwise, and ignore the flag.
func TestFlagsThatShapeALoad(t *testing.T) {
	cmd := &cobra.Command{}
	new(hostOptions).register(cmd)
	for _, line := range strings.Split(cmd.Flags().FlagUsages(), "\n") {
		_, rest, found := strings.Cut(line, "--")
		if !found {
			continue
		}
		if name := strings.Fields(rest)[0]; name != "log-level" && !slices.Contains(shaping, name) {
			t.Errorf("--%s does not count as shaping a load", name)
		}
	}
	for _, name := range shaping {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("--%s is no flag", name)
		}
	}
}

// What a plan chose is what is loaded, and crosses to the model's process whole.
func TestPlansAreLoadedAsPlanned(t *testing.T) {
	made := plan.Plan{Context: 300_000, Active: 3, Pool: plan.Unified, ShortWindow: true, MicroBatch: 64, YarnFactor: 2,
		Cache: plan.Cache{Keys: gguf.Q8_0, Values: gguf.Q4_0}}
	var cfg llm.Config
	shape(&cfg, plan.Model{Geometry: &gguf.Geometry{TrainContext: 262144}}, &made)
	want := llm.Config{Context: 300_000, Sequences: 3, Planned: true, KeyType: "q8_0", ValueType: "q4_0", Unified: true, ShortWindow: true,
		MicroBatch: 64, Yarn: engine.Yarn{Factor: 2, Original: 262144}}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("%+v", cfg)
	}
	data, err := json.Marshal(cfg)
	var back llm.Config
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil || !reflect.DeepEqual(back, want) {
		t.Errorf("%+v, %v", back, err)
	}
	made.YarnFactor = 1
	if shape(&cfg, plan.Model{}, &made); cfg.Yarn.Factor != 2 {
		t.Errorf("%+v", cfg.Yarn) // what is not stretched asks for no model
	}
}

// Without a plan nothing is ignored: it goes to the engine, or is refused.
func TestUnplannedLoads(t *testing.T) {
	var cfg llm.Config
	p := placement{layers: -1}
	o := loadOptions{layers: 7, pool: "unified", kv: "q8_0", shortWindow: true, microBatch: 32}
	if err := o.unplanned(&cfg, &p); err != nil || p.layers != 7 || !cfg.Unified || !cfg.ShortWindow || cfg.MicroBatch != 32 || cfg.ValueType != "q8_0" {
		t.Errorf("%v, %d layers, %+v", err, p.layers, cfg)
	}
	for want, o := range map[string]loadOptions{
		"--yarn":    {pool: "auto", kv: "f16", yarn: true},
		"--reserve": {pool: "auto", kv: "f16", reserve: "1GiB"},
		"--kv auto": {pool: "auto", kv: "auto"},
	} {
		if err := o.unplanned(&cfg, &p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
