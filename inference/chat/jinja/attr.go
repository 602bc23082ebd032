package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

func (x *attribute) eval(f *frame) (Value, error) {
	v, err := f.eval(x.x)
	if err != nil {
		return nil, err
	}
	return f.attribute(v, x.name)
}

// attribute is x.name: the attribute, else the item of that name.
func (m *machine) attribute(v Value, name string) (Value, error) {
	if u, ok := v.(*undefined); ok {
		return nil, u.fail()
	}
	if a, ok, err := m.getattr(v, name); ok || err != nil {
		return a, err
	}
	if d, ok := v.(*Dict); ok {
		if x, ok := d.get(name); ok {
			return x, nil
		}
	}
	return noAttribute(v, name), nil
}

func noAttribute(v Value, name string) Value {
	return &undefined{"'" + typeName(v) + " object' has no attribute '" + name + "'"}
}

func (x *item) eval(f *frame) (Value, error) {
	v, err := f.eval(x.x)
	if err != nil {
		return nil, err
	}
	key, err := f.eval(x.key)
	if err != nil {
		return nil, err
	}
	return f.item(v, key)
}

// item is x[key]: the item, else the attribute of that name.
func (m *machine) item(v, key Value) (Value, error) {
	if u, ok := v.(*undefined); ok {
		return nil, u.fail()
	}
	if s, ok := key.(*slice); ok {
		return m.slice(v, s)
	}
	x, ok, err := m.getitem(v, key)
	if ok || err != nil {
		return x, err
	}
	name, ok := str(key)
	if !ok {
		text, err := m.repr(key)
		return &undefined{typeName(v) + " object has no element " + text}, err
	}
	if a, ok, err := m.getattr(v, name); ok || err != nil {
		return a, err
	}
	return noAttribute(v, name), nil
}

// getitem is Python's v[key]; not ok where Python raises TypeError or
// LookupError, which Jinja takes as undefined.
func (m *machine) getitem(v, key Value) (Value, bool, error) {
	if d, ok := v.(*Dict); ok {
		if !hashable(key) {
			return nil, false, nil
		}
		h, err := m.hash(key, 0)
		if err != nil {
			return nil, false, err
		}
		if i := d.find(h); i >= 0 {
			return d.entries[i].value, true, nil
		}
		return nil, false, nil
	}
	i, _, isInt, ok := numeric(key)
	if !ok || !isInt {
		return nil, false, nil
	}
	var n int64
	var at func(int64) Value
	switch v := v.(type) {
	case *List:
		n, at = int64(len(v.items)), func(i int64) Value { return v.items[i] }
	case *Tuple:
		n, at = int64(len(v.items)), func(i int64) Value { return v.items[i] }
	case *interval:
		n, at = v.n, func(i int64) Value { return v.at(i) }
	default:
		s, ok := str(v)
		if !ok {
			return nil, false, nil
		}
		c, ok := character(s, i)
		return c, ok, m.work(len(s))
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return nil, false, nil
	}
	return at(i), true, nil
}

// hashable reports whether a value can be a key, as far as its type tells.
func hashable(v Value) bool {
	switch v := v.(type) {
	case *List, *Dict, *slice, *namespace:
		return false
	case *Tuple:
		return !slices.ContainsFunc(v.items, func(x Value) bool {
			_, nested := x.(*Tuple)
			return nested || !hashable(x)
		})
	}
	return true
}

// character is s[i] in characters.
func character(s string, i int64) (string, bool) {
	if i < 0 {
		i += int64(utf8.RuneCountInString(s))
	}
	if i < 0 {
		return "", false
	}
	for s != "" {
		_, n := utf8.DecodeRuneInString(s)
		if i == 0 {
			return s[:n], true
		}
		s = s[n:]
		i--
	}
	return "", false
}

// changers are the methods that would change a list or a dictionary; the
// sandbox of transformers refuses them, too.
var changers = map[string][]string{
	"list": {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"},
	"dict": {"clear", "pop", "popitem", "setdefault", "update"},
}

// getattr is Python's getattr in the sandbox.
func (m *machine) getattr(v Value, name string) (Value, bool, error) {
	if strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		return &undefined{"access to attribute '" + name + "' is unsafe"}, true, nil
	}
	if slices.Contains(changers[typeName(v)], name) {
		return &undefined{"templates cannot call " + name + ", which would change a " + typeName(v)}, true, nil
	}
	switch v := v.(type) {
	case *namespace:
		x, ok := v.attrs.get(name)
		return x, ok, nil
	case *loop:
		return v.attr(name)
	case *cycle:
		x, ok := v.attr(name)
		return x, ok, nil
	}
	fn := methodOf(v, name)
	if fn == nil {
		if t, ok := v.(*Tuple); ok && slices.Contains(t.names, name) {
			return t.items[slices.Index(t.names, name)], true, nil
		}
		return nil, false, nil
	}
	return fn, true, m.alloc(entrySize)
}

// methodOf returns a method of a value of Python's own types, or nil.
func methodOf(v Value, name string) *Func {
	switch v := v.(type) {
	case *Dict:
		return method(dictMethods, name, v)
	case string:
		return method(stringMethods, name, v)
	case markup:
		return method(stringMethods, name, string(v))
	case *List:
		if name == "copy" {
			return &Func{name, func(_ *machine, a arguments) (Value, error) { return v, a.none("copy") }}
		}
		return method(listMethods, name, v.items)
	case *Tuple:
		return method(listMethods, name, v.items)
	}
	return nil
}

// method binds a method of a table to its receiver, if it is there.
func method[T any](table map[string]func(*machine, T, arguments) (Value, error), name string, receiver T) *Func {
	fn, ok := table[name]
	if !ok {
		return nil
	}
	return &Func{name, func(m *machine, a arguments) (Value, error) { return fn(m, receiver, a) }}
}

var dictMethods = map[string]func(*machine, *Dict, arguments) (Value, error){
	"get": func(m *machine, d *Dict, a arguments) (Value, error) {
		p, err := a.bind("get", "key", "default?")
		if err != nil {
			return nil, err
		}
		h, err := m.hash(p[0], 0)
		if err != nil {
			return nil, err
		}
		if i := d.find(h); i >= 0 {
			return d.entries[i].value, nil
		}
		if p[1] == (absent{}) {
			return nil, nil
		}
		return p[1], nil
	},
	"items":  dictView("dict_items", (*Dict).items),
	"keys":   dictView("dict_keys", (*Dict).keys),
	"values": dictView("dict_values", (*Dict).values),
	"copy":   func(_ *machine, d *Dict, a arguments) (Value, error) { return d, a.none("copy") },
}

func dictView(kind string, list func(*Dict, *machine) ([]Value, error)) func(*machine, *Dict, arguments) (Value, error) {
	return func(m *machine, d *Dict, a arguments) (Value, error) {
		if err := a.none(kind); err != nil {
			return nil, err
		}
		items, err := list(d, m)
		return &sequence{kind: kind, items: items, view: true}, err
	}
}

var listMethods = map[string]func(*machine, []Value, arguments) (Value, error){
	"index": func(m *machine, items []Value, a arguments) (Value, error) {
		p, err := a.bind("index", "value")
		if err != nil {
			return nil, err
		}
		for i, x := range items {
			if ok, err := m.equal(x, p[0], 0); ok || err != nil {
				return int64(i), err
			}
		}
		return nil, fail("the value is not in the list")
	},
	"count": func(m *machine, items []Value, a arguments) (Value, error) {
		p, err := a.bind("count", "value")
		if err != nil {
			return nil, err
		}
		n := int64(0)
		for _, x := range items {
			ok, err := m.equal(x, p[0], 0)
			if err != nil {
				return nil, err
			}
			if ok {
				n++
			}
		}
		return n, nil
	},
}
