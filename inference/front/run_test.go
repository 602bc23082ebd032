package front

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"dure/inference"
)

// plain is a surface whose answers are the text itself.
type plain struct{}

func (plain) Start(dst []byte, _ *Choice) ([]byte, error) { return append(dst, "begin\n"...), nil }

func (plain) Event(dst []byte, _ *Choice, ev inference.Event) ([]byte, error) {
	return AppendString(dst, ev.Text), nil
}

func (plain) End(dst []byte, _ *Choice, _ bool) ([]byte, error) { return append(dst, "end\n"...), nil }

func (plain) Done(dst []byte, _ inference.Usage) ([]byte, error) { return dst, nil }

func plainSurface() Surface {
	return Surface{Fail: func(_ *Exchange, f *Failure) any { return f.Message }}
}

// silent is a model that is never asked.
type silent struct{ inference.Model }

func (silent) Info() inference.Info { return inference.Info{} }

func newTestRun(to http.ResponseWriter) (*run, *Stream) {
	r, _ := http.NewRequest("POST", "/", nil)
	x := newExchange(New(Options{Surfaces: []Surface{plainSurface()}}), to, r)
	out := newStream(x, *EventStream(nil))
	return newRun(x, silent{}, &Generation{Requests: []*inference.Request{{}}, Answer: plain{}}, out), out
}

func started() inference.Event { return inference.Event{Kind: inference.EventStarted} }

func says(s string) inference.Event { return inference.Event{Kind: inference.EventText, Text: s} }

func done() inference.Event {
	return inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop}
}

// writes is a connection that takes everything, and counts.
type writes struct {
	header  http.Header
	sizes   []int
	flushes int
	deaf    bool // counts nothing
	fail    bool
}

func (d *writes) Header() http.Header              { return d.header }
func (d *writes) WriteHeader(int)                  {}
func (d *writes) SetWriteDeadline(time.Time) error { return nil }
func (d *writes) SetReadDeadline(time.Time) error  { return nil }

func (d *writes) Write(p []byte) (int, error) {
	if d.fail {
		return 0, errors.New("gone")
	}
	if !d.deaf {
		d.sizes = append(d.sizes, len(p))
	}
	return len(p), nil
}

func (d *writes) FlushError() error {
	d.flushes++
	return nil
}

// Events that are at hand together are sent together, up to a limit.
func TestEventsAtHandAreSentTogether(t *testing.T) {
	to := &writes{header: http.Header{}}
	g, s := newTestRun(to)
	pass := func(ev inference.Event, more bool) {
		t.Helper()
		if err := g.pass(g.choices[0], ev, more); err != nil {
			t.Fatal(err)
		}
	}
	pass(started(), true)
	pass(says("a"), true)
	pass(says(""), true)
	if len(to.sizes) != 0 {
		t.Fatalf("sent too early: %v", to.sizes)
	}
	pass(says("b"), false)
	if len(to.sizes) != 1 || to.flushes != 1 {
		t.Fatalf("%d writes, %d flushes", len(to.sizes), to.flushes)
	}
	pass(says("c"), true)
	pass(says(""), false) // the one that was promised says nothing
	if len(to.sizes) != 2 {
		t.Fatalf("held back: %v", to.sizes)
	}
	for range 20000 {
		pass(says("some text"), true)
	}
	if len(to.sizes) < 10 {
		t.Errorf("only %d writes", len(to.sizes))
	}
	for _, size := range to.sizes[2:] {
		if size < maxHeld || size > maxHeld+1000 {
			t.Errorf("held back %d bytes", size)
		}
	}
	pass(done(), true)
	if to.flushes != len(to.sizes) || len(s.buf) != 0 {
		t.Errorf("%d flushes, %d writes, %d bytes left", to.flushes, len(to.sizes), len(s.buf))
	}
	to.fail = true
	if err := s.push(false); !errors.As(err, new(*clientError)) {
		t.Errorf("got %v", err)
	}
}

// One piece of text from the model to the writer, without the network.
func BenchmarkTextEvent(b *testing.B) {
	g, _ := newTestRun(&writes{header: http.Header{}, deaf: true})
	if err := g.pass(g.choices[0], started(), false); err != nil {
		b.Fatal(err)
	}
	ev := says(" token")
	b.ReportAllocs()
	for b.Loop() {
		if err := g.pass(g.choices[0], ev, false); err != nil {
			b.Fatal(err)
		}
	}
}

// The path of a token makes no garbage.
func TestTextEventAllocations(t *testing.T) {
	g, _ := newTestRun(&writes{header: http.Header{}, deaf: true})
	if err := g.pass(g.choices[0], started(), false); err != nil {
		t.Fatal(err)
	}
	ev := says(" some \"text\" 끝\n")
	if n := testing.AllocsPerRun(1000, func() {
		if err := g.pass(g.choices[0], ev, false); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}
