package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/bench"
	"dure/inference/engine/enginetest"
	"dure/inference/plan"
	"dure/inference/prefix"
)

func TestAutoPool(t *testing.T) {
	for _, c := range []struct {
		asked, faster plan.Pool
		active        int
		want          plan.Pool
	}{
		{"", "", 8, plan.Split},
		{"", plan.Unified, 8, plan.Unified},
		{plan.Split, plan.Unified, 8, plan.Split},
		{"", plan.Split, 1, plan.Unified}, // its second sequence then costs no cells
		{plan.Split, "", 1, plan.Split},
	} {
		if got := autoPool(c.asked, c.faster, c.active); got != c.want {
			t.Errorf("asked %q, measured %q, %d sequences: %q, want %q", c.asked, c.faster, c.active, got, c.want)
		}
	}
}

// What is measured is remembered for its model and engine alone.
func TestBenchPoolRemembers(t *testing.T) {
	home := t.TempDir()
	if err := os.Symlink(filepath.Join(enginetest.Home(t), "engine"), filepath.Join(home, "engine")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	var b bytes.Buffer
	if err := synth.Qwen35(&b, synth.Config{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := dureCommand(t, "bench", "pool", path, "--sequences", "2", "--shared", "16", "--private", "8", "--repeat", "1", "--threads", "1", "--json")
	cmd.Env = append(cmd.Env, envHome+"="+home)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var row poolRow
	if err := json.Unmarshal(out, &row); err != nil {
		t.Fatal(err)
	}
	if row.Split.Dense <= 0 || row.Split.Scattered <= 0 || row.Split.Chunk <= 0 || row.Unified.Sum() <= 0 {
		t.Errorf("measured %+v", row)
	}
	m, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	model, err := plan.FromFile(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := measuredPool(home, row.Engine, model); got != row.faster() {
		t.Errorf("remembered %q, measured %q", got, row.faster())
	}
	row.Split, row.Unified = bench.PoolCosts{Dense: 10}, bench.PoolCosts{Dense: 9}
	if err := rememberRow(poolFile(home), row); err != nil {
		t.Fatal(err)
	}
	if got := measuredPool(home, row.Engine, model); got != plan.Unified {
		t.Errorf("a new measurement does not replace the old one: %q", got)
	}
	if got := measuredPool(home, "another engine", model); got != "" {
		t.Errorf("another engine's pool is taken: %q", got)
	}
	if err := os.WriteFile(poolFile(home), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := measuredPool(home, row.Engine, model); got != "" {
		t.Errorf("a broken file tells %q", got)
	}
}

func TestDoctorTellsWhatACacheLacks(t *testing.T) {
	d := &diagnosis{}
	d.checkCache("m", prefix.Stats{})
	if d.failures() != 0 {
		t.Errorf("nothing is wrong, but %+v", d.Findings)
	}
	d.checkCache("m", prefix.Stats{Opaque: "unproven", NoDisk: "locked", Refused: map[string]int{"damaged": 2}})
	if d.failures() != 3 {
		t.Errorf("three things are wrong, but %+v", d.Findings)
	}
}
