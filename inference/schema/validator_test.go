package schema

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validator is another program's judgement of documents against a schema.
func validator(t fataler, raw string) func(doc string) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
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
