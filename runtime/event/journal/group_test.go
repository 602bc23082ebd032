package journal

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"dure/runtime/event"
)

// Assign decides as a log would that takes the appends one after the other.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		streams := []string{"a", "b", "c"}
		head := event.Position(rapid.IntRange(0, 50).Draw(rt, "head"))
		last := map[string]event.Sequence{}
		for _, s := range streams[:2] {
			last[s] = event.Sequence(rapid.IntRange(0, 3).Draw(rt, s))
		}
		ids := make([]event.ID, 6)
		for i := range ids {
			ids[i][15] = byte(i + 1)
		}
		known := map[event.ID]bool{ids[0]: true, ids[1]: true, ids[2]: false}
		g := &Group{}
		for range rapid.IntRange(0, 8).Draw(rt, "appends") {
			g.Writes = append(g.Writes, drawWrite(rt, streams, ids))
		}
		var first string
		for range 2 { // deciding again changes nothing
			out := g.Assign(head, last, known)
			checkAssigned(rt, g, out, head, last, known)
			if again := fmt.Sprintf("%+v", out); first == "" {
				first = again
			} else if again != first {
				rt.Fatalf("first %s, then %s", first, again)
			}
		}
	})
}

func drawWrite(rt *rapid.T, streams []string, ids []event.ID) *Write {
	w := &Write{
		Stream:   rapid.SampledFrom(streams).Draw(rt, "stream"),
		Expected: rapid.SampledFrom([]event.Sequence{event.Any, 0, 1, 2, 3, 4}).Draw(rt, "expected"),
		Events:   make([]event.Event, rapid.IntRange(1, 3).Draw(rt, "events")),
	}
	if rapid.Bool().Draw(rt, "named") {
		w.Named = []event.ID{rapid.SampledFrom(ids).Draw(rt, "id")}
		w.Events[0].ID = w.Named[0]
	}
	return w
}

func checkAssigned(rt *rapid.T, g *Group, out []event.Event, head event.Position, last map[string]event.Sequence, known map[event.ID]bool) {
	ends, taken := map[string]event.Sequence{}, map[event.ID]bool{}
	for s, n := range last {
		ends[s] = n
	}
	at := 0
	for _, w := range g.Writes {
		switch {
		case len(w.Named) > 0 && (known[w.Named[0]] || taken[w.Named[0]]):
			if !errors.Is(w.Err, event.ErrDuplicate) {
				rt.Fatalf("%+v: want a duplicate", w)
			}
		case w.Expected != event.Any && w.Expected != ends[w.Stream]:
			var conflict *event.ConflictError
			if !errors.As(w.Err, &conflict) || conflict.Actual != ends[w.Stream] {
				rt.Fatalf("%+v: want a conflict at %d", w, ends[w.Stream])
			}
		default:
			for range w.Events {
				head++
				ends[w.Stream]++
				if e := out[at]; e.Position != head || e.Sequence != ends[w.Stream] {
					rt.Fatalf("event %d is %+v, want position %d, sequence %d", at, e, head, ends[w.Stream])
				}
				at++
			}
			if w.Err != nil || w.Last != ends[w.Stream] {
				rt.Fatalf("%+v: want the end %d", w, ends[w.Stream])
			}
			if len(w.Named) > 0 {
				taken[w.Named[0]] = true
			}
		}
		if w.Err != nil && w.Last != 0 {
			rt.Fatalf("%+v: refused, and with an end", w)
		}
	}
	if at != len(out) || g.Last != head || int(g.Last+1-g.First) != len(out) {
		rt.Fatalf("%d events, want %d; positions %d to %d", len(out), at, g.First, g.Last)
	}
}
