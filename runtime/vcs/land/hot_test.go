package land

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Counters equal what was injected, whatever it is (rows 55 and 56).
func TestCountersEqualTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	hot := NewHot(HotPolicy{Commits: -1, Conflicts: -1, Agents: -1, Size: -1, Reports: -1})
	breaker := NewBreaker(BreakerPolicy{})
	type truth struct {
		commits, conflicts int
		agents             map[string]bool
		size               int64
	}
	want := map[string]*truth{}
	perMinute := map[time.Time]*Minute{}
	for i := range 5000 {
		now := at(float64(i))
		path, agent := fmt.Sprintf("p%d", min(r.IntN(20), r.IntN(20))), fmt.Sprintf("a%d", r.IntN(50))
		w := want[path]
		if w == nil {
			w = &truth{agents: map[string]bool{}}
			want[path] = w
		}
		m := perMinute[now.Truncate(time.Minute)]
		if m == nil {
			m = &Minute{Start: now.Truncate(time.Minute)}
			perMinute[m.Start] = m
		}
		w.agents[agent] = true
		e := Event{At: now}
		if r.IntN(10) == 0 {
			w.conflicts++
			m.Conflicted++
			e.Conflict = &Conflict{Theirs: Side{Agent: agent}, Files: []FileConflict{{Path: path}}}
		} else {
			w.commits++
			m.Landed++
			w.size = int64(r.IntN(10000))
			e.Landed = &Landed{Agent: agent, Files: []Touched{{path, w.size}}}
		}
		if found := hot.Apply(e); len(found) > 0 {
			t.Fatalf("found %v", found)
		}
		breaker.Apply(e)
	}
	top := hot.Top(100)
	if len(top) != len(want) {
		t.Errorf("%d paths, want %d", len(top), len(want))
	}
	for i, p := range top {
		w := want[p.Path]
		if p.Commits != w.commits || p.Conflicts != w.conflicts || p.Agents != len(w.agents) || p.Size != w.size {
			t.Errorf("counted %+v, want %+v with %d agents", p, *w, len(w.agents))
		}
		if i > 0 && p.Conflicts > top[i-1].Conflicts {
			t.Errorf("%s is busier than %s", p.Path, top[i-1].Path)
		}
		if n := len(p.Curve); n == 0 || n > mostPoints || p.Curve[0].Commits != 1 {
			t.Errorf("curve of %d points", n)
		}
	}
	for _, m := range breaker.Curve() {
		if m != *perMinute[m.Start] {
			t.Errorf("minute %+v, want %+v", m, *perMinute[m.Start])
		}
	}
	if len(breaker.Curve()) != len(perMinute) {
		t.Errorf("%d minutes, want %d", len(breaker.Curve()), len(perMinute))
	}
}

// Each limit finds a file once, with its figure.
func TestFindings(t *testing.T) {
	landed := func(agent string, size int64) Event {
		return Event{At: noon, Landed: &Landed{Agent: agent, Files: []Touched{{"f", size}}}}
	}
	conflict := Event{At: noon, Conflict: &Conflict{Theirs: Side{Agent: "x"}, Files: []FileConflict{{Path: "f"}}}}
	report := func(agent string) Event { return Event{At: noon, Report: &FileReport{"f", agent, "big"}} }
	for _, c := range []struct {
		name   string
		policy HotPolicy
		events []Event
		at     int // which event finds it; -1: none
	}{
		{"commits", HotPolicy{Commits: 3}, []Event{landed("a", 1), landed("a", 1), landed("a", 1), landed("a", 1)}, 2},
		{"conflicts", HotPolicy{Conflicts: 2}, []Event{conflict, landed("a", 1), conflict}, 2},
		{"agents", HotPolicy{Agents: 2}, []Event{landed("a", 1), landed("a", 1), landed("b", 1)}, 2},
		{"size", HotPolicy{Size: 100}, []Event{landed("a", 99), landed("a", 100)}, 1},
		{"reports by one", HotPolicy{Reports: 2}, []Event{report("a"), report("a")}, -1},
		{"reports", HotPolicy{Reports: 2}, []Event{report("a"), report("a"), report("b")}, 2},
		{"nothing", HotPolicy{}, []Event{landed("a", 1), conflict, report("a")}, -1},
	} {
		hot := NewHot(c.policy)
		for i, e := range c.events {
			found := hot.Apply(e)
			if (len(found) == 1) != (i == c.at) {
				t.Errorf("%s: event %d finds %v", c.name, i, found)
			}
		}
	}
}

func TestGate(t *testing.T) {
	hot, gate := NewHot(HotPolicy{}), new(Gate)
	ctx := context.Background()
	if err := gate.Allow(ctx, "ann", []string{"f"}); err != nil {
		t.Error(err)
	}
	hot.Apply(Event{Block: &Block{Path: "f", Task: "split f", Splitter: "sam"}})
	gate.set(hot.Blocked())
	var blocked *BlockedError
	if err := gate.Allow(ctx, "ann", []string{"g", "f"}); !errors.As(err, &blocked) || blocked.Task != "split f" || !errors.Is(err, ErrBlocked) {
		t.Errorf("blocked path: %v", err)
	}
	if err := gate.Allow(ctx, "sam", []string{"f"}); err != nil {
		t.Errorf("the splitter: %v", err)
	}
	if err := gate.Allow(ctx, "ann", []string{"g"}); err != nil {
		t.Errorf("another path: %v", err)
	}
	hot.Apply(Event{Landed: &Landed{Agent: "sam", Split: &Split{Path: "f"}}})
	gate.set(hot.Blocked())
	if err := gate.Allow(ctx, "ann", []string{"f"}); err != nil {
		t.Errorf("after the split: %v", err)
	}
}

// A storm of conflicts stops landing after so many bad minutes, not before, and a
// quiet minute begins the count anew (row 57).
func TestBreaker(t *testing.T) {
	feed := func(b *Breaker, minute, landed, conflicts int) *Trip {
		for i := range landed + conflicts {
			e := Event{At: at(float64(minute*60) + float64(i)/10)}
			if i < landed {
				e.Landed = &Landed{}
			} else {
				e.Conflict = &Conflict{}
			}
			b.Apply(e)
			if trip := b.Check(e.At); trip != nil {
				return trip
			}
		}
		return b.Check(at(float64(minute*60 + 60)))
	}
	b := NewBreaker(BreakerPolicy{Rate: 0.5, Minutes: 3, Least: 10})
	script := []struct {
		landed, conflicts int
		trips             bool
	}{
		{20, 30, false}, {20, 30, false}, {20, 5, false}, // calms down
		{20, 30, false}, {2, 3, false}, // too few to count
		{20, 30, false}, {0, 0, false}, // silence
		{20, 30, false}, {20, 30, false}, {20, 11, true},
	}
	for i, m := range script {
		trip := feed(b, i, m.landed, m.conflicts)
		if (trip != nil) != m.trips {
			t.Fatalf("minute %d: trip %+v", i, trip)
		}
		if trip != nil {
			if *trip != (Trip{3, 60, 71}) {
				t.Errorf("trip %+v", *trip)
			}
			b.Apply(Event{Trip: trip})
		}
	}
	if !b.Tripped() {
		t.Error("not tripped")
	}
	n := len(script)
	if feed(b, n, 0, 100) != nil {
		t.Error("trips while tripped")
	}
	b.Apply(Event{At: at(float64(n*60 + 30)), Resumed: true})
	for i := n + 1; i < n+4; i++ {
		if trip := feed(b, i, 0, 50); (trip != nil) != (i == n+3) || b.Tripped() {
			t.Errorf("minute %d after the resumption: %v", i, trip)
		}
	}
}
