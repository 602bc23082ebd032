package jinja

import (
	"slices"
	"unicode/utf8"
)

func filterDefault(_ *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("default", "default_value?", "boolean?")
	if err != nil {
		return nil, err
	}
	if !isUndefined(v) && (!truthyOr(p[1], false) || truthy(v)) {
		return v, nil
	}
	if p[0] == (absent{}) {
		return "", nil
	}
	return p[0], nil
}

// filterAttr is the attribute of a value, never the item.
func filterAttr(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("attr", "name")
	if err != nil {
		return nil, err
	}
	name, err := stringOr("attr", p[0], "")
	if err != nil {
		return nil, err
	}
	x, ok, err := m.getattr(v, name)
	if ok || err != nil {
		return x, err
	}
	return noAttribute(v, name), nil
}

func filterLength(m *machine, v Value, a arguments) (Value, error) {
	n, err := m.length(v)
	if err != nil {
		return nil, err
	}
	return n, a.none("length")
}

func filterFirst(m *machine, v Value, a arguments) (Value, error) {
	if err := a.none("first"); err != nil {
		return nil, err
	}
	if s, ok := v.(*sequence); ok && !s.view { // takes only one
		if len(s.items) == 0 || s.used {
			return &undefined{"no first item, sequence was empty"}, nil
		}
		x := s.items[0]
		s.items = s.items[1:]
		return x, nil
	}
	if s, ok := str(v); ok && s != "" {
		_, n := utf8.DecodeRuneInString(s)
		return s[:n], nil
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{"no first item, sequence was empty"}, nil
	}
	return items[0], nil
}

func filterLast(m *machine, v Value, a arguments) (Value, error) {
	if err := a.none("last"); err != nil {
		return nil, err
	}
	if s, ok := v.(*sequence); ok && !s.view {
		return nil, fail("'%s' object is not reversible", s.kind)
	}
	if s, ok := str(v); ok && s != "" {
		_, n := utf8.DecodeLastRuneInString(s)
		return s[len(s)-n:], nil
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{"no last item, sequence was empty"}, nil
	}
	return items[len(items)-1], nil
}

func filterList(m *machine, v Value, a arguments) (Value, error) {
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	return &List{items}, a.none("list")
}

func filterJoin(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("join", "d?", "attribute?")
	if err != nil {
		return nil, err
	}
	sep := ""
	if p[0] != (absent{}) {
		if sep, err = m.text(p[0]); err != nil {
			return nil, err
		}
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if p[1] != (absent{}) && p[1] != nil {
		if items, err = m.mapItems(items, p[1], nil); err != nil {
			return nil, err
		}
	}
	return m.joinText(sep, items)
}

func filterReverse(m *machine, v Value, a arguments) (Value, error) {
	if err := a.none("reverse"); err != nil {
		return nil, err
	}
	if s, ok := str(v); ok {
		if err := m.alloc(4 * len(s)); err != nil {
			return nil, err
		}
		runes := []rune(s)
		slices.Reverse(runes)
		return string(runes), nil
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if err := m.allocItems(len(items)); err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	return &sequence{kind: "list_reverseiterator", items: items}, nil
}

func filterItems(m *machine, v Value, a arguments) (Value, error) {
	if err := a.none("items"); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *undefined:
		return generator(nil), nil
	case *Dict:
		items, err := v.items(m)
		return generator(items), err
	}
	return nil, fail("Can only get item pairs from a mapping.")
}

func filterDictSort(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("dictsort", "case_sensitive?", "by?", "reverse?")
	if err != nil {
		return nil, err
	}
	by, err := stringOr("dictsort", p[1], "key")
	if err != nil {
		return nil, err
	}
	at, ok := map[string]int{"key": 0, "value": 1}[by]
	if !ok {
		return nil, fail(`dictsort: you can only sort by either "key" or "value"`)
	}
	d, ok := v.(*Dict)
	if !ok {
		if u, ok := v.(*undefined); ok {
			return nil, u.fail()
		}
		return nil, fail("dictsort needs a mapping, not %s", typeName(v))
	}
	items, err := d.items(m)
	if err != nil {
		return nil, err
	}
	keys, err := m.keys(items, func(_ *machine, x Value) (Value, error) { return x.(*Tuple).items[at], nil }, truthyOr(p[0], false))
	if err != nil {
		return nil, err
	}
	items, err = m.sortBy(items, keys, truthyOr(p[2], false))
	return &List{items}, err
}

// filterBatch makes lists of n items each, the last filled up if asked.
func filterBatch(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("batch", "linecount", "fill_with?")
	if err != nil {
		return nil, err
	}
	n, err := intOr("batch", p[0], 0)
	if err != nil {
		return nil, err
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fail("batch: the number of items must be positive")
	}
	if err := m.allocItems(3 * len(items)); err != nil {
		return nil, err
	}
	var out []Value
	for len(items) > 0 {
		k := int(min(n, int64(len(items))))
		part := items[:k:k]
		if missing := n - int64(k); missing > 0 && p[1] != (absent{}) && p[1] != nil {
			if missing > maxRange {
				return nil, limitError("the fill of batch", maxRange)
			}
			if err := m.allocItems(int(missing)); err != nil {
				return nil, err
			}
			part = append(part, slices.Repeat([]Value{p[1]}, int(missing))...)
		}
		out = append(out, &List{part})
		items = items[k:]
	}
	return generator(out), nil
}

// filterSlice deals items to n lists, as even as can be.
func filterSlice(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("slice", "slices", "fill_with?")
	if err != nil {
		return nil, err
	}
	n, err := intOr("slice", p[0], 0)
	if err != nil {
		return nil, err
	}
	items, err := m.iterate(v)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > maxRange {
		return nil, fail("slice: the number of lists must be between 1 and %d", maxRange)
	}
	if err := m.allocItems(4*int(n) + 2*len(items)); err != nil {
		return nil, err
	}
	each, more := len(items)/int(n), len(items)%int(n)
	out := make([]Value, n)
	for i := range out {
		k := each
		if i < more {
			k++
		}
		part := items[:k:k]
		if i >= more && more > 0 && p[1] != (absent{}) && p[1] != nil {
			part = append(part, p[1])
		}
		out[i], items = &List{part}, items[k:]
	}
	return generator(out), nil
}
