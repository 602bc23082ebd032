package schema

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"dure/inference/schema/grammar"
)

// FuzzCompile: no schema panics, and what compiles can be followed. What takes too
// long is found by the fuzzer's own limit.
func FuzzCompile(f *testing.F) {
	for _, file := range []string{"testdata/documents.json", "testdata/refused.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var cases []struct {
			Schema json.RawMessage
			Yes    []json.RawMessage
		}
		if err := json.Unmarshal(data, &cases); err != nil {
			f.Fatal(err)
		}
		for _, test := range cases {
			doc := "1"
			if len(test.Yes) > 0 {
				doc = string(test.Yes[0])
			}
			f.Add(string(test.Schema), doc, false)
		}
	}
	f.Fuzz(func(t *testing.T, schema, doc string, loose bool) {
		if len(schema) > 2000 || len(doc) > 500 {
			return
		}
		s, err := Compile([]byte(schema), Options{Loose: loose})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%v is not an *Error", err)
			}
			return
		}
		g, err := grammar.Compile(s.Grammar)
		if err != nil {
			t.Fatal(err)
		}
		m := grammar.NewMatcher(g, nil)
		at := m.Start()
		for i := range len(doc) {
			if !at.Accept([]byte{doc[i]}) {
				break
			}
		}
		if !at.Done() && len(following(at, func(byte) bool { return true })) == 0 && m.Err() == nil {
			t.Errorf("nothing may follow")
		}
	})
}
