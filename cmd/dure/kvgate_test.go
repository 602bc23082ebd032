package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference"
	benchkv "dure/inference/bench/kv"
	"dure/inference/engine/enginetest"
	"dure/inference/plan"
	"dure/kvcache"
	"dure/kvcache/codec"
)

// enoughRows are those of a measurement that a load is decided by.
const enoughRows = 1 << 12

// someGate knows the rows of the sample of the format.
func someGate(t *testing.T, force bool) kvGate {
	t.Helper()
	rows, err := decodeQuality([]byte(kept(t, qualityName)))
	if err != nil {
		t.Fatal(err)
	}
	g := &gguf.Geometry{Layers: []gguf.Layer{{KVHeads: 1, KeyDim: 64, ValueDim: 64}}}
	return kvGate{model: "some-model", engine: "cpu 1", fingerprint: rows[0].Fingerprint, geometry: g, rows: rows, force: force}
}

func graded(keys, values gguf.TensorType) plan.Cache { return plan.Cache{Keys: keys, Values: values} }

func TestKVGate(t *testing.T) {
	q8, q4, f16 := graded(gguf.Q8_0, gguf.Q8_0), graded(gguf.Q4_0, gguf.Q4_0), graded(gguf.F16, gguf.F16)
	g := someGate(t, false)
	few := func(g *kvGate) {
		g.rows = slices.Clone(g.rows)
		for i := range g.rows {
			g.rows[i].Rows = 384
		}
	}
	for name, c := range map[string]struct {
		gate    func(*kvGate)
		cache   plan.Cache
		refused bool
		says    string
	}{
		"exact":            {cache: f16},
		"bf16":             {cache: graded(gguf.BF16, gguf.BF16)},
		"passed":           {cache: q8, says: "mean KLD 0.002, top-1 98.5 %, contexts to 7168 tokens"},
		"over":             {cache: q4, refused: true, says: "take --kv f16 or q8_0, or --force"},
		"forced":           {gate: func(g *kvGate) { g.force = true }, cache: q4, says: "by --force"},
		"over, on few":     {gate: few, cache: q4, says: "384 tokens compared"},
		"passed, on few":   {gate: few, cache: q8, says: "384 tokens compared"},
		"a pair":           {cache: graded(gguf.Q8_0, gguf.Q4_0), says: "not measured"},
		"another engine":   {gate: func(g *kvGate) { g.engine = "cpu 2" }, cache: q4, says: "not measured"},
		"another model":    {gate: func(g *kvGate) { g.fingerprint = strings.Repeat("0", 64) }, cache: q4, says: "dure bench kv some-model"},
		"not rotated":      {gate: func(g *kvGate) { g.geometry = nil }, cache: q4, says: "not measured"},
		"unread":           {gate: func(g *kvGate) { g.unread = os.ErrInvalid }, cache: q8, refused: true, says: "cannot be read"},
		"unread and exact": {gate: func(g *kvGate) { g.unread = os.ErrInvalid }, cache: f16},
		"unread, forced":   {gate: func(g *kvGate) { g.unread, g.force = os.ErrInvalid, true }, cache: q8, says: "by --force"},
	} {
		gate := g
		if c.gate != nil {
			c.gate(&gate)
		}
		var p placement
		err := gate.admit(&p, c.cache)
		said := ""
		for _, w := range p.llm.Warnings {
			if said = w.Message; w.Code != inference.CodeLossyCache {
				t.Errorf("%s: code %s", name, w.Code)
			}
		}
		if err != nil {
			said = err.Error()
		}
		if (err != nil) != c.refused || !strings.Contains(said, c.says) || (c.says == "") != (said == "") || (p.loss == "") != c.refused {
			t.Errorf("%s: %v, %+v, %q", name, err, p.llm.Warnings, p.loss)
		}
	}
	if got := g.refused(); !slices.Equal(got, []plan.Cache{q4}) {
		t.Errorf("refused: %v", got)
	}
	if losses := g.losses(); !strings.Contains(losses["q4_0"], "--force") || !strings.Contains(losses["q8_0"], "98.5") {
		t.Errorf("%q", losses)
	}
}

// States that wait are kept in a class with a loss only where it passed.
func TestKVGateOfClasses(t *testing.T) {
	g := someGate(t, true) // force is for types of the cache
	row := g.rows[0]
	row.Tier, row.Rotation, row.Setting, row.Codec = "parked", benchkv.Rotation{}, codec.Near.String(), codecKey(codec.Near, nil)
	g.rows = append(g.rows, row)
	row.Codec, row.Setting = "0", codec.NearSmall.String() // coded as by an earlier dure
	g.rows = append(g.rows, row)
	row.Codec = codecKey(codec.Small, nil)
	row.Mean.Value, row.Setting = 0.5, codec.Small.String()
	g.rows = append(g.rows, row)
	for c, says := range map[codec.Class]string{codec.Exact: "", codec.Near: "", codec.NearSmall: "not measured", codec.Small: "mean KLD 0.5", codec.Calibrated: "not measured"} {
		if ok, why := g.class(c); ok != (says == "") || !strings.Contains(why, says) || ok != (why == "") {
			t.Errorf("%s: %v, %s", c, ok, why)
		}
	}
	g.rows[len(g.rows)-1].Mean.Value = 0.03 // q4_0 cells have 0.04, top-1 94 %
	if ok, why := g.class(codec.Small); !ok {
		t.Errorf("less than q4_0 cells lose: %s", why)
	}
	g.rows[2].Rows = 384 // a look
	if ok, why := g.class(codec.Near); ok || !strings.Contains(why, "384 tokens compared") {
		t.Errorf("a look lets a class pass: %v, %s", ok, why)
	}
	g.rows[2].Rows, g.unread = enoughRows, os.ErrInvalid
	if ok, why := g.class(codec.Near); ok || why == "" {
		t.Error("what cannot be read lets a class pass")
	}
}

// A later form is left alone; what cannot be read is refused, by name, and not replaced.
func TestFormatOfQuality(t *testing.T) {
	home := t.TempDir()
	put(t, filepath.Join(home, "kv-quality-2.json"), "later")
	if rows, err := readQuality(home); err != nil || rows != nil {
		t.Errorf("%v, %v", rows, err)
	}
	put(t, qualityFile(home), kept(t, qualityName))
	rows, err := readQuality(home)
	if err != nil || len(rows) != 2 || rows[1].Mean.Value != 0.04 || rows[0].Rotation.Values != 64 {
		t.Fatalf("%+v, %v", rows, err)
	}
	result := benchkv.Result{Setting: "q8_0", Tier: benchkv.Hot, Rotation: benchkv.Rotation{Keys: 64, Values: 64}, BytesPerToken: 12240,
		Loss: benchkv.Loss{Rows: 100, Contexts: 1, Mean: benchkv.Interval{Value: 9}, Top: benchkv.Interval{Value: 0.5}}, ByLength: []benchkv.Part{{Length: 7}}}
	report := benchkv.Report{Subject: benchkv.Subject{Engine: "cpu 1", Fingerprint: rows[0].Fingerprint}, Results: []benchkv.Result{result}}
	notes, err := keepQuality(home, report)
	if again, _ := readQuality(home); err != nil || len(notes) != 1 || !reflect.DeepEqual(again, rows) {
		t.Errorf("a look takes away what a long run found: %v, %v, %+v", notes, err, again)
	}
	report.Results[0].Rows = 1 << 20
	notes, err = keepQuality(home, report)
	if again, _ := readQuality(home); err != nil || len(notes) != 0 || len(again) != 2 || again[0].Mean.Value != 9 || again[0].Reach != 7 {
		t.Errorf("%v, %v, %+v", notes, err, again)
	}
	// What was measured on a few tokens is remembered with their number, which decides
	// nothing (TestKVGate), and the run says so.
	few := report
	few.Bound, few.Results = benchkv.DefaultBound(), []benchkv.Result{result}
	few.Results[0].Setting = "q5_1"
	notes, err = keepQuality(home, few)
	if again, _ := readQuality(home); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "too few for a verdict") || len(again) != 3 || again[0].Rows != 100 {
		t.Errorf("%v, %v, %+v", notes, err, again)
	}
	good := kept(t, qualityName)
	for name, text := range map[string]string{
		"broken":        "[",
		"unknown field": strings.Replace(good, `"seed"`, `"sown"`, 1),
		"more behind":   good + "[]",
		"fingerprint":   strings.Replace(good, "00aa", "00", 1),
		"tier":          strings.Replace(good, `"hot"`, `"warm"`, 1),
		"no rows":       strings.Replace(good, `"rows": 6144`, `"rows": 0`, 1),
		"share":         strings.Replace(good, `0.985`, `1.985`, 1),
		"negative":      strings.Replace(good, `0.002`, `-0.002`, 1),
		"too long":      strings.Repeat(" ", mostQuality+1),
	} {
		put(t, qualityFile(home), text)
		if _, err := readQuality(home); err == nil || !strings.Contains(err.Error(), qualityFile(home)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := keepQuality(home, report); err == nil {
			t.Errorf("%s is replaced", name)
		}
		wantFile(t, qualityFile(home), text)
	}
	wantFile(t, filepath.Join(home, "kv-quality-2.json"), "later")
	if left := unlisted(t, home); len(left) != 0 {
		t.Errorf("not in the table: %q", left)
	}
}

func FuzzQuality(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "formats", qualityName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`[{"engine":"e","setting":"q8_0","tier":"hot","rows":1}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := decodeQuality(data)
		if err != nil {
			return
		}
		for _, r := range rows { // whatever was taken can be judged and written
			known(rows, r)
		}
		if _, err := json.Marshal(rows); err != nil {
			t.Error(err)
		}
	})
}

// A class needs figures of its coding, and calibrated the basis that it was measured
// with; damage and absence are refused with the command that helps.
func TestClassesAtALoad(t *testing.T) {
	path, home := enginetest.Llama(t, synth.Config{Context: 1024, HeadDim: 64, Heads: 2, KVHeads: 1}), t.TempDir()
	if err := os.Symlink(filepath.Join(enginetest.Home(t), "engine"), filepath.Join(home, "engine")); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := dureCommand(t, args...)
		cmd.Env = append(cmd.Env, envHome+"="+home)
		return cmd
	}
	serve := func(more ...string) *exec.Cmd {
		return command(append([]string{"serve", path, "--addr", "127.0.0.1:0", "--threads", "1", "--cache-disk", "64MiB", "--context", "256", "--sequences", "1"}, more...)...)
	}
	refused := func(says string, more ...string) {
		t.Helper()
		out, err := serve(more...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), says) {
			t.Errorf("%q: %v, %s; want %q", more, err, out, says)
		}
	}
	refused("not measured for this model; `dure bench kv", "--cache-class", "small")
	refused("--calibrate", "--cache-class", "calibrated", "--force")
	refused("must be one of", "--cache-class", "tiny")
	if out, err := command("bench", "kv", path, "--calibrate", "--threads", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	if out, err := command("bench", "kv", path, "--kv", "q4_0", "--classes", "small,calibrated", "--lengths", "200", "--task-lengths", "none", "--texts", "1", "--follow", "128", "--threads", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	rows, err := readQuality(home)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i := range rows { // random weights say nothing
		if rows[i].Rows != 3*128 {
			t.Errorf("%s: %d rows", rows[i].Setting, rows[i].Rows)
		}
		rows[i].Rows = enoughRows
		if rows[i].Mean.Value, rows[i].Top.Value = 0.03, 0.9; rows[i].Setting == "q4_0" {
			rows[i].Mean.Value, rows[i].Top.Value = 0.05, 0.88
		}
	}
	if err := writeJSON(qualityFile(home), rows); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"small", "calibrated"} {
		s := startCommand(t, serve("--cache-class", class))
		addr := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")
		if text, err := command("ps", "--addr", addr).Output(); err != nil || !strings.Contains(string(text), "disk "+class) {
			t.Errorf("ps: %v\n%s", err, text)
		}
		s.stop()
	}
	refused("near is not measured", "--cache-smaller", "near,small")
	refused("takes no more room", "--cache-class", "small", "--cache-smaller", "near", "--force")
	for list, want := range map[string]string{"auto": `["calibrated"]`, "small,calibrated": `["small","calibrated"]`} {
		s := startCommand(t, serve("--cache-smaller", list))
		if _, body := s.call("GET", "/dure/cache"); !strings.Contains(string(body), `"smaller":`+want) {
			t.Errorf("--cache-smaller %s: %s", list, body)
		}
		s.stop()
	}
	file := basisFile(home, rows[0].Fingerprint)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if left := unlisted(t, home); len(left) != 0 {
		t.Errorf("not in the table: %q", left)
	}
	if out, err := command("bench", "kv", path, "--calibrate", "--seed", "2", "--threads", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	refused("not measured", "--cache-class", "calibrated") // with this basis
	put(t, file, string(data[:len(data)-1]))
	refused("damaged", "--cache-class", "calibrated", "--force")
}

func TestTwoSteps(t *testing.T) {
	of := func(classes ...codec.Class) (out []kvcache.Coding) {
		for _, c := range classes {
			out = append(out, kvcache.Coding{Class: uint8(c)})
		}
		return out
	}
	for _, c := range []struct{ all, want []kvcache.Coding }{
		{nil, nil},
		{of(codec.NearSmall), of(codec.NearSmall)},
		{of(codec.Near, codec.NearSmall), of(codec.Near)},
		{of(codec.Small, codec.Calibrated), of(codec.Calibrated)},
		{of(codec.Near, codec.NearSmall, codec.Small), of(codec.Near, codec.Small)},
		{of(codec.Near, codec.NearSmall, codec.Small, codec.Calibrated), of(codec.Near, codec.Calibrated)},
	} {
		if got := twoSteps(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.all, got, c.want)
		}
	}
}

// The whole way: measured by the command, remembered, used by a load.
func TestLossIsMeasuredAndSaid(t *testing.T) {
	home := t.TempDir()
	if err := os.Symlink(filepath.Join(enginetest.Home(t), "engine"), filepath.Join(home, "engine")); err != nil {
		t.Fatal(err)
	}
	path := enginetest.Llama(t, synth.Config{Context: 1024, HeadDim: 64, Heads: 2, KVHeads: 1})
	command := func(args ...string) *exec.Cmd {
		cmd := dureCommand(t, args...)
		cmd.Env = append(cmd.Env, envHome+"="+home)
		return cmd
	}
	measure := command("bench", "kv", path, "--kv", "q8_0,q4_0", "--classes", "exact,small", "--lengths", "200", "--task-lengths", "none", "--texts", "1", "--follow", "128", "--threads", "1", "--json")
	measure.Stderr = os.Stderr
	out, err := measure.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report benchkv.Report
	if err := json.Unmarshal(out, &report); err != nil || len(report.Results) != 6 || report.Results[1].Setting != "exact" || report.Results[1].Max != 0 || report.Results[1].Ratio <= 1 {
		t.Fatalf("%v: %.500s", err, out)
	}
	rows, err := readQuality(home)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	// Weights are random: figures are put in place of those that say nothing.
	for i := range rows {
		if rows[i].Mean.Value = 0.001; rows[i].Setting == "q4_0" {
			rows[i].Mean.Value = 0.2
		}
		rows[i].Top.Value, rows[i].Rows = 0.99, enoughRows
	}
	if err := writeJSON(qualityFile(home), rows); err != nil {
		t.Fatal(err)
	}
	serve := func(more ...string) *exec.Cmd {
		return command(append([]string{"serve", path, "--addr", "127.0.0.1:0", "--threads", "1", "--cache-disk", "0", "--context", "256", "--sequences", "1"}, more...)...)
	}
	var errs bytes.Buffer
	refused := serve("--kv", "q4_0")
	refused.Stderr = &errs
	if err := refused.Run(); err == nil || !strings.Contains(errs.String(), "mean KLD 0.2000") || !strings.Contains(errs.String(), "--force") {
		t.Errorf("over the bound: %v, %s", err, &errs)
	}
	if text, err := command("plan", path, "--kv", "q8_0").Output(); err != nil || !strings.Contains(string(text), "cache stored as q8_0: mean KLD 0.001, top-1 99.0 %") {
		t.Errorf("plan: %v\n%s", err, text)
	}
	for name, c := range map[string]struct {
		flags []string
		says  string // in an answer
		shows string // in ps
	}{
		"passed":       {[]string{"--kv", "q8_0"}, "lossy_cache: KV cache q8_0 loses precision: mean KLD 0.001", "q8_0: mean KLD 0.001"},
		"forced":       {[]string{"--kv", "q4_0", "--force"}, "by --force", "(over the bound)"},
		"not measured": {[]string{"--kv", "q8_0/q4_0"}, "not measured for this model; `dure bench kv", "q8_0/q4_0: not measured"},
		"exact":        {nil, "", "f16"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startCommand(t, serve(c.flags...))
			if c.says != "" && !strings.Contains(s.out, strings.TrimPrefix(c.says, "lossy_cache: ")) {
				t.Errorf("the start does not say so:\n%s", s.out)
			}
			var answer struct{ Warnings []string }
			body := s.post(t.Context(), chatBody("hi", `,"max_tokens":2`)).Body
			if err := json.NewDecoder(body).Decode(&answer); err != nil {
				t.Fatal(err)
			}
			said := slices.ContainsFunc(answer.Warnings, func(w string) bool { return strings.Contains(w, "lossy_cache") && strings.Contains(w, c.says) })
			if said != (c.says != "") {
				t.Errorf("an answer says %q", answer.Warnings)
			}
			addr := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")
			if text, err := command("ps", "--addr", addr).Output(); err != nil || !strings.Contains(string(text), c.shows) {
				t.Errorf("ps: %v\n%s", err, text)
			}
		})
	}
}
