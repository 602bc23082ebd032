package front

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func checkEscape(s string) error {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	if got := string(AppendString([]byte("kept"), s)) + "\n"; got != "kept"+want.String() {
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

func TestAppendEvents(t *testing.T) {
	v := map[string]string{"a": "<b>\n"}
	for want, appended := range map[string]func() ([]byte, error){
		"kept data: {\"a\":\"<b>\\n\"}\n\n":              func() ([]byte, error) { return AppendEvent([]byte("kept "), v) },
		"kept event: ping\ndata: {\"a\":\"<b>\\n\"}\n\n": func() ([]byte, error) { return AppendNamedEvent([]byte("kept "), "ping", v) },
		"kept {\"a\":\"<b>\\n\"}\n":                      func() ([]byte, error) { return AppendLine([]byte("kept "), v) },
	} {
		if got, err := appended(); err != nil || string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if _, err := AppendEvent(nil, func() {}); err == nil {
		t.Error("a function is no JSON")
	}
}
