package jinja

import (
	"slices"
	"strings"
)

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
