package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"dure/inference"
)

// echo answers with the last message, upper case.
type echo struct {
	seen [][]inference.Message
	fail error
}

func (*echo) Info() inference.Info { return inference.Info{} }

func (e *echo) Generate(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	e.seen = append(e.seen, req.Messages)
	return func(yield func(inference.Event, error) bool) {
		if e.fail != nil {
			yield(inference.Event{}, e.fail)
			return
		}
		last := req.Messages[len(req.Messages)-1].Content
		_ = yield(inference.Event{Kind: inference.EventStarted}, nil) &&
			yield(inference.Event{Kind: inference.EventText, Text: strings.ToUpper(last)}, nil) &&
			yield(inference.Event{Kind: inference.EventDone, Usage: &inference.Usage{CompletionTokens: 2, DecodeMS: 1}}, nil)
	}
}

func newChat() (*chat, *echo, *strings.Builder) {
	var out strings.Builder
	m := &echo{}
	return &chat{model: m, params: inference.DefaultParams(), out: &out}, m, &out
}

func do(t *testing.T, c *chat, line string) error {
	t.Helper()
	_, err := respond(t.Context(), c, line)
	return err
}

func TestChatKeepsItsHistory(t *testing.T) {
	c, m, out := newChat()
	for _, line := range []string{"/system be brief", "one", "two"} {
		if err := do(t, c, line); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"be brief", "one", "ONE", "two"}
	last := m.seen[len(m.seen)-1]
	if len(last) != len(want) {
		t.Fatalf("sent %+v", last)
	}
	for i := range want {
		if last[i].Content != want[i] {
			t.Errorf("message %d is %q, want %q", i, last[i].Content, want[i])
		}
	}
	if !strings.Contains(out.String(), "ONE\n") {
		t.Errorf("printed %q", out)
	}
	if err := do(t, c, "/retry"); err != nil || len(c.messages) != 4 || m.seen[2][3].Content != "two" {
		t.Errorf("retry: %v, %+v", err, c.messages)
	}
	if err := do(t, c, "/clear"); err != nil || len(c.messages) != 0 {
		t.Errorf("clear: %v, %+v", err, c.messages)
	}
}

func TestFailedRequestLeavesTheConversation(t *testing.T) {
	c, m, _ := newChat()
	if err := do(t, c, "one"); err != nil {
		t.Fatal(err)
	}
	m.fail = errors.New("broken")
	if err := do(t, c, "two"); err == nil || len(c.messages) != 2 {
		t.Errorf("%v, %+v", err, c.messages)
	}
	if err := do(t, c, "/retry"); err == nil || len(c.messages) != 2 {
		t.Errorf("a failed retry: %v, %+v", err, c.messages)
	}
}

func TestChatCommands(t *testing.T) {
	for line, want := range map[string]string{
		"/help": "/retry", "/set": "temperature 1", "/set temperature 0.5": "temperature 0.5", "/set seed 7": "seed 7", "/stats": "no answer",
	} {
		c, _, out := newChat()
		if err := do(t, c, line); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, printed %q", line, err, out)
		}
	}
	c, _, _ := newChat()
	for _, line := range []string{"/nonsense", "/set colour red", "/set seed x", "/set temperature warm", "/retry"} {
		if err := do(t, c, line); err == nil {
			t.Errorf("%s was accepted", line)
		}
	}
	if leave, err := respond(t.Context(), c, "/exit"); !leave || err != nil {
		t.Errorf("exit: %v, %v", leave, err)
	}
}

func TestGatherJoinsLines(t *testing.T) {
	type line struct {
		text   string
		pasted bool
	}
	for name, tc := range map[string]struct {
		lines []line
		want  string
	}{
		"one":               {[]line{{"a", false}}, "a"},
		"backslash":         {[]line{{`a \`, false}, {"b", false}}, "a \nb"},
		"fence":             {[]line{{`"""a`, false}, {"", false}, {`b"""`, false}}, "a\n\nb"},
		"fence, own lines":  {[]line{{`"""`, false}, {"a", false}, {`"""`, false}}, "a"},
		"fence in one line": {[]line{{`"""a"""`, false}}, "a"},
		"paste":             {[]line{{"a", true}, {"b", true}, {"c", false}}, "a\nb\nc"},
		"slash in a fence":  {[]line{{`"""`, false}, {"/exit", false}, {`"""`, false}}, "/exit"},
	} {
		i := 0
		got, err := gather(func() (string, bool, error) {
			if i == len(tc.lines) {
				return "", false, io.EOF
			}
			i++
			return tc.lines[i-1].text, tc.lines[i-1].pasted, nil
		})
		if err != nil || got != tc.want || i != len(tc.lines) {
			t.Errorf("%s: %q, %v after %d lines; want %q", name, got, err, i, tc.want)
		}
	}
}

func TestInterruptClearsTheLine(t *testing.T) {
	b := make([]byte, 8)
	n, err := clearOnInterrupt{strings.NewReader("ab\x03c")}.Read(b)
	if err != nil || string(b[:n]) != "ab\x15c" {
		t.Errorf("%q, %v", b[:n], err)
	}
}

func TestHistorySurvives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "history")
	h := openHistory(file)
	for _, line := range []string{"one", "two", "two", ""} {
		h.Add(line)
	}
	h.close()
	h = openHistory(file)
	defer h.close()
	if h.Len() != 2 || h.At(0) != "two" || h.At(1) != "one" {
		t.Errorf("%q", h.lines)
	}
}
