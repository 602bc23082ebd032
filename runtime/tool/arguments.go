package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Arguments are the texts of a call's fields.
type Arguments map[string]string

// Parse reads the arguments of a call of a tool with Fields. Numbers and booleans
// become their text: models write 3 where "3" is asked for. The error says what the
// agent has to write instead.
func (s Spec) Parse(arguments string) (Arguments, error) {
	raw, err := object(arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", s.Name, err)
	}
	args := Arguments{}
	for name, value := range raw {
		f := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
		if f < 0 {
			return nil, fmt.Errorf("%s has no argument %q; it takes %s", s.Name, name, s.names())
		}
		text, err := text(value)
		if err != nil {
			return nil, fmt.Errorf("argument %q of %s: %w", name, s.Name, err)
		}
		if e := s.Fields[f].Enum; e != nil && !slices.Contains(e, text) {
			return nil, fmt.Errorf("argument %q of %s is %q; it can be %s", name, s.Name, text, strings.Join(e, ", "))
		}
		args[name] = text
	}
	for _, f := range s.Fields {
		if _, ok := args[f.Name]; f.Required && !ok {
			return nil, fmt.Errorf("%s needs the argument %q; it takes %s", s.Name, f.Name, s.names())
		}
	}
	return args, nil
}

func (s Spec) names() string {
	if len(s.Fields) == 0 {
		return "none"
	}
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
		if !f.Required {
			names[i] += " (may be left out)"
		}
	}
	return strings.Join(names, ", ")
}

// object reads one JSON object whose members have different names: of two that are
// the same, the judge and the tool might each take another.
func object(arguments string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(strings.NewReader(arguments))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	raw := map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("not a JSON object: %w", err)
		}
		name := t.(string) // an object's members begin with one, or Token fails
		if _, ok := raw[name]; ok {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("%q: not JSON: %w", name, err)
		}
		raw[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON object")
	}
	return raw, nil
}

func text(value json.RawMessage) (string, error) {
	value = bytes.TrimSpace(value)
	switch value[0] {
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, err
	case '{', '[':
		return "", errors.New("must be text, not an object or a list")
	case 'n':
		return "", errors.New("must be text, not null; leave it out instead")
	}
	return string(value), nil
}
