package jinja

import (
	"strconv"
	"strings"
)

// keyFunc gets from an item what a filter looks at.
type keyFunc = func(*machine, Value) (Value, error)

// getter makes a keyFunc of an attribute argument: a name, a path with dots, a
// number; or the item itself where it is absent. otherwise, if not nil, stands
// for what is not there.
func getter(attribute, otherwise Value) (keyFunc, error) {
	if attribute == (absent{}) || attribute == nil {
		return func(_ *machine, v Value) (Value, error) { return v, nil }, nil
	}
	path := []Value{attribute}
	if s, ok := str(attribute); ok {
		path = nil
		for part := range strings.SplitSeq(s, ".") {
			if n, err := strconv.ParseInt(part, 10, 64); err == nil && part[0] != '-' && part[0] != '+' {
				path = append(path, n)
			} else {
				path = append(path, part)
			}
		}
	}
	return func(m *machine, v Value) (Value, error) {
		for _, part := range path {
			var err error
			if v, err = m.item(v, part); err != nil {
				return nil, err
			}
			if isUndefined(v) && otherwise != nil {
				v = otherwise
			}
		}
		return v, nil
	}, nil
}

// mapItems gets an attribute of each item.
func (m *machine) mapItems(items []Value, attribute, otherwise Value) ([]Value, error) {
	key, err := getter(attribute, otherwise)
	if err != nil {
		return nil, err
	}
	return m.each(items, func(x Value) (Value, error) { return key(m, x) })
}

func (m *machine) each(items []Value, fn func(Value) (Value, error)) ([]Value, error) {
	if err := m.allocItems(len(items)); err != nil {
		return nil, err
	}
	out := make([]Value, len(items))
	for i, x := range items {
		if err := m.step(1); err != nil {
			return nil, err
		}
		var err error
		if out[i], err = fn(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// filterMap is map(attribute=..., default=...) or map('filter', ...). Nothing,
// be it None, maps to nothing; so it is with select and its kin.
func filterMap(m *machine, v Value, a arguments) (Value, error) {
	if !truthy(v) {
		return generator(nil), nil
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(a.positional) == 0 {
		p, err := a.bind("map", "attribute", "default?")
		if err != nil {
			return nil, err
		}
		if p[1] == (absent{}) {
			p[1] = nil
		}
		items, err = m.mapItems(items, p[0], p[1])
		return generator(items), err
	}
	name, ok := str(a.positional[0])
	if !ok {
		return nil, fail("map needs the name of a filter, not %s", typeName(a.positional[0]))
	}
	rest := arguments{a.positional[1:], a.keyword}
	items, err = m.each(items, func(x Value) (Value, error) { return m.filter(name, x, rest) })
	return generator(items), err
}

// selecting makes select, reject, selectattr and rejectattr: which items pass,
// or do not pass, a test.
func selecting(name string, byAttribute, want bool) filterFunc {
	return func(m *machine, v Value, a arguments) (Value, error) {
		if !truthy(v) {
			return generator(nil), nil
		}
		items, err := m.iterate(v)
		if err != nil {
			return nil, err
		}
		key, _ := getter(absent{}, nil)
		if byAttribute {
			if len(a.positional) == 0 {
				return nil, fail("%s: missing parameter for attribute name", name)
			}
			if key, err = getter(a.positional[0], nil); err != nil {
				return nil, err
			}
			a.positional = a.positional[1:]
		}
		passes := func(x Value) (bool, error) { return truthy(x), nil }
		if len(a.positional) > 0 {
			test, ok := str(a.positional[0])
			if !ok {
				return nil, fail("%s needs the name of a test, not %s", name, typeName(a.positional[0]))
			}
			rest := arguments{a.positional[1:], a.keyword}
			passes = func(x Value) (bool, error) { return m.test(test, x, rest) }
		}
		if err := m.allocItems(2 * len(items)); err != nil {
			return nil, err
		}
		var out []Value
		for _, x := range items {
			if err := m.step(1); err != nil {
				return nil, err
			}
			k, err := key(m, x)
			if err != nil {
				return nil, err
			}
			ok, err := passes(k)
			if err != nil {
				return nil, err
			}
			if ok == want {
				out = append(out, x)
			}
		}
		return generator(out), nil
	}
}
