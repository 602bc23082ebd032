package swarm

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSpread(t *testing.T) {
	var values []float64
	for i := range 100 {
		values = append(values, float64(100-i))
	}
	if s := NewSpread(values); s != (Spread{N: 100, Mean: 50.5, P50: 50, P95: 95, P99: 99, Max: 100}) {
		t.Errorf("%+v", s)
	}
	if values[0] != 100 {
		t.Error("the caller's values were sorted")
	}
	if s := NewSpread([]float64{7}); s != (Spread{1, 7, 7, 7, 7, 7}) {
		t.Errorf("%+v", s)
	}
	if s := NewSpread(nil); s != (Spread{}) {
		t.Errorf("%+v", s)
	}
}

// A percentile is the smallest value with at least that share at or below it.
func TestPercentileProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 300).Draw(t, "values")
		s := NewSpread(values)
		for _, p := range []struct {
			percent int
			value   float64
		}{{50, s.P50}, {95, s.P95}, {99, s.P99}} {
			below, atMost := 0, 0
			for _, v := range values {
				if v < p.value {
					below++
				}
				if v <= p.value {
					atMost++
				}
			}
			if atMost*100 < p.percent*len(values) || below*100 >= p.percent*len(values) {
				t.Fatalf("p%d = %g: %d below, %d at most, of %d", p.percent, p.value, below, atMost, len(values))
			}
		}
	})
}

func TestUnionIsTheSizeOfTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prompts := rapid.SliceOfN(rapid.SliceOfN(rapid.Int32Range(0, 2), 0, 8), 0, 12).Draw(t, "prompts")
		nodes := map[string]bool{}
		for _, p := range prompts {
			for n := 1; n <= len(p); n++ {
				key := ""
				for _, token := range p[:n] {
					key += string(rune('a' + token))
				}
				nodes[key] = true
			}
		}
		before := slices.Clone(prompts)
		if got := Union(prompts); got != len(nodes) {
			t.Fatalf("Union(%v) = %d, the tree has %d nodes", prompts, got, len(nodes))
		}
		for i := range before {
			if !slices.Equal(before[i], prompts[i]) {
				t.Fatal("the prompts were re-ordered")
			}
		}
	})
}

func TestTextFollowsFromItsSeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(12, 400).Draw(t, "words")
		a := Text(seed, "task 1", n)
		if b := Text(seed, "task 1", n); a != b {
			t.Fatal("the same seed gives another text")
		}
		if got := len(strings.Fields(a)); got != n {
			t.Fatalf("%d words, want %d", got, n)
		}
		for _, other := range []string{Text(seed+1, "task 1", n), Text(seed, "task 2", n)} {
			if other == a {
				t.Fatal("another seed or name gives the same text")
			}
		}
	})
}

func TestFit(t *testing.T) {
	letters := func(_ context.Context, text string) (int, error) { return len(text), nil }
	text, err := fit(t.Context(), 1, "x", 5000, letters)
	if off := math.Abs(float64(len(text)) - 5000); err != nil || off > 50 {
		t.Errorf("%d tokens, %v", len(text), err)
	}
	if text, err = fit(t.Context(), 1, "x", 400, nil); err != nil || len(strings.Fields(text)) != 300 {
		t.Errorf("%d words, %v", len(strings.Fields(text)), err)
	}
	if text, err = fit(t.Context(), 1, "x", 0, letters); err != nil || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}

// turnAt has deliveries at these milliseconds, of one token each.
func turnAt(ms ...int) Turn {
	t := Turn{Sent: time.UnixMilli(0), Prompt: notTold, Completion: len(ms), Read: notTold}
	for _, m := range ms {
		t.Deliveries = append(t.Deliveries, Delivery{time.UnixMilli(int64(m)), 1})
	}
	return t
}

func TestTurnArithmetic(t *testing.T) {
	turn := turnAt(100, 150, 250)
	turn.Deliveries[2].Events = 4
	turn.Completion = 6
	if turn.wait() != 100 || !slices.Equal(turn.gaps(always), []float64{50, 100}) || !slices.Equal(turn.steps(always), []float64{50, 25}) {
		t.Errorf("%v %v %v", turn.wait(), turn.gaps(always), turn.steps(always))
	}
	if r := turn.Rate(); math.Abs(r-5/0.15) > 1e-9 {
		t.Errorf("rate %g", r)
	}
	if one := turnAt(5); one.Rate() != 0 {
		t.Error("one token has a rate")
	}
}

func TestReport(t *testing.T) {
	s := Shape{Agents: 3, Turns: 2, SharedTokens: 100}
	told := func(turn Turn, agent, number, prompt, read int) Turn {
		turn.Agent, turn.Number, turn.Prompt, turn.Read = agent, number, prompt, read
		return turn
	}
	turns := []Turn{
		told(turnAt(100, 110), 0, 0, 150, 150), told(turnAt(20, 30), 0, 1, 200, 60),
		told(turnAt(300, 350), 1, 0, 160, 60), told(turnAt(40, 50), 1, 1, 210, 50),
		{Agent: 2, Err: fail(KindDropped, "gone"), Refusals: 3},
	}
	r := newReport(&Endpoint{}, s, turns, 2*time.Second)
	if r.Finished != 2 || r.Answered != 4 || *r.Prompt != 720 || *r.Read != 320 || *r.Completion != 8 || r.Rate != 4 || r.Refusals != 3 {
		t.Errorf("%+v", r)
	}
	if r.Errors[KindDropped] != 1 || len(r.Errors) != 1 || r.First.Max != 300 || r.Later.Max != 40 || r.AgentWait.Max != 340 || r.Gap.Max != 50 {
		t.Errorf("%+v", r)
	}
	// 100 shared, 100 and 110 of the two agents; one token of each first answer
	// was computed when it was drawn.
	r.countByUsage()
	if *r.Distinct != 310 || *r.Fresh != 308 || r.ReadRatio() != 320./310 || !strings.Contains(r.DistinctBy, "estimate") {
		t.Errorf("%d %d", *r.Distinct, *r.Fresh)
	}
	turns[1].Read = notTold
	if r = newReport(&Endpoint{}, s, turns, time.Second); r.Read != nil || r.ReadRatio() != 0 {
		t.Error("a figure that was not told was guessed")
	}
}

func TestSplitAroundThePrompt(t *testing.T) {
	s := newStreams(2)
	s.turns[0] = turnAt(0, 10, 20, 30, 40, 140, 240, 250)
	s.turns[1] = turnAt(15, 25, 35, 45, 155, 245, 255)
	before, during := s.split(time.UnixMilli(46), time.UnixMilli(200))
	// Steps from 15 on, when both ran: 20-30, 30-40, 15-25, 25-35, 35-45.
	if before.N != 5 || before.Max != 10 {
		t.Errorf("before %+v", before)
	}
	// 40-140, 140-240; 45-155, 155-245.
	if during.N != 4 || during.Max != 110 || during.P50 != 100 {
		t.Errorf("during %+v", during)
	}
}
