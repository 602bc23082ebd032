package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// maxValueDepth bounds how deep lists and dictionaries may be nested where one
// is printed or compared. Python's own limit is of this order.
const maxValueDepth = 200

// text is Python's str(), which is what a template prints.
func (m *machine) text(v Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case markup:
		return string(v), nil
	case *undefined:
		return "", nil
	}
	return m.repr(v)
}

// repr is Python's repr().
func (m *machine) repr(v Value) (string, error) {
	var b strings.Builder
	if err := m.writeRepr(&b, v, 0); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (m *machine) writeRepr(b *strings.Builder, v Value, depth int) error {
	if depth > maxValueDepth {
		return limitError("the nesting of a value", maxValueDepth)
	}
	before := b.Len()
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(formatFloat(v))
	case string:
		if err := m.alloc(4 * len(v)); err != nil { // all of it may be escaped
			return err
		}
		writeQuoted(b, v)
	case markup:
		b.WriteString("Markup(")
		if err := m.writeRepr(b, string(v), depth); err != nil {
			return err
		}
		b.WriteString(")")
	case *List:
		return m.writeItems(b, "[", v.items, "]", depth)
	case *Tuple:
		closer := ")"
		if len(v.items) == 1 {
			closer = ",)"
		}
		return m.writeItems(b, "(", v.items, closer, depth)
	case *Dict:
		return m.writeDict(b, v, depth)
	case *namespace:
		b.WriteString("<Namespace ")
		if err := m.writeDict(b, &v.attrs, depth); err != nil {
			return err
		}
		b.WriteString(">")
	case *undefined:
		b.WriteString("Undefined")
	case *interval:
		if v.step == 1 {
			fmt.Fprintf(b, "range(%d, %d)", v.start, v.stop)
		} else {
			fmt.Fprintf(b, "range(%d, %d, %d)", v.start, v.stop, v.step)
		}
	case *sequence:
		if !v.view { // Python prints an address
			return fail("a %s cannot be printed; use |list or |join", v.kind)
		}
		return m.writeItems(b, v.kind+"([", v.items, "])", depth)
	default:
		return fail("a %s cannot be printed", typeName(v))
	}
	return m.alloc(b.Len() - before)
}

func (m *machine) writeItems(b *strings.Builder, open string, items []Value, closer string, depth int) error {
	if err := m.step(len(items)); err != nil {
		return err
	}
	b.WriteString(open)
	for i, x := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := m.writeRepr(b, x, depth+1); err != nil {
			return err
		}
	}
	b.WriteString(closer)
	return m.alloc(2*len(items) + 2)
}

func (m *machine) writeDict(b *strings.Builder, d *Dict, depth int) error {
	if err := m.step(d.Len()); err != nil {
		return err
	}
	b.WriteString("{")
	for i, e := range d.entries {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := m.writeRepr(b, e.key, depth+1); err != nil {
			return err
		}
		b.WriteString(": ")
		if err := m.writeRepr(b, e.value, depth+1); err != nil {
			return err
		}
	}
	b.WriteString("}")
	return m.alloc(4*d.Len() + 2)
}

// formatFloat is Python's repr of a float: the shortest digits that read back,
// with an exponent from 1e16 on and below 1e-4.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// writeQuoted is Python's repr of a string: single quotes unless only single
// quotes are inside.
func writeQuoted(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
}
