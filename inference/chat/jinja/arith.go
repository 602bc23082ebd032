package jinja

import (
	"math"
	"strings"
)

// arithmetic is x op y with Python's rules for + - * / // % **.
func (m *machine) arithmetic(op tokenKind, x, y Value) (Value, error) {
	for _, v := range []Value{x, y} {
		if u, ok := v.(*undefined); ok {
			return nil, u.fail()
		}
	}
	if v, done, err := m.joinOrRepeat(op, x, y); done || err != nil {
		return v, err
	}
	if s, ok := str(x); ok && op == "%" {
		return m.percentFormat(s, y)
	}
	i, f, xInt, ok1 := numeric(x)
	j, g, yInt, ok2 := numeric(y)
	if !ok1 || !ok2 {
		return nil, fail("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(x), typeName(y))
	}
	if xInt && yInt && op != "/" && (op != "**" || j >= 0) {
		return integerArithmetic(op, i, j)
	}
	return floatArithmetic(op, f, g)
}

// joinOrRepeat is + and * on strings, lists and tuples.
func (m *machine) joinOrRepeat(op tokenKind, x, y Value) (v Value, done bool, err error) {
	switch op {
	case "+":
		if s, ok := str(x); ok {
			if t, ok := str(y); ok {
				v, err := m.addStrings(x, s, y, t)
				return v, true, err
			}
		}
		switch x := x.(type) {
		case *List:
			if y, ok := y.(*List); ok {
				items, err := m.join(x.items, y.items)
				return &List{items}, true, err
			}
		case *Tuple:
			if y, ok := y.(*Tuple); ok {
				items, err := m.join(x.items, y.items)
				return &Tuple{items: items}, true, err
			}
		}
	case "*":
		if _, _, isInt, ok := numeric(x); ok && isInt {
			x, y = y, x
		}
		n, _, isInt, ok := numeric(y)
		if !ok || !isInt {
			return nil, false, nil
		}
		return m.repeat(x, max(n, 0))
	}
	return nil, false, nil
}

// addStrings joins two strings; escaped text escapes what joins it.
func (m *machine) addStrings(x Value, s string, y Value, t string) (Value, error) {
	_, xMarkup := x.(markup)
	_, yMarkup := y.(markup)
	if xMarkup != yMarkup {
		if xMarkup {
			t = escapeHTML(t)
		} else {
			s = escapeHTML(s)
		}
	}
	if err := m.alloc(len(s) + len(t)); err != nil {
		return nil, err
	}
	if xMarkup || yMarkup {
		return markup(s + t), nil
	}
	return s + t, nil
}

func (m *machine) join(a, b []Value) ([]Value, error) {
	if err := m.allocItems(len(a) + len(b)); err != nil {
		return nil, err
	}
	return append(append(make([]Value, 0, len(a)+len(b)), a...), b...), nil
}

func (m *machine) repeat(x Value, n int64) (v Value, done bool, err error) {
	size := 0
	var items []Value
	s, isString := str(x)
	switch x := x.(type) {
	case string, markup:
		size = len(s)
	case *List:
		items, size = x.items, itemSize*len(x.items)
	case *Tuple:
		items, size = x.items, itemSize*len(x.items)
	default:
		return nil, false, nil
	}
	if size > 0 && n > int64(m.limits.Memory/size) {
		return nil, true, limitError("the memory used", m.limits.Memory)
	}
	if err := m.alloc(size * int(n)); err != nil || size == 0 {
		return x, true, err
	}
	if isString {
		return strings.Repeat(s, int(n)), true, nil
	}
	out := make([]Value, 0, len(items)*int(n))
	for range n {
		out = append(out, items...)
	}
	if _, ok := x.(*Tuple); ok {
		return &Tuple{items: out}, true, nil
	}
	return &List{out}, true, nil
}

func overflow() error { return fail("an integer has more than 64 bits") }

func integerArithmetic(op tokenKind, i, j int64) (Value, error) {
	switch op {
	case "+":
		if r := i + j; (r > i) == (j > 0) {
			return r, nil
		}
		return nil, overflow()
	case "-":
		if r := i - j; (r < i) == (j > 0) {
			return r, nil
		}
		return nil, overflow()
	case "*":
		return multiply(i, j)
	case "**":
		return power(i, j)
	}
	if j == 0 {
		return nil, fail("integer division or modulo by zero")
	}
	if i == math.MinInt64 && j == -1 {
		return nil, overflow()
	}
	q, r := i/j, i%j
	if r != 0 && (r < 0) != (j < 0) { // Python rounds down
		q, r = q-1, r+j
	}
	if op == "//" {
		return q, nil
	}
	return r, nil
}

func multiply(i, j int64) (Value, error) {
	if i == 0 || j == 0 {
		return int64(0), nil
	}
	r := i * j
	if r/j != i || i == math.MinInt64 && j == -1 || j == math.MinInt64 && i == -1 {
		return nil, overflow()
	}
	return r, nil
}

func power(i, j int64) (Value, error) {
	switch {
	case j == 0 || i == 1:
		return int64(1), nil
	case i == 0:
		return int64(0), nil
	case i == -1:
		return 1 - 2*(j%2), nil
	case j > 63:
		return nil, overflow()
	}
	r := Value(int64(1))
	for range j {
		var err error
		if r, err = multiply(r.(int64), i); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func floatArithmetic(op tokenKind, f, g float64) (Value, error) {
	switch op {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "**":
		if f == 0 && g < 0 {
			return nil, fail("0.0 cannot be raised to a negative power")
		}
		r := math.Pow(f, g)
		if math.IsNaN(r) && !math.IsNaN(f) && !math.IsNaN(g) {
			return nil, fail("complex numbers are not supported")
		}
		return r, nil
	}
	if g == 0 {
		return nil, fail("float division by zero")
	}
	switch op {
	case "/":
		return f / g, nil
	case "//":
		return math.Floor(f / g), nil
	}
	r := math.Mod(f, g)
	if r != 0 && (r < 0) != (g < 0) {
		r += g
	}
	return r, nil
}

// negate is -x and +x.
func negate(op tokenKind, x Value) (Value, error) {
	if u, ok := x.(*undefined); ok {
		return nil, u.fail()
	}
	i, f, isInt, ok := numeric(x)
	switch {
	case !ok:
		return nil, fail("bad operand type for unary %s: '%s'", op, typeName(x))
	case isInt && op == "+":
		return i, nil
	case isInt && i == math.MinInt64:
		return nil, overflow()
	case isInt:
		return -i, nil
	case op == "+":
		return f, nil
	}
	return -f, nil
}
