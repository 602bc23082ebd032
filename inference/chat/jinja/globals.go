package jinja

// globals are the functions that every template has.
var globals = map[string]Value{
	"range":     &Func{"range", rangeFunc},
	"dict":      &Func{"dict", dictFunc},
	"namespace": &Func{"namespace", namespaceFunc},
	"cycler":    &Func{"cycler", cyclerFunc},
	"joiner":    &Func{"joiner", joinerFunc},
	"lipsum": &Func{"lipsum", func(*machine, arguments) (Value, error) {
		return nil, fail("lipsum() makes random text, which is not supported")
	}},
}

// maxRange is the sandbox's own limit.
const maxRange = 100_000

func rangeFunc(_ *machine, a arguments) (Value, error) {
	p, err := a.bind("range", "start", "stop?", "step?")
	if err != nil {
		return nil, err
	}
	r := &interval{}
	if r.start, err = intOr("range", p[0], 0); err != nil {
		return nil, err
	}
	if p[1] == (absent{}) {
		r.start, r.stop = 0, r.start
	} else if r.stop, err = intOr("range", p[1], 0); err != nil {
		return nil, err
	}
	if r.step, err = intOr("range", p[2], 1); err != nil {
		return nil, err
	}
	const huge = 1 << 61
	if max(r.start, r.stop, r.step) > huge || min(r.start, r.stop, r.step) < -huge {
		return nil, limitError("a range", maxRange)
	}
	if r.step == 0 {
		return nil, fail("range() arg 3 must not be zero")
	}
	if r.n = steps(r.start, r.stop, r.step); r.n > maxRange {
		return nil, limitError("a range", maxRange)
	}
	return r, nil
}

// dictFrom builds what dict() and namespace() hold.
func dictFrom(m *machine, name string, a arguments) (*Dict, error) {
	if len(a.positional) > 1 {
		return nil, fail("%s expected at most 1 argument, got %d", name, len(a.positional))
	}
	d := NewDict()
	if len(a.positional) == 1 {
		source, ok := a.positional[0].(*Dict)
		if !ok {
			return nil, fail("%s of a %s is not supported", name, typeName(a.positional[0]))
		}
		if err := m.alloc(entrySize * source.Len()); err != nil {
			return nil, err
		}
		for _, e := range source.entries {
			d.set(e.hash, e.key, e.value)
		}
	}
	for _, k := range a.keyword {
		d.Set(k.name, k.value)
	}
	return d, m.alloc(entrySize * (1 + len(a.keyword)))
}

func dictFunc(m *machine, a arguments) (Value, error) { return dictFrom(m, "dict", a) }

func namespaceFunc(m *machine, a arguments) (Value, error) {
	d, err := dictFrom(m, "namespace", a)
	if err != nil {
		return nil, err
	}
	return &namespace{attrs: *d}, nil
}

// cycle is what cycler() makes.
type cycle struct {
	items []Value
	at    int
}

func cyclerFunc(_ *machine, a arguments) (Value, error) {
	if len(a.positional) == 0 || len(a.keyword) > 0 {
		return nil, fail("cycler needs at least one item")
	}
	return &cycle{items: a.positional}, nil
}

func (c *cycle) attr(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.at], true
	case "next":
		return &Func{"next", func(_ *machine, a arguments) (Value, error) {
			v := c.items[c.at]
			c.at = (c.at + 1) % len(c.items)
			return v, a.none("next")
		}}, true
	case "reset":
		return &Func{"reset", func(_ *machine, a arguments) (Value, error) {
			c.at = 0
			return nil, a.none("reset")
		}}, true
	}
	return nil, false
}

func joinerFunc(_ *machine, a arguments) (Value, error) {
	p, err := a.bind("joiner", "sep?")
	if err != nil {
		return nil, err
	}
	sep := p[0]
	if sep == (absent{}) {
		sep = ", "
	}
	used := false
	return &Func{"joiner", func(_ *machine, a arguments) (Value, error) {
		if !used {
			used = true
			return "", a.none("joiner")
		}
		return sep, a.none("joiner")
	}}, nil
}
