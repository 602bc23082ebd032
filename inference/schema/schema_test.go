package schema

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"dure/inference/schema/grammar"
)

// fataler is what tests and properties have in common.
type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func matcher(t fataler, raw string, o Options) *grammar.Matcher {
	t.Helper()
	s, err := Compile([]byte(raw), o)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	g, err := grammar.Compile(s.Grammar)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return grammar.NewMatcher(g, nil)
}

// allows says whether the grammar of a schema has a document.
func allows(m *grammar.Matcher, doc string) bool {
	s := m.Start()
	return s.Accept([]byte(doc)) && s.Done()
}

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestDocuments: what a schema's grammar allows, and what it does not. Documents of
// yes are valid too; valid ones that are not written are under unwritten.
func TestDocuments(t *testing.T) {
	type documents struct {
		Schema             json.RawMessage
		Yes, No, Unwritten []json.RawMessage
	}
	var cases, clients []documents
	readJSON(t, "testdata/documents.json", &cases)
	readJSON(t, "testdata/clients.json", &clients) // as Pydantic, zod and others write them
	for _, test := range append(cases, clients...) {
		m := matcher(t, string(test.Schema), Options{})
		valid := validator(t, string(test.Schema))
		for _, doc := range test.Yes {
			if !allows(m, string(doc)) {
				t.Errorf("%s refuses %s", test.Schema, doc)
			}
			if err := valid(string(doc)); err != nil {
				t.Errorf("%s: %s is not valid: %v", test.Schema, doc, err)
			}
		}
		for _, doc := range test.No {
			if allows(m, string(doc)) {
				t.Errorf("%s allows %s", test.Schema, doc)
			}
			if valid(string(doc)) == nil {
				t.Errorf("%s: %s is valid", test.Schema, doc)
			}
		}
		for _, doc := range test.Unwritten {
			if allows(m, string(doc)) {
				t.Errorf("%s allows %s", test.Schema, doc)
			}
			if err := valid(string(doc)); err != nil {
				t.Errorf("%s: %s is not valid: %v", test.Schema, doc, err)
			}
		}
	}
}

// TestRefused: each schema is refused with this keyword, path and message; where it
// can be left to the caller, Loose does, and allows the document.
func TestRefused(t *testing.T) {
	var cases []struct {
		Schema                 json.RawMessage
		Text                   string // instead of Schema, where it is no JSON
		Keyword, Path, Message string
		Loose                  json.RawMessage
	}
	readJSON(t, "testdata/refused.json", &cases)
	for _, test := range cases {
		if test.Text != "" {
			test.Schema = json.RawMessage(test.Text)
		}
		_, err := Compile(test.Schema, Options{})
		var e *Error
		if !errors.As(err, &e) || *e != (Error{test.Keyword, test.Path, test.Message}) {
			t.Errorf("%s: %#v", test.Schema, err)
			continue
		}
		loose, err := Compile(test.Schema, Options{Loose: true})
		switch {
		case test.Loose == nil && (err == nil || err.Error() != e.Error()):
			t.Errorf("%s with Loose: %v", test.Schema, err)
		case test.Loose == nil:
		case err != nil:
			t.Errorf("%s with Loose: %v", test.Schema, err)
		case len(loose.Unchecked) != 1 || *loose.Unchecked[0] != *e:
			t.Errorf("%s with Loose: %v are unchecked", test.Schema, loose.Unchecked)
		case !allows(matcher(t, string(test.Schema), Options{Loose: true}), string(test.Loose)):
			t.Errorf("%s with Loose refuses %s", test.Schema, test.Loose)
		}
	}
}

func TestIgnored(t *testing.T) {
	s, err := Compile([]byte(`{"type": "object", "strict": true, "title": "T", "properties": {"a/b": {"type": "string", "format": "password", "x-order": 1}}}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Keyword{{"strict", ""}, {"format password", "/properties/a~1b"}, {"x-order", "/properties/a~1b"}}
	if len(s.Ignored) != len(want) {
		t.Fatalf("%v", s.Ignored)
	}
	for i := range want {
		if s.Ignored[i] != want[i] {
			t.Errorf("%v, not %v", s.Ignored[i], want[i])
		}
	}
}

// White space is where programs put it, and bounded.
func TestSpace(t *testing.T) {
	const raw = `{"properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {}}, "required": ["a"]}`
	m, compact := matcher(t, raw, Options{}), matcher(t, raw, Options{Compact: true})
	for doc, want := range map[string]struct{ loose, compact bool }{
		`{"a":[1,2],"b":{"c":null}}`:                          {true, true},
		`{"a": [1, 2], "b": {"c": null}}`:                     {true, false},
		"{\n  \"a\": [\n    1,\n    2\n  ],\n\t\"b\": [ ]\n}": {true, false},
		`{ "a": [] }`:                            {true, false},
		`{"a" : []}`:                             {false, false},
		`{"a":  []}`:                             {false, false},
		`{"a": [1 , 2]}`:                         {false, false},
		"{\n\n\"a\": []}":                        {false, false},
		` {"a": []}`:                             {false, false},
		`{"a": []} `:                             {false, false},
		"{\n" + spaces(maxIndent) + "\"a\": []}": {true, false},
		"{\n" + spaces(maxIndent+1) + "\"a\": []}": {false, false},
	} {
		if got := allows(m, doc); got != want.loose {
			t.Errorf("%q: %v", doc, got)
		}
		if got := allows(compact, doc); got != want.compact {
			t.Errorf("compact, %q: %v", doc, got)
		}
	}
}

func spaces(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = ' '
	}
	return string(b)
}

func TestAnyJSON(t *testing.T) {
	for name, test := range map[string]struct {
		e       grammar.Expr
		yes, no []string
	}{
		"value": {JSONValue(), []string{`null`, `-0.5e+10`, `"a\u00e9\ud83d\ude00\n"`, `[]`, `{}`, `{"a": [1, {"b": "c"}]}`},
			[]string{``, `01`, `1.`, `.5`, `+1`, `"\ud83d"`, `"\ude00"`, "\"\n\"", `[1,]`, `{"a"}`, `nul`, `'a'`, `1e999`}},
		"object": {JSONObject(), []string{`{}`, `{"a":1}`}, []string{`[]`, `1`}},
	} {
		g, err := grammar.Compile(test.e)
		if err != nil {
			t.Fatal(err)
		}
		m := grammar.NewMatcher(g, nil)
		for _, doc := range test.yes {
			if !allows(m, doc) {
				t.Errorf("%s: %s is refused", name, doc)
			}
		}
		for _, doc := range test.no {
			if allows(m, doc) {
				t.Errorf("%s: %s is allowed", name, doc)
			}
		}
	}
}

// A schema can be a part of a larger grammar, and two of them too.
func TestEmbedded(t *testing.T) {
	part := func(raw string) grammar.Expr {
		s, err := Compile([]byte(raw), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Grammar
	}
	e := grammar.Concat(grammar.Literal("<a>"), part(`{"$defs": {"x": {"const": 1}}, "$ref": "#/$defs/x"}`), grammar.Literal("</a>"),
		grammar.Optional(grammar.Concat(grammar.Literal("<b>"), part(`{"$defs": {"x": {"const": 2}}, "$ref": "#/$defs/x"}`), grammar.Literal("</b>"))))
	g, err := grammar.Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	m := grammar.NewMatcher(g, nil)
	if !allows(m, "<a>1</a>") || !allows(m, "<a>1</a><b>2</b>") || allows(m, "<a>2</a>") || allows(m, "<a>1</a><b>1</b>") {
		t.Error("the parts do not stand where they should")
	}
}
