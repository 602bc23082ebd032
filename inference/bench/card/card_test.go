package card

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var subject = Subject{Dure: "1", Engine: "cpu", CPU: "a", Cores: 2, Model: "m", SHA256: "x"}

func open(t *testing.T, path string, s Subject, resume bool) *Journal {
	t.Helper()
	j, err := OpenJournal(path, s, resume)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJournalOutlivesAnyCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := open(t, path, subject, false)
	for i := range 5 {
		if err := j.Point(Point{Figure: FigureStep, Series: "s", X: float64(i), Value: 1, Samples: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Plan([]PlanRow{{Device: "CPU", Planned: 1, Measured: 2}}), j.Note("n"), j.Note("n"), j.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, path, subject, true)
		lines := strings.Count(string(whole[:cut]), "\n")
		if want := min(max(lines-1, 0), 5); len(j.points) != want {
			t.Fatalf("cut at %d: %d points, want %d", cut, len(j.points), want)
		}
		p := Point{Figure: FigureLoad, Series: "after"}
		if err := errors.Join(j.Point(p), j.Close()); err != nil {
			t.Fatal(err)
		}
		again := open(t, path, subject, true)
		if !again.Has(p) || len(again.points) != len(j.points) {
			t.Fatalf("cut at %d: what was appended after it is lost", cut)
		}
		again.Close()
	}
}

func TestJournalIsOfOneSubject(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	open(t, path, subject, false).Close()
	if _, err := OpenJournal(path, subject, false); !errors.Is(err, ErrExists) {
		t.Fatalf("got %v, want ErrExists", err)
	}
	other := subject
	other.Threads = 7
	other.Devices = []string{"a card"}
	if _, err := OpenJournal(path, other, true); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "(devices: [], now [a card]; threads: 0, now 7)") {
		t.Fatalf("got %v, want ErrOther with what differs", err)
	}
	if err := os.WriteFile(path, []byte(`{"schema":2}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(path, subject, true); !errors.Is(err, ErrOther) {
		t.Fatalf("got %v, want ErrOther for a later form", err)
	}
}

// TestJournalOfABrokenRun: what was measured when the process was killed is there and
// said to be a part; remarks of an item go when it is measured again.
func TestJournalOfABrokenRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	items := []Item{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	j := open(t, path, subject, false)
	if err := errors.Join(
		j.begin("a"), j.Note("no room"), j.append(entry{State: &State{Item: "a", State: Failed, Why: "no room"}}),
		j.begin("b"), j.Note("of b"), j.Point(Point{Figure: FigureLoad, Series: "s"}), j.Close()); err != nil {
		t.Fatal(err)
	}
	j = open(t, path, subject, true)
	defer j.Close()
	states(t, j, items, "a failed", "b part", "c left out")
	if err := j.begin("a"); err != nil {
		t.Fatal(err)
	}
	var r Report
	j.Fill(&r, items)
	if !reflect.DeepEqual(r.Notes, []Note{{"b", "of b"}}) {
		t.Errorf("remarks %+v", r.Notes)
	}
	if err := j.begin("b"); err != nil {
		t.Fatal(err)
	}
	states(t, j, items, "a left out", "b part", "c left out")
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("{\"schema\":1}\n"))
	f.Add([]byte("{\"schema\":1,\"subject\":{}}\n{\"point\":{\"figure\":\"a\",\"x\":1}}\n{\"sta"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(path, Subject{}, true)
		if err != nil {
			return
		}
		points := j.Points()
		j.Close()
		again, err := OpenJournal(path, Subject{}, true)
		if err != nil {
			t.Fatalf("opened once, then: %v", err)
		}
		defer again.Close()
		if !reflect.DeepEqual(points, again.Points()) {
			t.Fatalf("%v became %v", points, again.Points())
		}
	})
}

func TestShareNeverExceedsWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(0, 10), 1, 12).Draw(t, "weights")
		left := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "left"))
		used := rapid.SliceOfN(rapid.Float64Range(0, 1), len(weights), len(weights)).Draw(t, "used")
		spent := time.Duration(0)
		for i := range weights {
			s := share(left-spent, weights[i:])
			if s < 0 || spent+s > left {
				t.Fatalf("item %d gets %v of %v left", i, s, left-spent)
			}
			if i == len(weights)-1 && weights[i] > 0 && s != left-spent {
				t.Fatalf("the last gets %v of %v", s, left-spent)
			}
			spent += time.Duration(float64(s) * used[i])
		}
	})
}

func TestRunGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	ran := map[string]int{}
	point := func(name string) func(context.Context, *Journal) error {
		return func(_ context.Context, j *Journal) error {
			ran[name]++
			return j.Point(PointOf(name, "s", 1, 0, 2, 1, 3))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	items := []Item{
		{Name: "a", Weight: 1, Measure: point("a")},
		{Name: "broken", Weight: 1, Measure: func(context.Context, *Journal) error { return errors.New("no device") }},
		{Name: "absent", Weight: 1, Skip: "not here"},
		{Name: "long", Weight: 1, Measure: func(ctx context.Context, j *Journal) error {
			err := point("long")(ctx, j)
			cancel() // the owner has seen enough
			return errors.Join(err, ctx.Err())
		}},
		{Name: "last", Weight: 1, Measure: point("last")},
	}
	j := open(t, path, subject, false)
	if err := Run(ctx, j, items, time.Hour, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want canceled", err)
	}
	states(t, j, items, "a done", "broken failed", "absent skipped", "long part", "last left out")
	j.Close()

	j = open(t, path, subject, true)
	if err := Run(t.Context(), j, items[3:4], time.Nanosecond, func(string) {}); err != nil {
		t.Fatal(err)
	}
	states(t, j, items, "a done", "broken failed", "absent skipped", "long part", "last left out")
	j.Close()

	items[3].Measure = point("long")
	j = open(t, path, subject, true)
	defer j.Close()
	if err := Run(t.Context(), j, items, time.Hour, func(string) {}); err != nil {
		t.Fatal(err)
	}
	states(t, j, items, "a done", "broken failed", "absent skipped", "long done", "last done")
	if ran["a"] != 1 || ran["last"] != 1 || ran["long"] != 2 {
		t.Fatalf("ran %v", ran)
	}
	if p := j.Points()[0]; p.Value != 2 || p.Low != 1 || p.High != 3 || p.Samples != 3 {
		t.Fatalf("got %+v", p)
	}
}

func states(t *testing.T, j *Journal, items []Item, want ...string) {
	t.Helper()
	var r Report
	j.Fill(&r, items)
	for i, p := range r.Parts {
		if got := p.Item + " " + p.State; got != want[i] {
			t.Errorf("got %q, want %q", got, want[i])
		}
		if p.State != Done && p.Why == "" {
			t.Errorf("%s is %s without a reason", p.Item, p.State)
		}
	}
}

func TestRunWithoutTimeNamesWhatIsLeft(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "j"), subject, false)
	defer j.Close()
	items := []Item{
		{Name: "slow", Weight: 1, Measure: func(ctx context.Context, _ *Journal) error { t.Error("ran without time"); return nil }},
		{Name: "free", Measure: func(context.Context, *Journal) error { return nil }},
	}
	if err := Run(t.Context(), j, items, time.Millisecond, func(string) {}); err != nil {
		t.Fatal(err)
	}
	states(t, j, items, "slow left out", "free done")
}

func TestFitFindsTheLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Line{rapid.Float64Range(0, 50).Draw(t, "fixed"), rapid.Float64Range(0.01, 5).Draw(t, "each"), rapid.Float64Range(0, 1e-3).Draw(t, "deep")}
		var chunks []Chunk
		for _, n := range []int{16, 64, 128, 512} {
			for _, from := range []int{0, 512, 2000, 7000} {
				chunks = append(chunks, Chunk{n, from, want.MS(n, from)})
			}
		}
		got, ok := Fit(chunks)
		if !ok {
			t.Fatal("no line")
		}
		for _, c := range chunks {
			if e := math.Abs(got.MS(c.Tokens, c.From)/c.MS - 1); e > 1e-6 {
				t.Fatalf("%+v for %+v: %v off at %+v", got, want, e, c)
			}
		}
	})
}

func TestFitHasNoNegativePart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Chunk {
			return Chunk{rapid.IntRange(1, 2048).Draw(t, "n"), rapid.IntRange(0, 100000).Draw(t, "from"), rapid.Float64Range(1e-3, 1e5).Draw(t, "ms")}
		}), 0, 20).Draw(t, "chunks")
		l, ok := Fit(chunks)
		if ok && (!(l.Fixed >= 0) || !(l.Each >= 0) || !(l.Deep >= 0) || l == Line{}) {
			t.Fatalf("%+v", l)
		}
	})
}

func TestFitRefuses(t *testing.T) {
	for name, chunks := range map[string][]Chunk{
		"too few":  {{1, 0, 1}, {2, 0, 2}},
		"one size": {{8, 0, 1}, {8, 10, 1}, {8, 20, 1}, {8, 30, 1}},
		"no time":  {{1, 0, 1}, {2, 0, 0}, {3, 0, 1}},
		"no size":  {{1, 0, 1}, {0, 0, 1}, {3, 0, 1}},
		"no value": {{1, 0, 1}, {2, 0, math.NaN()}, {3, 0, 1}},
	} {
		if l, ok := Fit(chunks); ok {
			t.Errorf("%s: got %+v", name, l)
		}
	}
}

func TestCostsLeaveOutWhatWasDisturbed(t *testing.T) {
	if c := CostsOf([]Point{PointOf(FigureLoad, "s", 0, 0, 1)}); !c.Empty() || LinesOf(c.Chunks) != nil {
		t.Errorf("costs of nothing: %+v", c)
	}
	var points []Point
	narrow, wide := Line{1, 2, 0}, Line{20, 0.5, 1e-4}
	for _, n := range []int{16, 32, 64, 256} {
		for _, from := range []int{5000, 0, 1000} {
			l := narrow
			if n >= WideFrom {
				l = wide
			}
			points = append(points, PointOf(FigureChunk, "s", float64(from), n, l.MS(n, from)))
		}
	}
	loud := PointOf(FigureChunk, "s", 9000, 64, 1e6)
	loud.Disturbed = 0.5
	slow := PointOf(FigureStep, "s", 2, 512, 1e6)
	slow.Disturbed = 0.5
	c := CostsOf(append(points, loud, slow, PointOf(FigureStep, "s", 4, 512, 30)))
	if len(c.Chunks) != 12 || c.Empty() || !reflect.DeepEqual(c.Steps, []StepCost{{4, 512, 30}}) {
		t.Fatalf("%+v", c)
	}
	if a, b := c.Chunks[0], c.Chunks[11]; a.From != 0 || a.Tokens != 16 || b.From != 5000 || b.Tokens != 256 {
		t.Errorf("not in order: %+v", c.Chunks)
	}
	lines := LinesOf(c.Chunks)
	for _, f := range []*Fitted{lines.Narrow, lines.Wide} {
		if f == nil || f.Chunks != 6 || f.Error > 1e-6 {
			t.Errorf("%+v", f)
		}
	}
	if l := LinesOf(c.Chunks[:3]); l != nil {
		t.Errorf("a line through three: %+v", l)
	}
}

func TestCostsOverOlderOnes(t *testing.T) {
	old := Costs{Steps: []StepCost{{1, 512, 10}, {8, 512, 40}}, Chunks: []Chunk{{64, 0, 90}, {64, 2000, 300}}}
	now := Costs{Steps: []StepCost{{8, 512, 50}, {1, 128, 9}}, Chunks: []Chunk{{64, 0, 80}}}
	want := Costs{Steps: []StepCost{{1, 128, 9}, {1, 512, 10}, {8, 512, 50}}, Chunks: []Chunk{{64, 0, 80}, {64, 2000, 300}}}
	if got := now.Over(old); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := now.Over(Costs{}); len(got.Steps) != 2 || len(got.Chunks) != 1 {
		t.Errorf("%+v", got)
	}
	if now.Steps[0].Rows != 8 || old.Steps[1].MS != 40 {
		t.Error("what was given was changed")
	}
}

func TestReportIsWrittenWhole(t *testing.T) {
	r := Report{Schema: Schema, Made: time.Unix(0, 0), Subject: subject, Figures: Figures,
		Points: []Point{
			PointOf(FigureLoad, "a|b\n<c>", 0, 0, 1.5),
			PointOf(FigureDecode, "512 <tokens> & more", 4, 512, 40, 44), PointOf(FigureDecode, "512 <tokens> & more", 1, 512, 20),
			PointOf(FigurePower, "card", 0.5, 0, 300),
		},
		Plan:  []PlanRow{{"CPU", "weights", 1 << 20, 2 << 20, "twice"}},
		Parts: []State{{"load", "", Done, ""}, {"peer", "beside another", Skipped, "no --peer was named"}}, Notes: []Note{{"load", "a | note"}},
	}
	r.Points[3].Disturbed = 0.2
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	md := read(t, dir, "card.md")
	for _, want := range []string{"CPU: a", "1.0 MiB | 2.0 MiB", "\ntwice\n", `a\|b`, "](decode.svg)", "| 4 | 42 |", "| beside another | skipped | no --peer was named", "- load: a \\| note", "† Other",
		"With 512 <tokens> & more behind it 1 stream writes 20 tokens/s, and 4 write 42 together", "Other programs disturbed 1 of 4 figures, marked †"} {
		if !strings.Contains(md, want) {
			t.Errorf("card.md lacks %q:\n%s", want, md)
		}
	}
	if strings.Contains(md, "fitted to") || strings.Contains(md, "](share.svg)") {
		t.Errorf("card.md has what there is not:\n%s", md)
	}
	var back Report
	if err := json.Unmarshal([]byte(read(t, dir, "card.json")), &back); err != nil || !reflect.DeepEqual(back.Points, r.Points) {
		t.Errorf("card.json: %v, %+v", err, back.Points)
	}
	for _, name := range []string{"decode.svg", "power.svg"} {
		d := xml.NewDecoder(strings.NewReader(read(t, dir, name)))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "load.svg")); err == nil {
		t.Error("a table was drawn")
	}
}

func TestDrawingsStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Figure{Name: "f", X: "x", Unit: "u", LogX: rapid.Bool().Draw(t, "log x"), LogY: rapid.Bool().Draw(t, "log y")}
		r := Report{Figures: []Figure{f}}
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			r.Points = append(r.Points, PointOf("f", rapid.SampledFrom([]string{"a", "b"}).Draw(t, "series"),
				rapid.Float64Range(0, 1e6).Draw(t, "x"), 0, rapid.Float64Range(0, 1e9).Draw(t, "y")))
		}
		var b strings.Builder
		drawn, err := r.SVG(&b, f)
		if err != nil || !drawn {
			t.Fatalf("drawn %v, %v", drawn, err)
		}
		if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || strings.Contains(s, `="-`) {
			t.Fatalf("outside of the drawing:\n%s", s)
		}
	})
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
