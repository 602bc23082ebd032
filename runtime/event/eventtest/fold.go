package eventtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"dure/runtime/event"
)

// A Tally is a State in memory: how many events each stream and type has, and a
// hash over all of them in their order.
type Tally struct {
	at    event.Position
	count map[string]int
	chain [32]byte
}

// Applied implements event.State.
func (s *Tally) Applied(context.Context) (event.Position, error) { return s.at, nil }

// Reset implements event.State.
func (s *Tally) Reset(context.Context) error {
	*s = Tally{}
	return nil
}

// Apply implements event.State.
func (s *Tally) Apply(_ context.Context, events []event.Event) error {
	for _, e := range events {
		if e.Position != s.at+1 {
			return fmt.Errorf("position %d after %d", e.Position, s.at)
		}
		s.at = e.Position
		if s.count == nil {
			s.count = make(map[string]int)
		}
		s.count[e.Stream+" "+e.Type]++
		s.chain = Link(s.chain, e)
	}
	return nil
}

// Dump implements Dumper.
func (s *Tally) Dump() ([]byte, error) {
	out := fmt.Appendf(nil, "%d %x\n", s.at, s.chain)
	for _, key := range slices.Sorted(maps.Keys(s.count)) {
		out = fmt.Appendf(out, "%q %d\n", key, s.count[key])
	}
	return out, nil
}

// Link is the next of a chain of hashes over events.
func Link(chain [32]byte, e event.Event) [32]byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%x %d %q %d %v %q %d %d ", chain, e.Position, e.Stream, e.Sequence, e.ID, e.Type, e.Version, e.Time.UnixNano())
	_, _ = h.Write(e.Payload)
	return [32]byte(h.Sum(nil))
}

func dump(t testing.TB, s Dumper) []byte {
	t.Helper()
	data, err := s.Dump()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A state that was kept up to date with interruptions, one that follows, and one
// that is made anew are the same, byte by byte.
func testFold(t *testing.T, p Place) {
	log, ctx := p.Open(t), limited(t)
	for kind, state := range map[string]func() Dumper{
		"memory": func() Dumper { return &Tally{} },
		"tables": func() Dumper { return p.Table(t) },
	} {
		following, stop := context.WithCancel(ctx)
		kept, keeping := &Tally{}, make(chan error, 1)
		go func() { keeping <- event.Keep(following, log, kept) }()
		stepwise := state()
		for round := range 12 {
			var events []event.Event
			for n := range round * round {
				events = append(events, Number(round, n))
			}
			appendTo(t, log, fmt.Sprint("s", round%3), event.Any, append(events, text(100_000*(round%3)+10))...)
			if round%4 == 3 {
				continue // some more at once
			}
			if at, err := event.CatchUp(ctx, log, stepwise); err != nil || at == 0 {
				t.Fatalf("%s: at %d, %v", kind, at, err)
			}
		}
		if _, err := event.CatchUp(ctx, log, stepwise); err != nil {
			t.Fatal(err)
		}
		want := dump(t, stepwise)
		anew := state()
		for range 2 { // also of a state that was used before
			if _, err := event.Rebuild(ctx, log, anew); err != nil {
				t.Fatal(err)
			}
			if got := dump(t, anew); !bytes.Equal(got, want) {
				t.Errorf("%s: anew\n%s\nstep by step\n%s", kind, got, want)
			}
		}
		stop()
		wantErr(t, <-keeping, context.Canceled)
		if _, err := event.CatchUp(ctx, log, kept); err != nil {
			t.Fatal(err)
		}
		whole := &Tally{}
		if err := whole.Apply(ctx, all(t, log)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(dump(t, kept), dump(t, whole)) {
			t.Errorf("kept\n%s\nwhole\n%s", dump(t, kept), dump(t, whole))
		}
	}
}

// A state that fails stays where it is, and one of another log is refused.
func testFoldRefusals(t *testing.T, p Place) {
	log, ctx := p.Open(t), limited(t)
	appendTo(t, log, "s", 0, Number(0, 0), Number(0, 1))
	ahead := &Tally{at: 3}
	_, err := event.CatchUp(ctx, log, ahead)
	wantErr(t, err, event.ErrDamaged)
	broken := errors.New("broken")
	at, err := event.CatchUp(ctx, log, failing{&Tally{}, broken})
	wantErr(t, err, broken)
	if at != 0 {
		t.Errorf("at %d after a failure", at)
	}
}

type failing struct {
	event.State
	err error
}

func (f failing) Apply(context.Context, []event.Event) error { return f.err }
