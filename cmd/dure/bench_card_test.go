package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dure/gguf"
	benchcard "dure/inference/bench/card"
	"dure/inference/device"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
	"dure/inference/plan"
)

// cardHome has the engine and the models of the tests' home, and nothing else: what
// a short run measures beside other tests is not to be remembered.
func cardHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"engine", "models"} {
		if err := os.Symlink(filepath.Join(enginetest.Home(t), name), filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func cardCommand(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := dureCommand(t, append([]string{"bench", "card", "smollm2-135m", "--quick", "--threads", "1"}, args...)...)
	cmd.Env = append(cmd.Env, envHome+"="+home)
	return cmd
}

func readReport(t *testing.T, dir string) (r benchcard.Report) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "card.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

var cardTime = flag.Duration("card-time", 8*time.Second, "how long TestCardOfARealModel measures; a quick card in full takes a minute")

// TestCardOfARealModel has little time: what comes of it depends on the machine, that
// it adds up does not. A second run goes on with the first.
func TestCardOfARealModel(t *testing.T) {
	home, dir := cardHome(t), t.TempDir()
	if out, err := cardCommand(t, home, "--out", dir, "--max-time", cardTime.String()).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	first := readReport(t, dir)
	s := first.Subject
	if s.Model != "smollm2-135m" || len(s.SHA256) != 64 || s.Engine == "" || s.Threads != 1 || !s.Quick {
		t.Errorf("subject %+v", s)
	}
	// The next load of the same begins with what was measured, if anything was that
	// nothing disturbed.
	serve := dureCommand(t, "serve", "smollm2-135m", "--addr", "127.0.0.1:0", "--threads", "1", "--cache-disk", "0")
	serve.Env = append(serve.Env, envHome+"="+home)
	srv := startCommand(t, serve)
	if said := strings.Contains(srv.out, "the scheduler begins with"); said == benchcard.CostsOf(first.Points).Empty() {
		t.Errorf("a load after the measurement:\n%s\n%+v", srv.out, first.Points)
	}
	if err := srv.stop(); err != nil {
		t.Error(err)
	}
	if load := first.Parts[0]; load.State == benchcard.Done && len(first.Plan) == 0 {
		t.Error("plan and load were not compared")
	}
	for _, p := range first.Parts {
		if p.State == benchcard.Failed || p.State != benchcard.Done && p.Why == "" {
			t.Errorf("%+v", p)
		}
	}
	out, err := cardCommand(t, home, "--out", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--resume") {
		t.Errorf("a second measurement into the same folder: %v\n%s", err, out)
	}
	if out, err := cardCommand(t, home, "--out", dir, "--max-time", (*cardTime / 4).String(), "--resume").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	second := readReport(t, dir)
	if len(second.Points) < len(first.Points) || !slices.Equal(second.Points[:len(first.Points)], first.Points) {
		t.Error("figures of the first run are lost or changed")
	}
	md, err := os.ReadFile(filepath.Join(dir, "card.md"))
	if err != nil || !strings.Contains(string(md), "on CPU") {
		t.Errorf("the report is not labelled as CPU's: %v", err)
	}
}

var cardOnVulkan = flag.Bool("card-vulkan", false, "measure on the installed Vulkan engine, which may be a software device")

// TestCardOnVulkan goes the way of a graphics card.
func TestCardOnVulkan(t *testing.T) {
	if !*cardOnVulkan {
		t.Skip("only with -args -card-vulkan: a software device takes minutes")
	}
	if v := device.Here(libraryDirs()).Vulkan; v.Loader == "" || len(v.ICDs) == 0 {
		t.Skip("this machine has no Vulkan driver, not even one in software")
	}
	home, dir := cardHome(t), t.TempDir()
	cmd := cardCommand(t, home, "--out", dir, "--max-time", "4m")
	cmd.Env = append(cmd.Env, envEngine+"=vulkan", "GGML_VK_VISIBLE_DEVICES=0") // without, the engine passes over a software device
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := readReport(t, dir)
	if len(r.Subject.Devices) == 0 || !strings.Contains(r.Subject.Layout, "on cards") {
		t.Errorf("no card in %+v", r.Subject)
	}
	if !slices.ContainsFunc(r.Plan, func(p benchcard.PlanRow) bool { return p.Device != "CPU" && p.Measured > 0 }) {
		t.Errorf("nothing was allocated on the card: %+v", r.Plan)
	}
	for _, p := range r.Parts {
		if p.State == benchcard.Failed {
			t.Errorf("%+v", p)
		}
	}
	if !slices.ContainsFunc(r.Points, func(p benchcard.Point) bool { return p.Figure == benchcard.FigureStep }) {
		t.Error("no step was measured")
	}
}

// TestCardEndsOnInterrupt: what was measured is in the report.
func TestCardEndsOnInterrupt(t *testing.T) {
	home, dir := cardHome(t), t.TempDir()
	cmd := cardCommand(t, home, "--out", dir, "--max-time", "10m") // it gets as far as the first step
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := &lockedBuffer{}
	buf := make([]byte, 4096)
	sent := false
	for {
		n, err := errs.Read(buf)
		seen.Write(buf[:n])
		if !sent && strings.Contains(seen.String(), "step, ") {
			sent = true
			cmd.Process.Signal(os.Interrupt)
		}
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 {
		t.Fatalf("%v\n%s", err, seen)
	}
	r := readReport(t, dir)
	if len(r.Points) == 0 || !slices.ContainsFunc(r.Parts, func(s benchcard.State) bool { return strings.Contains(s.Why, "interrupted") }) {
		t.Errorf("report of an interrupted run: %d points, %+v", len(r.Points), r.Parts)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "bench-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// someSteps are a row of a load.
func someSteps() (plan.Model, placement, stepRow) {
	m := plan.Model{Geometry: &gguf.Geometry{Architecture: "llama", Bytes: 7}}
	p := placement{layers: -1, llm: llm.Config{Threads: 2, KeyType: "f16", ValueType: "f16", FlashAttention: "auto"}}
	row := stepKey("cpu 1", m, p)
	row.Costs = benchcard.Costs{
		Steps:  []benchcard.StepCost{{Rows: 1, Context: 512, MS: 10}, {Rows: 8, Context: 512, MS: 40}, {Rows: 16, Context: 512, MS: 90}, {Rows: 1, Context: 7000, MS: 60}},
		Chunks: []benchcard.Chunk{{Tokens: 64, From: 0, MS: 90.5}},
	}
	return m, p, row
}

// TestStepsOfALoad: only what makes steps dearer or cheaper tells loads apart.
func TestStepsOfALoad(t *testing.T) {
	home := t.TempDir()
	m, p, row := someSteps()
	if err := rememberSteps(home, row); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*placement){
		"": func(*placement) {}, "usual micro batch": func(p *placement) { p.llm.MicroBatch = llm.MostMicroBatch },
		"more sequences": func(p *placement) { p.llm.Sequences = 99 },
		"!layers":        func(p *placement) { p.layers = 7 }, "!threads": func(p *placement) { p.llm.Threads = 4 },
		"!types": func(p *placement) { p.llm.ValueType = "q8_0" }, "!pool": func(p *placement) { p.llm.Unified = true },
		"!micro batch": func(p *placement) { p.llm.MicroBatch = 64 }, "!flash": func(p *placement) { p.llm.FlashAttention = "off" },
		"!window": func(p *placement) { p.llm.ShortWindow = true },
	} {
		other := p
		change(&other)
		c, ok, err := measuredSteps(home, "cpu 1", m, other)
		if want := !strings.HasPrefix(name, "!"); ok != want || err != nil || ok && len(c.Steps) != 4 {
			t.Errorf("%q: %v, %v, %+v", name, ok, err, c)
		}
	}
	if _, ok, _ := measuredSteps(home, "cpu 2", m, p); ok {
		t.Error("took another engine's costs")
	}
	if _, ok, err := measuredSteps(t.TempDir(), "cpu 1", m, p); ok || err != nil {
		t.Errorf("nothing was measured, but %v, %v", ok, err)
	}
}

// TestPlanTellsWhatWasMeasured of the same load on this machine, and of no other.
func TestPlanTellsWhatWasMeasured(t *testing.T) {
	home := t.TempDir()
	m, _, row := someSteps()
	made := &plan.Plan{All: 31, Cache: plan.Cache{Keys: gguf.F16, Values: gguf.F16}, Pool: plan.Split, MicroBatch: 512}
	p := placement{llm: llm.Config{Threads: device.Here(libraryDirs()).CPU.Threads(), FlashAttention: "auto"}}
	p.made(m, made)
	row.Load = stepKey("", m, p).Load
	if err := rememberSteps(home, row); err != nil {
		t.Fatal(err)
	}
	if got := (planAbout{home: home, engine: "cpu 1"}).learnt(planOptions{}, m, made); len(got) != 1 || !strings.Contains(got[0], "8 write 200") {
		t.Errorf("%q", got)
	}
	for _, got := range [][]string{
		(planAbout{home: home, engine: "cpu 1"}).learnt(planOptions{noFlash: true}, m, made),
		(planAbout{home: home}).learnt(planOptions{}, m, made),
	} {
		if len(got) != 0 {
			t.Errorf("of another load: %q", got)
		}
	}
}

// TestStepsGoToTheScheduler in its units, those of short sequences alone.
func TestStepsGoToTheScheduler(t *testing.T) {
	_, _, row := someSteps()
	got, want := schedulerCosts(row.Costs), llm.Costs{
		Steps:  []llm.StepCost{{Rows: 1, Took: 10e6}, {Rows: 8, Took: 40e6}, {Rows: 16, Took: 90e6}},
		Chunks: []llm.ChunkCost{{From: 0, Tokens: 64, Took: 90_500_000}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	notes := strings.Join(measuredNotes(row.Costs), "\n")
	if !strings.Contains(notes, "what 4 steps and 1 pieces") || !strings.Contains(notes, "512 tokens in each: 1 sequence writes 100 tokens/s; 8 write 200 tokens/s together, the most of up to 16") {
		t.Errorf("said: %s", notes)
	}
}
