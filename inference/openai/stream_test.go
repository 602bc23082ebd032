package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dure/inference"

	"pgregory.net/rapid"
)

func checkEscape(s string) error {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	if got := string(appendString([]byte("kept"), s)) + "\n"; got != "kept"+want.String() {
		return errors.New("got " + got + " want " + want.String())
	}
	return nil
}

func FuzzAppendString(f *testing.F) {
	for c := range rune(0x100) {
		f.Add("x" + string(c) + "y")
	}
	for _, s := range []string{"", "\u2027\u2028\u2029\u202a", "\xff", "a\xe2\x80", "\xe2\x80\xa8", "<&>", "한국어😀", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := checkEscape(s); err != nil {
			t.Error(err)
		}
	})
}

// discard is a connection that takes everything.
type discard struct {
	header http.Header
	last   []byte
	keep   bool
}

func (d *discard) Header() http.Header              { return d.header }
func (d *discard) WriteHeader(int)                  {}
func (d *discard) SetWriteDeadline(time.Time) error { return nil }
func (d *discard) SetReadDeadline(time.Time) error  { return nil }
func (d *discard) FlushError() error                { return nil }

func (d *discard) Write(p []byte) (int, error) {
	if d.keep {
		d.last = append(d.last[:0], p...)
	}
	return len(p), nil
}

func newTestRun(s shape, usage bool, model string) (*run, *stream, *discard) {
	to := &discard{header: http.Header{}, keep: true}
	r, _ := http.NewRequest("POST", "/v1/chat/completions", nil)
	x := newExchange(New(Options{Version: "v1 \"x\""}).(*handler), to, r)
	x.gen.model = model
	out := newStream(x, s, &request{includeUsage: usage})
	return newRun(x, fakeModel{}, &request{n: 1}, []*inference.Request{{}}, nil, out), out, to
}

// The text event that is put together by hand is the one encoding/json makes.
func TestTextEventEqualsStruct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := rapid.OneOf(rapid.Just(mark), rapid.Just(`"logprobs":null`), rapid.String()).Draw(t, "model")
		shape := rapid.SampledFrom([]shape{chatShape{}, textShape{}}).Draw(t, "shape")
		g, s, to := newTestRun(shape, rapid.Bool().Draw(t, "usage"), model)
		if err := g.pass(g.choices[0], started(), false); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			text := rapid.String().Draw(t, "text")
			event := says(text)
			if rapid.Bool().Draw(t, "logprobs") {
				event.Logprobs = []inference.TokenLogprob{token1}
			}
			from := g.choices[0].characters
			to.last = nil
			if err := g.pass(g.choices[0], event, false); err != nil {
				t.Fatal(err)
			}
			if text == "" && event.Logprobs == nil {
				continue
			}
			want, err := s.event(nil, s.chunk(withLogprobs(shape, text, place(from, text, event.Logprobs))))
			if err != nil || string(to.last) != string(want) {
				t.Fatalf("got %s want %s, %v", to.last, want, err)
			}
		}
	})
}

var token1 = inference.TokenLogprob{
	Candidate: inference.Candidate{Token: 5, Bytes: []byte("a\xe2"), Logprob: -0.5},
	Top:       []inference.Candidate{{Token: 6, Bytes: []byte("<"), Logprob: -0.25}},
}

func withLogprobs(s shape, text string, tokens []placed) any {
	var l any
	if tokens != nil {
		l = s.logprobs(tokens)
	}
	switch piece := s.piece(&choice{}, text).(type) {
	case chatDelta:
		piece.Logprobs = l
		return piece
	case textChoice:
		piece.Logprobs = l
		return piece
	}
	panic("unknown shape")
}

// Any sequence of texts comes out of the stream as it went in.
func TestTextsReassemble(t *testing.T) {
	var pieces []string
	w := newWorld(t, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		all := []inference.Event{started()}
		for _, p := range pieces {
			all = append(all, says(p))
		}
		return script(nil, append(all, done())...)(nil, nil)
	})
	rapid.Check(t, func(rt *rapid.T) {
		pieces = rapid.SliceOf(rapid.String()).Draw(rt, "pieces")
		want := strings.Join(pieces, "")
		var got strings.Builder
		all := events(t, w.chat(helloStream).body)
		for _, data := range all[:len(all)-1] {
			var c struct{ Choices []chatDelta }
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				rt.Fatal(err)
			}
			if content := c.Choices[0].Delta.Content; content != nil {
				got.WriteString(*content)
			}
		}
		if got.String() != want || all[len(all)-1] != "[DONE]" || !utf8.ValidString(want) {
			rt.Fatalf("got %q want %q", got.String(), want)
		}
		var answer struct{ Choices []chatChoice }
		if err := json.Unmarshal([]byte(w.chat(hello).body), &answer); err != nil || answer.Choices[0].Message.Content != want {
			rt.Fatalf("whole: %v %+v", err, answer.Choices)
		}
	})
}

// One piece of text from the model to the writer, without the network.
func BenchmarkTextEvent(b *testing.B) {
	g, _, to := newTestRun(chatShape{}, false, "small")
	to.keep = false
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

// The same with a real server and client: both sides of the loopback.
func BenchmarkTextEventOverHTTP(b *testing.B) {
	begin, end := make(chan struct{}), make(chan struct{})
	models := &fakeModels{list: []Listing{{Name: "small", Default: true}}}
	models.generate = func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			defer close(end)
			if !yield(started(), nil) {
				return
			}
			<-begin
			for b.Loop() {
				yield(says(" token"), nil)
			}
			yield(done(), nil)
		}
	}
	url := benchServer(b, models)
	res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(helloStream))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	b.ReportAllocs()
	close(begin)
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		b.Fatal(err)
	}
	<-end
}

// The path of a token makes no garbage.
func TestTextEventAllocations(t *testing.T) {
	g, _, to := newTestRun(chatShape{}, true, "small")
	to.keep = false
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
