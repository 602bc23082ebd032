package openai

import (
	"context"
	"iter"
	"math"
	"testing"

	"dure/inference"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func candidate(text string, logprob float32) inference.Candidate {
	return inference.Candidate{Bytes: []byte(text), Logprob: logprob}
}

// spelled is an answer whose tokens do not end where characters do.
func spelled() []inference.Event {
	one := says(" <b>")
	one.Logprobs = []inference.TokenLogprob{{Candidate: candidate(" <", -0.5),
		Top: []inference.Candidate{candidate("x", -0.25), candidate(" <", -0.5)}}, {Candidate: candidate("b>", -1)}}
	two := says("끝a")
	two.Logprobs = []inference.TokenLogprob{{Candidate: candidate("\xeb\x81", -0.125), Top: []inference.Candidate{candidate("\xeb", -0.25)}},
		{Candidate: candidate("\x9da", -9999)}}
	hidden := says("")
	hidden.Logprobs = []inference.TokenLogprob{{Candidate: candidate("STOP", -2)}}
	return []inference.Event{started(), one, two, hidden, done()}
}

const (
	chatOne = `{"token":" <","logprob":-0.5,"bytes":[32,60],"top_logprobs":[{"token":"x","logprob":-0.25,"bytes":[120]},` +
		`{"token":" <","logprob":-0.5,"bytes":[32,60]}]},{"token":"b>","logprob":-1,"bytes":[98,62],"top_logprobs":[]}`
	chatTwo = `{"token":"` + "\ufffd" + `","logprob":-0.125,"bytes":[235,129],"top_logprobs":[{"token":"` + "\ufffd" + `","logprob":-0.25,"bytes":[235]}]},` +
		`{"token":"` + "\ufffd" + `a","logprob":-9999,"bytes":[157,97],"top_logprobs":[]}`
	chatThree = `{"token":"STOP","logprob":-2,"bytes":[83,84,79,80],"top_logprobs":[]}`
)

func TestChatLogprobs(t *testing.T) {
	w := newWorld(t, script(nil, spelled()...))
	body := `{"logprobs":true,"top_logprobs":2,"messages":[{"role":"user","content":"hi"}]`
	got := steady(w.chat(body + `}`).body)
	want := `{"id":0,"object":"chat.completion","created":0,"model":"small","system_fingerprint":"v1",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":" <b>끝a","refusal":null},"logprobs":{"content":[` +
		chatOne + "," + chatTwo + "," + chatThree + `],"refusal":null},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2},` +
		`"dure":{"queue_ms":1.5,"restore_ms":0,"prefill_ms":2.5,"decode_ms":3.5,"seed":0}}}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	piece := func(text, logprobs string) string {
		return chunkJSON(`"choices":[{"index":0,"delta":{"content":` + text + `},"logprobs":{"content":[` + logprobs + `],"refusal":null},"finish_reason":null}]}`)
	}
	stream := []string{deltaJSON(`{"role":"assistant","content":""}`, "null") + "}", piece(`" <b>"`, chatOne), piece(`"끝a"`, chatTwo),
		piece(`""`, chatThree), deltaJSON(`{}`, `"stop"`) + "}", "[DONE]"}
	if diff := cmp.Diff(stream, events(t, steady(w.chat(body+`,"stream":true}`).body))); diff != "" {
		t.Error(diff)
	}
	// None were made, as where the answer is empty at once.
	w.models.Generate = script(nil, started(), done())
	var empty struct {
		Choices []struct {
			Logprobs *struct{ Content []any }
		}
	}
	decodeInto(t, w.chat(body+`}`).body, &empty)
	if l := empty.Choices[0].Logprobs; l == nil || l.Content == nil {
		t.Errorf("%+v", empty)
	}
}

func TestTextLogprobs(t *testing.T) {
	w := newWorld(t, script(nil, spelled()...))
	body := `{"logprobs":2,"prompt":"a"`
	var got struct {
		Choices []struct{ Logprobs textLogprobs }
	}
	decodeInto(t, w.complete(body+`}`).body, &got)
	want := textLogprobs{
		Offsets: []int{0, 2, 4, 4, 6},
		Values:  []float32{-0.5, -1, -0.125, -9999, -2},
		Tokens:  []string{" <", "b>", `bytes:\xeb\x81`, `bytes:\x9da`, "STOP"},
		Top: []map[string]float32{{" <": -0.5, "x": -0.25}, {"b>": -1}, {`bytes:\xeb\x81`: -0.125, `bytes:\xeb`: -0.25},
			{`bytes:\x9da`: -9999}, {"STOP": -2}},
	}
	want.Tokens[3] = `bytes:\x9d\x61`
	want.Top[3] = map[string]float32{`bytes:\x9d\x61`: -9999}
	if diff := cmp.Diff(want, got.Choices[0].Logprobs); diff != "" {
		t.Error(diff)
	}
	wantOne := textChunk(`" <b>"`, "0", `{"text_offset":[0,2],"token_logprobs":[-0.5,-1],"tokens":[" <","b>"],`+
		`"top_logprobs":[{" <":-0.5,"x":-0.25},{"b>":-1}]}`, "null") + "}"
	wantThree := textChunk(`""`, "0", `{"text_offset":[6],"token_logprobs":[-2],"tokens":["STOP"],"top_logprobs":[{"STOP":-2}]}`, "null") + "}"
	stream := events(t, steady(w.complete(body+`,"stream":true}`).body))
	if stream[0] != wantOne || stream[2] != wantThree {
		t.Errorf("got %s\n%s", stream[0], stream[2])
	}
}

// A number that JSON does not have is an error and not a hole in the answer.
func TestLogprobNotANumber(t *testing.T) {
	broken := says("x")
	broken.Logprobs = []inference.TokenLogprob{{Candidate: candidate("x", float32(math.NaN()))}}
	w := newWorld(t, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		return script(nil, started(), broken, done())(nil, nil)
	})
	w.chat(`{"logprobs":true,"messages":[{"role":"user","content":"hi"}]}`).wantError(t, 500, kindServer, "internal_error", "", "internal error")
}

// However a text is cut into tokens and events, each token is placed where its
// first whole character is.
func TestPlaceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &choice{}
		var all []rune
		for range rapid.IntRange(1, 4).Draw(t, "events") {
			text := rapid.StringMatching(`[a끝é😀]{0,6}`).Draw(t, "text")
			var tokens []inference.TokenLogprob
			var starts []int // in bytes
			for rest, at := text, 0; rest != ""; {
				n := rapid.IntRange(1, len(rest)).Draw(t, "bytes")
				tokens, starts = append(tokens, inference.TokenLogprob{Candidate: candidate(rest[:n], 0)}), append(starts, at)
				rest, at = rest[n:], at+n
			}
			for i, p := range c.place(text, tokens) {
				// The characters that are whole before the token begins.
				want := len(all)
				for j, r := range text {
					if j+len(string(r)) <= starts[i] {
						want++
					}
				}
				if p.offset != want {
					t.Fatalf("token %d of %q is at %d, want %d", i, text, p.offset, want)
				}
			}
			all = append(all, []rune(text)...)
		}
	})
}

// Two tokens may have the same text; the likelier stands for both.
func TestTextLogprobsOfTheSameText(t *testing.T) {
	l := newTextLogprobs([]placed{{TokenLogprob: inference.TokenLogprob{Candidate: candidate("a", -2),
		Top: []inference.Candidate{candidate("a", -1), candidate("a", -3)}}}})
	if diff := cmp.Diff([]map[string]float32{{"a": -1}}, l.Top); diff != "" || l.Values[0] != -2 {
		t.Error(diff, l.Values)
	}
}
