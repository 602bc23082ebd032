package strict

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLabel is how long a name of a caller's own may be, in bytes.
const MaxLabel = 256

// Label returns a name of a caller's own.
func (d *Decoder) Label(v Value) (string, error) {
	s, err := d.Text(v)
	switch {
	case err != nil:
		return "", err
	case s == "" || len(s) > MaxLabel:
		return "", d.Invalid("a name must have 1 to %d bytes, not %d", MaxLabel, len(s))
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", d.Invalid("a name must not hold control characters, such as the end of a line")
	}
	return s, nil
}

// OneOf returns a word that is one of those that are known.
func (d *Decoder) OneOf(v Value, known []string) (string, error) {
	s, err := d.Text(v)
	if err == nil && !slices.Contains(known, s) {
		err = d.Invalid("%q is not known; it must be one of %s%s", Clip(s), strings.Join(known, ", "), nearest(s, known))
	}
	return s, err
}

// Texts reads a string or a list of at most so many of them, each of 1 to
// mostBytes bytes.
func (d *Decoder) Texts(v Value, most, mostBytes int) ([]string, error) {
	var all []string
	add := func(v Value) error {
		s, err := d.Text(v)
		switch {
		case err != nil:
			return err
		case len(s) == 0 || len(s) > mostBytes:
			return d.Invalid("a string must have 1 to %d bytes here, not %d", mostBytes, len(s))
		case len(all) == most:
			return d.Invalid("at most %d strings are allowed", most)
		}
		all = append(all, s)
		return nil
	}
	switch v.Kind {
	case KindList:
		err := d.List(v, add)
		return all, err
	case KindString:
		err := add(v)
		return all, err
	}
	return nil, d.Expected("a string or a list of strings", v)
}

// Loose is the value of a text that stands in no body, such as that of a header:
// JSON where it is JSON and not to be quoted, a string otherwise. It reports false
// for what is not UTF-8.
func Loose(text string, quoted bool) (Value, bool) {
	if !quoted && json.Valid([]byte(text)) {
		return (&scanner{body: []byte(text)}).value(), true
	}
	literal, err := json.Marshal(text)
	return Value{Kind: KindString, Raw: literal}, err == nil && utf8.ValidString(text)
}

// Clip keeps what a client sent from filling an error message.
func Clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
