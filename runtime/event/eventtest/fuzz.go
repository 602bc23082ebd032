package eventtest

import (
	"errors"
	"testing"

	"dure/runtime/event"
)

// Seed adds the beginnings of FuzzAppend.
func Seed(f *testing.F) {
	f.Add("stream", "task.done", 1, []byte(`{"a":[1,2.50,"\u0000",null]}`))
	f.Add("'; drop table events; --", "a", 2, []byte(`""`))
	f.Add("a\x00b", "A", 0, []byte("{"))
	f.Add("\xff", "a..b", -1, []byte("\"\xff\""))
	f.Add("💥\u202e", "x_1.y", 1<<31-1, []byte("  1e999 \n"))
}

// FuzzAppend gives a log hostile events: what it takes comes back byte by byte,
// what it does not is invalid, and then nothing has changed.
func FuzzAppend(t *testing.T, log event.Log, stream, typ string, version int, payload []byte) {
	ctx := limited(t)
	before, err := log.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	given := event.Event{ID: event.NewID(), Type: typ, Version: version, Payload: payload}
	seq, refusal := log.Append(ctx, stream, event.Any, given)
	got := collect(t, log.ReadAll(ctx, before+1))
	if refusal != nil {
		if !errors.Is(refusal, event.ErrInvalid) || len(got) != 0 {
			t.Fatalf("%v, and %d events", refusal, len(got))
		}
		return
	}
	if len(got) != 1 {
		t.Fatalf("%d events", len(got))
	}
	want := given
	want.Stream, want.Sequence, want.Position, want.Time = stream, seq, before+1, got[0].Time
	same(t, "appended", got, []event.Event{want})
	same(t, "in its stream", collect(t, log.Read(ctx, stream, seq)), got)
}
