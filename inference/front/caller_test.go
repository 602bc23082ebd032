package front

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/front/strict"
)

// checkCaller says what holds for every caller that was decoded.
func checkCaller(c inference.Caller) error {
	for _, name := range []string{c.Session, c.Agent, c.Parent} {
		if len(name) > strict.MaxLabel || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("name %q", name)
		}
	}
	if c.DeadlineMS < 0 || c.Priority != "" && !slices.Contains(priorities, string(c.Priority)) ||
		c.Next != "" && !slices.Contains(phases, string(c.Next)) {
		return fmt.Errorf("caller %+v", c)
	}
	return nil
}

// Whatever a header holds, it is refused with its name or means what the same
// value means in a body.
func FuzzHeaders(f *testing.F) {
	for _, seed := range []string{"", "a", "worker", "5", "-1", "true", "idle", "a/../b", `"a"`, "1e3", "[", "\xff", "\u2028", "nul", "null", `\u0000`} {
		for i := range callerFields {
			f.Add(i, seed)
		}
	}
	f.Fuzz(func(t *testing.T, which int, value string) {
		field := callerFields[uint(which)%uint(len(callerFields))]
		var c inference.Caller
		err := addHeader(&c, nil, field, []string{value})
		if err == nil {
			if err := checkCaller(c); err != nil {
				t.Fatal(err)
			}
		} else {
			var e *inference.Error
			if !errors.As(err, &e) || e.Param != field.header || len(e.Message) > 2000 || !utf8.ValidString(e.Message) {
				t.Fatalf("%v", err)
			}
		}
		if !utf8.ValidString(value) {
			return
		}
		literal, _ := json.Marshal(value)
		if !field.text {
			if !json.Valid([]byte(value)) {
				return
			}
			literal = []byte(value)
		}
		var told inference.Caller
		known := CallerFields(func(c *inference.Caller) *inference.Caller { return c })
		_, bodyErr := strict.Decode([]byte(`{"`+field.name+`":`+string(literal)+`}`), known, &told,
			func(*strict.Decoder, *inference.Caller) error { return nil })
		if null := strings.TrimSpace(value) == "null" && !field.text; null {
			return // absent in a body, nonsense in a header
		}
		if (err == nil) != (bodyErr == nil) || err == nil && told != c {
			t.Fatalf("%s %q: header %v %+v, body %v", field.name, value, err, c, bodyErr)
		}
	})
}
