package schema

import (
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"dure/inference/schema/pattern"
)

// lookahead is a pattern that Go's regexp does not know.
type lookahead struct {
	*pattern.Automaton
	pattern string
}

func (l lookahead) MatchString(s string) bool { return l.Matches(s) }
func (l lookahead) String() string            { return l.pattern }

// validator is another program's judgement of documents against a schema.
func validator(t fataler, raw string) func(doc string) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseRegexpEngine(func(p string) (jsonschema.Regexp, error) {
		if re, err := regexp.Compile(p); err == nil {
			return re, nil
		}
		a, err := pattern.Parse(p)
		return lookahead{a, p}, err
	})
	if err := c.AddResource("test:schema", schema); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	s, err := c.Compile("test:schema")
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return func(doc string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
}
