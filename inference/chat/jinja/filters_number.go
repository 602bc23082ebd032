package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

func filterAbs(_ *machine, v Value, a arguments) (Value, error) {
	if err := a.none("abs"); err != nil {
		return nil, err
	}
	i, f, isInt, ok := numeric(v)
	switch {
	case !ok:
		return nil, fail("bad operand type for abs(): '%s'", typeName(v))
	case isInt && i < 0:
		return negate("-", i)
	case isInt:
		return i, nil
	}
	return math.Abs(f), nil
}

// filterInt reads an integer, or cuts a float; the default is for what cannot
// be read.
func filterInt(_ *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("int", "default?", "base?")
	if err != nil {
		return nil, err
	}
	otherwise := p[0]
	if otherwise == (absent{}) {
		otherwise = int64(0)
	}
	base, err := intOr("int", p[1], 10)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*undefined); ok {
		return nil, u.fail()
	}
	if n, ok := v.(*big.Int); ok {
		return n, nil
	}
	f := math.NaN()
	if s, ok := str(v); ok {
		if strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f && unicode.IsDigit(r) }) {
			return nil, fail("int of digits other than 0 to 9 is not supported")
		}
		if n, ok := readInteger(s, int(base)); ok {
			return n, nil
		}
		f = readFloat(s)
	} else if i, g, isInt, ok := numeric(v); ok {
		if isInt {
			return i, nil
		}
		f = g
	}
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return otherwise, nil
	case math.Abs(f) >= 1<<63:
		return nil, overflow()
	}
	return int64(f), nil
}

// readInteger is Python's int() of a string; not ok where it fails or has more
// than 64 bits.
func readInteger(s string, base int) (int64, bool) {
	s, ok := pythonNumber(s)
	if !ok {
		return 0, false
	}
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]
	switch {
	case prefix != "" && strings.HasPrefix(lower(s), prefix):
		s = s[2:]
	case base == 0 && strings.TrimLeft(s, "0") != "" && s[0] == '0' && len(s) > 1 && isDigit(s[1]):
		return 0, false // octal in Go, nothing in Python
	case base != 0 && (base < 2 || base > 36), strings.HasPrefix(s, "-"), strings.HasPrefix(s, "+"):
		return 0, false
	}
	n, err := strconv.ParseInt(sign+s, base, 64)
	return n, err == nil
}

// pythonNumber removes what Python allows around and in a number: blanks, a
// plus, and single underscores between digits.
func pythonNumber(s string) (string, bool) {
	s = strings.TrimFunc(s, isSpace)
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || s[i-1] == '_' || !isWord(rune(s[i-1])) || !isWord(rune(s[i+1]))) {
			return "", false
		}
	}
	return strings.TrimPrefix(strings.ReplaceAll(s, "_", ""), "+"), true
}

// readFloat is Python's float() of a string; NaN where it fails.
func readFloat(s string) float64 {
	s, ok := pythonNumber(s)
	if !ok || strings.ContainsAny(s, "xXpP") || strings.HasPrefix(s, "+") { // hexadecimal is for Go only
		return math.NaN()
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

func filterFloat(_ *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("float", "default?")
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*undefined); ok {
		return nil, u.fail()
	}
	if _, f, _, ok := numeric(v); ok {
		return f, nil
	}
	if s, ok := str(v); ok {
		if f := readFloat(s); !math.IsNaN(f) || strings.EqualFold(strings.TrimFunc(s, isSpace), "nan") {
			return f, nil
		}
	}
	if p[0] == (absent{}) {
		return 0.0, nil
	}
	return p[0], nil
}

func filterRound(_ *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("round", "precision?", "method?")
	if err != nil {
		return nil, err
	}
	precision, err := intOr("round", p[0], 0)
	if err != nil {
		return nil, err
	}
	method, err := stringOr("round", p[1], "common")
	if err != nil {
		return nil, err
	}
	i, f, isInt, ok := numeric(v)
	if !ok {
		return nil, fail("round needs a number, not %s", typeName(v))
	}
	if precision < -300 || precision > 300 {
		return nil, fail("round: the precision %d is out of range", precision)
	}
	scale := math.Pow(10, float64(precision))
	switch method {
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	case "common":
		if isInt && precision >= 0 {
			return i, nil
		}
		if isInt {
			return nil, fail("round of an integer to a negative precision is not supported")
		}
		if precision < 0 {
			return math.RoundToEven(f*scale) / scale, nil
		}
		// Rounds the exact value of the float, halves to even, as Python does.
		return strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(precision), 64), 64)
	}
	return nil, fail("round: the method must be common, ceil or floor")
}

func filterSum(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("sum", "attribute?", "start?")
	if err != nil {
		return nil, err
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	key, err := getter(p[0], nil)
	if err != nil {
		return nil, err
	}
	sum := p[1]
	if sum == (absent{}) {
		sum = int64(0)
	}
	for _, x := range items {
		if x, err = key(m, x); err != nil {
			return nil, err
		}
		if sum, err = m.arithmetic("+", sum, x); err != nil {
			return nil, err
		}
	}
	return sum, m.step(len(items))
}
