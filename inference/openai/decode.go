package openai

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dure/inference"
)

const (
	// maxDepth is how deep a value of a field that is not looked at may nest.
	maxDepth = 64
	// maxMembers is how many members an object may have, where its field does
	// not say otherwise.
	maxMembers = 256
	// maxWarnings is how many unknown fields are named; the rest is counted.
	maxWarnings = 32
)

// decoder walks over a body that checkJSON accepted, value by value: none is
// built before its kind is known to be right, so a hostile body costs no more
// than a small multiple of its size. It knows the path of the value at hand, for
// errors.
type decoder struct {
	scanner
	path     []step
	present  map[string]bool // members of the body that are not null
	warnings []string
	unnamed  int // warnings beyond maxWarnings
}

// step is an index or, where that is negative, a member's name.
type step struct {
	index int
	name  string
}

// field decodes one member of a body into r. The value is not null: null means
// absent for every field.
type field[R any] func(d *decoder, r *R, value token) error

// fields is every member of a body that is known.
type fields[R any] map[string]field[R]

// decode decodes a body into r, and checks in the end what one field alone does
// not tell. It returns warnings for the answer. Its errors are *inference.Error.
func decode[R any](body []byte, known fields[R], r *R, check func(*decoder, *R) error) ([]string, error) {
	if err := checkJSON(body); err != nil {
		return nil, err
	}
	d := &decoder{scanner: scanner{body: body}, present: map[string]bool{}}
	err := d.object(d.token(), maxMembers, func(name string, value token) error {
		decode, ok := known[name]
		switch {
		case !ok:
			return d.unknown(value)
		case value.kind == kindNull:
			return nil
		}
		d.present[name] = true
		return decode(d, r, value)
	})
	if err == nil {
		err = check(d, r)
	}
	return d.named(), err
}

// where is the path of the value at hand, as in "messages[2].content".
func (d *decoder) where() string {
	var b strings.Builder
	for i, s := range d.path {
		switch {
		case s.index >= 0:
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
func (d *decoder) expected(what string, got token) error {
	return d.invalid("expected %s, got %s", what, got.kind)
}

// at is d with the path of a member of the object at hand, for an error.
func (d *decoder) at(name string) *decoder {
	d.path = append(d.path, step{index: -1, name: name})
	return d
}

// missing is the error for a member that the object at hand needs.
func (d *decoder) missing(name string) error { return d.at(name).invalid("is required") }

// object calls member for each member of the object that t begins.
func (d *decoder) object(t token, most int, member func(name string, value token) error) error {
	if t.kind != kindObject {
		return d.expected("an object", t)
	}
	var seen []string
	for d.more(closeObject) {
		name := d.name()
		if len(seen) == most {
			return d.invalid("an object may have at most %d members", most)
		}
		d.path = append(d.path, step{index: -1, name: name})
		if slices.Contains(seen, name) {
			return d.invalid("appears twice")
		}
		seen = append(seen, name)
		if err := member(name, d.token()); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	return nil
}

// list calls item for each item of the list that t begins.
func (d *decoder) list(t token, item func(value token) error) error {
	if t.kind != kindList {
		return d.expected("a list", t)
	}
	for i := 0; d.more(closeList); i++ {
		d.path = append(d.path, step{index: i})
		if err := item(d.token()); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	return nil
}

// isEmpty reports whether t begins a list or object without content, and reads
// on to its end if so.
func (d *decoder) isEmpty(t token) bool {
	switch {
	case t.kind == kindList && d.peek() == closeList, t.kind == kindObject && d.peek() == closeObject:
		d.pos++
		return true
	}
	return false
}

// skip reads over the value that t begins.
func (d *decoder) skip(t token) error {
	if (t.kind == kindList || t.kind == kindObject) && !d.skipNested(maxDepth) {
		return d.invalid("nested deeper than %d levels", maxDepth)
	}
	return nil
}

// unknown skips a value nobody knows and keeps its name for the answer.
func (d *decoder) unknown(t token) error {
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
