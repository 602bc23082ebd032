package land

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// parts is a file of so many functions of five lines, with some bodies replaced.
func parts(from, to int, body map[int]string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		text := fmt.Sprintf("\treturn %d", i)
		if s, ok := body[i]; ok {
			text = s
		}
		fmt.Fprintf(&b, "// f%d does it\nfunc f%d() int {\n%s\n}\n\n", i, i, text)
	}
	return b.String()
}

// The megafile of row 45, from the first report to the last waiting change: agents
// report it, it is blocked, commits are refused with the task's name, the split
// lands, what waited is carried to the new files, and all are free again.
func TestMegafileIsSplit(t *testing.T) {
	var found []Finding
	opt := Options{
		Hot: HotPolicy{Reports: 2},
		Found: func(f Finding) *Block {
			found = append(found, f)
			return &Block{Path: f.Path, Task: "split " + f.Path, Splitter: "sam"}
		},
	}
	h := newHouse(t, opt, map[string]string{"mega.go": "package m\n\n" + parts(0, 6, nil), "other.go": "x\n"})
	base := h.main()
	// Committed before the block, and not landed yet.
	early := h.commit("early", base, put("mega.go", "package m\n\n"+parts(0, 6, map[int]string{1: "\treturn 111"})))
	across := h.commit("across", base, put("mega.go", "package m\n\n"+strings.Replace(parts(0, 6, nil), "}\n\n// f3 does it\nfunc f3() int {\n", "one line for all of it\n", 1)))
	newer := h.lands("ann", base, put("mega.go", "package m\n\n"+parts(0, 6, map[int]string{0: "\treturn 1000"})))
	for _, a := range []string{"ann", "ann", "ben"} {
		if len(found) > 0 {
			t.Fatal("found by one agent's word")
		}
		if err := h.job.Report(t.Context(), FileReport{"mega.go", a, "everybody is in it"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(found) != 1 || found[0].Path != "mega.go" {
		t.Fatalf("found %v", found)
	}
	var blocked *BlockedError
	if _, err := h.tryCommit("ben", newer.Commit, put("mega.go", "x\n")); !errors.As(err, &blocked) || blocked.Task != "split mega.go" {
		t.Errorf("a commit to a blocked file: %v", err)
	}
	if _, err := h.land(Request{Agent: "early", Commit: early}); !errors.As(err, &blocked) || blocked.Task != "split mega.go" {
		t.Errorf("a landing on a blocked file: %v", err)
	}
	h.lands("cat", newer.Commit, put("other.go", "y\n")) // others go on
	// One waits instead.
	waits := make(chan error, 1)
	go func() {
		l, err := h.land(Request{Agent: "early", Task: "t", Commit: early, Wait: true})
		if err == nil && l.Tier != TierSplit {
			err = fmt.Errorf("landed by %s", l.Tier)
		}
		waits <- err
	}()
	for h.state().Waiting == 0 { // until it does
	}
	split := h.commit("sam", newer.Commit, gone("mega.go"),
		put("one.go", "package m\n\n"+parts(0, 3, map[int]string{0: "\treturn 1000"})),
		put("two.go", "package m\n\n"+parts(3, 6, nil)))
	l, err := h.land(Request{Agent: "sam", Task: "split mega.go", Commit: split, Split: "mega.go"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Split == nil || len(l.Split.Pieces) != 2 {
		t.Errorf("the map is %+v", l.Split)
	}
	select {
	case err := <-waits:
		if err != nil {
			t.Errorf("the change that waited: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the change still waits")
	}
	want := "package m\n\n" + parts(0, 3, map[int]string{0: "\treturn 1000", 1: "\treturn 111"})
	h.wants(map[string]string{"mega.go": "-", "one.go": want, "two.go": "package m\n\n" + parts(3, 6, nil)})
	// A change that no single file can take is a conflict, not a guess.
	var conflict *ConflictError
	if _, err := h.land(Request{Agent: "across", Commit: across}); !errors.As(err, &conflict) || !strings.Contains(conflict.Conflict.Files[0].Why, "split") {
		t.Errorf("a change across the parts: %v", err)
	}
	if s := h.state(); len(s.Blocked) != 0 || s.Waiting != 0 {
		t.Errorf("still blocked: %+v", s.Blocked)
	}
	// A job that begins again from the events knows the map, too.
	late := h.commit("late", base, put("mega.go", "package m\n\n"+parts(0, 6, map[int]string{5: "\treturn 555"})))
	h.again(h.state())
	if l, err := h.land(Request{Agent: "late", Commit: late}); err != nil || l.Tier != TierSplit {
		t.Errorf("late: %v by %s", err, l.Tier)
	}
	h.wants(map[string]string{"two.go": "package m\n\n" + parts(3, 6, map[int]string{5: "\treturn 555"})})
	h.git("fsck", "--strict", "--full")
}

// A storm stops landing, on an injected clock, and a person sets it going (row 57).
func TestStormStopsLanding(t *testing.T) {
	now := noon
	clock := make(chan time.Time, 1) // what the job reads is set between landings
	clock <- now
	read := func() time.Time { n := <-clock; clock <- n; return n }
	h := newHouse(t, Options{Clock: read, Breaker: BreakerPolicy{Rate: 0.5, Minutes: 2, Least: 2}}, map[string]string{"f": "f\n", "g": "g\n"})
	base := h.main()
	h.lands("first", base, put("f", "first\n"))
	pass := func(d time.Duration) { now = now.Add(d); <-clock; clock <- now }
	for i := range 4 { // two a minute
		name := fmt.Sprint("loser", i)
		id := h.commit(name, base, put("f", name+"\n"))
		if _, err := h.land(Request{Agent: name, Commit: id}); !errors.Is(err, ErrConflict) {
			t.Fatalf("%s: %v", name, err)
		}
		pass(30 * time.Second)
	}
	if err := h.job.Report(t.Context(), FileReport{"g", "x", "wakes the loop"}); err != nil {
		t.Fatal(err)
	}
	id := h.commit("good", base, put("g", "G\n"))
	if _, err := h.land(Request{Agent: "good", Commit: id}); !errors.Is(err, ErrStopped) {
		t.Errorf("in the storm: %v", err)
	}
	if s := h.state(); !s.Stopped {
		t.Error("not stopped")
	}
	trips := 0
	for _, e := range h.events {
		if e.Trip != nil {
			trips++
			if e.Trip.Conflicts != 4 || e.Trip.Commits != 1 {
				t.Errorf("trip %+v", e.Trip)
			}
		}
	}
	if trips != 1 {
		t.Errorf("%d trips", trips)
	}
	if err := h.job.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.land(Request{Agent: "good", Commit: id}); err != nil {
		t.Errorf("after the storm: %v", err)
	}
}
