package front_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"dure/inference"
)

// What a model warns of reaches the answer, each warning once, behind those of the
// request; so does what its conversations suffer from.
func TestWarningsOfTheModel(t *testing.T) {
	end := done()
	end.Warnings = []inference.Warning{{Code: inference.CodeToolParse, Message: "no call"}, {Code: inference.CodeIgnored, Message: "ignored"}}
	w := newWorld(t, script(nil, started(), says("x"), end))
	w.models.Info.ChatWarning = "no template"
	want := []string{"foo: unknown field, ignored", "X-Dure-Foo: unknown header, ignored", "messages: no template", "tool_parse_error: no call", "ignored: ignored"}
	for _, body := range []string{`{"foo":1,"n":3,` + hello[1:], `{"foo":1,"n":3,"stream":true,"usage":true,` + hello[1:]} {
		got := w.do("POST", "/say", body, "X-Dure-Foo", "1")
		last := got.Body
		if got.Header.Get("Content-Type") != "application/json" {
			all := events(t, got.Body)
			last = all[len(all)-2]
		}
		var end sayEnd
		decodeInto(t, last, &end)
		if !slices.Equal(end.Warnings, want) {
			t.Errorf("%q", end.Warnings)
		}
	}
}

// Every kind of piece reaches the surface, in order, and counts as the first text.
func TestPieces(t *testing.T) {
	call := func(d inference.ToolCallDelta) inference.Event {
		return inference.Event{Kind: inference.EventToolCall, Call: &d}
	}
	think := inference.Event{Kind: inference.EventReasoning, Text: "hm"}
	w := newWorld(t, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		return script(nil, started(), inference.Event{Kind: inference.EventReasoning}, think, says(""), says("a"),
			call(inference.ToolCallDelta{ID: "1", Name: "f"}), call(inference.ToolCallDelta{Arguments: "{}"}), done())(nil, nil)
	})
	got := w.say(helloStream)
	var texts []string
	for _, data := range events(t, got.Body) {
		var c sayChoice
		if json.Unmarshal([]byte(data), &c) == nil && !c.Begin && c.Finish == "" {
			texts = append(texts, c.Text)
		}
	}
	if fmt.Sprintf("%q", texts) != `["hm" "a" "" ""]` {
		t.Errorf("%q", texts)
	}
	if v := w.Metric(`dure_inter_token_gap_seconds_count{model="small",priority="interactive"}`); v != "3" {
		t.Errorf("gaps: %q", v)
	}
}
