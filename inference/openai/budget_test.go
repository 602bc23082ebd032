package openai

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"pgregory.net/rapid"
)

// Bodies that stopped coming hold what came of them, until they are refused
// room and not beyond it; and all of it is given back.
func TestBodyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 20
		w, dial, stop := newPipeWorld(t, script(nil, started(), done()), func(o *Options) { o.BodyBudget = most })
		defer stop()
		// What is only announced takes next to nothing.
		for range 4 {
			conn := dial()
			defer conn.Close()
			post(conn, "{", 15<<20)
		}
		long := strings.Repeat(" ", 600<<10)
		stalled := dial()
		post(stalled, long, len(long)+1)
		synctest.Wait()
		if got := w.metric("dure_http_body_bytes"); got != "876545" { // 4 * 64 KiB and 600 KiB + 1
			t.Errorf("held: %s", got)
		}
		for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/tokenize", "/v1/detokenize", "/v1/apply-template"} {
			got := w.do("POST", path, long)
			got.wantError(t, 503, kindServer, "queue_full", "", "1048576 bytes", "try again later")
			if got.header.Get("Retry-After") != "1" {
				t.Errorf("header %v", got.header)
			}
		}
		if got := w.metric("dure_http_bodies_refused_total"); got != "5" {
			t.Errorf("refused: %s", got)
		}
		if got := w.chat(hello); got.status != 200 { // there is room for small ones
			t.Error(got)
		}
		stalled.Close()
		synctest.Wait()
		if got := w.chat(hello[:len(hello)-1] + long + "}"); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
		synctest.Wait()
		if got := w.metric("dure_http_body_bytes"); got != "262144" {
			t.Errorf("held at the end: %s", got)
		}
	})
}

func newReading(most int64) *exchange {
	b := &budget{most: most}
	return &exchange{h: &handler{bodies: b, metrics: newMetrics(nil, b)}}
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
		var refused *failure
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
