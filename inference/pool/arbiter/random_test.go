package arbiter

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// process plays a member: it asks, computes for a while, and gives back.
type process struct {
	id      memberID
	class   Class
	devices []string
	think   tick // between calls
	call    tick // how long they are
	obeys   bool // it computes and gives back; else it is silent once it has a lease

	asksAt tick // never while it waits or has a lease
	asked  tick // never while it does not wait
	serial uint64
	gives  tick // never while it does not compute
	keep   bool
	wanted bool // its lease was recalled
	has    bool
	stuck  bool
	older  int // frames: grants to others of lower classes while it waited
}

type world struct {
	t      *rapid.T
	p      *policy
	rules  Rules
	all    []*process
	now    tick
	voices int
	most   map[memberID]tick
}

func newWorld(t *rapid.T, obedient bool) *world {
	rules, err := Rules{Slice: 40, Age: 200, Silent: 1000, Holders: rapid.IntRange(1, 2).Draw(t, "holders")}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rules: rules, p: newPolicy(rules), most: map[memberID]tick{}}
	devices := [][]string{{"a"}, {"a"}, {"b"}, {"a", "b"}}
	for i := range rapid.IntRange(1, 6).Draw(t, "members") {
		m := &process{
			id: memberID(i + 1), class: Class(rapid.IntRange(0, classes-1).Draw(t, "class")),
			devices: rapid.SampledFrom(devices).Draw(t, "devices"),
			think:   rapid.Int64Range(0, 150).Draw(t, "think"), call: rapid.Int64Range(1, 40).Draw(t, "call"),
			obeys:  obedient || rapid.IntRange(0, 3).Draw(t, "obeys") > 0,
			asksAt: rapid.Int64Range(0, 100).Draw(t, "start"), asked: never, gives: never,
		}
		if m.class == Voice {
			w.voices++
		}
		w.all = append(w.all, m)
		w.p.join(m.id, fmt.Sprint(m.id), m.devices)
	}
	return w
}

// step brings the next thing that happens.
func (w *world) step() {
	at := w.p.wake()
	for _, m := range w.all {
		at = min(at, m.asksAt, m.gives)
	}
	if at == never {
		return
	}
	if at < w.now {
		w.t.Fatalf("the policy wants to wake at %d, it is %d", at, w.now)
	}
	w.now = at
	for _, m := range w.all {
		switch {
		case m.gives == at:
			w.give(m)
		case m.asksAt == at:
			m.asksAt = never
			if m.keep && m.has { // no message
				m.gives = at + m.call
				continue
			}
			m.serial++
			m.asked, m.older = at, 0
			w.must(w.p.wants(at, m.id, m.serial, m.class, at+100))
		}
	}
	w.effects()
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) give(m *process) {
	m.gives, m.asksAt = never, w.now+m.think
	if m.keep && !m.wanted {
		return
	}
	w.must(w.p.done(w.now, m.id, m.serial, m.class, m.call))
	m.has, m.stuck = false, false
}

func (w *world) effects() {
	for again := true; again; {
		again = false
		for _, e := range w.p.next(w.now) {
			m := w.all[slices.IndexFunc(w.all, func(m *process) bool { return m.id == e.to })]
			switch e.kind {
			case grant:
				w.granted(m, e)
			case recall:
				if !m.has || !m.keep || m.wanted {
					w.t.Fatalf("%d: recalled from %d, which does not keep it", w.now, m.id)
				}
				m.wanted = true
				if m.gives == never && m.obeys { // idle
					w.must(w.p.done(w.now, m.id, m.serial, m.class, 0))
					m.has, again = false, true
				}
			case stuck:
				if m.obeys {
					w.t.Fatalf("%d: %d is presumed stuck", w.now, m.id)
				}
				m.stuck = true
			}
		}
	}
	w.check()
}

func (w *world) granted(m *process, e effect) {
	if m.asked == never || e.serial != m.serial {
		w.t.Fatalf("%d: %d is granted what it did not ask for", w.now, m.id)
	}
	wait := w.now - m.asked
	w.most[m.id] = max(w.most[m.id], wait)
	for _, o := range w.all {
		if o.asked != never && o != m && o.class == Voice && m.class != Voice && slices.ContainsFunc(o.devices, func(d string) bool { return slices.Contains(m.devices, d) }) {
			if o.older++; o.older > 1 && w.rules.Holders == 1 {
				w.t.Fatalf("%d: the frame of %d was passed %d times", w.now, o.id, o.older)
			}
		}
	}
	m.asked, m.has, m.keep, m.wanted = never, true, e.keep, false
	if m.obeys {
		m.gives = w.now + m.call
	}
}

// check what holds whenever the policy has decided.
func (w *world) check() {
	for _, d := range []string{"a", "b"} {
		n := 0
		for _, m := range w.all {
			if m.has && !m.stuck && slices.Contains(m.devices, d) {
				n++
			}
		}
		if n > w.rules.Holders {
			w.t.Fatalf("%d: %d have device %s", w.now, n, d)
		}
	}
	waits, busy := false, false
	for _, m := range w.all {
		waits = waits || m.asked != never
		busy = busy || m.has && !m.stuck
	}
	if waits && !busy {
		w.t.Fatalf("%d: somebody waits and nobody computes", w.now)
	}
}

// Whatever processes do, devices are not used by more than may, and one that waits
// waits for somebody; where all keep to their slices, nobody is presumed stuck.
func TestRandomProcesses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, false)
		for range 400 {
			w.step()
			if rapid.IntRange(0, 60).Draw(t, "dies") == 0 && len(w.all) > 1 {
				i := rapid.IntRange(0, len(w.all)-1).Draw(t, "who")
				w.p.leave(w.all[i].id)
				w.all = slices.Delete(w.all, i, i+1)
				w.effects()
			}
		}
	})
}

// Where all keep to their slices, everybody gets a turn: one that has aged waits for
// the call that runs, for those that aged before it, each with the frames that it
// passed, and on many devices for those of them.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, true)
		for range 600 {
			w.step()
		}
		n := int64(len(w.all))
		slice, age := int64(w.rules.Slice), int64(w.rules.Age)
		for _, m := range w.all {
			longest := w.most[m.id]
			if m.asked != never {
				longest = max(longest, w.now-m.asked)
			}
			if bound := age + 2*(n+1)*(int64(w.voices)+1)*slice; m.class != Voice && longest > bound {
				t.Fatalf("member %d waited for %d, at most %d are possible", m.id, longest, bound)
			}
		}
	})
}

// A frame alone waits for one slice, and for two where somebody has aged.
func TestFrameWaitsForOneSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, true)
		for i, m := range w.all {
			m.devices = []string{"a"}
			if m.class == Voice && i > 0 {
				m.class = Decode
			}
		}
		frame := w.all[0]
		frame.class, frame.think = Voice, 133-frame.call
		w.rules.Holders = 1
		w.p = newPolicy(w.rules)
		for _, m := range w.all {
			w.p.join(m.id, "", m.devices)
		}
		for range 600 {
			w.step()
		}
		slices := int64(1)
		for _, m := range w.all {
			if m.class != Voice && (w.most[m.id] >= int64(w.rules.Age) || m.asked != never && w.now-m.asked >= int64(w.rules.Age)) {
				slices = 2
			}
		}
		if bound := slices * int64(w.rules.Slice); w.most[frame.id] > bound {
			t.Fatalf("the frame waited for %d, at most %d are possible", w.most[frame.id], bound)
		}
	})
}

// However calls turn out, what the next is meant for lies within the slice, is less
// after one that was too long, and is the slice again after some that were short.
func TestAdapt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slice := rapid.Int64Range(int64(time.Millisecond), int64(time.Second)).Draw(t, "slice")
		bound := slice
		for range rapid.IntRange(0, 30).Draw(t, "calls") {
			took := rapid.Int64Range(0, 20*slice).Draw(t, "took")
			next := adapt(bound, slice, took)
			if next > slice || next < slice/narrowest {
				t.Fatalf("%d of a slice of %d", next, slice)
			}
			if took > slice && bound > slice/narrowest && next >= bound {
				t.Fatalf("%d after a call of %d that was meant for %d", next, took, bound)
			}
			bound = next
		}
		for range 20 {
			bound = adapt(bound, slice, 0)
		}
		if bound != slice {
			t.Fatalf("%d after short calls, the slice is %d", bound, slice)
		}
	})
}
