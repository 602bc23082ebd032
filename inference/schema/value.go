package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// value is a JSON value with its members in the order in which they were written.
type value struct {
	kind    kind
	path    string // JSON Pointer
	id      int    // differs between the values of a document
	is      bool   // boolean
	text    string // of text
	number  decimal
	raw     string // number: as it was written
	items   []*value
	members []member
	same    string // see canonical
}

type member struct {
	name  string
	value *value
}

// get returns a member, or nil.
func (v *value) get(name string) *value {
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// decoder reads one document.
type decoder struct {
	*json.Decoder
	ids int
}

// decode reads a document. All errors are *Error.
func decode(raw []byte) (*value, error) {
	if len(raw) > MaxBytes {
		return nil, &Error{Message: fmt.Sprintf("it is larger than %d bytes", MaxBytes)}
	}
	if !utf8.Valid(raw) {
		return nil, &Error{Message: "it is not UTF-8"}
	}
	d := &decoder{Decoder: json.NewDecoder(bytes.NewReader(raw))}
	d.UseNumber()
	v, err := d.value("", 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &Error{Message: "behind the JSON value there is more"}
	}
	return v, nil
}

// token reads the next token, and makes an *Error of what is not JSON.
func (d *decoder) token(path string) (json.Token, error) {
	t, err := d.Token()
	if err != nil {
		return nil, &Error{Path: path, Message: "it is not JSON: " + err.Error()}
	}
	return t, nil
}

func (d *decoder) value(path string, depth int) (*value, error) {
	if depth > MaxDepth {
		return nil, &Error{Path: path, Message: fmt.Sprintf("it is nested more than %d deep", MaxDepth)}
	}
	t, err := d.token(path)
	if err != nil {
		return nil, err
	}
	d.ids++
	v := &value{path: path, id: d.ids}
	switch t := t.(type) {
	case nil:
		v.kind = null
	case bool:
		v.kind, v.is = boolean, t
	case string:
		v.kind, v.text = text, t
	case json.Number:
		v.kind, v.raw = number, t.String()
		if v.number, err = parseDecimal(v.raw); err != nil {
			return nil, &Error{Path: path, Message: err.Error()}
		}
	case json.Delim:
		if t == '[' {
			return v, d.items(v, depth)
		}
		return v, d.members(v, depth)
	}
	return v, nil
}

func (d *decoder) items(v *value, depth int) error {
	v.kind = array
	for d.More() {
		item, err := d.value(v.path+"/"+strconv.Itoa(len(v.items)), depth+1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	_, err := d.token(v.path)
	return err
}

func (d *decoder) members(v *value, depth int) error {
	v.kind = object
	seen := map[string]bool{}
	for d.More() {
		t, err := d.token(v.path)
		if err != nil {
			return err
		}
		name := t.(string)
		if seen[name] {
			return &Error{Path: v.path, Message: fmt.Sprintf("the member %q is there twice", name)}
		}
		seen[name] = true
		item, err := d.value(v.path+"/"+escapePointer(name), depth+1)
		if err != nil {
			return err
		}
		v.members = append(v.members, member{name, item})
	}
	_, err := d.token(v.path)
	return err
}

var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

func escapePointer(name string) string { return pointerEscapes.Replace(name) }

// canonical is the same for values that are equal in JSON Schema: numbers by what they
// are worth, objects in any order.
func (v *value) canonical() string {
	if v.same == "" {
		v.same = string(v.appendCanonical(nil))
	}
	return v.same
}

func (v *value) appendCanonical(b []byte) []byte {
	switch v.kind {
	case null:
		return append(b, "null"...)
	case boolean:
		return strconv.AppendBool(b, v.is)
	case number:
		if v.number.negative {
			b = append(b, '-')
		}
		return append(append(append(b, v.number.whole...), '.'), v.number.fraction...)
	case text:
		return strconv.AppendQuote(b, v.text)
	case array:
		b = append(b, '[')
		for _, item := range v.items {
			b = append(item.appendCanonical(b), ',')
		}
		return append(b, ']')
	}
	members := slices.SortedFunc(slices.Values(v.members), func(a, b member) int { return strings.Compare(a.name, b.name) })
	b = append(b, '{')
	for _, m := range members {
		b = append(strconv.AppendQuote(b, m.name), ':')
		b = append(m.value.appendCanonical(b), ',')
	}
	return append(b, '}')
}
