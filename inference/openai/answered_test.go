package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// answered is an answer of either route, whole or put together from a stream.
type answered struct {
	Choices  []answeredChoice
	Usage    *usage
	Warnings []string
}

type answeredChoice struct {
	Index        int
	Text         string
	Message      struct{ Content string }
	Delta        struct{ Role, Content string }
	FinishReason *string `json:"finish_reason"`
}

func (a answered) texts() []string {
	all := make([]string, len(a.Choices))
	for _, c := range a.Choices {
		all[c.Index] = c.Text + c.Message.Content
	}
	return all
}

func decodeInto(t testing.TB, body string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

func (w *world) answer(t *testing.T, path, body string) (a answered) {
	t.Helper()
	got := w.do("POST", path, body)
	if got.status != 200 || got.err != nil {
		t.Fatalf("%s: %d %s %v", body, got.status, got.body, got.err)
	}
	decodeInto(t, got.body, &a)
	return a
}

// streamed asks for a stream and puts it together, checking its order.
func (w *world) streamed(t *testing.T, path, body string) (a answered) {
	t.Helper()
	got := w.do("POST", path, `{"stream":true,"stream_options":{"include_usage":true},`+body[1:])
	all := events(t, got.body)
	if got.status != 200 || got.err != nil || all[len(all)-1] != "[DONE]" {
		t.Fatalf("%s: %d %s %v", body, got.status, got.body, got.err)
	}
	begun, ended := map[int]bool{}, map[int]bool{}
	for _, data := range all[:len(all)-1] {
		var part answered
		decodeInto(t, data, &part)
		a.Usage = part.Usage
		if part.Warnings != nil {
			if a.Warnings != nil {
				t.Error("warnings came twice")
			}
			a.Warnings = part.Warnings
		}
		for _, c := range part.Choices {
			for len(a.Choices) <= c.Index {
				a.Choices = append(a.Choices, answeredChoice{Index: len(a.Choices)})
			}
			isRole := c.Delta.Role == "assistant"
			if ended[c.Index] || strings.Contains(path, "chat") && isRole == begun[c.Index] {
				t.Fatalf("choice %d is out of order in %s", c.Index, got.body)
			}
			begun[c.Index], ended[c.Index] = true, c.FinishReason != nil
			a.Choices[c.Index].Text += c.Text + c.Delta.Content
			a.Choices[c.Index].FinishReason = c.FinishReason
		}
	}
	if len(ended) != len(a.Choices) {
		t.Errorf("%d of %d choices ended", len(ended), len(a.Choices))
	}
	return a
}

func helloTimes(n int) string {
	return fmt.Sprintf(`{"n":%d,"seed":0,"messages":[{"role":"user","content":"hi"}]}`, n)
}
