package pool

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dure/inference"
)

// Whatever happens, the rules hold (world.act), nobody who is served loses the model,
// and everybody is answered in the end.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(2, 4).Draw(t, "models")]
		all := specs(names...)
		for i := range all {
			pinned := rapid.IntRange(0, 7).Draw(t, "pinned") == 7
			all[i].KeepAlive = rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour, -1}).Draw(t, "keep")
			if rapid.IntRange(0, 2).Draw(t, "turns") == 2 {
				all[i].Turns, pinned = []string{"t"}, false // the catalogue refuses both
			}
			all[i].Pinned = pinned
			if rapid.IntRange(0, 2).Draw(t, "together") == 2 {
				all[i].Together = []string{"u"}
			}
		}
		rules := Rules{Most: rapid.IntRange(0, 3).Draw(t, "most"), KeepAlive: time.Duration(rapid.IntRange(0, 2).Draw(t, "minutes")) * time.Minute}
		w := newWorld(t, rules, int64(rapid.IntRange(5, 45).Draw(t, "memory")), all...)
		for range rapid.IntRange(1, 150).Draw(t, "events") {
			w.random(t, rapid.SampledFrom(names).Draw(t, "name"))
		}
		w.settleDown()
	})
}

// settleDown answers everybody: each gets its turn.
func (w *world) settleDown() {
	w.tb.Helper()
	w.p.resume(w.now)
	w.act()
	for range 400 {
		for _, id := range ids(w.has) {
			w.done(id)
		}
		w.after(time.Second)
	}
	if len(w.asked) > 0 {
		w.tb.Fatalf("%v are never answered; %+v", w.asked, w.p.status(w.now))
	}
}

func ids(of map[askID]string) []askID { return slices.Sorted(maps.Keys(of)) }

// random does one thing.
func (w *world) random(t *rapid.T, name string) {
	switch rapid.IntRange(0, 13).Draw(t, "event") {
	case 0, 1, 2, 3:
		w.askKeep(name, rapid.SampledFrom([]time.Duration{0, inference.UnloadAtOnce, time.Minute, -1}).Draw(t, "keep"))
	case 4, 5, 6:
		if held := ids(w.has); len(held) > 0 {
			w.done(rapid.SampledFrom(held).Draw(t, "id"))
		}
	case 7:
		if waiting := ids(w.asked); len(waiting) > 0 {
			w.done(rapid.SampledFrom(waiting).Draw(t, "id"))
		}
	case 8:
		w.fail[name] = rapid.IntRange(0, 2).Draw(t, "failures")
	case 9:
		if w.p.by[name].phase == ready {
			w.p.lost(w.now, name, errors.New("lost"))
			w.busy[name] = w.now + unloadTakes
			w.act()
		}
	case 10:
		w.p.unload(w.now, name, rapid.Bool().Draw(t, "at once"))
		w.act()
	case 11:
		switch rapid.IntRange(0, 4).Draw(t, "pause") {
		case 0:
			w.p.pause(w.now, rapid.Bool().Draw(t, "at once"))
		case 1:
			w.p.claim(w.now, name)
		default:
			w.p.resume(w.now)
		}
		w.act()
	case 12:
		w.sizes[name] = int64(rapid.IntRange(1, 30).Draw(t, "size"))
	case 13:
		w.p.want(w.now, name)
		w.act()
	}
	w.after(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "ns")))
}
