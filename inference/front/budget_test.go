package front

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func newReading(most int64) *Exchange {
	b := &budget{most: most}
	return &Exchange{h: &Handler{bodies: b, metrics: newMetrics(nil, b)}}
}

// A body is read whole, in whatever pieces it comes and whatever its size was
// said to be, within the budget; and the books are right after each end.
func TestReadAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := bytes.Repeat([]byte("0123456789abcdef!"), rapid.IntRange(0, 20000).Draw(t, "size"))
		expect := rapid.SampledFrom([]int64{-1, 0, 1, int64(len(sent)), int64(len(sent)) + 1, 1 << 40}).Draw(t, "expect")
		most := rapid.SampledFrom([]int64{1 << 30, 300_000, 1}).Draw(t, "budget")
		from := io.Reader(bytes.NewReader(sent))
		broken := rapid.Bool().Draw(t, "broken")
		if broken {
			from = io.MultiReader(from, iotest.ErrReader(io.ErrUnexpectedEOF))
		}
		switch rapid.IntRange(0, 2).Draw(t, "pieces") {
		case 0:
			from = iotest.HalfReader(from)
		case 1:
			from = iotest.DataErrReader(from)
		}
		x := newReading(most)
		got, err := x.readAll(from, expect)
		held := x.h.bodies.held.Load()
		if held > most || held != x.held || int64(len(got)) > held || !bytes.HasPrefix(sent, got) {
			t.Fatalf("%d of %d bytes, %d held", len(got), len(sent), held)
		}
		var refused *Failure
		switch {
		case errors.As(err, &refused):
			if most == 1<<30 {
				t.Fatal(err)
			}
		case broken != errors.Is(err, io.ErrUnexpectedEOF) || !broken && err != nil || len(got) != len(sent):
			t.Fatalf("%d of %d bytes, %v", len(got), len(sent), err)
		case err == nil && held != int64(len(got)):
			t.Fatalf("%d bytes, %d held", len(got), held)
		}
		x.release()
		if x.h.bodies.held.Load() != 0 {
			t.Fatal("not all is given back")
		}
	})
}
