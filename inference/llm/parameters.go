package llm

import (
	"bytes"
	"encoding/json"
	"fmt"

	"dure/inference/schema/grammar"
)

// parameters are the schema of a tool's arguments, for families that write each
// argument by itself.
type parameters struct {
	properties []property // in the order of the schema
	required   []string
	shared     map[string]json.RawMessage // what the properties may refer to
}

type property struct {
	name   string
	schema json.RawMessage
}

// readParameters reads what a schema says of its own properties.
func readParameters(text json.RawMessage) (p parameters, err error) {
	if text == nil {
		return p, nil
	}
	var head struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
		Defs       json.RawMessage `json:"$defs"`
		Older      json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return p, fmt.Errorf("the schema of the arguments is no object: %w", err)
	}
	p.required, p.shared = head.Required, map[string]json.RawMessage{}
	if head.Defs != nil {
		p.shared["$defs"] = head.Defs
	}
	if head.Older != nil {
		p.shared["definitions"] = head.Older
	}
	if head.Properties == nil {
		return p, nil
	}
	d := json.NewDecoder(bytes.NewReader(head.Properties))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return p, fmt.Errorf("properties: not an object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return p, fmt.Errorf("properties: %w", err)
		}
		x := property{name: name.(string)}
		if err := d.Decode(&x.schema); err != nil {
			return p, fmt.Errorf("properties/%s: %w", x.name, err)
		}
		p.properties = append(p.properties, x)
	}
	return p, nil
}

// value is what may stand for a property, and what closes it. A text stands there as
// it is, up to the mark that closes it; all else is JSON.
func (p parameters) value(x property, close string) (grammar.Expr, error) {
	var kind struct {
		Type any   `json:"type"`
		Enum []any `json:"enum"`
	}
	if json.Unmarshal(x.schema, &kind) == nil && kind.Type == "string" {
		if kind.Enum == nil {
			return grammar.Until(close), nil
		}
		var texts []grammar.Expr
		for _, v := range kind.Enum {
			if s, ok := v.(string); ok {
				texts = append(texts, grammar.Literal(s))
			}
		}
		if texts == nil {
			return nil, fmt.Errorf("enum: no value of it is a string")
		}
		return grammar.Concat(grammar.Alternative(texts...), grammar.Literal(close)), nil
	}
	whole := map[string]json.RawMessage{}
	if err := json.Unmarshal(x.schema, &whole); err != nil {
		whole = map[string]json.RawMessage{"allOf": append(append(json.RawMessage("["), x.schema...), ']')}
	}
	for name, v := range p.shared {
		if _, own := whole[name]; !own {
			whole[name] = v
		}
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	e, err := schemaExpr(text)
	if err != nil {
		return nil, err
	}
	return grammar.Concat(e, grammar.Literal(close)), nil
}
