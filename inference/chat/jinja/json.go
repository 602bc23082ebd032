package jinja

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encoder is Python's json.dumps with the arguments that transformers' tojson
// has.
type encoder struct {
	*machine
	b       strings.Builder
	ascii   bool
	sort    bool
	indent  string // of one level; used if pretty
	pretty  bool
	comma   string
	colon   string
	charged int // bytes of b that alloc knows of
}

// filterToJSON takes ensure_ascii, indent, separators and sort_keys.
func filterToJSON(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("tojson", "ensure_ascii?", "indent?", "separators?", "sort_keys?")
	if err != nil {
		return nil, err
	}
	e := &encoder{machine: m, ascii: truthyOr(p[0], false), sort: truthyOr(p[3], false), comma: ", ", colon: ": "}
	switch indent := p[1].(type) {
	case absent, nil:
	case string:
		e.pretty, e.indent, e.comma = true, indent, ","
	case int64:
		if indent > 100 {
			return nil, limitError("the indent of tojson", 100)
		}
		e.pretty, e.indent, e.comma = true, strings.Repeat(" ", int(max(indent, 0))), ","
	default:
		return nil, fail("tojson: indent must be a number or a string, not %s", typeName(indent))
	}
	if p[2] != (absent{}) && p[2] != nil {
		parts, err := m.iterate(p[2])
		if err != nil {
			return nil, err
		}
		if len(parts) != 2 {
			return nil, fail("tojson: separators must be two strings")
		}
		var ok [2]bool
		e.comma, ok[0] = str(parts[0])
		e.colon, ok[1] = str(parts[1])
		if !ok[0] || !ok[1] {
			return nil, fail("tojson: separators must be two strings")
		}
	}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return e.b.String(), e.charge()
}

// charge tells the machine what was written since the last time.
func (e *encoder) charge() error {
	n := e.b.Len() - e.charged
	e.charged += n
	if err := e.work(n); err != nil {
		return err
	}
	return e.alloc(n)
}

func (e *encoder) value(v Value, depth int) error {
	if depth > maxValueDepth {
		return limitError("the nesting of a value", maxValueDepth)
	}
	if err := e.step(1); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil, bool, int64, *big.Int, float64:
		e.b.WriteString(jsonScalar(v))
	case string:
		return e.quote(v)
	case markup:
		return e.quote(string(v))
	case *List:
		return e.list(v.items, depth)
	case *Tuple:
		return e.list(v.items, depth)
	case *Dict:
		return e.dict(v, depth)
	default:
		return fail("Object of type %s is not JSON serializable", typeName(v))
	}
	return e.charge()
}

func jsonScalar(v Value) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case *big.Int:
		return v.String()
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		}
		return formatFloat(v)
	}
	return "null"
}

func (e *encoder) list(items []Value, depth int) error {
	if len(items) == 0 {
		e.b.WriteString("[]")
		return e.charge()
	}
	e.b.WriteString("[")
	for i, x := range items {
		if err := e.separate(i, depth+1); err != nil {
			return err
		}
		if err := e.value(x, depth+1); err != nil {
			return err
		}
	}
	return e.close("]", depth)
}

func (e *encoder) dict(d *Dict, depth int) error {
	if d.Len() == 0 {
		e.b.WriteString("{}")
		return e.charge()
	}
	entries, err := e.entries(d)
	if err != nil {
		return err
	}
	e.b.WriteString("{")
	for i, x := range entries {
		if err := e.separate(i, depth+1); err != nil {
			return err
		}
		key, ok := str(x.key)
		if !ok {
			switch x.key.(type) {
			case nil, bool, int64, *big.Int, float64:
				key = jsonScalar(x.key)
			default:
				return fail("keys must be str, int, float, bool or None, not %s", typeName(x.key))
			}
		}
		if err := e.quote(key); err != nil {
			return err
		}
		e.b.WriteString(e.colon)
		if err := e.value(x.value, depth+1); err != nil {
			return err
		}
	}
	return e.close("}", depth)
}

func (e *encoder) entries(d *Dict) ([]entry, error) {
	if !e.sort {
		return d.entries, nil
	}
	if err := e.alloc(entrySize * d.Len()); err != nil {
		return nil, err
	}
	entries := slices.Clone(d.entries)
	return entries, sortStable(e.machine, entries, func(x entry) Value { return x.key }, false)
}

// separate writes what stands before the item at a position.
func (e *encoder) separate(i, depth int) error {
	if i > 0 {
		e.b.WriteString(e.comma)
	}
	return e.newline(depth)
}

func (e *encoder) close(bracket string, depth int) error {
	err := e.newline(depth)
	e.b.WriteString(bracket)
	return err
}

func (e *encoder) newline(depth int) error {
	if e.pretty {
		if err := e.alloc(depth * len(e.indent)); err != nil {
			return err
		}
		e.b.WriteString("\n")
		e.b.WriteString(strings.Repeat(e.indent, depth))
	}
	return e.charge()
}

var jsonEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`,
}

func (e *encoder) quote(s string) error {
	special := func(r rune) bool {
		return r < 0x20 || r == '"' || r == '\\' || e.ascii && r >= 0x7f
	}
	size := len(s) + 2
	for rest := s; ; {
		i := strings.IndexFunc(rest, special)
		if i < 0 {
			break
		}
		_, n := utf8.DecodeRuneInString(rest[i:])
		size += 12 // the longest escape
		rest = rest[i+n:]
	}
	if err := e.alloc(size); err != nil {
		return err
	}
	e.b.Grow(size)
	before := e.b.Len()
	e.b.WriteByte('"')
	for {
		i := strings.IndexFunc(s, special)
		if i < 0 {
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		e.b.WriteString(s[:i])
		e.b.WriteString(jsonEscape(r))
		s = s[i+n:]
	}
	e.b.WriteString(s)
	e.b.WriteByte('"')
	e.charged += e.b.Len() - before
	return e.work(size)
}

func jsonEscape(r rune) string {
	if esc, ok := jsonEscapes[r]; ok {
		return esc
	}
	if r < 0x10000 {
		return fmt.Sprintf(`\u%04x`, r)
	}
	hi, lo := utf16.EncodeRune(r)
	return fmt.Sprintf(`\u%04x\u%04x`, hi, lo)
}
