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
// closed and opened again, beside a slice that says what must come out. All runs
// are on one log, each on streams of its own.
func testModel(t *testing.T, place func(t testing.TB) Place) {
	p := place(t)
	logs := []event.Log{p.Open(t), p.Open(t)}
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		if run >= p.Models {
			return
		}
		m := &model{ctx: context.Background(), logs: logs}
		for _, name := range []string{"a", "b", "'c'"} {
			m.streams = append(m.streams, fmt.Sprint(run, name))
		}
		run++
		var err error
		if m.base, err = logs[0].Head(m.ctx); err != nil {
			rt.Fatal(err)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append":   m.append,
			"append2":  m.append,
			"read":     m.read,
			"read all": m.readAll,
			"reopen": func(rt *rapid.T) {
				i := rapid.IntRange(0, 7).Draw(rt, "log")
				if i > 1 {
					return // it is slow, and a few times are enough
				}
				if err := logs[i].Close(); err != nil {
					rt.Fatal(err)
				}
				logs[i] = p.Open(t)
			},
		})
	})
}

type model struct {
	ctx     context.Context
	logs    []event.Log
	streams []string
	base    event.Position // of the log before this run
	events  []event.Event
	ids     []event.ID
}

func (m *model) pick(rt *rapid.T) (event.Log, string) {
	return m.logs[rapid.IntRange(0, 1).Draw(rt, "log")], rapid.SampledFrom(m.streams).Draw(rt, "stream")
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
		m.learn(rt, log, stream, events)
	}
}

// learn takes what the log made of an append, if it is what was given.
func (m *model) learn(rt *rapid.T, log event.Log, stream string, given []event.Event) {
	got, err := gather(log.ReadAll(m.ctx, m.at(len(m.events)+1)))
	if err != nil || len(got) != len(given) {
		rt.Fatalf("%d new events, want %d: %v", len(got), len(given), err)
	}
	last := len(of(m.events, stream))
	for i, e := range got {
		g := given[i]
		if string(e.Payload) != string(g.Payload) || g.ID != (event.ID{}) && g.ID != e.ID || e.Stream != stream ||
			e.Sequence != event.Sequence(last+i+1) || e.Position != m.at(len(m.events)+i+1) {
			rt.Fatalf("gave %+v to %q after %d events, got %+v", g, stream, last, e)
		}
		m.ids = append(m.ids, e.ID)
	}
	m.events = append(m.events, got...)
}

// at is the position of the nth event of this run.
func (m *model) at(n int) event.Position { return m.base + event.Position(n) }

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
	from := rapid.IntRange(1, len(m.events)+2).Draw(rt, "from")
	got, err := gather(log.ReadAll(m.ctx, m.at(from)))
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
