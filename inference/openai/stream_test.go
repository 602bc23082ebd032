package openai

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/front"

	"pgregory.net/rapid"
)

// newTestStream is a stream whose one choice has begun.
func newTestStream(t testing.TB, s shape, usage bool, model string) (*stream, *front.Choice) {
	out := &stream{encoder: newEncoder(&front.Exchange{}, s, &request{n: 1}, model, 0), usage: usage}
	out.base = head{ID: "id", Model: model, Fingerprint: "v1 \"x\""}
	c := &front.Choice{}
	if _, err := out.Start(nil, c); err != nil {
		t.Fatal(err)
	}
	return out, c
}

// The text event that is put together by hand is the one encoding/json makes.
func TestTextEventEqualsStruct(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		model := rapid.OneOf(rapid.Just(mark), rapid.Just(`"logprobs":null`), rapid.String()).Draw(rt, "model")
		shape := rapid.SampledFrom([]shape{chatShape{}, textShape{}}).Draw(rt, "shape")
		s, c := newTestStream(t, shape, rapid.Bool().Draw(rt, "usage"), model)
		for range 3 {
			text := rapid.String().Draw(rt, "text")
			event := says(text)
			if rapid.Bool().Draw(rt, "logprobs") {
				event.Logprobs = []inference.TokenLogprob{token1}
			}
			from := s.choices[0].characters
			got, err := s.Event(nil, c, event)
			if err != nil {
				rt.Fatal(err)
			}
			want, err := front.AppendEvent(nil, s.chunk(withLogprobs(shape, text, place(from, text, event.Logprobs))))
			if err != nil || string(got) != string(want) {
				rt.Fatalf("got %s want %s, %v", got, want, err)
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
	switch piece := s.piece(&choice{Choice: &front.Choice{}}, text).(type) {
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
		if err := json.Unmarshal([]byte(w.chat(hello).body), &answer); err != nil || answer.Choices[0].Message.Content == nil || *answer.Choices[0].Message.Content != want {
			rt.Fatalf("whole: %v %+v", err, answer.Choices)
		}
	})
}

// One piece of text, encoded.
func BenchmarkTextEvent(b *testing.B) {
	s, c := newTestStream(b, chatShape{}, false, "small")
	ev, buf := says(" token"), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = s.Event(buf[:0], c, ev); err != nil {
			b.Fatal(err)
		}
	}
}

// The same with a real server and client: both sides of the loopback.
func BenchmarkTextEventOverHTTP(b *testing.B) {
	begin, end := make(chan struct{}), make(chan struct{})
	w := newWorld(b, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
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
	})
	res, err := http.Post(w.URL+"/v1/chat/completions", "application/json", strings.NewReader(helloStream))
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
	s, c := newTestStream(t, chatShape{}, true, "small")
	var answer front.Answer = s
	ev, buf := says(" some \"text\" 끝\n"), make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := answer.Event(buf, c, ev); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}
