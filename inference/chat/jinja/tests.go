package jinja

import (
	"math/big"
	"strings"
)

type testFunc = func(*machine, Value, arguments) (bool, error)

// tests are what can follow "is".
var tests map[string]testFunc

func init() { // not a literal: filter and test look each other up
	tests = map[string]testFunc{
		"defined":     plain(func(v Value) bool { return !isUndefined(v) }),
		"undefined":   plain(isUndefined),
		"none":        plain(func(v Value) bool { return v == nil }),
		"true":        plain(func(v Value) bool { return v == true }),
		"false":       plain(func(v Value) bool { return v == false }),
		"boolean":     plain(func(v Value) bool { _, ok := v.(bool); return ok }),
		"integer":     plain(isInteger),
		"float":       plain(func(v Value) bool { _, ok := v.(float64); return ok }),
		"number":      plain(func(v Value) bool { _, _, _, ok := numeric(v); return ok || isInteger(v) }),
		"string":      plain(func(v Value) bool { _, ok := str(v); return ok }),
		"mapping":     plain(func(v Value) bool { _, ok := v.(*Dict); return ok }),
		"sequence":    plain(isSequence),
		"iterable":    plain(isIterable),
		"callable":    plain(isCallable),
		"escaped":     plain(func(v Value) bool { _, ok := v.(markup); return ok }),
		"lower":       letters(func(s string) bool { return s == lower(s) && s != upper(s) }),
		"upper":       letters(func(s string) bool { return s == upper(s) && s != lower(s) }),
		"odd":         remainder(func(n, _ int64) bool { return n%2 != 0 }, false),
		"even":        remainder(func(n, _ int64) bool { return n%2 == 0 }, false),
		"divisibleby": remainder(func(n, by int64) bool { return n%by == 0 }, true),
		"in": func(m *machine, v Value, a arguments) (bool, error) {
			p, err := a.bind("in", "seq")
			if err != nil {
				return false, err
			}
			return m.contains(p[0], v)
		},
		"sameas": func(m *machine, v Value, a arguments) (bool, error) {
			p, err := a.bind("sameas", "other")
			if err != nil || typeName(v) != typeName(p[0]) {
				return false, err
			}
			switch v.(type) {
			case nil, bool, int64, string: // equal small values are the same object
				return m.equal(v, p[0], 0)
			case float64, *big.Int, markup:
				return false, nil
			}
			return v == p[0], nil
		},
		"filter": func(_ *machine, v Value, a arguments) (bool, error) {
			s, _ := str(v)
			_, ok := filters[s]
			return ok, a.none("filter")
		},
		"test": func(_ *machine, v Value, a arguments) (bool, error) {
			s, _ := str(v)
			_, ok := tests[s]
			return ok, a.none("test")
		},
	}
	for op, names := range map[string][]string{
		"==": {"eq", "equalto", "=="}, "!=": {"ne", "!="},
		"<": {"lt", "lessthan", "<"}, "<=": {"le", "<="},
		">": {"gt", "greaterthan", ">"}, ">=": {"ge", ">="},
	} {
		for _, name := range names {
			tests[name] = func(m *machine, v Value, a arguments) (bool, error) {
				p, err := a.bind(name, "other")
				if err != nil {
					return false, err
				}
				return m.compare(op, v, p[0])
			}
		}
	}
}

// plain makes a test of a question without arguments.
func plain(is func(Value) bool) testFunc {
	return func(_ *machine, v Value, a arguments) (bool, error) { return is(v), a.none("the test") }
}

func letters(is func(string) bool) testFunc {
	return func(m *machine, v Value, a arguments) (bool, error) {
		s, err := m.text(v)
		if err != nil {
			return false, err
		}
		if err := m.alloc(2 * len(s)); err != nil {
			return false, err
		}
		return is(s), a.none("the test")
	}
}

func remainder(is func(n, by int64) bool, takesBy bool) testFunc {
	return func(_ *machine, v Value, a arguments) (bool, error) {
		params := []string{}
		if takesBy {
			params = append(params, "num")
		}
		p, err := a.bind("the test", params...)
		if err != nil {
			return false, err
		}
		n, err := intOr("the test", v, 0)
		if err != nil {
			return false, err
		}
		by := int64(0)
		if takesBy {
			if by, err = intOr("divisibleby", p[0], 0); err != nil {
				return false, err
			}
			if by == 0 {
				return false, fail("integer modulo by zero")
			}
		}
		return is(n, by), nil
	}
}

func isUndefined(v Value) bool { _, ok := v.(*undefined); return ok }

func isInteger(v Value) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

// isSequence is whether v has a length and items; so has an undefined value.
func isSequence(v Value) bool {
	switch v.(type) {
	case string, markup, *List, *Tuple, *Dict, *interval, *undefined:
		return true
	}
	return false
}

func isIterable(v Value) bool {
	_, view := v.(*sequence)
	_, isLoop := v.(*loop)
	return view || isLoop || isSequence(v)
}

func isCallable(v Value) bool {
	switch v.(type) {
	case *Func, *undefined, *loop:
		return true
	}
	return false
}

func escapeHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(s)
}
