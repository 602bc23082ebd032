package bench

import (
	"errors"
	"math"
	"os"
	"testing"
	"time"
)

func TestSummaryIsTheMedianOfRatiosNotTheRatioOfMedians(t *testing.T) {
	var p Pairs
	p.Add(10, 10)
	p.Add(40, 20) // the machine was twice as fast, and A better still
	p.Add(9, 10)
	s := p.Summary()
	if s.Ratio != 1 || s.A != 10 || s.B != 10 || s.Min != 0.9 || s.Max != 2 || s.N != 3 {
		t.Errorf("%+v", s)
	}
	if m := Median([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("median of four: %g", m)
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

func TestOverlapCountsOnlyWhileAllDecode(t *testing.T) {
	at := func(ms ...int) (s Stream) {
		for _, m := range ms {
			s.Events = append(s.Events, time.UnixMilli(int64(m)))
			s.Tokens++
		}
		return s
	}
	rate, err := overlap([]Stream{at(0, 100, 200, 300, 400), at(200, 300, 400, 500)})
	if err != nil || math.Abs(rate-20) > 1e-9 { // 300, 400 of each in 0.2 s
		t.Errorf("%g, %v", rate, err)
	}
	if _, err := overlap([]Stream{at(0, 100), at(200, 300)}); !errors.Is(err, ErrApart) {
		t.Errorf("streams that never met have a rate: %v", err)
	}
}

func TestJSONPartDropsTheLog(t *testing.T) {
	out := "loading backend\nwarning: x\n[\n  {\"a\": 1}\n]\n"
	if got := string(jsonPart([]byte(out))); got != "[\n  {\"a\": 1}\n]\n" {
		t.Errorf("%q", got)
	}
}

func TestCPUTimeGrowsWithWork(t *testing.T) {
	all := func(string) bool { return true }
	before, err := CPUTime(os.Getpid(), all)
	if err != nil {
		t.Fatal(err)
	}
	x := 1.0
	for i := range 20_000_000 {
		x = math.Sqrt(x + float64(i))
	}
	after, err := CPUTime(os.Getpid(), all)
	if err != nil || after <= before {
		t.Errorf("%v then %v after work (%g), %v", before, after, x, err)
	}
	if none, err := CPUTime(os.Getpid(), func(string) bool { return false }); err != nil || none != 0 {
		t.Errorf("no threads: %v, %v", none, err)
	}
}
