package gguf

import (
	"iter"
	"math"
)

// maxDepth is how deep arrays may nest. The engine reads none that nest; the
// specification allows it.
const maxDepth = 4

// Metadata is the ordered list of key-value pairs of a header. Keys are
// unique.
type Metadata struct {
	entries []metadataEntry
	index   map[string]int
}

type metadataEntry struct {
	key   string
	value Value
}

// Len is the number of pairs.
func (m *Metadata) Len() int { return len(m.entries) }

// Get looks a key up.
func (m *Metadata) Get(key string) (Value, bool) {
	i, ok := m.index[key]
	if !ok {
		return Value{}, false
	}
	return m.entries[i].value, true
}

// All yields the pairs in the order of the file.
func (m *Metadata) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range m.entries {
			if !yield(m.entries[i].key, m.entries[i].value) {
				return
			}
		}
	}
}

// read reads n pairs. Nothing is allocated ahead: n is only a claim.
func (m *Metadata) read(c *cursor, n uint64) error {
	m.index = make(map[string]int)
	for i := range n {
		at := field{list: "metadata", i: i}
		start := c.off
		key, err := c.text(maxKey, at.of("key"))
		if err != nil {
			return err
		}
		if len(key) == 0 {
			return c.failAt(start, ErrMalformed, at.of("key"), "empty")
		}
		if first, ok := m.index[string(key)]; ok {
			return c.failAt(start, ErrMalformed, at.of("key"), "%q is also key %d", key, first)
		}
		at.name = key
		v, err := readValue(c, at)
		if err != nil {
			return err
		}
		name := string(key)
		m.index[name] = len(m.entries)
		m.entries = append(m.entries, metadataEntry{name, v})
	}
	return nil
}

// readValue reads type and value.
func readValue(c *cursor, at field) (Value, error) {
	start := c.off
	t, err := c.u32(at.of("type"))
	if err != nil {
		return Value{}, err
	}
	if !ValueType(t).Known() {
		return Value{}, c.failAt(start, ErrMalformed, at.of("type"), "unknown %v", ValueType(t))
	}
	return readTyped(c, ValueType(t), at, 0)
}

// readTyped reads a value whose type is known. It walks strings and arrays to
// find their end and checks every length on the way, but copies nothing.
func readTyped(c *cursor, t ValueType, at field, depth int) (Value, error) {
	v := Value{src: c.src, typ: t, offset: c.off}
	var err error
	switch t {
	case Array:
		return readArray(c, v, at, depth)
	case String:
		v.raw, err = c.text(math.MaxUint64, at.of("value"))
	default:
		v.raw, err = c.take(t.Size(), at.of("value"))
	}
	return v, err
}

func readArray(c *cursor, v Value, at field, depth int) (Value, error) {
	if depth == maxDepth {
		return v, c.fail(ErrMalformed, at.of("value"), "arrays nest deeper than %d", maxDepth)
	}
	start := c.off
	t, err := c.u32(at.of("element type"))
	if err != nil {
		return v, err
	}
	v.elem = ValueType(t)
	if !v.elem.Known() {
		return v, c.failAt(start, ErrMalformed, at.of("element type"), "unknown %v", v.elem)
	}
	if v.count, err = c.count(leastBytes(v.elem), at.of("length")); err != nil {
		return v, err
	}
	start = c.off
	if v.elem.Size() != 0 {
		v.raw, err = c.take(v.count*v.elem.Size(), at.of("value"))
		return v, err
	}
	if v.elem == String {
		v.raw, err = c.texts(v.count, at.of("value"))
		return v, err
	}
	for range v.count {
		if _, err := readTyped(c, v.elem, at, depth+1); err != nil {
			return v, err
		}
	}
	v.raw = c.b[start:c.off:c.off]
	return v, nil
}

// leastBytes is the smallest size of a value: a string has its length, an
// array the type of its elements and their number.
func leastBytes(t ValueType) uint64 {
	switch t {
	case String:
		return 8
	case Array:
		return 12
	}
	return t.Size()
}
