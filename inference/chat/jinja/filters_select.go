package jinja

import (
	"slices"
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
	} else if !isInteger(attribute) {
		return nil, fail("an attribute must be a name or a number, not %s", typeName(attribute))
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

// keys gets the key of each item; without case, strings are compared in lower
// case.
func (m *machine) keys(items []Value, key keyFunc, caseSensitive bool) ([]Value, error) {
	return m.each(items, func(x Value) (Value, error) {
		k, err := key(m, x)
		if err != nil || caseSensitive {
			return k, err
		}
		if s, ok := str(k); ok {
			return lower(s), m.alloc(2 * len(s))
		}
		return k, nil
	})
}

// sortBy returns items in the order of their keys.
func (m *machine) sortBy(items, keys []Value, reverse bool) ([]Value, error) {
	if err := m.allocItems(3 * len(items)); err != nil {
		return nil, err
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	if err := sortStable(m, order, func(i int) Value { return keys[i] }, reverse); err != nil {
		return nil, err
	}
	out := make([]Value, len(items))
	for i, j := range order {
		out[i] = items[j]
	}
	return out, nil
}

func filterSort(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("sort", "reverse?", "case_sensitive?", "attribute?")
	if err != nil {
		return nil, err
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if s, ok := str(p[2]); ok && strings.Contains(s, ",") {
		return nil, fail("sort by several attributes is not supported")
	}
	key, err := getter(p[2], nil)
	if err != nil {
		return nil, err
	}
	keys, err := m.keys(items, key, truthyOr(p[1], false))
	if err != nil {
		return nil, err
	}
	items, err = m.sortBy(items, keys, truthyOr(p[0], false))
	return &List{items}, err
}

// keyed is the front part of unique, min and max.
func keyed(m *machine, name string, v Value, a arguments) (items, keys []Value, err error) {
	p, err := a.bind(name, "case_sensitive?", "attribute?")
	if err != nil {
		return nil, nil, err
	}
	if items, err = m.iterate(v); err != nil {
		return nil, nil, err
	}
	key, err := getter(p[1], nil)
	if err != nil {
		return nil, nil, err
	}
	keys, err = m.keys(items, key, truthyOr(p[0], false))
	return items, keys, err
}

func filterUnique(m *machine, v Value, a arguments) (Value, error) {
	items, keys, err := keyed(m, "unique", v, a)
	if err != nil {
		return nil, err
	}
	if err := m.alloc(entrySize * len(items)); err != nil {
		return nil, err
	}
	seen := map[any]bool{}
	var out []Value
	for i, x := range items {
		h, err := m.hash(keys[i], 0)
		if err != nil {
			return nil, err
		}
		if !seen[h] {
			seen[h] = true
			out = append(out, x)
		}
	}
	return generator(out), nil
}

// extreme is min and max; the first of equals wins.
func extreme(name string, sign int) filterFunc {
	return func(m *machine, v Value, a arguments) (Value, error) {
		items, keys, err := keyed(m, name, v, a)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return &undefined{"no aggregated item, sequence was empty"}, nil
		}
		best := 0
		for i := range keys[1:] {
			c, err := m.order(keys[i+1], keys[best], 0)
			if err != nil {
				return nil, err
			}
			if c*sign > 0 {
				best = i + 1
			}
		}
		return items[best], nil
	}
}

func filterGroupBy(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("groupby", "attribute", "default?", "case_sensitive?")
	if err != nil {
		return nil, err
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if p[1] == (absent{}) {
		p[1] = nil
	}
	key, err := getter(p[0], p[1])
	if err != nil {
		return nil, err
	}
	keys, err := m.keys(items, key, truthyOr(p[2], false))
	if err != nil {
		return nil, err
	}
	if items, err = m.sortBy(items, keys, false); err != nil {
		return nil, err
	}
	if keys, err = m.sortBy(keys, keys, false); err != nil {
		return nil, err
	}
	if err := m.alloc(entrySize * len(items)); err != nil {
		return nil, err
	}
	var out []Value
	for start := 0; start < len(items); {
		end := start + 1
		for end < len(items) {
			same, err := m.equal(keys[start], keys[end], 0)
			if err != nil {
				return nil, err
			}
			if !same {
				break
			}
			end++
		}
		grouper, err := key(m, items[start])
		if err != nil {
			return nil, err
		}
		part := &List{slices.Clone(items[start:end])}
		out = append(out, &Tuple{items: []Value{grouper, part}, names: []string{"grouper", "list"}})
		start = end
	}
	return &List{out}, nil
}
