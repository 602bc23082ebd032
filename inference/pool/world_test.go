package pool

import (
	"errors"
	"fmt"
	"time"
)

// tester is *testing.T or *rapid.T.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// world carries out what a policy decides, in a machine with so much memory.
type world struct {
	tb     tester
	p      *policy
	now    tick
	memory int64
	sizes  map[string]int64
	held   map[string]int64 // by what is loaded or loads
	busy   map[string]tick  // loads and unloads in progress: when they end
	shrunk map[string]int   // of loads in progress
	has    map[askID]string // granted
	told   map[askID]error  // rejected
	asked  map[askID]string // not answered yet
	since  map[askID]tick   // when
	last   askID
	starts []string
	stops  []string
	fail   map[string]int // so many next loads fail
}

const loadTakes, unloadTakes = tick(time.Second), tick(200 * time.Millisecond)

func newWorld(tb tester, rules Rules, memory int64, specs ...Spec) *world {
	w := &world{
		tb: tb, p: newPolicy(rules, specs), now: 1, memory: memory, sizes: map[string]int64{}, held: map[string]int64{},
		busy: map[string]tick{}, shrunk: map[string]int{}, has: map[askID]string{}, told: map[askID]error{}, asked: map[askID]string{},
		since: map[askID]tick{}, fail: map[string]int{},
	}
	for _, s := range specs {
		w.sizes[s.Name] = 10
	}
	return w
}

func (w *world) ask(name string) askID { return w.askKeep(name, 0) }

func (w *world) askKeep(name string, keep time.Duration) askID {
	w.last++
	w.asked[w.last], w.since[w.last] = name, w.now
	w.p.ask(w.now, name, w.last, keep)
	w.act()
	return w.last
}

func (w *world) done(id askID) {
	delete(w.has, id)
	delete(w.asked, id)
	w.p.done(w.now, id)
	w.act()
}

// act carries out effects and checks what must hold of each.
func (w *world) act() {
	w.tb.Helper()
	for _, e := range w.p.next(w.now) {
		m := w.p.by[e.name]
		switch e.kind {
		case grant:
			if w.asked[e.id] != e.name || m.phase != ready {
				w.tb.Fatalf("grant of %s (%s) to %d, which wanted %q", e.name, m.phase, e.id, w.asked[e.id])
			}
			delete(w.asked, e.id)
			w.has[e.id] = e.name
		case reject:
			if _, ok := w.asked[e.id]; !ok || e.err == nil {
				w.tb.Fatalf("reject of %d: %v", e.id, e.err)
			}
			delete(w.asked, e.id)
			w.told[e.id] = e.err
		case start:
			w.mayStart(m)
			w.starts = append(w.starts, e.name)
			w.shrunk[e.name] = e.shrink
			w.busy[e.name] = w.now + loadTakes
		case stop:
			if len(m.users) > 0 && !e.now {
				w.tb.Fatalf("%s is unloaded while %d use it", e.name, len(m.users))
			}
			if m.draining && (m.Pinned || w.now < m.loadedAt+loadTakes) {
				w.tb.Fatalf("%s makes room at %d, loaded at %d, pinned %t", e.name, w.now, m.loadedAt, m.Pinned)
			}
			w.stops = append(w.stops, e.name)
			w.busy[e.name] = w.now + unloadTakes
		}
	}
}

// mayStart checks that a load leaves the rules whole.
func (w *world) mayStart(m *model) {
	w.tb.Helper()
	if _, busy := w.busy[m.Name]; busy || w.p.paused {
		w.tb.Fatalf("%s is loaded while it is busy (%t) or all are paused (%t)", m.Name, busy, w.p.paused)
	}
	present := 0
	for _, o := range w.p.models {
		if o.phase == absent {
			continue
		}
		present++
		if o != m && (o.phase == loading || meet(o.Turns, m.Turns)) {
			w.tb.Fatalf("%s is loaded beside %s, which is %s", m.Name, o.Name, o.phase)
		}
	}
	if most := w.p.rules.Most; most > 0 && present > most {
		w.tb.Fatalf("%d models are loaded where %d may be", present, most)
	}
}

func (w *world) used() (sum int64) {
	for _, n := range w.held {
		sum += n
	}
	return sum
}

// advance to a time, doing what happens until then.
func (w *world) advance(to tick) {
	w.tb.Helper()
	for {
		next, at := "", to
		for name, end := range w.busy {
			if end < at || end == at && (next == "" || name < next) {
				next, at = name, end
			}
		}
		if wake := w.p.wake(); wake < at && wake > w.now {
			w.now = wake
			w.act()
			continue
		}
		w.now = max(w.now, at)
		if next == "" {
			w.act()
			return
		}
		delete(w.busy, next)
		w.ended(next)
		w.act()
	}
}

// ended is the end of a load or an unload.
func (w *world) ended(name string) {
	if w.p.by[name].phase == leaving {
		delete(w.held, name)
		w.p.gone(w.now, name)
		return
	}
	size := w.sizes[name] >> w.shrunk[name]
	free := w.memory - w.used()
	switch {
	case w.fail[name] > 0:
		w.fail[name]--
		w.p.failed(w.now, name, errors.New("broken file"))
	case size > free:
		w.p.refused(w.now, name, size-free, fmt.Errorf("%s lacks %d", name, size-free))
	default:
		w.held[name] = size
		w.p.loaded(w.now, name, size, time.Duration(loadTakes))
	}
}

func (w *world) after(d time.Duration) { w.tb.Helper(); w.advance(w.now + tick(d)) }

func (w *world) wants(what string, got, want any) {
	w.tb.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func specs(names ...string) (all []Spec) {
	for _, n := range names {
		all = append(all, Spec{Name: n})
	}
	return all
}

// hold asks and waits until it is granted.
func (w *world) hold(name string) askID {
	w.tb.Helper()
	id := w.ask(name)
	for range 100 {
		if w.has[id] != "" {
			return id
		}
		w.after(time.Second)
	}
	w.tb.Fatalf("%s was never granted: %v", name, w.told[id])
	return 0
}
