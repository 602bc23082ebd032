package jinja

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWidth bounds the width and precision of a format.
const maxWidth = 1 << 12

// spec is what a format says about one value.
type spec struct {
	fill                    string
	align                   byte // < > ^ = or 0
	sign                    byte // + or blank or 0
	alternate, zero, commas bool
	width, precision        int // precision -1: none
	verb                    byte
}

// percentFormat is Python's s % args.
func (m *machine) percentFormat(s string, args Value) (Value, error) {
	values := []Value{args}
	if t, ok := args.(*Tuple); ok {
		values = t.items
	}
	var b strings.Builder
	next := 0
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		key, sp, rest, err := parsePercent(s[i+1:])
		if err != nil {
			return nil, err
		}
		s = rest
		if sp.verb == '%' {
			b.WriteByte('%')
			continue
		}
		v, err := m.percentValue(args, values, key, &next)
		if err != nil {
			return nil, err
		}
		text, err := m.formatPercent(v, sp)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	_, isDict := args.(*Dict)
	if next < len(values) && !isDict {
		return nil, fail("not all arguments converted during string formatting")
	}
	b.WriteString(s)
	return b.String(), m.alloc(b.Len())
}

// percentValue takes the value of a key, if there is one, or the next.
func (m *machine) percentValue(args Value, values []Value, key *string, next *int) (Value, error) {
	if key == nil {
		if *next >= len(values) {
			return nil, fail("not enough arguments for format string")
		}
		*next++
		return values[*next-1], nil
	}
	d, ok := args.(*Dict)
	if !ok {
		return nil, fail("format requires a mapping")
	}
	v, ok := d.get(*key)
	if !ok {
		return nil, fail("the format has no value for %s", *key)
	}
	return v, nil
}

// parsePercent reads what follows a %.
func parsePercent(s string) (key *string, sp spec, rest string, err error) {
	sp = spec{fill: " ", align: '>', precision: -1}
	if strings.HasPrefix(s, "(") {
		i := strings.IndexByte(s, ')')
		if i < 0 {
			return nil, sp, "", fail("incomplete format key")
		}
		k := s[1:i]
		key, s = &k, s[i+1:]
	}
	for s != "" && strings.IndexByte("-+ 0#", s[0]) >= 0 {
		switch s[0] {
		case '-':
			sp.align = '<'
		case '+':
			sp.sign = '+'
		case ' ':
			sp.sign = ' '
		case '0':
			sp.zero = true
		case '#':
			sp.alternate = true
		}
		s = s[1:]
	}
	if sp.width, s, err = formatNumber(s); err != nil {
		return nil, sp, "", err
	}
	if strings.HasPrefix(s, ".") {
		if sp.precision, s, err = formatNumber(s[1:]); err != nil {
			return nil, sp, "", err
		}
	}
	if s == "" {
		return nil, sp, "", fail("incomplete format")
	}
	sp.verb = s[0]
	return key, sp, s[1:], nil
}

func formatNumber(s string) (int, string, error) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == 0 {
		return 0, s, nil
	}
	n, err := strconv.Atoi(s[:i])
	if err != nil || n > maxWidth {
		return 0, s, limitError("the width of a format", maxWidth)
	}
	return n, s[i:], nil
}

func (m *machine) formatPercent(v Value, sp spec) (string, error) {
	var text string
	var err error
	switch sp.verb {
	case 's':
		text, err = m.text(v)
	case 'r':
		text, err = m.repr(v)
	case 'd', 'i', 'u':
		if f, ok := v.(float64); ok { // cut, as int() does
			v = int64(f)
		}
		sp.verb = 'd'
		return m.formatNumber(v, sp)
	case 'x', 'X', 'o', 'f', 'F', 'e', 'E', 'g', 'G':
		return m.formatNumber(v, sp)
	case 'c':
		if s, ok := str(v); ok && utf8.RuneCountInString(s) == 1 {
			text = s
			break
		}
		return "", fail("%%c requires a single character")
	default:
		return "", fail("unsupported format character %q", sp.verb)
	}
	if err != nil {
		return "", err
	}
	return m.fit(truncateText(text, sp.precision), sp)
}

func truncateText(s string, n int) string {
	if n < 0 {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// fit pads a text to the width of a format.
func (m *machine) fit(s string, sp spec) (string, error) {
	align := sp.align
	if align == '=' {
		align = '>'
	}
	if align == '^' { // unlike str.center, the smaller half is always left
		missing := max(sp.width-utf8.RuneCountInString(s), 0)
		return strings.Repeat(sp.fill, missing/2) + s + strings.Repeat(sp.fill, missing-missing/2), m.alloc(len(s) + 4*missing)
	}
	v, err := m.pad(s, sp.fill, int64(sp.width), align)
	text, _ := str(v)
	return text, err
}

// formatNumber formats integers and floats.
func (m *machine) formatNumber(v Value, sp spec) (string, error) {
	if u, ok := v.(*undefined); ok {
		return "", u.fail()
	}
	if err := m.alloc(2*sp.width + 2*max(sp.precision, 0)); err != nil {
		return "", err
	}
	i, f, isInt, ok := numeric(v)
	digits := ""
	n, isBig := v.(*big.Int)
	switch {
	case isBig && sp.verb == 'd':
		digits = n.String()
	case !ok:
		return "", fail("%%%c format: a number is required, not %s", sp.verb, typeName(v))
	case strings.IndexByte("dxXo", sp.verb) >= 0:
		if !isInt {
			return "", fail("%%%c format: an integer is required, not %s", sp.verb, typeName(v))
		}
		digits = strconv.FormatInt(i, map[byte]int{'d': 10, 'x': 16, 'X': 16, 'o': 8}[sp.verb])
		if sp.verb == 'X' {
			digits = strings.ToUpper(digits)
		}
	default:
		precision := sp.precision
		if precision < 0 {
			precision = 6
		}
		digits = formatWith(f, lowerVerb(sp.verb), precision)
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	} else if sp.sign != 0 {
		sign = string(sp.sign)
	}
	if sp.commas {
		digits = group(digits)
	}
	if sp.zero && sp.align != '<' || sp.align == '=' {
		fill := "0"
		if sp.align == '=' {
			fill = sp.fill
		}
		digits = strings.Repeat(fill, max(0, sp.width-len(sign)-len(digits))) + digits
	}
	return m.fit(sign+digits, sp)
}

func lowerVerb(verb byte) byte { return verb | 0x20 }

// formatWith formats a float as C's printf does: exponents of two digits, and
// %g without trailing zeros.
func formatWith(f float64, verb byte, precision int) string {
	if verb != 'g' {
		return strconv.FormatFloat(f, verb, precision, 64)
	}
	s := strconv.FormatFloat(f, 'g', max(precision, 1), 64)
	mantissa, exponent, ok := strings.Cut(s, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if ok {
		return mantissa + "e" + exponent
	}
	return mantissa
}

// group puts commas between thousands.
func group(digits string) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		return whole + "." + fraction
	}
	return whole
}
