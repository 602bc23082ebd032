package strict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dure/inference"
)

const (
	// MaxDepth is how deep a value of a field that is not looked at may nest.
	MaxDepth = 64
	// MaxMembers is how many members an object may have, where its field does
	// not say otherwise.
	MaxMembers = 256
	// MaxWarnings is how many unknown fields are named; the rest is counted.
	MaxWarnings = 32
)

// Decoder walks over a body that is known to be JSON, value by value: none is
// built before its kind is known to be right, so a hostile body costs no more
// than a small multiple of its size. It knows the path of the value at hand, for
// errors.
type Decoder struct {
	scan     scanner
	path     []step
	present  map[string]bool // members of the body that are not null
	warnings []string
	unnamed  int // warnings beyond MaxWarnings
}

// step is an index or, where that is negative, a member's name.
type step struct {
	index int
	name  string
}

// Field decodes one member of a body into r. The value is not null: null means
// absent for every field.
type Field[R any] func(d *Decoder, r *R, v Value) error

// Fields is every member of a body that is known.
type Fields[R any] map[string]Field[R]

// Decode decodes a body into r, and checks in the end what one field alone does
// not tell. It returns warnings for the answer. Its errors are *inference.Error.
func Decode[R any](body []byte, known Fields[R], r *R, check func(*Decoder, *R) error) ([]string, error) {
	if err := checkBody(body); err != nil {
		return nil, err
	}
	d := &Decoder{scan: scanner{body: body}, present: map[string]bool{}}
	err := d.Object(d.scan.value(), MaxMembers, func(name string, v Value) error {
		decode, ok := known[name]
		switch {
		case !ok:
			return d.Unknown(v)
		case v.Kind == KindNull:
			return nil
		}
		d.present[name] = true
		return decode(d, r, v)
	})
	if err == nil {
		err = check(d, r)
	}
	return d.named(), err
}

// Present are the members of the body that were there so far and not null.
func (d *Decoder) Present() map[string]bool { return d.present }

// where is the path of the value at hand, as in "messages[2].content".
func (d *Decoder) where() string {
	var b strings.Builder
	for i, s := range d.path {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i > 0:
			b.WriteString("." + Clip(s.name))
		default:
			b.WriteString(Clip(s.name))
		}
	}
	return b.String()
}

func (d *Decoder) fail(code inference.Code, format string, args ...any) error {
	e := inference.Errorf(code, format, args...)
	e.Param = d.where()
	if e.Param == "" {
		e.Message = "the body: " + e.Message
	} else {
		e.Message = e.Param + ": " + e.Message
	}
	return e
}

// Invalid is the error for the value at hand, which is not what it may be.
func (d *Decoder) Invalid(format string, args ...any) error {
	return d.fail(inference.CodeInvalidRequest, format, args...)
}

// Unsupported is the error for a value that is known and that nobody here can do
// anything with.
func (d *Decoder) Unsupported(format string, args ...any) error {
	return d.fail(inference.CodeUnsupported, format, args...)
}

// Expected is the error for a value of the wrong kind.
func (d *Decoder) Expected(what string, got Value) error {
	return d.Invalid("expected %s, got %s", what, got.Kind)
}

// At returns a decoder that stands nowhere but at a path: for errors about what
// is in no body, or in several places of one.
func At(path string) *Decoder { return (&Decoder{}).At(path) }

// At is d with the path of a member of the object at hand, for an error.
func (d *Decoder) At(name string) *Decoder {
	d.path = append(d.path, step{index: -1, name: name})
	return d
}

// Missing is the error for a member that the object at hand needs.
func (d *Decoder) Missing(name string) error { return d.At(name).Invalid("is required") }

// Object calls member for each member of the object that v begins, of which there
// may be so many.
func (d *Decoder) Object(v Value, most int, member func(name string, v Value) error) error {
	if v.Kind != KindObject {
		return d.Expected("an object", v)
	}
	var seen []string
	for d.scan.more(closeObject) {
		name := d.scan.name()
		if len(seen) == most {
			return d.Invalid("an object may have at most %d members", most)
		}
		d.path = append(d.path, step{index: -1, name: name})
		if slices.Contains(seen, name) {
			return d.Invalid("appears twice")
		}
		seen = append(seen, name)
		if err := member(name, d.scan.value()); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	return nil
}

// List calls item for each item of the list that v begins.
func (d *Decoder) List(v Value, item func(v Value) error) error {
	if v.Kind != KindList {
		return d.Expected("a list", v)
	}
	for i := 0; d.scan.more(closeList); i++ {
		d.path = append(d.path, step{index: i})
		if err := item(d.scan.value()); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	return nil
}

// IsEmpty reports whether v begins a list or object without content, and reads
// on to its end if so.
func (d *Decoder) IsEmpty(v Value) bool {
	switch {
	case v.Kind == KindList && d.scan.peek() == closeList, v.Kind == KindObject && d.scan.peek() == closeObject:
		d.scan.pos++
		return true
	}
	return false
}

// Skip reads over the value that v begins.
func (d *Decoder) Skip(v Value) error {
	if v.nests() && !d.scan.skipNested(MaxDepth) {
		return d.Invalid("nested deeper than %d levels", MaxDepth)
	}
	return nil
}

// Raw returns the value that v begins as it stands in the body, a copy.
func (d *Decoder) Raw(v Value) (json.RawMessage, error) {
	if !v.nests() {
		return slices.Clone(v.Raw), nil
	}
	from := d.scan.pos - 1
	if err := d.Skip(v); err != nil {
		return nil, err
	}
	return slices.Clone(d.scan.body[from:d.scan.pos]), nil
}

// Next is the kind of the value that comes next: of the first item, right after a
// list began. Of an empty list it is none of the kinds.
func (d *Decoder) Next() Kind { return kindOf(d.scan.peek()) }

// Up is d at the value that holds the one at hand, for an error.
func (d *Decoder) Up() *Decoder {
	d.path = d.path[:len(d.path)-1]
	return d
}

// Unknown skips a value nobody knows and keeps its name for the answer.
func (d *Decoder) Unknown(v Value) error {
	d.Warn("unknown field, ignored")
	return d.Skip(v)
}

// Warn tells the caller in the answer something about the value at hand.
func (d *Decoder) Warn(format string, args ...any) {
	if len(d.warnings) < MaxWarnings {
		d.warnings = append(d.warnings, d.where()+": "+fmt.Sprintf(format, args...))
	} else {
		d.unnamed++
	}
}

// named returns the warnings, with a count of those that were too many.
func (d *Decoder) named() []string {
	if d.unnamed > 0 {
		return append(d.warnings, fmt.Sprintf("%d more unknown fields, ignored", d.unnamed))
	}
	return d.warnings
}
