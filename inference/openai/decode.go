package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dure/inference"
)

const (
	// maxDepth is how deep a value of a field that is not looked at may nest.
	maxDepth = 64
	// maxMembers is how many members one object may have.
	maxMembers = 256
	// maxWarnings is how many unknown fields are named; the rest is counted.
	maxWarnings = 32
)

// decoder walks over a body that checkJSON accepted, token by token: no value
// is built before its kind is known to be right, so a hostile body costs no
// more than a small multiple of its size. It knows the path of the value at hand, for errors.
type decoder struct {
	body     []byte
	json     *json.Decoder
	path     []step
	before   int64 // where the token at hand begins, or the space before it
	warnings []string
	unnamed  int // warnings beyond maxWarnings
}

// step is a member's name or, where that is empty, an index.
type step struct {
	name  string
	index int
}

func newDecoder(body []byte) *decoder {
	d := &decoder{body: body, json: json.NewDecoder(bytes.NewReader(body))}
	d.json.UseNumber()
	return d
}

func (d *decoder) token() (json.Token, error) {
	d.before = d.json.InputOffset()
	t, err := d.json.Token()
	if err != nil {
		return nil, invalid("the body is not valid JSON: %s", err)
	}
	return t, nil
}

// where is the path of the value at hand, as in "messages[2].content".
func (d *decoder) where() string {
	var b strings.Builder
	for i, s := range d.path {
		switch {
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i > 0:
			b.WriteString("." + clip(s.name))
		default:
			b.WriteString(clip(s.name))
		}
	}
	return b.String()
}

func (d *decoder) fail(code inference.Code, format string, args ...any) error {
	e := inference.Errorf(code, format, args...)
	e.Param = d.where()
	if e.Param == "" {
		e.Message = "the body: " + e.Message
	} else {
		e.Message = e.Param + ": " + e.Message
	}
	return e
}

func (d *decoder) invalid(format string, args ...any) error {
	return d.fail(inference.CodeInvalidRequest, format, args...)
}

func (d *decoder) unsupported(format string, args ...any) error {
	return d.fail(inference.CodeUnsupported, format, args...)
}

// expected is the error for a value of the wrong kind.
func (d *decoder) expected(what string, got json.Token) error {
	return d.invalid("expected %s, got %s", what, kindOf(got))
}

// missing is the error for a member that the object at hand needs.
func (d *decoder) missing(name string) error {
	d.path = append(d.path, step{name: name})
	return d.invalid("is required")
}

func kindOf(t json.Token) string {
	switch v := t.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case json.Delim:
		if v == '[' {
			return "a list"
		}
		return "an object"
	}
	return "null"
}

func begins(t json.Token, delim json.Delim) bool { return t == json.Token(delim) }

// object calls member for each member of the object that t begins.
func (d *decoder) object(t json.Token, member func(name string, value json.Token) error) error {
	if !begins(t, '{') {
		return d.expected("an object", t)
	}
	var seen []string
	for d.json.More() {
		key, err := d.token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // checkJSON: keys are strings
		if len(seen) == maxMembers {
			return d.invalid("an object may have at most %d members", maxMembers)
		}
		d.path = append(d.path, step{name: name})
		if slices.Contains(seen, name) {
			return d.invalid("appears twice")
		}
		seen = append(seen, name)
		value, err := d.token()
		if err != nil {
			return err
		}
		if err := member(name, value); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	_, err := d.token() // the closing brace
	return err
}

// list calls item for each item of the list that t begins.
func (d *decoder) list(t json.Token, item func(value json.Token) error) error {
	if !begins(t, '[') {
		return d.expected("a list", t)
	}
	for i := 0; d.json.More(); i++ {
		d.path = append(d.path, step{index: i})
		value, err := d.token()
		if err != nil {
			return err
		}
		if err := item(value); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	_, err := d.token() // the closing bracket
	return err
}

// isEmpty reports whether t begins a list or object without content, and reads
// on to its end if so.
func (d *decoder) isEmpty(t json.Token) bool {
	if _, ok := t.(json.Delim); !ok || d.json.More() {
		return false
	}
	_, err := d.token()
	return err == nil
}

// skip reads over the value that t begins.
func (d *decoder) skip(t json.Token) error {
	depth := 0
	for {
		if delim, ok := t.(json.Delim); ok {
			if delim == '{' || delim == '[' {
				depth++
			} else {
				depth--
			}
		}
		if depth == 0 {
			return nil
		}
		if depth > maxDepth {
			return d.invalid("nested deeper than %d levels", maxDepth)
		}
		var err error
		if t, err = d.token(); err != nil {
			return err
		}
	}
}

// unknown skips a value nobody knows and keeps its name for the answer.
func (d *decoder) unknown(t json.Token) error {
	if len(d.warnings) < maxWarnings {
		d.warnings = append(d.warnings, d.where()+": unknown field, ignored")
	} else {
		d.unnamed++
	}
	return d.skip(t)
}

// named returns the warnings, with a count of those that were too many.
func (d *decoder) named() []string {
	if d.unnamed > 0 {
		return append(d.warnings, fmt.Sprintf("%d more unknown fields, ignored", d.unnamed))
	}
	return d.warnings
}

func (d *decoder) boolean(t json.Token) (bool, error) {
	b, ok := t.(bool)
	if !ok {
		return false, d.expected("true or false", t)
	}
	return b, nil
}

// number returns a number in [low, high].
func (d *decoder) number(t json.Token, low, high float64) (float64, error) {
	n, ok := t.(json.Number)
	if !ok {
		return 0, d.expected("a number", t)
	}
	f, err := n.Float64()
	if err != nil || math.IsNaN(f) || f < low || f > high {
		return 0, d.invalid("must be between %g and %g, not %s", low, high, clip(n.String()))
	}
	return f, nil
}

// integer returns a whole number in [low, high].
func (d *decoder) integer(t json.Token, low, high int64) (int64, error) {
	n, ok := t.(json.Number)
	if !ok {
		return 0, d.expected("an integer", t)
	}
	if strings.ContainsAny(n.String(), ".eE") {
		return 0, d.invalid("expected an integer, got %s", clip(n.String()))
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if errors.Is(err, strconv.ErrRange) || i < low || i > high {
		return 0, d.invalid("must be between %d and %d, not %s", low, high, clip(n.String()))
	}
	return i, err
}
