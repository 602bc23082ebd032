package kv

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine/enginetest"
)

// damage parks states with their last values gone.
type damage struct{ same }

// Decode implements Transform.
func (damage) Decode(coded []byte) ([]byte, error) {
	clear(coded[len(coded)-2048:])
	return coded, nil
}

// grow gives back more than it got.
type grow struct{ same }

// Decode implements Transform.
func (grow) Decode(coded []byte) ([]byte, error) { return append(coded, 0), nil }

func class(name string, t Transform) Setting {
	return Setting{Name: name, Tier: Parked, Make: func(Ground) (Transform, error) { return t, nil }}
}

func geometry(t *testing.T, path string) *gguf.Geometry {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := f.Geometry()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// look is a short run.
func look(g *gguf.Geometry) Options {
	return Options{
		Geometry: g, Settings: []Setting{Control(), class("damaged", damage{}), HotSetting(gguf.Q8_0, gguf.Q8_0), HotSetting(gguf.Q4_0, gguf.Q4_0)},
		Lengths: []int{64, 160}, Follow: 32, Kinds: []Kind{Prose}, Texts: 1, Repeats: 1,
		Tasks: []Task{Needles}, TaskLengths: []int{280}, Documents: 1, Seed: 7, Threads: 1, Poll: 50,
	}
}

func unrotated(gguf.TensorType, gguf.TensorType) Rotation { return Rotation{} }

// The whole on real weights: what changes nothing loses exactly nothing, what has fewer
// bits loses more, and a damaged state shows.
func TestRealModel(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	path := enginetest.DemoModel(t)
	m, opt := enginetest.Load(t, path), look(geometry(t, path))
	opt.Repeats, opt.Tasks, opt.TaskLengths = 0, []Task{SingleNeedle}, []int{200} // TestHybrid has more
	var lines []string
	var done []Done
	opt.Tell = func(s string) { lines = append(lines, s) }
	opt.Keep = func(d Done) error { done = append(done, d); return nil }
	out, err := Run(t.Context(), m, opt)
	if err != nil {
		t.Fatal(err)
	}
	if out.Units != 3 || out.Of != 3 || len(lines) != 3 || len(out.Samples) != 2*4 || len(out.Replies) != 4 {
		t.Fatalf("%d of %d units, %q, %d samples, %d replies", out.Units, out.Of, lines, len(out.Samples), len(out.Replies))
	}
	report := NewReport(opt, out, DefaultBound(), unrotated)
	by := map[string]Result{}
	for _, r := range report.Results {
		by[r.Setting] = r
		if r.Contexts != 2 || r.Rows != 2*32 || r.Broken != 0 || r.BytesPerToken <= 0 || len(r.ByLength) != 2 || len(r.Tasks) != 3 {
			t.Errorf("%+v", r)
		}
		if r.Max < r.Tail.Value || r.Tail.Value < r.Mean.Value || r.Top.Value > 1 {
			t.Errorf("%s: %+v", r.Setting, r.Loss)
		}
	}
	none := by[ControlName]
	if none.Mean.Value != 0 || none.Max != 0 || none.Top.Value != 1 || none.Surprise != 0 || none.Repeat.Value != 0 || none.Tasks[0].Logprob != 0 || none.Tasks[0].Kept != none.Tasks[0].Full {
		t.Errorf("unchanged states lose something: %+v", none)
	}
	q8, q4 := by["q8_0"], by["q4_0"]
	if !(q8.Mean.Value > 0 && q4.Mean.Value > q8.Mean.Value && by["damaged"].Mean.Value > 0) {
		t.Errorf("q8_0 %v, q4_0 %v, damaged %v", q8.Mean, q4.Mean, by["damaged"].Mean)
	}
	if report.BytesPerToken != 23040 || q8.BytesPerToken != 12240 || q4.BytesPerToken != 6480 {
		t.Errorf("bytes a token: %v, %v, %v", report.BytesPerToken, q8.BytesPerToken, q4.BytesPerToken)
	}
	var text bytes.Buffer
	if err := report.Print(&text); err != nil || !strings.Contains(text.String(), "q8_0") || !strings.Contains(text.String(), "KEPT OF SOLVED") {
		t.Errorf("%v:\n%s", err, &text)
	}

	// The same again, interrupted after the first unit: the same figures of that one.
	ctx, cancel := context.WithCancel(t.Context())
	opt.Keep, opt.Tell = nil, func(string) { cancel() }
	again, err := Run(ctx, m, opt)
	if !errors.Is(err, context.Canceled) || again.Units != 1 || len(again.Samples) != 4 {
		t.Fatalf("%v: %d units, %d samples", err, again.Units, len(again.Samples))
	}
	for i, s := range again.Samples {
		if first := out.Samples[i]; s.Mean != first.Mean || s.Same != first.Same || s.Logprob != first.Logprob || s.Repeat != first.Repeat {
			t.Errorf("%s is another the second time: %+v, %+v", s.Setting, s, first)
		}
	}
	// What is of an earlier run is not measured again, and counts.
	opt.Past, opt.Tell = done, func(line string) { t.Errorf("measured again: %s", line) }
	if past, err := Run(t.Context(), m, opt); err != nil || !reflect.DeepEqual(past, out) {
		t.Errorf("from an earlier run: %v", err)
	}
	opt.Past = done[1:]
	if past, err := Run(ctx, m, opt); !errors.Is(err, context.Canceled) || past.Units != 2 {
		t.Errorf("an interrupted run forgets the earlier one: %v, %d units", err, past.Units)
	}
	opt.Tell, opt.Time, opt.Past, opt.Keep = nil, 1, nil, nil
	if out, err := Run(t.Context(), m, opt); err != nil || out.Units != 1 {
		t.Errorf("without time: %v, %d units", err, out.Units)
	}
	opt.Settings = []Setting{class("growing", grow{})}
	if _, err := Run(t.Context(), m, opt); err == nil || !strings.Contains(err.Error(), "growing") {
		t.Errorf("a state of another size is set: %v", err)
	}
}

// A hybrid's recurrent state is parked, set and taken back with the rest: also there
// what changes nothing loses nothing.
func TestHybrid(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var file bytes.Buffer
	err := synth.Qwen35(&file, synth.Config{Layers: 4, Context: 2048, HeadDim: 64, Heads: 4, KVHeads: 2})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "synth.gguf")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := look(geometry(t, path))
	opt.TaskLengths, opt.Kinds = []int{640}, []Kind{Talk}
	out, err := Run(t.Context(), enginetest.Load(t, path), opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Samples {
		changed := s.Mean != 0 || s.Repeat != s.FullRepeat
		if changed != (s.Setting != ControlName) {
			t.Errorf("%s: divergence %v, repeat %v of %v", s.Setting, s.Mean, s.Repeat, s.FullRepeat)
		}
	}
	for _, r := range out.Replies {
		if r.Setting == ControlName && (r.Logprob != r.FullLogprob || r.Found != r.FullFound) {
			t.Errorf("%+v", r)
		}
	}
}

func TestUnits(t *testing.T) {
	opt := Options{Settings: []Setting{Control(), HotSetting(gguf.Q8_0, gguf.Q8_0)}, Lengths: []int{100, 1000}, Follow: 10, Kinds: Kinds(), Texts: 2,
		Tasks: Tasks(), TaskLengths: []int{100}, Documents: 3}
	units := opt.units()
	if want := 2*3*2 + 3*len(Tasks()); len(units) != want {
		t.Fatalf("%d units, want %d", len(units), want)
	}
	seen := map[unit]bool{}
	for i, u := range units {
		if seen[u] || u.work <= 0 || u.length == 0 {
			t.Errorf("%+v", u)
		}
		seen[u] = true
		// A text is read on: its lengths lie side by side, in order.
		if u.kind != "" && u.length == 1000 && (units[i-1].kind != u.kind || units[i-1].text != u.text || units[i-1].length != 100) {
			t.Errorf("%+v after %+v", u, units[i-1])
		}
	}
	opt.RulerMost, opt.TaskLengths = 100, []int{100, 300}
	if n := len(opt.units()) - len(units); n != 3*2 { // needles and many questions at the other length
		t.Errorf("%d more units", n)
	}
	if first := units[:6+len(Tasks())]; first[len(first)-1].document != 0 || first[0].text != 0 {
		t.Error("the first round has not some of all")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := look(&gguf.Geometry{Layers: make([]gguf.Layer, 1)})
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"geometry":    func(o *Options) { o.Geometry = nil },
		"no settings": func(o *Options) { o.Settings = nil },
		"twice":       func(o *Options) { o.Settings = append(o.Settings, Control()) },
		"follow":      func(o *Options) { o.Follow = 1 },
		"order":       func(o *Options) { o.Lengths = []int{200, 100} },
		"same":        func(o *Options) { o.Lengths = []int{200, 200} },
		"short":       func(o *Options) { o.Lengths = []int{1} },
		"long":        func(o *Options) { o.TaskLengths = []int{1 << 30} },
		"nothing":     func(o *Options) { o.Lengths, o.TaskLengths = nil, nil },
		"kinds":       func(o *Options) { o.Kinds = nil },
		"documents":   func(o *Options) { o.Documents = 0 },
	} {
		o := good
		o.Settings = append([]Setting{}, good.Settings...)
		if change(&o); o.check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestLate(t *testing.T) {
	b := &bench{begun: time.Now().Add(-time.Minute), spent: time.Minute, done: 600}
	if b.late(1 << 30) {
		t.Error("late without a limit")
	}
	b.Time = 2 * time.Minute // 10 a second: 600 more fit
	if b.late(500) || !b.late(700) {
		t.Error("the time that is left is wrong")
	}
	if b.done = 0; b.late(1 << 30) {
		t.Error("nothing is measured at all")
	}
}

func TestReportOfSamples(t *testing.T) {
	sample := func(setting string, text, length int, values ...float64) Sample {
		s := Sample{Setting: setting, Kind: Prose, Text: text, Length: length, StateBytes: 1000 * length, CodedBytes: 250 * length, EncodeMS: 1, DecodeMS: 1, FullRepeat: -1, Repeat: -1.5, FullLogprob: -2, Logprob: -2.25}
		for _, v := range values {
			s.add(v, v < 0.1)
		}
		return s
	}
	opt := Options{Geometry: &gguf.Geometry{}, Settings: []Setting{class("small", same{}), class("never", same{})}}
	out := Outcome{Samples: []Sample{sample("small", 0, 10, 0, 0.2), sample("small", 0, 20, 0, 0), sample("small", 1, 10, 0.4, 0.4), sample("small", 1, 20, 0, 0)},
		Replies: []Reply{
			{Setting: "small", Task: Needles, Length: 10, FullFound: 1, Found: 1}, {Setting: "small", Task: Needles, Length: 10, Depth: 0.5, FullFound: 1, Found: 0.5, FullLogprob: -1, Logprob: -3},
			{Setting: "small", Task: CommonWords, Length: 10, FullFound: 0.5, Found: 1},
		}}
	r := NewReport(opt, out, Bound{Divergence: 0.01, Top: 0.95, Rows: 8}, unrotated)
	if len(r.Results) != 1 {
		t.Fatalf("%d results; a setting that was not measured has none", len(r.Results))
	}
	x := r.Results[0]
	if x.Ratio != 4 || x.BytesPerToken != 250 || x.Mean.Value != 0.125 || x.Max != float64(float32(0.4)) || x.Rows != 8 || x.Top.Value != 0.625 || x.Repeat.Value != 0.5 || x.Surprise != 0.25 || x.Verdict != Over {
		t.Errorf("%+v", x)
	}
	// Two texts, means 0.05 and 0.2: Student's interval with one degree of freedom.
	if got := x.Mean.High - x.Mean.Value; got < 0.95 || got > 0.96 {
		t.Errorf("half an interval of %v", got)
	}
	all := x.Tasks[0]
	if all.Task != AllTasks || all.Questions != 3 || all.Full != 2 || all.Solved != 2 || all.Kept != 1 || all.Retention.Value != 0.5 || all.Logprob != 2.0/3 {
		t.Errorf("%+v", all)
	}
	if n := x.Needles; len(n) != 2 || n[0].Depth != 0 || n[1].Depth != 0.5 || n[1].Full != 1 || n[1].Kept != 0 {
		t.Errorf("%+v", n)
	}
	var names []Task
	for _, task := range x.Tasks {
		names = append(names, task.Task)
	}
	if want := []Task{AllTasks, Needles, Needles, CommonWords, CommonWords}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v", names)
	}
}
