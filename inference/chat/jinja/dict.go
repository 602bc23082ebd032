package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Dict is a Python dictionary: it keeps the order in which keys were set.
// Templates cannot change one that they were given.
type Dict struct {
	entries []entry
	// index finds entries by the hash of their key; nil while there are few.
	index map[any]int
}

type entry struct {
	hash  any // comparable; equal for keys that Python takes as equal
	key   Value
	value Value
}

// few is up to how many entries looking at each is as fast as a map.
const few = 8

// NewDict makes an empty dictionary.
func NewDict() *Dict { return &Dict{} }

// Set sets the value of a key; a new key comes last.
func (d *Dict) Set(key string, v Value) { d.set(key, key, v) }

// Len is the number of keys.
func (d *Dict) Len() int { return len(d.entries) }

func (d *Dict) find(hash any) int {
	if d.index != nil {
		if i, ok := d.index[hash]; ok {
			return i
		}
		return -1
	}
	for i := range d.entries {
		if d.entries[i].hash == hash {
			return i
		}
	}
	return -1
}

func (d *Dict) set(hash any, key, v Value) {
	if i := d.find(hash); i >= 0 {
		d.entries[i].value = v
		return
	}
	d.entries = append(d.entries, entry{hash, key, v})
	if d.index != nil {
		d.index[hash] = len(d.entries) - 1
	} else if len(d.entries) > few {
		d.index = make(map[any]int, 2*len(d.entries))
		for i := range d.entries {
			d.index[d.entries[i].hash] = i
		}
	}
}

// get returns the value of a key that is a string.
func (d *Dict) get(key string) (Value, bool) {
	if i := d.find(key); i >= 0 {
		return d.entries[i].value, true
	}
	return nil, false
}

func (d *Dict) keys(m *machine) ([]Value, error) {
	return d.collect(m, func(e entry) Value { return e.key })
}

func (d *Dict) values(m *machine) ([]Value, error) {
	return d.collect(m, func(e entry) Value { return e.value })
}

func (d *Dict) items(m *machine) ([]Value, error) {
	if err := m.alloc(d.Len() * entrySize); err != nil {
		return nil, err
	}
	return d.collect(m, func(e entry) Value { return &Tuple{items: []Value{e.key, e.value}} })
}

func (d *Dict) collect(m *machine, part func(entry) Value) ([]Value, error) {
	if err := m.allocItems(d.Len()); err != nil {
		return nil, err
	}
	out := make([]Value, d.Len())
	for i, e := range d.entries {
		out[i] = part(e)
	}
	return out, nil
}

type (
	noneHash  struct{}
	tupleHash string
	bigHash   string
)

// hash makes the comparable form of a key: numbers of equal value are equal
// keys, whatever their type.
func (m *machine) hash(v Value, depth int) (any, error) {
	switch v := v.(type) {
	case nil:
		return noneHash{}, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case int64:
		return v, nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), nil
		}
		return v, nil
	case *big.Int:
		return bigHash(v.String()), nil
	case string:
		return v, nil
	case markup:
		return string(v), nil
	case *Tuple:
		if depth > maxValueDepth {
			return nil, limitError("the nesting of a value", maxValueDepth)
		}
		var b strings.Builder
		for _, x := range v.items {
			h, err := m.hash(x, depth+1)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%T(%q)", h, fmt.Sprint(h))
		}
		return tupleHash(b.String()), m.alloc(b.Len())
	case *undefined:
		return v, nil
	}
	return nil, fail("unhashable type: '%s'", typeName(v))
}
