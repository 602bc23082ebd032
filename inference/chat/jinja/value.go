package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf8"
)

// Value is a value of the template language: nil (None), bool, int64, float64,
// *big.Int (beyond 64 bits), string, *List, *Tuple, *Dict, *Func, and others
// that only templates make.
type Value any

// List is a Python list. Templates cannot change it.
type List struct{ items []Value }

// NewList makes a list. The caller must not change items any more.
func NewList(items ...Value) *List { return &List{items} }

// Tuple is a Python tuple. Its items may have names (a named tuple).
type Tuple struct {
	items []Value
	names []string
}

// Func is a function that templates can call.
type Func struct {
	name string
	fn   func(*machine, arguments) (Value, error)
}

// NewFunc makes a function of positional arguments; keyword arguments are
// refused. Its error ends the rendering and can be found with errors.As in the
// one that Render returns.
func NewFunc(name string, fn func(args ...Value) (Value, error)) *Func {
	return &Func{name, func(_ *machine, a arguments) (Value, error) {
		if len(a.keyword) > 0 {
			return nil, fail("%s() takes no keyword arguments", name)
		}
		return fn(a.positional...)
	}}
}

// undefined is what a name that is not there evaluates to. It may be printed,
// tested and iterated; any other use fails with its message.
type undefined struct{ message string }

func (u *undefined) fail() error { return &Error{Message: u.message} }

// markup is text that is already escaped; it is a string in all else.
type markup string

// namespace is the only value that a template can change.
type namespace struct{ attrs Dict }

// sequence is an iterable that is not a list: a generator, which is used up by
// iterating, or a view of a dictionary, which is not.
type sequence struct {
	kind  string // how it prints
	items []Value
	view  bool
	used  bool
}

func generator(items []Value) *sequence { return &sequence{kind: "generator", items: items} }

// interval is Python's range. n is the number of its members.
type interval struct{ start, stop, step, n int64 }

func (r *interval) at(i int64) int64 { return r.start + i*r.step }

// typeName is the name of v's type as Python would print it.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string, markup:
		return "str"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *undefined:
		return "Undefined"
	case *sequence:
		return v.kind
	case *interval:
		return "range"
	case *Func:
		return "function"
	case *namespace:
		return "Namespace"
	}
	return fmt.Sprintf("%T", v)
}

// truthy is Python's bool().
func truthy(v Value) bool {
	switch v := v.(type) {
	case nil, *undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case markup:
		return v != ""
	case *List:
		return len(v.items) > 0
	case *Tuple:
		return len(v.items) > 0
	case *Dict:
		return v.Len() > 0
	case *interval:
		return v.n > 0
	case *sequence:
		return !v.view || len(v.items) > 0
	}
	return true
}

// str returns the text of a string.
func str(v Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// length is Python's len().
func (m *machine) length(v Value) (int64, error) {
	switch v := v.(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), m.work(len(v))
	case markup:
		return int64(utf8.RuneCountInString(string(v))), m.work(len(v))
	case *List:
		return int64(len(v.items)), nil
	case *Tuple:
		return int64(len(v.items)), nil
	case *Dict:
		return int64(v.Len()), nil
	case *interval:
		return v.n, nil
	case *undefined:
		return 0, nil
	case *sequence:
		if v.view {
			return int64(len(v.items)), nil
		}
	case *loop:
		return int64(len(v.items)), nil
	}
	return 0, fail("object of type '%s' has no len()", typeName(v))
}

// iterate is Python's iter(), all at once. The result must not be changed.
func (m *machine) iterate(v Value) ([]Value, error) {
	switch v := v.(type) {
	case *List:
		return v.items, nil
	case *Tuple:
		return v.items, nil
	case *Dict:
		return v.keys(m)
	case *undefined:
		return nil, nil
	case *sequence:
		items := v.items
		if !v.view {
			if v.used {
				return nil, nil
			}
			v.used = true
		}
		return items, nil
	case *interval:
		if err := m.allocItems(int(v.n)); err != nil {
			return nil, err
		}
		out := make([]Value, v.n)
		for i := range out {
			out[i] = v.at(int64(i))
		}
		return out, nil
	}
	if s, ok := str(v); ok {
		if err := m.allocItems(2 * len(s)); err != nil {
			return nil, err
		}
		out := make([]Value, 0, utf8.RuneCountInString(s))
		for len(s) > 0 {
			_, n := utf8.DecodeRuneInString(s)
			out = append(out, s[:n])
			s = s[n:]
		}
		return out, nil
	}
	return nil, fail("'%s' object is not iterable", typeName(v))
}

func itoa(n int) string { return strconv.Itoa(n) }
