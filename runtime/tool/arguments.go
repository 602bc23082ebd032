package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Arguments are the texts of a call's fields, by their names in the Spec.
type Arguments map[string]string

// Parse reads the arguments of a call of a tool with Fields. What models get wrong and
// can mean one thing only is taken as that: a number where text is asked for, another
// case of a name, arguments within "arguments". The error says what the agent has to
// write instead.
func (s Spec) Parse(arguments string) (Arguments, error) {
	raw, err := s.object(arguments)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", s.Name, err)
	}
	args := Arguments{}
	for _, m := range raw {
		f := s.field(m.name)
		if f < 0 {
			return nil, fmt.Errorf("%s has no argument %q; it takes %s", s.Name, m.name, s.names())
		}
		field := s.Fields[f]
		if string(m.value) == "null" && !field.Required {
			continue // left out, said in another way
		}
		value, err := field.text(m.value)
		if err != nil {
			return nil, fmt.Errorf("argument %q of %s: %w", field.Name, s.Name, err)
		}
		if _, twice := args[field.Name]; twice {
			return nil, fmt.Errorf("arguments of %s: %q is there twice", s.Name, field.Name)
		}
		args[field.Name] = value
	}
	for _, f := range s.Fields {
		if _, ok := args[f.Name]; f.Required && !ok {
			return nil, fmt.Errorf("%s needs the argument %q; it takes %s", s.Name, f.Name, s.names())
		}
	}
	return args, nil
}

// Format writes arguments as JSON: the fields in their order, nothing else. Parse of it
// gives the same arguments.
func (s Spec) Format(args Arguments) string {
	b := []byte{'{'}
	for _, f := range s.Fields {
		value, ok := args[f.Name]
		if !ok {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, encode(f.Name)...), ':'), f.encode(value)...)
	}
	return string(append(b, '}'))
}

// encode is a value's JSON text.
func (f Field) encode(value string) []byte {
	if f.kind() == Text {
		return encode(value)
	}
	return []byte(value)
}

// field is the number of the field that a name stands for, or -1.
func (s Spec) field(name string) int {
	if f := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name }); f >= 0 {
		return f
	}
	return slices.IndexFunc(s.Fields, func(f Field) bool {
		return Same(f.Name, name) || slices.ContainsFunc(f.Also, func(also string) bool { return Same(also, name) })
	})
}

// Same says whether two names differ in nothing but case, '_', '-' and spaces: models
// write reportFile and Report-File for report_file.
func Same(a, b string) bool { return plain(a) == plain(b) }

func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
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

// text is a value as the text that it is taken as.
func (f Field) text(value json.RawMessage) (string, error) {
	if f.Many && value[0] == '[' {
		return joined(value)
	}
	s, err := scalar(value)
	if err != nil {
		return "", err
	}
	if s, err = f.typed(s); err != nil {
		return "", err
	}
	return f.oneOf(s)
}

// typed is a value that has the field's type, in the form that JSON gives it.
func (f Field) typed(s string) (string, error) {
	switch f.kind() {
	case Boolean:
		switch strings.ToLower(s) {
		case "true", "yes":
			return "true", nil
		case "false", "no":
			return "false", nil
		}
		return "", fmt.Errorf("is %q; it can be true or false", s)
	case Number:
		if t := strings.TrimSpace(s); json.Valid([]byte(t)) && isNumber(t) {
			return t, nil
		}
		return "", fmt.Errorf("is %q; it must be a number, as 2.5", s)
	case Integer:
		t := strings.TrimSpace(s)
		if whole, zeros, ok := strings.Cut(t, "."); ok && strings.Trim(zeros, "0") == "" {
			t = whole
		}
		n, err := strconv.ParseInt(t, 10, 64)
		if err != nil {
			return "", fmt.Errorf("is %q; it must be a whole number, as 3", s)
		}
		return strconv.FormatInt(n, 10), nil
	}
	return s, nil
}

func isNumber(s string) bool { return s != "" && strings.Contains("-0123456789", s[:1]) }

// oneOf is the one of the values that it may have that is meant.
func (f Field) oneOf(s string) (string, error) {
	if f.Enum == nil || slices.Contains(f.Enum, s) {
		return s, nil
	}
	meant := map[string]string{"true": "yes", "false": "no"}[strings.ToLower(s)]
	for _, e := range f.Enum {
		if Same(e, s) || e == meant {
			return e, nil
		}
	}
	return "", fmt.Errorf("is %q; it can be %s", s, strings.Join(f.Enum, ", "))
}

// joined is a list of texts as one.
func joined(value json.RawMessage) (string, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return "", err
	}
	texts := make([]string, len(list))
	for i, e := range list {
		t, err := scalar(e)
		if err != nil {
			return "", fmt.Errorf("number %d of its list %w", i+1, err)
		}
		texts[i] = t
	}
	return strings.Join(texts, ", "), nil
}

func scalar(value json.RawMessage) (string, error) {
	switch value = bytes.TrimSpace(value); value[0] {
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, err
	case '{', '[':
		return "", fmt.Errorf("must be text, not an object or a list: write it in quotes, as %s", excerpt(string(encode(string(value)))))
	case 'n':
		return "", errors.New("must be text, not null; leave it out instead")
	}
	return string(value), nil
}

// excerpt is enough of a text to see what is meant.
func excerpt(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// A member is one member of an object, in the order in which they were written.
type member struct {
	name  string
	value json.RawMessage // without space around it
}

// object reads one JSON object whose members have different names: of two that are
// the same, the judge and the tool might each take another.
func object(arguments string) ([]member, error) {
	dec := json.NewDecoder(strings.NewReader(arguments))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object but %q", excerpt(arguments))
	}
	var members []member
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, broken(arguments, "not a JSON object", err)
		}
		name := t.(string) // an object's members begin with one, or Token fails
		if slices.ContainsFunc(members, func(m member) bool { return m.name == name }) {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, broken(arguments, fmt.Sprintf("%q: not JSON", name), err)
		}
		members = append(members, member{name, bytes.TrimSpace(value)})
	}
	if _, err := dec.Token(); err != nil {
		return nil, broken(arguments, "not a JSON object", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON object")
	}
	return members, nil
}

// broken says what is wrong with a JSON text, and where.
func broken(text, what string, err error) error {
	var syntax *json.SyntaxError
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: it ends too early, after %q; if it was cut off, do less in one call", what, tail(text))
	}
	if !errors.As(err, &syntax) {
		return fmt.Errorf("%s: %w", what, err)
	}
	at := min(int(syntax.Offset), len(text))
	return fmt.Errorf("%s: %w, after %q", what, err, tail(text[:at]))
}

func tail(s string) string { return strings.ToValidUTF8(s[max(0, len(s)-30):], "") }
