package pool

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dure/inference"
)

func TestWhatFitsStays(t *testing.T) {
	w := newWorld(t, Rules{}, 20, specs("a", "b")...)
	w.done(w.hold("a"))
	w.done(w.hold("b"))
	w.done(w.hold("a"))
	w.wants("starts", w.starts, "[a b]")
	w.wants("stops", w.stops, "[]")
}

func TestTheLeastValuableGivesWay(t *testing.T) {
	w := newWorld(t, Rules{}, 30, specs("often", "seldom", "once", "new")...)
	for range 5 {
		w.done(w.hold("often"))
	}
	w.done(w.hold("seldom"))
	w.done(w.hold("seldom"))
	w.done(w.hold("once"))
	w.after(time.Minute)
	w.done(w.hold("new"))
	w.wants("stops", w.stops, "[once]")
	w.sizes["new"] = 20
	w.p.unload(w.now, "new", false)
	w.after(time.Second)
	w.done(w.hold("once"))
	w.after(time.Minute)
	w.stops = nil
	w.done(w.hold("new")) // 20 bytes: two must go
	slices.Sort(w.stops)
	w.wants("stops", w.stops, "[once seldom]")
}

func TestABusyModelIsNotUnloadedButGetsATurn(t *testing.T) {
	w := newWorld(t, Rules{Most: 1}, 100, specs("a", "b")...)
	first := w.hold("a")
	b := w.ask("b")
	w.after(5 * time.Second)
	second := w.ask("a") // a has not had its turn yet
	w.wants("granted", w.has[second], "a")
	w.done(second)
	w.after(10 * time.Second)
	third := w.ask("a") // now it has: b is next
	w.wants("not granted", w.has[third], "")
	w.after(time.Minute)
	w.wants("b still waits for the request that runs", w.has[b], "")
	w.done(first)
	w.after(2 * time.Second)
	w.wants("b", w.has[b], "b")
	w.done(b)
	w.after(5 * time.Second)
	w.wants("a again", w.has[third], "a")
	w.wants("starts", w.starts, "[a b a]")
}

func TestModelsByTurnsDoNotThrash(t *testing.T) {
	w := newWorld(t, Rules{Most: 1}, 100, specs("a", "b")...)
	for i := range 100 { // two clients that ask all the time
		name := []string{"a", "b"}[i%2]
		w.done(w.hold(name))
	}
	loads := tick(len(w.starts)) * loadTakes
	if share := float64(loads) / float64(w.now); share > 0.5 {
		t.Errorf("%.0f %% of the time is spent with loads", 100*share)
	}
}

func TestKeepAlive(t *testing.T) {
	w := newWorld(t, Rules{KeepAlive: time.Minute}, 100, Spec{Name: "rule"}, Spec{Name: "own", KeepAlive: time.Hour}, Spec{Name: "always", KeepAlive: -1}, Spec{Name: "asked"})
	for _, name := range []string{"rule", "own", "always"} {
		w.done(w.hold(name))
	}
	w.after(50 * time.Second)
	w.wants("stops", w.stops, "[]")
	w.after(12 * time.Second)
	w.wants("stops", w.stops, "[rule]")
	w.after(2 * time.Hour)
	w.wants("stops", w.stops, "[rule own]")
	id := w.askKeep("asked", inference.UnloadAtOnce)
	w.after(time.Hour)
	w.wants("in use", w.has[id], "asked")
	w.done(id)
	w.after(time.Millisecond)
	w.wants("stops", w.stops, "[rule own asked]")
}

func TestGroups(t *testing.T) {
	w := newWorld(t, Rules{}, 100, Spec{Name: "lead", Together: []string{"talk"}}, Spec{Name: "voice", Together: []string{"talk"}},
		Spec{Name: "x", Turns: []string{"one"}}, Spec{Name: "y", Turns: []string{"one"}})
	w.done(w.hold("lead"))
	w.after(5 * time.Second)
	w.wants("starts", w.starts, "[lead voice]")
	w.done(w.hold("x"))
	w.after(5 * time.Second)
	w.done(w.hold("y"))
	w.wants("stops", w.stops, "[x]")
	w = newWorld(t, Rules{}, 15, Spec{Name: "lead", Together: []string{"talk"}}, Spec{Name: "voice", Together: []string{"talk"}})
	w.done(w.hold("lead"))
	w.after(time.Minute) // no room for both: the second is made smaller rather than the first unloaded
	w.wants("stops", w.stops, "[]")
	w.wants("voice", w.held["voice"], 5)
}

func TestPinnedStays(t *testing.T) {
	w := newWorld(t, Rules{}, 10, Spec{Name: "pinned", Pinned: true}, Spec{Name: "other"})
	w.sizes["other"] = 1000
	w.done(w.hold("pinned"))
	id := w.ask("other")
	w.after(time.Minute)
	w.wants("stops", w.stops, "[]")
	if err := w.told[id]; err == nil || !strings.Contains(err.Error(), "lacks") {
		t.Errorf("told %v", err)
	}
}

func TestALoadIsMadeSmaller(t *testing.T) {
	w := newWorld(t, Rules{}, 10, specs("big")...)
	w.sizes["big"] = 35
	w.done(w.hold("big"))
	w.wants("shrunk", w.shrunk["big"], 2)
	w.wants("status", w.p.status(w.now)[0].Shrunk, 2)
}

func TestCrashesPauseAndBreak(t *testing.T) {
	w := newWorld(t, Rules{}, 10, specs("a")...)
	crash := func() {
		w.after(2 * time.Second)
		w.p.lost(w.now, "a", errors.New("signal: killed"))
		w.busy["a"] = w.now + unloadTakes
		w.act()
	}
	id := w.hold("a")
	w.done(id)
	id = w.hold("a")
	for range breakAt {
		crash()
		w.done(id)
		id = w.ask("a")
		w.after(30 * time.Second)
		if w.has[id] == "" {
			break
		}
	}
	err := w.told[id]
	if err == nil || !strings.Contains(err.Error(), "5 times lately") || !strings.Contains(err.Error(), "signal: killed") {
		t.Fatalf("told %v", err)
	}
	w.after(time.Duration(brokenFor))
	w.done(w.hold("a")) // one attempt, which succeeds
	crash()             // but not for long
	id = w.ask("a")
	if err := w.told[id]; err == nil {
		t.Error("a model that broke again at once is started again at once")
	}
	w.after(time.Duration(brokenFor))
	w.done(w.hold("a"))
	w.after(time.Duration(goodWhile))
	w.done(w.hold("a"))
	w.wants("failures", w.p.by["a"].trouble.failures, 0)
}

// A process that ends at every other request is stopped too.
func TestCrashesBetweenAnswersBreak(t *testing.T) {
	w := newWorld(t, Rules{}, 10, specs("a")...)
	for range breakAt {
		w.done(w.hold("a"))
		poisoned := w.hold("a")
		w.p.lost(w.now, "a", errors.New("signal: aborted"))
		w.busy["a"] = w.now + unloadTakes
		w.act()
		w.done(poisoned)
		w.after(20 * time.Second)
	}
	if err := w.told[w.ask("a")]; err == nil {
		t.Error("it is started for the sixth time")
	}
}

func TestUnloadOfAModelThatLoads(t *testing.T) {
	w := newWorld(t, Rules{}, 10, specs("a", "b")...)
	first := w.ask("a")
	w.p.unload(w.now, "a", true)
	w.act()
	w.after(10 * time.Second) // it is not stopped midway, but leaves, and comes back for who waits
	w.wants("stops", w.stops, "[a]")
	w.wants("starts", w.starts, "[a a]")
	w.done(first)
	w.p.unload(w.now, "a", false)
	w.act()
	w.after(time.Second)
	w.fail["b"] = 1
	w.ask("b")
	w.p.unload(w.now, "b", false)
	w.after(5 * time.Second) // what was ordered for a load that failed does not hold for the next
	w.stops = nil
	w.hold("b")
	w.after(time.Minute)
	w.wants("stops", w.stops, "[]")
}

func TestPauseAndResume(t *testing.T) {
	w := newWorld(t, Rules{}, 100, specs("a", "b", "c")...)
	w.done(w.hold("a"))
	busy := w.hold("b")
	w.p.pause(w.now, false)
	w.act()
	w.after(time.Second)
	w.wants("stops", w.stops, "[a]")
	id := w.ask("a")
	w.after(time.Second)
	w.wants("told", w.told[id], errPaused)
	id = w.ask("b") // which is still loaded
	w.wants("told", w.told[id], errPaused)
	w.done(busy)
	w.after(time.Second)
	w.wants("held", w.used(), 0)
	w.starts = nil
	w.p.resume(w.now)
	w.act()
	w.after(5 * time.Second)
	w.wants("starts", w.starts, "[a b]")
	w.hold("b")
	w.p.pause(w.now, true) // at once, though it is used
	w.act()
	w.after(time.Second)
	w.wants("held", w.used(), 0)
}
