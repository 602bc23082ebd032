package replay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/swarm"
)

// a log with a run of a few tasks, as a coordinator would write it.
func recorded(t *testing.T) (log event.Log, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "log.db")
	l, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if err := swarm.Begin(t.Context(), l, time.Unix(100, 0), swarm.Started{Spec: "make it", Repo: "/r", Base: "b", Check: "make test", Approval: true}); err != nil {
		t.Fatal(err)
	}
	return l, path
}

func add[T any](t *testing.T, log event.Log, typ event.Type[T], payload T) {
	t.Helper()
	e, err := typ.New(payload)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), swarm.Stream, event.Any, e); err != nil {
		t.Fatal(err)
	}
}

func work(t *testing.T, log event.Log) {
	add(t, log, swarm.Events.Hired, swarm.Hired{Agent: "noether", Role: swarm.RoleLead, Crew: "main"})
	add(t, log, swarm.Events.Leased, swarm.Leased{Task: "t1", Epoch: 1, Agent: "noether", Role: swarm.RoleLead})
	for i := 2; i < 5; i++ {
		add(t, log, swarm.Events.Submitted, swarm.Submitted{Task: swarm.TaskID(fmt.Sprint("t", i)), Kind: swarm.KindWork, Parent: "t1", Title: "x", Text: "y", Check: "true", Crew: "main", Goal: "g", By: "noether"})
	}
	add(t, log, swarm.Events.Reported, swarm.Reported{Task: "t1", Epoch: 1, Summary: "s", Plan: "p"})
	add(t, log, swarm.Events.Drafted, swarm.Drafted{Epoch: 1, Text: "p"})
	add(t, log, swarm.Events.Approved, swarm.Approved{By: "me"})
	add(t, log, swarm.Events.Parked, swarm.Parked{Task: "t3", By: "me", Reason: "later"})
	add(t, log, swarm.Events.Extended, swarm.Extended{By: "me", Limits: swarm.Limits{Agents: 3, Active: 3, Depth: 10, Tasks: 100, Returns: 3}})
}

func replayed(t *testing.T, log event.Log) (Result, error) {
	t.Helper()
	return Play(t.Context(), log, Until{}, func(event.Event, *swarm.State) error { return nil })
}

// A run that is sealed while it goes on, and again by later processes, is replayed to the
// same prints; each event is sealed once.
func TestSealAndReplay(t *testing.T) {
	log, _ := recorded(t)
	if r, err := replayed(t, log); err != nil || r.Compared != 0 || r.Open != 2 || !r.Whole {
		t.Errorf("a log without seals: %+v %v", r, err)
	}
	s, err := NewSealer(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	work(t, log)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := replayed(t, log); err != nil || r.Compared != 12 || r.Open != 0 || r.Run != 12 {
		t.Errorf("sealed: %+v %v", r, err)
	}
	before, _ := log.Last(t.Context(), Stream)
	add(t, log, swarm.Events.Reopened, swarm.Reopened{Task: "t3", By: "me", Reason: "now"})
	if r, err := replayed(t, log); err != nil || r.Compared != 12 || r.Open != 1 {
		t.Errorf("one more: %+v %v", r, err)
	}
	for range 2 { // a second one has nothing to seal
		if _, err := NewSealer(t.Context(), log); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := log.Last(t.Context(), Stream); after != before+1 {
		t.Errorf("%d seals more", after-before)
	}
	r, err := Play(t.Context(), log, Until{Type: swarm.Events.Approved.Name()}, func(_ event.Event, s *swarm.State) error {
		if s.Approval() != nil && len(s.Tasks()) != 4 {
			return errors.New("the state is another")
		}
		return nil
	})
	if err != nil || r.Whole || r.Compared != 10 {
		t.Errorf("until the approval: %+v %v", r, err)
	}
}

// A state that differs from what was recorded is found at its event, whichever that is, by
// a replay and by who would go on with the run.
func TestDifferenceIsNamed(t *testing.T) {
	log, _ := recorded(t)
	work(t, log)
	good, err := NewSealer(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	b, err := readSeals(t.Context(), log)
	if err != nil || len(b.prints) != 12 || good.fold.print != b.prints[12] {
		t.Fatalf("%+v %v", b, err)
	}
	for at := event.Sequence(1); at <= 12; at++ {
		other, _ := recorded(t)
		work(t, other)
		s := Seal{From: 1, To: 12, Whole: b.wholes[12]}
		for n := event.Sequence(1); n <= 12; n++ {
			p := b.prints[n]
			if n >= at {
				p ^= 1
			}
			s.Prints = append(s.Prints, byte(p>>24), byte(p>>16), byte(p>>8), byte(p))
		}
		seal(t, other, s)
		r, err := replayed(t, other)
		if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), fmt.Sprintf("from event %d on", at)) || r.Compared != int(at) {
			t.Errorf("other from %d on: %+v %v", at, r, err)
		}
		if _, err := NewSealer(t.Context(), other); !errors.Is(err, ErrDiffers) {
			t.Errorf("who goes on with it: %v", err)
		}
	}
	whole, _ := recorded(t)
	work(t, whole)
	s := Seal{From: 12, To: 12, Prints: []byte{byte(b.prints[12] >> 24), byte(b.prints[12] >> 16), byte(b.prints[12] >> 8), byte(b.prints[12])}, Whole: b.wholes[12] + 1}
	seal(t, whole, s)
	if _, err := replayed(t, whole); !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), "sum of the whole") {
		t.Errorf("another whole: %v", err)
	}
	for _, s := range []Seal{{From: 1, To: 1 << 40, Prints: []byte{1}}, {From: 1, To: 1 << 62}, {From: 0, To: 0, Prints: make([]byte, 4)}, {From: 2, To: 1}} {
		bad, _ := recorded(t)
		seal(t, bad, s)
		if _, err := replayed(t, bad); !errors.Is(err, event.ErrDamaged) {
			t.Errorf("the seal %+v: %v", s, err)
		}
	}
}

func seal(t *testing.T, log event.Log, s Seal) {
	t.Helper()
	e, err := SealType.New(s)
	if err == nil {
		_, err = log.Append(t.Context(), Stream, event.Any, e)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoRun(t *testing.T) {
	l, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := replayed(t, l); !errors.Is(err, ErrNoRun) {
		t.Errorf("%v", err)
	}
}
