package gate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
)

// openLog opens a real log in a folder of its own, or again the one at path.
func openLog(t testing.TB, path string) event.Log {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func open(t testing.TB, log event.Log) *gate.Gate {
	t.Helper()
	g, err := gate.Open(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func newGate(t testing.TB) *gate.Gate {
	return open(t, openLog(t, filepath.Join(t.TempDir(), "log")))
}

func block(agent, call string) gate.Block {
	return gate.Block{CallID: gate.CallID{Agent: agent, Call: call}, Turn: 1, Tool: "shell", Rule: "secrets", Reason: "reads a key"}
}

// decision is what Block came back with.
type decision struct {
	is  gate.Decision
	err error
}

func blockAside(t *testing.T, g *gate.Gate, b gate.Block) <-chan decision {
	done := make(chan decision, 1)
	go func() {
		if err := g.Block(t.Context(), b); err != nil {
			done <- decision{"", err}
			return
		}
		d, err := g.Decided(t.Context(), b.CallID)
		done <- decision{d, err}
	}()
	return done
}

func waitFor(t *testing.T, g *gate.Gate, ok func(gate.State) bool) gate.State {
	t.Helper()
	for {
		s := g.State()
		if ok(s) {
			return s
		}
		if t.Context().Err() != nil {
			t.Fatal("the test ended")
		}
		runtime.Gosched()
	}
}

// Row 15: after one block no caller enters, however many try.
func TestABlockStopsTheWholeTeam(t *testing.T) {
	g := newGate(t)
	ctx, cancel := context.WithCancel(t.Context())
	var entered atomic.Int64
	var team sync.WaitGroup
	for range 200 {
		team.Go(func() {
			for {
				leave, err := g.Enter(ctx)
				if err != nil {
					return
				}
				entered.Add(1)
				leave()
				runtime.Gosched()
			}
		})
	}
	for entered.Load() < 1000 {
		runtime.Gosched()
	}
	done := blockAside(t, g, block("noether", "c1"))
	waitFor(t, g, func(s gate.State) bool { return len(s.Blocks) == 1 })
	for g.Inside() > 0 {
		runtime.Gosched()
	}
	before := entered.Load()
	for range 10_000 {
		runtime.Gosched()
	}
	if after := entered.Load(); after != before {
		t.Errorf("%d callers entered a stopped gate", after-before)
	}
	if err := g.Resume(t.Context(), "person", "harmless"); err != nil {
		t.Fatal(err)
	}
	if d := <-done; d.err != nil || d.is != gate.Refused {
		t.Errorf("the blocked call: %v, want refused", d)
	}
	for entered.Load() == before {
		runtime.Gosched()
	}
	cancel()
	team.Wait()
}

func TestDecisions(t *testing.T) {
	g := newGate(t)
	first, second := blockAside(t, g, block("noether", "c1")), blockAside(t, g, block("gauss", "c1"))
	s := waitFor(t, g, func(s gate.State) bool { return len(s.Blocks) == 2 })
	if s.Phase != gate.PhaseStopped || s.Stops != 1 {
		t.Errorf("two blocks: %+v, want one stop", s)
	}
	err := g.Overrule(t.Context(), "person", gate.CallID{Agent: "gauss", Call: "c9"}, "")
	if !errors.Is(err, gate.ErrUnknown) {
		t.Errorf("overrule of an unknown call: %v", err)
	}
	if err := g.Overrule(t.Context(), "person", gate.CallID{Agent: "gauss", Call: "c1"}, "a test key"); err != nil {
		t.Fatal(err)
	}
	if d := <-second; d.is != gate.Allowed {
		t.Errorf("overruled: %v", d)
	}
	if s := g.State(); s.Phase != gate.PhaseStopped {
		t.Errorf("one block is left, the gate is %s", s.Phase)
	}
	if err := g.End(t.Context(), "person", "enough"); err != nil {
		t.Fatal(err)
	}
	if d := <-first; d.is != gate.Refused {
		t.Errorf("at the end: %v", d)
	}
	if _, err := g.Enter(t.Context()); !errors.Is(err, gate.ErrEnded) {
		t.Errorf("enter an ended gate: %v", err)
	}
	for name, err := range map[string]error{
		"resume": g.Resume(t.Context(), "person", ""), "stop": g.Stop(t.Context(), "person", ""),
		"end": g.End(t.Context(), "person", ""),
	} {
		if !errors.Is(err, gate.ErrEnded) {
			t.Errorf("%s of an ended gate: %v", name, err)
		}
	}
}

func TestResumeOfAnOpenGate(t *testing.T) {
	if err := newGate(t).Resume(t.Context(), "person", ""); !errors.Is(err, gate.ErrOpen) {
		t.Errorf("resume of an open gate: %v", err)
	}
}

// Row 16: a process that dies while the team is stopped finds it stopped, with the
// calls that a person has to decide about, and decisions hold.
func TestStopOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log := openLog(t, path)
	g := open(t, log)
	ctx, cancel := context.WithCancel(t.Context())
	lost := make(chan error, 1)
	go func() {
		if err := g.Block(ctx, block("noether", "c1")); err != nil {
			t.Error(err)
		}
		_, err := g.Decided(ctx, block("noether", "c1").CallID)
		lost <- err
	}()
	before := waitFor(t, g, func(s gate.State) bool { return len(s.Blocks) == 1 })
	cancel()
	if err := <-lost; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_ = log.Close()

	log = openLog(t, path)
	g = open(t, log)
	after := g.State()
	if after.Phase != gate.PhaseStopped || len(after.Blocks) != 1 || after.Blocks[0].CallID != before.Blocks[0].CallID {
		t.Fatalf("after a restart: %+v", after)
	}
	if _, err := g.Enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("enter with a cancelled context: %v", err)
	}
	again := blockAside(t, g, block("noether", "c1")) // its agent judges the call anew
	if err := g.Overrule(t.Context(), "person", after.Blocks[0].CallID, ""); err != nil {
		t.Fatal(err)
	}
	if d := <-again; d.err != nil || d.is != gate.Allowed {
		t.Errorf("the call after the restart: %v", d)
	}
	if n, _ := log.Last(t.Context(), gate.Stream); n != 2 {
		t.Errorf("%d events, want the block once and the decision", n)
	}
	if d, err := open(t, log).Decided(t.Context(), block("noether", "c1").CallID); d != gate.Allowed || err != nil {
		t.Errorf("a decision must hold: %v %v", d, err)
	}
}

// full is a log without room.
type full struct {
	event.Log
	is atomic.Bool
}

func (f *full) Append(ctx context.Context, stream string, expected event.Sequence, events ...event.Event) (event.Sequence, error) {
	if f.is.Load() {
		return 0, event.ErrFull
	}
	return f.Log.Append(ctx, stream, expected, events...)
}

func TestAFullDiskDoesNotKeepTheTeamGoing(t *testing.T) {
	log := &full{Log: openLog(t, filepath.Join(t.TempDir(), "log"))}
	g := open(t, log)
	log.is.Store(true)
	if err := g.Stop(t.Context(), "person", "stop"); !errors.Is(err, event.ErrFull) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := g.State(); s.Phase != gate.PhaseStopped {
		t.Errorf("the stop could not be written, and the gate is %s", s.Phase)
	}
	if err := g.Resume(t.Context(), "person", ""); !errors.Is(err, event.ErrFull) {
		t.Error("a resume that is not in the log: ", err)
	}
	if _, err := g.Enter(ctx); err == nil {
		t.Error("entered")
	}
	log.is.Store(false)
	if err := g.Resume(t.Context(), "person", ""); err != nil {
		t.Fatal(err)
	}
	leave, err := g.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leave()
	leave() // twice is once
	if n := g.Inside(); n != 0 {
		t.Errorf("%d inside", n)
	}
}

// Random operations against a plain account of what must be, and a gate that is made
// from the log anew after each.
func TestManyOperations(t *testing.T) {
	log := openLog(t, filepath.Join(t.TempDir(), "log"))
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		own := &prefixed{Log: log, prefix: fmt.Sprint("r", round, ".")}
		g := open(t, own)
		undecided, stopped, ended := []gate.CallID{}, false, false
		waiting := map[gate.CallID]<-chan decision{}
		for step := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			id := gate.CallID{Agent: fmt.Sprint("a", step%3), Call: fmt.Sprint("c", step)}
			switch op := rapid.SampledFrom([]string{"block", "block", "block", "stop", "resume", "overrule", "end"}).Draw(rt, "op"); op {
			case "block":
				if ended {
					continue
				}
				waiting[id] = blockAside(t, g, block(id.Agent, id.Call))
				undecided = append(undecided, id)
				waitFor(t, g, func(s gate.State) bool { return len(s.Blocks) == len(undecided) })
			case "stop":
				if err := g.Stop(t.Context(), "p", ""); (err != nil) != ended {
					rt.Fatal(err)
				}
				stopped = true
			case "resume":
				if err := g.Resume(t.Context(), "p", ""); (err == nil) != (!ended && (stopped || len(undecided) > 0)) {
					rt.Fatal(err)
				}
				expect(rt, waiting, undecided, gate.Refused)
				undecided, stopped = nil, false
			case "overrule":
				if len(undecided) == 0 {
					continue
				}
				one := rapid.IntRange(0, len(undecided)-1).Draw(rt, "which")
				if err := g.Overrule(t.Context(), "p", undecided[one], ""); err != nil {
					rt.Fatal(err)
				}
				expect(rt, waiting, undecided[one:one+1], gate.Allowed)
				undecided = slices.Delete(undecided, one, one+1)
			case "end":
				if rapid.IntRange(0, 4).Draw(rt, "really") > 0 {
					continue
				}
				if err := g.End(t.Context(), "p", ""); (err != nil) != ended {
					rt.Fatal(err)
				}
				expect(rt, waiting, undecided, gate.Refused)
				undecided, ended = nil, true
			}
			want := gate.PhaseOpen
			switch {
			case ended:
				want = gate.PhaseEnded
			case stopped || len(undecided) > 0:
				want = gate.PhaseStopped
			}
			for name, s := range map[string]gate.State{"the gate": g.State(), "made anew": open(t, own).State()} {
				ids := []gate.CallID{}
				for _, b := range s.Blocks {
					ids = append(ids, b.CallID)
				}
				if s.Phase != want || !slices.Equal(ids, undecided) {
					rt.Fatalf("%s: %s %v, want %s %v", name, s.Phase, ids, want, undecided)
				}
			}
		}
		_ = g.End(t.Context(), "p", "")
		expect(rt, waiting, undecided, gate.Refused)
	})
}

func expect(rt *rapid.T, waiting map[gate.CallID]<-chan decision, ids []gate.CallID, want gate.Decision) {
	for _, id := range ids {
		if d := <-waiting[id]; d.err != nil || d.is != want {
			rt.Fatalf("%v: %v, want %s", id, d, want)
		}
		delete(waiting, id)
	}
}

// prefixed gives a test streams of its own in a log that is shared, and event IDs too.
type prefixed struct {
	event.Log
	prefix string
}

func (p *prefixed) Append(ctx context.Context, stream string, expected event.Sequence, events ...event.Event) (event.Sequence, error) {
	own := slices.Clone(events)
	for i := range own {
		own[i].ID = event.NewID()
	}
	return p.Log.Append(ctx, p.prefix+stream, expected, own...)
}

func (p *prefixed) Read(ctx context.Context, stream string, from event.Sequence) iter.Seq2[event.Event, error] {
	return p.Log.Read(ctx, p.prefix+stream, from)
}

func TestDecisionOfACallThatIsNotBlocked(t *testing.T) {
	if _, err := newGate(t).Decided(t.Context(), gate.CallID{Agent: "a", Call: "c"}); !errors.Is(err, gate.ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
}
