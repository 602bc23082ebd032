package jinja

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
)

// number returns a number as int64 or float64; booleans are numbers.
func numeric(v Value) (i int64, f float64, isInt, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1, true, true
		}
		return 0, 0, true, true
	case int64:
		return v, float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

// equal is Python's ==.
func (m *machine) equal(a, b Value, depth int) (bool, error) {
	if depth > maxValueDepth {
		return false, limitError("the nesting of a value", maxValueDepth)
	}
	if err := m.step(1); err != nil {
		return false, err
	}
	if s, ok := str(a); ok {
		t, ok := str(b)
		if !ok || len(s) != len(t) {
			return false, nil
		}
		return s == t, m.work(len(s))
	}
	if i, f, isInt, ok := numeric(a); ok {
		j, g, isInt2, ok := numeric(b)
		if isInt && isInt2 {
			return ok && i == j, nil
		}
		return ok && f == g, nil
	}
	switch a := a.(type) {
	case nil:
		return b == nil, nil
	case *undefined:
		_, ok := b.(*undefined)
		return ok, nil
	case *big.Int:
		b, ok := b.(*big.Int)
		return ok && a.Cmp(b) == 0, nil
	case *List:
		if b, ok := b.(*List); ok {
			return m.equalItems(a.items, b.items, depth)
		}
		return false, nil
	case *Tuple:
		if b, ok := b.(*Tuple); ok {
			return m.equalItems(a.items, b.items, depth)
		}
		return false, nil
	case *Dict:
		if b, ok := b.(*Dict); ok {
			return m.equalDicts(a, b, depth)
		}
		return false, nil
	case *interval:
		b, ok := b.(*interval)
		return ok && a.n == b.n && (a.n == 0 || a.start == b.start && (a.n == 1 || a.step == b.step)), nil
	}
	return a == b, nil // the same object
}

func (m *machine) equalItems(a, b []Value, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if ok, err := m.equal(a[i], b[i], depth+1); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (m *machine) equalDicts(a, b *Dict, depth int) (bool, error) {
	if a.Len() != b.Len() {
		return false, nil
	}
	for _, x := range a.entries {
		i := b.find(x.hash)
		if i < 0 {
			return false, nil
		}
		if ok, err := m.equal(x.value, b.entries[i].value, depth+1); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// order is Python's < and its kin: negative, zero or positive. Values of
// different kinds have no order.
func (m *machine) order(a, b Value, depth int) (int, error) {
	if depth > maxValueDepth {
		return 0, limitError("the nesting of a value", maxValueDepth)
	}
	if err := m.step(1); err != nil {
		return 0, err
	}
	if s, ok := str(a); ok {
		if t, ok := str(b); ok {
			return strings.Compare(s, t), m.work(min(len(s), len(t)))
		}
	}
	if i, f, isInt, ok := numeric(a); ok {
		if j, g, isInt2, ok := numeric(b); ok {
			if isInt && isInt2 {
				return cmp.Compare(i, j), nil
			}
			return cmp.Compare(f, g), nil
		}
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			return m.orderItems(x.items, y.items, depth)
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			return m.orderItems(x.items, y.items, depth)
		}
	case *undefined:
		return 0, x.fail()
	}
	if u, ok := b.(*undefined); ok {
		return 0, u.fail()
	}
	return 0, fail("'%s' and '%s' have no order", typeName(a), typeName(b))
}

func (m *machine) orderItems(a, b []Value, depth int) (int, error) {
	for i := range min(len(a), len(b)) {
		same, err := m.equal(a[i], b[i], depth+1)
		if err != nil {
			return 0, err
		}
		if !same {
			return m.order(a[i], b[i], depth+1)
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}

// contains is Python's "x in container".
func (m *machine) contains(container, x Value) (bool, error) {
	if s, ok := str(container); ok {
		if u, ok := x.(*undefined); ok {
			return false, u.fail()
		}
		t, ok := str(x)
		if !ok {
			return false, fail("'in <string>' requires string as left operand, not %s", typeName(x))
		}
		return strings.Contains(s, t), m.work(len(s))
	}
	if d, ok := container.(*Dict); ok {
		h, err := m.hash(x, 0)
		if err != nil {
			return false, err
		}
		return d.find(h) >= 0, nil
	}
	items, err := m.iterate(container)
	if err != nil {
		return false, err
	}
	for _, y := range items {
		if ok, err := m.equal(x, y, 0); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// sortStable sorts by the order of keys. An error of a comparison ends it.
func sortStable[T any](m *machine, xs []T, key func(T) Value, reverse bool) error {
	var failed error
	slices.SortStableFunc(xs, func(a, b T) int {
		if failed != nil {
			return 0
		}
		c, err := m.order(key(a), key(b), 0)
		failed = err
		if reverse {
			return -c
		}
		return c
	})
	return failed
}
