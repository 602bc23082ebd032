package eventtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"dure/runtime/event"
)

// patience is when a test that waits for something is taken to wait in vain.
const patience = 60 * time.Second

func limited(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Number makes an event that says who made it and which of its own it is.
func Number(writer, n int) event.Event {
	return event.Event{Type: "test.number", Version: 1, Payload: fmt.Appendf(nil, `{"writer":%d,"n":%d}`, writer, n)}
}

// text makes an event with a payload of n bytes.
func text(n int) event.Event {
	payload := make([]byte, n)
	for i := range payload {
		payload[i] = 'a' + byte(i%26)
	}
	payload[0], payload[n-1] = '"', '"'
	return event.Event{Type: "test.text", Version: 1, Payload: payload}
}

func appendTo(t testing.TB, log event.Log, stream string, expected event.Sequence, events ...event.Event) event.Sequence {
	t.Helper()
	seq, err := log.Append(limited(t), stream, expected, events...)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// collect takes all of a Read.
func collect(t testing.TB, seq iter.Seq2[event.Event, error]) []event.Event {
	t.Helper()
	events, err := gather(seq)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func gather(seq iter.Seq2[event.Event, error]) ([]event.Event, error) {
	var out []event.Event
	for e, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

func all(t testing.TB, log event.Log) []event.Event {
	t.Helper()
	return collect(t, log.ReadAll(limited(t), 0))
}

// same compares field by field: what is large is not printed.
func same(t testing.TB, what string, got, want []event.Event) {
	t.Helper()
	if err := Equal(got, want); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Equal says where two lists of events differ first, or nil.
func Equal(got, want []event.Event) error {
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		payload := bytes.Equal(g.Payload, w.Payload)
		g.Payload, w.Payload = nil, nil
		if !payload || !reflect.DeepEqual(g, w) {
			return fmt.Errorf("event %d is %+v, want %+v, payloads equal: %t", i+1, g, w, payload)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d events, want %d", len(got), len(want))
	}
	return nil
}

// Check reports what is wrong with the order of all events of a log.
func Check(events []event.Event) error {
	last := make(map[string]event.Sequence)
	ids := make(map[event.ID]bool)
	for i, e := range events {
		if e.Position != event.Position(i+1) {
			return fmt.Errorf("event %d has position %d", i+1, e.Position)
		}
		if e.Sequence != last[e.Stream]+1 {
			return fmt.Errorf("position %d: %q goes from sequence %d to %d", e.Position, e.Stream, last[e.Stream], e.Sequence)
		}
		if ids[e.ID] {
			return fmt.Errorf("position %d: the ID %v is there twice", e.Position, e.ID)
		}
		last[e.Stream], ids[e.ID] = e.Sequence, true
	}
	return nil
}

func checked(t testing.TB, log event.Log) []event.Event {
	t.Helper()
	events := all(t, log)
	if err := Check(events); err != nil {
		t.Fatal(err)
	}
	return events
}

func of(events []event.Event, stream string) []event.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return e.Stream != stream })
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}
