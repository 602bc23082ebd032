package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// reader reads one client event. It keeps the first error, after which whatever is read is
// empty; and warnings about what is understood and not done.
type reader struct {
	err      *Error
	warnings []Warning
}

// Warning is about a field that was accepted and has no effect.
type Warning struct{ Param, Message string }

func (r *reader) fail(e *Error) {
	if r.err == nil {
		r.err = e
	}
}

// object is a JSON object whose fields are taken one by one, so that what is left over is
// known to be unknown.
type object struct {
	r      *reader
	path   string // with a dot at its end, "" for the event itself
	fields map[string]json.RawMessage
}

func (r *reader) object(path string, raw json.RawMessage) object {
	o := object{r: r, path: path}
	if path != "" {
		o.path += "."
	}
	if err := json.Unmarshal(raw, &o.fields); err != nil {
		r.fail(invalid(CodeKind, path, "an object was expected, not %s", kind(raw)))
	}
	return o
}

// take removes a field. null and absent are both nothing; null tells them apart.
func (o object) take(name string) (raw json.RawMessage, ok bool) {
	raw, ok = o.fields[name]
	delete(o.fields, name)
	if !ok || isNull(raw) {
		return nil, false
	}
	return raw, true
}

// null reports whether the field is there and null, which turns some things off.
func (o object) null(name string) bool {
	raw, ok := o.fields[name]
	return ok && isNull(raw)
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

func (o object) wrong(name, want string, raw json.RawMessage) {
	o.r.fail(invalid(CodeKind, o.path+name, "%s was expected, not %s", want, kind(raw)))
}

func (o object) text(name string) (s string, ok bool) {
	raw, ok := o.take(name)
	if ok && json.Unmarshal(raw, &s) != nil {
		o.wrong(name, "a string", raw)
		return "", false
	}
	return s, ok
}

// need is text that must be there.
func (o object) need(name string) string {
	s, ok := o.text(name)
	if !ok {
		o.r.fail(invalid(CodeMissing, o.path+name, "missing"))
	}
	return s
}

// one is text of a fixed set.
func (o object) one(name string, of ...string) (s string, ok bool) {
	if s, ok = o.text(name); ok && !slices.Contains(of, s) {
		o.r.fail(invalid(CodeValue, o.path+name, "%q is none of %s", s, strings.Join(of, ", ")))
		return "", false
	}
	return s, ok
}

func (o object) boolean(name string) (b, ok bool) {
	raw, ok := o.take(name)
	if ok && json.Unmarshal(raw, &b) != nil {
		o.wrong(name, "true or false", raw)
		return false, false
	}
	return b, ok
}

func (o object) number(name string, from, to float64) (f float64, ok bool) {
	raw, ok := o.take(name)
	if !ok {
		return 0, false
	}
	if json.Unmarshal(raw, &f) != nil {
		o.wrong(name, "a number", raw)
		return 0, false
	}
	if f < from || f > to {
		o.r.fail(invalid(CodeValue, o.path+name, "%v is not between %v and %v", f, from, to))
		return 0, false
	}
	return f, true
}

func (o object) integer(name string, from, to int64) (n int64, ok bool) {
	f, ok := o.number(name, float64(from), float64(to))
	if ok && f != math.Trunc(f) {
		o.r.fail(invalid(CodeKind, o.path+name, "a whole number was expected, not %v", f))
		return 0, false
	}
	return int64(f), ok
}

func (o object) needInteger(name string, from, to int64) int64 {
	n, ok := o.integer(name, from, to)
	if !ok {
		o.r.fail(invalid(CodeMissing, o.path+name, "missing"))
	}
	return n
}

func (o object) object(name string) (object, bool) {
	raw, ok := o.take(name)
	if !ok {
		return object{r: o.r, path: o.path + name + "."}, false
	}
	return o.r.object(o.path+name, raw), true
}

// list gives the elements of a list with their paths; has is false where there is none.
func (o object) list(name string, most int) (elements []json.RawMessage, has bool) {
	raw, ok := o.take(name)
	if !ok {
		return nil, false
	}
	if json.Unmarshal(raw, &elements) != nil {
		o.wrong(name, "a list", raw)
		return nil, false
	}
	if len(elements) > most {
		o.r.fail(invalid(CodeValue, o.path+name, "%d elements, and %d are the most", len(elements), most))
		return nil, false
	}
	return elements, true
}

// sound is base64 of bytes.
func (o object) sound(name string) ([]byte, bool) {
	s, ok := o.text(name)
	if !ok {
		return nil, false
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		o.r.fail(invalid(CodeValue, o.path+name, "this is no base64 (%v)", err))
		return nil, false
	}
	return b, true
}

// unsupported refuses a field that the API knows, unless it is absent or null.
func (o object) unsupported(name, why string) {
	if _, ok := o.take(name); ok {
		o.r.fail(invalid(CodeUnsupported, o.path+name, "not supported: %s", why))
	}
}

// ignored accepts a field that changes nothing here, with a warning.
func (o object) ignored(name, why string) {
	if _, ok := o.take(name); ok {
		o.r.warnings = append(o.r.warnings, Warning{o.path + name, why})
	}
}

// end refuses what was not taken.
func (o object) end() {
	if len(o.fields) == 0 || o.r.err != nil {
		return
	}
	names := make([]string, 0, len(o.fields))
	for name := range o.fields {
		names = append(names, name)
	}
	sort.Strings(names)
	o.r.fail(invalid(CodeField, o.path+clip(names[0], 80), "there is no such field"))
}

func kind(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}
