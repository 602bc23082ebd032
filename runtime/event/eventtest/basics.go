package eventtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"dure/runtime/event"
)

func testFields(t *testing.T, p Place) {
	log := p.Open(t)
	at := time.Date(2026, 2, 3, 4, 5, 6, 789_012_345, time.FixedZone("east", 9*3600))
	given := event.Event{ID: event.NewID(), Type: "task.submitted", Version: 3, Time: at, Payload: []byte(" {\"a\": 1.50,\n\"a\":\"\\u0000\"} ")}
	before := time.Now()
	if seq := appendTo(t, log, "one", 0, given, Number(1, 1)); seq != 2 {
		t.Errorf("last sequence %d, want 2", seq)
	}
	if seq := appendTo(t, log, "two", event.Any, Number(1, 2)); seq != 1 {
		t.Errorf("last sequence %d, want 1", seq)
	}
	if given.Stream != "" || given.Sequence != 0 {
		t.Error("the caller's event was changed")
	}
	got := checked(t, p.Open(t))
	if len(got) != 3 {
		t.Fatalf("%d events, want 3", len(got))
	}
	want := given
	want.Stream, want.Sequence, want.Position, want.Time = "one", 1, 1, at.UTC()
	same(t, "first event", got[:1], []event.Event{want})
	if got[0].Time.Location() != time.UTC {
		t.Errorf("time in %v, want UTC", got[0].Time.Location())
	}
	if e := got[1]; e.ID == (event.ID{}) || e.Time.Before(before.Add(-time.Second)) || e.Time.After(time.Now().Add(time.Second)) {
		t.Errorf("the log filled in %+v", e)
	}
	same(t, "stream one", collect(t, log.Read(limited(t), "one", 0)), got[:2])
	same(t, "stream one from 2", collect(t, log.Read(limited(t), "one", 2)), got[1:2])
	same(t, "stream one from 3", collect(t, log.Read(limited(t), "one", 3)), nil)
	same(t, "stream one from far", collect(t, log.Read(limited(t), "one", math.MaxInt64)), nil)
	same(t, "no stream", collect(t, log.Read(limited(t), "three", 0)), nil)
	same(t, "all from 2", collect(t, log.ReadAll(limited(t), 2)), got[1:])
	if last, err := log.Last(limited(t), "one"); err != nil || last != 2 {
		t.Errorf("last of one: %d, %v", last, err)
	}
	if last, err := log.Last(limited(t), "three"); err != nil || last != 0 {
		t.Errorf("last of three: %d, %v", last, err)
	}
	if head, err := log.Head(limited(t)); err != nil || head != 3 {
		t.Errorf("head: %d, %v", head, err)
	}
}

// Everything at its limit is taken, and one more is not.
func testLimits(t *testing.T, p Place) {
	log := p.Open(t)
	appendTo(t, log, strings.Repeat("n", event.MaxStream), 0, text(event.MaxPayload))
	long := text(10)
	long.Type = strings.Repeat("t", event.MaxType)
	long.Version = math.MaxInt32
	long.Time = time.Unix(0, math.MinInt64)
	appendTo(t, log, "s", 0, long)
	many := make([]event.Event, event.MaxEvents)
	for i := range many {
		many[i] = Number(0, i)
	}
	if seq := appendTo(t, log, "many", 0, many...); seq != event.MaxEvents {
		t.Errorf("last sequence %d", seq)
	}
	large := make([]event.Event, event.MaxAppend/event.MaxPayload)
	for i := range large {
		large[i] = text(event.MaxPayload)
	}
	appendTo(t, log, "large", 0, large...)
	got := checked(t, log)
	if e := got[1]; e.Type != long.Type || e.Version != long.Version || !e.Time.Equal(long.Time) {
		t.Errorf("at the limits: %+v", e)
	}
	if e := got[len(got)-1]; string(e.Payload) != string(large[0].Payload) {
		t.Error("a large payload came back changed")
	}
	_, err := log.Append(limited(t), "large", event.Any, append(large, Number(1, 1))...)
	wantErr(t, err, event.ErrInvalid)
	_, err = log.Append(limited(t), "many", event.Any, append(many, Number(1, 1))...)
	wantErr(t, err, event.ErrInvalid)
	_, err = log.Append(limited(t), "large", event.Any, text(event.MaxPayload+1))
	wantErr(t, err, event.ErrInvalid)
	same(t, "after refusals", all(t, log), got)
}

// Names are bytes to compare, not text to interpret.
func testNames(t *testing.T, p Place) {
	log := p.Open(t)
	names := []string{
		" ", "a", "A", "a ", " a", "ä", "a\u0308", "ss", "ß", "K", "\u212a", "İ", "i",
		"'; drop table events; --", `"`, "`", "\\", "\\x00", "%", "_", "%s%d%!", "$1", "?", ":name", "@p", "{}", "[]",
		"NULL", "null", "0", "00", "0x0", "1e0", "true", "*", "all", "..", "../../etc/passwd", "/", "a/b", "~",
		"\u202eback", "\u200b", "\ufeff", "\U0010ffff", "💥", "두레", strings.Repeat("长", event.MaxStream/3),
	}
	for i, name := range names {
		appendTo(t, log, name, 0, Number(i, 0))
	}
	for i, name := range names {
		got := collect(t, log.Read(limited(t), name, 0))
		if len(got) != 1 || got[0].Stream != name || string(got[0].Payload) != string(Number(i, 0).Payload) {
			t.Errorf("stream %q: %+v", name, got)
		}
	}
}

func testConflict(t *testing.T, p Place) {
	log, other := p.Open(t), p.Open(t)
	appendTo(t, log, "s", 0, Number(0, 0), Number(0, 1))
	for _, expected := range []event.Sequence{0, 1, 3, 1000} {
		for _, l := range []event.Log{log, other} {
			_, err := l.Append(limited(t), "s", expected, Number(1, 1))
			wantErr(t, err, event.ErrConflict)
			var conflict *event.ConflictError
			if !errors.As(err, &conflict) || *conflict != (event.ConflictError{Stream: "s", Expected: expected, Actual: 2}) {
				t.Errorf("expected %d: %v", expected, err)
			}
		}
	}
	if seq := appendTo(t, other, "s", 2, Number(0, 2)); seq != 3 {
		t.Errorf("last sequence %d, want 3", seq)
	}
	if seq := appendTo(t, log, "s", event.Any, Number(0, 3)); seq != 4 {
		t.Errorf("last sequence %d, want 4", seq)
	}
	if got := checked(t, log); len(got) != 4 {
		t.Errorf("%d events, want 4", len(got))
	}
}

// What was done is not done again, and is told from a lost race.
func testDuplicate(t *testing.T, p Place) {
	log, other := p.Open(t), p.Open(t)
	first, second := Number(0, 0), Number(0, 1)
	first.ID, second.ID = event.NewID(), event.NewID()
	appendTo(t, log, "s", 0, first, second)
	for _, again := range [][]event.Event{{first, second}, {second}, {Number(1, 1), first}} {
		for stream, expected := range map[string]event.Sequence{"s": 0, "other": event.Any} {
			_, err := other.Append(limited(t), stream, expected, again...)
			wantErr(t, err, event.ErrDuplicate)
			var dup *event.DuplicateError
			if !errors.As(err, &dup) || dup.Stream != stream || dup.ID != first.ID && dup.ID != second.ID {
				t.Errorf("got %v", err)
			}
		}
	}
	twice := Number(2, 2)
	twice.ID = event.NewID()
	_, err := log.Append(limited(t), "s", event.Any, twice, twice)
	wantErr(t, err, event.ErrInvalid)
	if got := checked(t, log); len(got) != 2 {
		t.Errorf("%d events, want 2", len(got))
	}
}

func testRefused(t *testing.T, p Place) {
	log := p.Open(t)
	good := Number(0, 0)
	change := func(f func(*event.Event)) []event.Event {
		e := good
		f(&e)
		return []event.Event{good, e}
	}
	payload := func(s string) []event.Event { return change(func(e *event.Event) { e.Payload = []byte(s) }) }
	typ := func(s string) []event.Event { return change(func(e *event.Event) { e.Type = s }) }
	for name, events := range map[string][]event.Event{
		"no events": nil, "no payload": change(func(e *event.Event) { e.Payload = nil }),
		"no JSON": payload("{"), "two values": payload("1 2"), "not UTF-8": payload("\"\xff\""), "NUL": payload("\x00"),
		"version 0":  change(func(e *event.Event) { e.Version = 0 }),
		"version -1": change(func(e *event.Event) { e.Version = -1 }),
		"too early":  change(func(e *event.Event) { e.Time = time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"too late":   change(func(e *event.Event) { e.Time = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"no type":    typ(""), "type A": typ("A"), "type .": typ("a..b"), "type end": typ("a."), "type 0": typ("0"),
		"type space": typ("a b"), "type é": typ("é"), "type long": typ(strings.Repeat("a", event.MaxType+1)),
	} {
		_, err := log.Append(limited(t), "s", event.Any, events...)
		if !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	for _, stream := range []string{"", "a\x00", "\x00", "a\nb", "\x7f", "\xff", "a\xc3", strings.Repeat("n", event.MaxStream+1)} {
		_, err := log.Append(limited(t), stream, event.Any, good)
		_, read := gather(log.Read(limited(t), stream, 0))
		_, last := log.Last(limited(t), stream)
		_, followed := gather(log.Follow(limited(t), stream, 0))
		for _, err := range []error{err, read, last, followed} {
			if !errors.Is(err, event.ErrInvalid) {
				t.Errorf("stream %q: got error %v", stream, err)
			}
		}
	}
	_, err := log.Append(limited(t), "s", event.Any-1, good)
	wantErr(t, err, event.ErrInvalid)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = log.Append(ended, "s", event.Any, good)
	wantErr(t, err, context.Canceled)
	_, err = gather(log.ReadAll(ended, 0))
	wantErr(t, err, context.Canceled)
	same(t, "after refusals", all(t, log), nil)
}

// Pages have borders by number and by bytes, and readers do not see them.
func testPages(t *testing.T, p Place) {
	log := p.Open(t)
	for i := range 3 {
		var events []event.Event
		for n := range 300 {
			events = append(events, Number(i, n))
		}
		appendTo(t, log, fmt.Sprint("s", i%2), event.Any, events...)
		appendTo(t, log, "large", event.Any, text(600_000), text(600_000), text(600_000), Number(i, i))
	}
	events := checked(t, log)
	if len(events) != 912 {
		t.Fatalf("%d events", len(events))
	}
	for _, from := range []int{1, 2, 256, 257, 304, 305, 912, 913} {
		same(t, fmt.Sprint("from ", from), collect(t, log.ReadAll(limited(t), event.Position(from))), events[from-1:])
	}
	for _, name := range []string{"s0", "s1", "large"} {
		want := of(events, name)
		for _, from := range []int{1, 3, 4, len(want), len(want) + 1} {
			same(t, name, collect(t, log.Read(limited(t), name, event.Sequence(from))), want[from-1:])
		}
	}
	// A consumer that has had enough stops the reading.
	n := 0
	for range log.ReadAll(limited(t), 1) {
		if n++; n == 300 {
			break
		}
	}
	if n != 300 {
		t.Errorf("%d events before the break", n)
	}
}
