package front_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// events splits a body into the data of its server-sent events.
func events(t *testing.T, body string) []string {
	t.Helper()
	var all []string
	scan := bufio.NewScanner(strings.NewReader(body))
	scan.Buffer(nil, 1<<26)
	for scan.Scan() {
		if scan.Text() == "" {
			continue
		}
		data, ok := strings.CutPrefix(scan.Text(), "data: ")
		if !ok {
			t.Fatalf("not an event: %q", scan.Text())
		}
		all = append(all, data)
	}
	return all
}

func decodeInto(t testing.TB, body string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

// wantError checks a reply that consists of an error.
func (r reply) wantError(t *testing.T, status int, code, param string, message ...string) {
	t.Helper()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if r.Status != status {
		t.Errorf("status %d, want %d: %s", r.Status, status, r.Body)
	}
	wantErrorObject(t, r.Body, code, param, message...)
}

func wantErrorObject(t *testing.T, body, code, param string, message ...string) {
	t.Helper()
	var got sayError
	decodeInto(t, body, &got)
	if string(got.Error.Code) != code || got.Error.Param != param {
		t.Errorf("got %s, want code %s param %q", body, code, param)
	}
	for _, m := range message {
		if !strings.Contains(got.Error.Message, m) {
			t.Errorf("message %q lacks %q", got.Error.Message, m)
		}
	}
}

func (w *world) answer(t *testing.T, body string) (a sayEnd) {
	t.Helper()
	got := w.say(body)
	if got.Status != 200 || got.Err != nil {
		t.Fatalf("%s: %d %s %v", body, got.Status, got.Body, got.Err)
	}
	decodeInto(t, got.Body, &a)
	return a
}

// streamed asks for a stream and puts it together, checking its order.
func (w *world) streamed(t *testing.T, body string) (a sayEnd) {
	t.Helper()
	got := w.say(`{"stream":true,"usage":true,` + body[1:])
	all := events(t, got.Body)
	if got.Status != 200 || got.Err != nil || len(all) < 2 || all[len(all)-1] != "[DONE]" {
		t.Fatalf("%s: %d %s %v", body, got.Status, got.Body, got.Err)
	}
	decodeInto(t, all[len(all)-2], &a)
	begun, ended := map[int]bool{}, map[int]bool{}
	for _, data := range all[:len(all)-2] {
		var c sayChoice
		decodeInto(t, data, &c)
		for len(a.Choices) <= c.Index {
			a.Choices = append(a.Choices, sayChoice{Index: len(a.Choices)})
		}
		if ended[c.Index] || c.Begin == begun[c.Index] {
			t.Fatalf("choice %d is out of order in %s", c.Index, got.Body)
		}
		begun[c.Index], ended[c.Index] = true, c.Finish != ""
		a.Choices[c.Index].Text += c.Text
		a.Choices[c.Index].Finish = c.Finish
	}
	if len(ended) != len(a.Choices) {
		t.Errorf("%d of %d choices ended", len(ended), len(a.Choices))
	}
	return a
}

func (a sayEnd) texts() []string {
	all := make([]string, len(a.Choices))
	for i, c := range a.Choices {
		all[i] = c.Text
	}
	return all
}

func helloTimes(n int) string { return fmt.Sprintf(`{"n":%d,"seed":0,"text":"hi"}`, n) }
