package kv

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dure/gguf"
)

func logitsOf(t *rapid.T, name string, n int) []float32 {
	return rapid.SliceOfN(rapid.Float32Range(-40, 40), n, n).Draw(t, name)
}

func TestDivergence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 50).Draw(t, "n")
		p, q := logitsOf(t, "p", n), logitsOf(t, "q", n)
		ref := make([]float32, n)
		logSoftmax(ref, p)
		var sum float64
		for _, lp := range ref {
			sum += math.Exp(float64(lp))
		}
		if math.Abs(sum-1) > 1e-4 {
			t.Fatalf("probabilities add up to %v", sum)
		}
		if d := divergence(ref, p); d > 1e-5 {
			t.Fatalf("a distribution differs from itself by %v", d)
		}
		// A constant added to all logits changes nothing.
		moved := slices.Clone(p)
		for i := range moved {
			moved[i] += 3
		}
		if d := divergence(ref, moved); d > 1e-4 {
			t.Fatalf("moved logits differ by %v", d)
		}
		if d := divergence(ref, q); d < 0 {
			t.Fatalf("negative divergence %v", d)
		}
	})
	// By hand: p = (1/2, 1/2), q = (1/4, 3/4).
	ref := make([]float32, 2)
	logSoftmax(ref, []float32{0, 0})
	want := 0.5*math.Log(2) + 0.5*math.Log(2.0/3)
	if d := divergence(ref, []float32{0, float32(math.Log(3))}); math.Abs(d-want) > 1e-6 {
		t.Errorf("%v, want %v", d, want)
	}
	nan := float32(math.NaN())
	if d := divergence(ref, []float32{0, nan}); !math.IsNaN(d) {
		t.Errorf("a logit that is no number goes unnoticed: %v", d)
	}
	var s Sample
	s.add(math.NaN(), true)
	s.add(0.5, true)
	if s.Broken != 1 || s.Rows != 2 || s.Same != 1 || s.Mean != (brokenNats+0.5)/2 {
		t.Errorf("%+v", s)
	}
}

func TestIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 40).Draw(t, "values")
		i := meanOf(values)
		if i.Low > i.Value || i.High < i.Value {
			t.Fatalf("%+v", i)
		}
		of := rapid.IntRange(1, 200).Draw(t, "of")
		hits := rapid.IntRange(0, of).Draw(t, "hits")
		if s := shareOf(hits, of); s.Low < 0 || s.High > 1 || s.Low > s.Value || s.High < s.Value || s.Value != float64(hits)/float64(of) {
			t.Fatalf("%d of %d: %+v", hits, of, s)
		}
		var groups [][]float32
		for range rapid.IntRange(1, 5).Draw(t, "groups") {
			groups = append(groups, rapid.SliceOfN(rapid.Float32Range(0, 9), 1, 30).Draw(t, "rows"))
		}
		tail := tailOf(groups, 0.999)
		if most := slices.Max(slices.Concat(groups...)); tail.Value != float64(most) || tail.High < tail.Value || tail.Low > tail.Value {
			t.Fatalf("%+v of %v", tail, groups)
		}
	})
	// Student's table, against printed values.
	for df, want := range map[int]float64{1: 12.706, 5: 2.571, 10: 2.228, 15: 2.131, 30: 2.042, 120: 1.980} {
		if got := student(df); math.Abs(got-want) > 0.002 {
			t.Errorf("%d degrees: %.4f, want %.3f", df, got, want)
		}
	}
	// 1, 2, 3: mean 2, deviation 1, 4.303/sqrt(3) to each side.
	if i := meanOf([]float64{1, 2, 3}); math.Abs(i.High-2-4.303/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%+v", i)
	}
	if i := (Interval{}); meanOf(nil) != i || shareOf(0, 0) != i || tailOf(nil, 0.5) != i {
		t.Error("something of nothing")
	}
	if q := quantile([]float32{4, 1, 3, 2}, 0.5); q != 2 {
		t.Errorf("median %v", q)
	}
}

// A class may lose as much as q4_0 cells of the same model, and no more.
func TestBoundBesideCells(t *testing.T) {
	b := Bound{Divergence: 0.01, Top: 0.95, Rows: 100}
	cells := func(mean, top float64, rows int) Known {
		return Known{Measured: true, Figures: Figures{Mean: mean, Top: top, Rows: rows}}
	}
	q4 := cells(0.05, 0.88, 100)
	for name, c := range map[string]struct {
		f     Figures
		cells Known
		want  Verdict
	}{
		"the bound itself":        {Figures{Mean: 0.01, Top: 0.95, Rows: 100}, Known{}, Passed},
		"as much as the cells":    {Figures{Mean: 0.05, Top: 0.88, Rows: 100}, q4, Passed},
		"more divergence":         {Figures{Mean: 0.0501, Top: 0.99, Rows: 100}, q4, Over},
		"less agreement":          {Figures{Mean: 0.02, Top: 0.8799, Rows: 100}, q4, Over},
		"better than bad cells":   {Figures{Mean: 0.02, Top: 0.94, Rows: 100}, cells(0.5, 0.5, 100), Passed},
		"cells better than it":    {Figures{Mean: 0.02, Top: 0.94, Rows: 100}, cells(0.001, 0.99, 100), Over},
		"cells not measured":      {Figures{Mean: 0.02, Top: 0.94, Rows: 100}, Known{}, TooThin},
		"cells measured too thin": {Figures{Mean: 0.02, Top: 0.94, Rows: 100}, cells(0.05, 0.88, 99), TooThin},
		"too thin":                {Figures{Mean: 0.02, Top: 0.94, Rows: 99}, q4, TooThin},
		"broken":                  {Figures{Mean: 0.02, Top: 0.94, Rows: 100, Broken: 1}, q4, Over},
		"no number":               {Figures{Mean: math.NaN(), Top: 0.94, Rows: 100}, q4, Over},
		"cells are no numbers":    {Figures{Mean: 0.02, Top: 0.94, Rows: 100}, cells(math.NaN(), math.NaN(), 100), Over},
	} {
		if got, why := b.JudgeBeside(c.f, c.cells); got != c.want || (why == "") != (got == Passed) {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}

func TestBound(t *testing.T) {
	b := Bound{Divergence: 0.01, Top: 0.95, Rows: 100}
	nan := math.NaN()
	for _, c := range []struct {
		f    Figures
		want Verdict
	}{
		{Figures{Mean: 0, Top: 1, Rows: 100}, Passed},
		{Figures{Mean: 0.01, Top: 0.95, Rows: 100}, Passed},
		{Figures{Mean: 0.0100001, Top: 1, Rows: 100}, Over},
		{Figures{Mean: 0, Top: 0.9499, Rows: 100}, Over},
		{Figures{Mean: 0, Top: 1, Rows: 99}, TooThin},
		{Figures{Mean: 1, Top: 1, Rows: 99}, TooThin},
		{Figures{Mean: 1, Top: 1, Rows: 99, Broken: 1}, Over},
		{Figures{Mean: 0, Top: 1, Rows: 100, Broken: 1}, Over},
		{Figures{Mean: nan, Top: 1, Rows: 100}, Over},
		{Figures{Mean: 0, Top: nan, Rows: 100}, Over},
	} {
		if got, why := b.Judge(c.f); got != c.want || (why == "") != (got == Passed) {
			t.Errorf("%+v: %s (%s), want %s", c.f, got, why, c.want)
		}
	}
}

func TestAdmit(t *testing.T) {
	b := Bound{Divergence: 0.01, Top: 0.95, Rows: 100}
	good := Known{Measured: true, Figures: Figures{Mean: 0.002, Top: 0.99, Rows: 1000}, Reach: 4096}
	bad, thin := good, good
	bad.Mean, thin.Rows = 0.2, 10
	for name, c := range map[string]struct {
		lossless bool
		k        Known
		force    bool
		refused  bool
		says     string // in the notice, or in the refusal; empty: there is no notice
	}{
		"exact":             {lossless: true},
		"exact, though bad": {lossless: true, k: bad},
		"not measured":      {says: "dure bench kv some-model"},
		"good":              {k: good, says: "mean KLD 0.002, top-1 99.0 %, contexts to 4096 tokens"},
		"good, forced":      {k: good, force: true, says: "mean KLD 0.002"},
		"thin":              {k: thin, says: "10 tokens compared"},
		"bad":               {k: bad, refused: true, says: "mean KLD 0.2000, at most 0.01"},
		"bad, forced":       {k: bad, force: true, says: "--force"},
	} {
		a := b.Admit("KV cache q8_0", "some-model", c.lossless, c.k, c.force)
		said := a.Notice
		if c.refused {
			said = a.Why
		}
		if a.Refused != c.refused || !strings.Contains(said, c.says) || (c.says == "") != (said == "") || a.Loss == "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// Whatever is lossy and used is said.
	rapid.Check(t, func(t *rapid.T) {
		k := Known{Measured: rapid.Bool().Draw(t, "measured"), Figures: Figures{
			Mean: rapid.Float64Range(0, 0.1).Draw(t, "mean"), Top: rapid.Float64Range(0.9, 1).Draw(t, "top"), Rows: rapid.IntRange(0, 500).Draw(t, "rows")}}
		force := rapid.Bool().Draw(t, "force")
		a := b.Admit("x", "m", false, k, force)
		verdict, _ := b.Judge(k.Figures)
		if a.Refused != (k.Measured && verdict == Over && !force) || !a.Refused && a.Notice == "" {
			t.Fatalf("%+v: %+v", k, a)
		}
	})
}

func TestRotation(t *testing.T) {
	layers := func(dims ...int) *gguf.Geometry {
		g := &gguf.Geometry{}
		for _, d := range dims {
			g.Layers = append(g.Layers, gguf.Layer{KVHeads: 1, KeyDim: d, ValueDim: d})
		}
		g.Layers = append(g.Layers, gguf.Layer{Recurrent: true})
		return g
	}
	for _, c := range []struct {
		g            *gguf.Geometry
		keys, values gguf.TensorType
		off          bool
		want         Rotation
	}{
		{layers(64, 64), gguf.Q8_0, gguf.Q8_0, false, Rotation{64, 64}},
		{layers(256), gguf.Q4_0, gguf.Q4_0, false, Rotation{256, 64}},
		{layers(192), gguf.Q4_0, gguf.Q4_0, false, Rotation{64, 64}},
		{layers(256), gguf.Q8_0, gguf.F16, false, Rotation{256, 0}},
		{layers(256), gguf.F16, gguf.Q8_0, false, Rotation{0, 64}},
		{layers(80), gguf.Q8_0, gguf.Q8_0, false, Rotation{}},
		{layers(64, 128), gguf.Q8_0, gguf.Q8_0, false, Rotation{}},
		{layers(64), gguf.F16, gguf.F16, false, Rotation{}},
		{layers(64), gguf.Q8_0, gguf.Q8_0, true, Rotation{}},
	} {
		if got := RotationOf(c.g, c.keys, c.values, c.off); got != c.want {
			t.Errorf("%v/%v: %v, want %v", c.keys, c.values, got, c.want)
		}
	}
}

func TestTypes(t *testing.T) {
	for _, name := range append(UsualTypes(), "f16", "bf16", "iq4_nl") {
		k, v, err := ParseTypes(name)
		if err != nil || TypesName(k, v) != name {
			t.Errorf("%s: %v/%v, %v", name, k, v, err)
		}
	}
	if _, _, err := ParseTypes("q9_9"); err == nil {
		t.Error("q9_9 is taken")
	}
}
