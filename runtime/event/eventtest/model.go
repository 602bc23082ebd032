package eventtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"dure/runtime/event"
)

// testModel runs random calls on a log, through two openings that are now and then
// closed and opened again, beside a slice that says what must come out.
func testModel(t *testing.T, place func(t testing.TB) Place) {
	rapid.Check(t, func(rt *rapid.T) {
		p := place(t)
		m := &model{logs: []event.Log{p.Open(t), p.Open(t)}, ctx: context.Background()}
		defer func() {
			for _, log := range m.logs {
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"append":   m.append,
			"append2":  m.append,
			"read":     m.read,
			"read all": m.readAll,
			"reopen": func(rt *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(rt, "log")
				if err := m.logs[i].Close(); err != nil {
					rt.Fatal(err)
				}
				m.logs[i] = p.Open(t)
			},
		})
	})
}

type model struct {
	ctx    context.Context
	logs   []event.Log
	events []event.Event
	ids    []event.ID
}

var modelStreams = []string{"a", "b", "'c'"}

func (m *model) pick(rt *rapid.T) (event.Log, string) {
	return m.logs[rapid.IntRange(0, 1).Draw(rt, "log")], rapid.SampledFrom(modelStreams).Draw(rt, "stream")
}

func (m *model) append(rt *rapid.T) {
	log, stream := m.pick(rt)
	last := event.Sequence(len(of(m.events, stream)))
	expected := rapid.SampledFrom([]event.Sequence{event.Any, last, last, 0, last + 1}).Draw(rt, "expected")
	known := make(map[event.ID]bool)
	for _, id := range m.ids {
		known[id] = true
	}
	var events []event.Event
	used := make(map[event.ID]bool)
	duplicate := false
	for range rapid.IntRange(1, 4).Draw(rt, "events") {
		e := Number(len(m.events), len(events))
		switch rapid.IntRange(0, 5).Draw(rt, "id") {
		case 0:
			e.ID = event.NewID()
		case 1:
			if len(m.ids) > 0 {
				e.ID = rapid.SampledFrom(m.ids).Draw(rt, "old")
			}
		}
		if used[e.ID] {
			e.ID = event.ID{}
		}
		if e.ID != (event.ID{}) {
			used[e.ID] = true
			duplicate = duplicate || known[e.ID]
		}
		events = append(events, e)
	}
	seq, err := log.Append(m.ctx, stream, expected, events...)
	switch {
	case duplicate:
		if !errors.Is(err, event.ErrDuplicate) {
			rt.Fatalf("got %v, want a duplicate", err)
		}
	case expected != event.Any && expected != last:
		if !errors.Is(err, event.ErrConflict) {
			rt.Fatalf("got %v, want a conflict", err)
		}
	case err != nil || seq != last+event.Sequence(len(events)):
		rt.Fatalf("got %d, %v after %d and %d events", seq, err, last, len(events))
	default:
		m.learn(rt, log, events)
	}
}

// learn takes what the log made of an append, if it is what was given.
func (m *model) learn(rt *rapid.T, log event.Log, given []event.Event) {
	got, err := gather(log.ReadAll(m.ctx, event.Position(len(m.events)+1)))
	if err != nil || len(got) != len(given) {
		rt.Fatalf("%d new events, want %d: %v", len(got), len(given), err)
	}
	for i, e := range got {
		if g := given[i]; string(e.Payload) != string(g.Payload) || g.ID != (event.ID{}) && g.ID != e.ID {
			rt.Fatalf("gave %+v, got %+v", g, e)
		}
		m.ids = append(m.ids, e.ID)
	}
	m.events = append(m.events, got...)
	if err := Check(m.events); err != nil {
		rt.Fatal(err)
	}
}

func (m *model) read(rt *rapid.T) {
	log, stream := m.pick(rt)
	want := of(m.events, stream)
	from := rapid.IntRange(0, len(want)+2).Draw(rt, "from")
	got, err := gather(log.Read(m.ctx, stream, event.Sequence(from)))
	m.compare(rt, fmt.Sprintf("%q from %d", stream, from), got, want[min(max(from-1, 0), len(want)):], err)
	if last, err := log.Last(m.ctx, stream); err != nil || int(last) != len(want) {
		rt.Fatalf("last of %q is %d, want %d: %v", stream, last, len(want), err)
	}
}

func (m *model) readAll(rt *rapid.T) {
	log, _ := m.pick(rt)
	from := rapid.IntRange(0, len(m.events)+2).Draw(rt, "from")
	got, err := gather(log.ReadAll(m.ctx, event.Position(from)))
	m.compare(rt, fmt.Sprintf("all from %d", from), got, m.events[min(max(from-1, 0), len(m.events)):], err)
}

func (m *model) compare(rt *rapid.T, what string, got, want []event.Event, err error) {
	if err != nil {
		rt.Fatalf("%s: %v", what, err)
	}
	if err := Equal(got, want); err != nil {
		rt.Fatalf("%s: %v", what, err)
	}
}
