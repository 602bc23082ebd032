package sched

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// truth is what a machine's chunks and steps cost.
type truth struct {
	narrow, wide line
	rows         float64 // ns a row
}

func (m truth) chunk(l Limits, from, tokens int) ChunkCost {
	of := m.wide
	if tokens < l.Wide {
		of = m.narrow
	}
	return ChunkCost{From: from, Tokens: tokens, Took: Tick(of.took(float64(tokens), float64(from)))}
}

// card are costs as a report has them: some sizes at some depths.
func (m truth) card(l Limits) (c Costs) {
	for _, rows := range []int{1, 2, 4, 8, 16, 32} {
		c.Steps = append(c.Steps, StepCost{Rows: rows, Took: Tick(m.rows * float64(rows))})
	}
	for _, from := range []int{0, 512, 2000, 7000} {
		for _, n := range []int{16, 32, 64, 128, 256, 512} {
			c.Chunks = append(c.Chunks, m.chunk(l, from, n))
		}
	}
	return c
}

var someMachine = truth{narrow: line{fixed: 1e6, each: 2e6, deep: 300}, wide: line{fixed: 20e6, each: 1e6, deep: 150}, rows: 50e6}

// watch has a person read one of the streams.
func watch(s *Scheduler) { s.decoding = []*request{{}} }

func seeded(t *testing.T, l Limits, c Costs) *Scheduler {
	t.Helper()
	s, err := New(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Seed(c); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSeedSizesTheFirstChunk: without costs the first chunk beside streams is the
// least; with them it is what fits.
func TestSeedSizesTheFirstChunk(t *testing.T) {
	l := Limits{Slots: 8, Chunk: 512, MinChunk: 64, Wide: 64, Gap: second}
	if n := seeded(t, l, Costs{}).chunkSize(1, 2000); n != 64 {
		t.Errorf("nothing is known, and %d tokens are read", n)
	}
	s := seeded(t, l, someMachine.card(l))
	watch(s)
	for rows := range 12 {
		left := margin*float64(second) - someMachine.rows*float64(rows+1)
		n := s.chunkSize(rows+1, 2000)
		took := float64(someMachine.chunk(l, 2000, n).Took)
		// Steps of rows between two powers of two count as those of the smaller one.
		if took < 0.9*left && n < l.Chunk || took > left+someMachine.rows*float64(rows) {
			t.Errorf("beside %d rows %d tokens are read in %.0f ms, %.0f are left", rows+1, n, took/1e6, left/1e6)
		}
	}
}

// TestSeedFades: the machine is another than that of the costs. After as many real
// steps and chunks as are kept, all is as if there had been no seed.
func TestSeedFades(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 9))
		slow := someMachine
		slow.rows *= 3
		slow.wide.fixed, slow.wide.each, slow.narrow.each = 60e6, 3e6, 5e6
		l := Limits{Slots: 8, Chunk: 512, MinChunk: 16, Wide: 64, Gap: second}
		with, without := seeded(t, l, someMachine.card(l)), seeded(t, l, Costs{})
		for i := range samples {
			for _, s := range []*Scheduler{with, without} {
				for _, rows := range []int{1, 2, 4, 8, 16, 32} {
					s.Decoded(rows, Tick(slow.rows*float64(rows)))
				}
			}
			from, some := r.IntN(7000), 0.98+0.04*r.Float64()
			for _, n := range []int{8 + (i*13)%50, 64 + (i*97)%400} {
				c := slow.chunk(l, from, n)
				for _, s := range []*Scheduler{with, without} {
					s.cost.read(s.limits, c.From, c.Tokens, Tick(float64(c.Took)*some))
				}
			}
		}
		for i := range with.cost.steps {
			a, b := with.cost.steps[i], without.cost.steps[i]
			if a.quantile(careful) != b.quantile(careful) || a.quantile(0.5) != b.quantile(0.5) {
				t.Fatalf("seed %d: steps of size %d are not forgotten", seed, i)
			}
		}
		for _, lines := range [][2]line{{with.cost.narrow, without.cost.narrow}, {with.cost.wide, without.cost.wide}} {
			a, b := lines[0], lines[1]
			for _, at := range [][2]float64{{16, 0}, {64, 3000}, {300, 7000}} {
				if x, y := a.took(at[0], at[1]), b.took(at[0], at[1]); x < y*0.999 || x > y*1.001 {
					t.Fatalf("seed %d: %.0f tokens at %.0f take %f ms, %f without the seed", seed, at[0], at[1], x/1e6, y/1e6)
				}
			}
		}
	}
}

// TestSeedIsOutvoted: four chunks that took three times as long, and the next one is
// sized by them.
func TestSeedIsOutvoted(t *testing.T) {
	l := Limits{Slots: 8, Chunk: 512, MinChunk: 16, Wide: 64, Gap: second}
	s := seeded(t, l, someMachine.card(l))
	for i := range 4 {
		c := someMachine.chunk(l, 1000+200*i, 200)
		s.cost.read(s.limits, c.From, c.Tokens, 3*c.Took)
	}
	watch(s)
	n := s.chunkSize(1, 2000)
	if took := 3 * someMachine.chunk(l, 2000, n).Took; took > second*5/4 {
		t.Errorf("%d tokens, which take %d ms", n, took/1e6)
	}
}

func TestSeedRefuses(t *testing.T) {
	l := Limits{Slots: 1, Chunk: 512, Wide: 64}
	good := someMachine.card(l)
	for _, bad := range []Costs{
		{Steps: append(good.Steps, StepCost{Rows: 0, Took: 1})},
		{Steps: append(good.Steps, StepCost{Rows: 1})},
		{Chunks: append(good.Chunks, ChunkCost{Tokens: 1})},
		{Chunks: append(good.Chunks, ChunkCost{Took: 1})},
		{Chunks: append(good.Chunks, ChunkCost{From: -1, Tokens: 1, Took: 1})},
	} {
		s, err := New(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Seed(bad); err == nil || !reflect.DeepEqual(s.cost, costs{}) {
			t.Errorf("%v, and took %+v", err, s.cost)
		}
	}
	s := seeded(t, l, good)
	if s.Seed(good) == nil {
		t.Error("seeded twice")
	}
	if n := s.cost.wide.n; n > seeds {
		t.Errorf("%d chunks count", n)
	}
}
