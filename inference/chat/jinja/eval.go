package jinja

import "strings"

func (c *constant) eval(*frame) (Value, error) { return c.value, nil }

func (h *hole) eval(f *frame) (Value, error) { return f.hole, nil }

func (n *name) eval(f *frame) (Value, error) {
	if v, ok := f.scope.get(n.name); ok {
		return v, nil
	}
	return &undefined{"'" + n.name + "' is undefined"}, nil
}

func (t *tupleExpr) eval(f *frame) (Value, error) {
	items, err := f.evalAll(t.items)
	return &Tuple{items: items}, err
}

func (l *listExpr) eval(f *frame) (Value, error) {
	items, err := f.evalAll(l.items)
	return &List{items}, err
}

func (d *dictExpr) eval(f *frame) (Value, error) {
	if err := f.alloc(entrySize * (1 + len(d.keys))); err != nil {
		return nil, err
	}
	out := NewDict()
	for i := range d.keys {
		k, err := f.eval(d.keys[i])
		if err != nil {
			return nil, err
		}
		h, err := f.hash(k, 0)
		if err != nil {
			return nil, err
		}
		v, err := f.eval(d.values[i])
		if err != nil {
			return nil, err
		}
		out.set(h, k, v)
	}
	return out, nil
}

func (u *unary) eval(f *frame) (Value, error) {
	x, err := f.eval(u.x)
	if err != nil {
		return nil, err
	}
	return negate(u.op, x)
}

func (b *binary) eval(f *frame) (Value, error) {
	x, err := f.eval(b.x)
	if err != nil {
		return nil, err
	}
	y, err := f.eval(b.y)
	if err != nil {
		return nil, err
	}
	return f.arithmetic(b.op, x, y)
}

func (n *not) eval(f *frame) (Value, error) {
	x, err := f.eval(n.x)
	return !truthy(x), err
}

func (a *and) eval(f *frame) (Value, error) {
	x, err := f.eval(a.x)
	if err != nil || !truthy(x) {
		return x, err
	}
	return f.eval(a.y)
}

func (o *or) eval(f *frame) (Value, error) {
	x, err := f.eval(o.x)
	if err != nil || truthy(x) {
		return x, err
	}
	return f.eval(o.y)
}

func (c *concat) eval(f *frame) (Value, error) {
	var b strings.Builder
	for _, x := range c.items {
		v, err := f.eval(x)
		if err != nil {
			return nil, err
		}
		s, err := f.text(v)
		if err != nil {
			return nil, err
		}
		if err := f.alloc(len(s)); err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func (c *comparison) eval(f *frame) (Value, error) {
	x, err := f.eval(c.x)
	if err != nil {
		return nil, err
	}
	for _, r := range c.rest {
		y, err := f.eval(r.y)
		if err != nil {
			return nil, err
		}
		if ok, err := f.compare(r.op, x, y); !ok || err != nil {
			return false, err
		}
		x = y
	}
	return true, nil
}

func (m *machine) compare(op string, x, y Value) (bool, error) {
	switch op {
	case "==":
		return m.equal(x, y, 0)
	case "!=":
		ok, err := m.equal(x, y, 0)
		return !ok, err
	case "in":
		return m.contains(y, x)
	case "not in":
		ok, err := m.contains(y, x)
		return !ok, err
	}
	c, err := m.order(x, y, 0)
	switch op {
	case "<":
		return c < 0, err
	case "<=":
		return c <= 0, err
	case ">":
		return c > 0, err
	}
	return c >= 0, err
}

func (c *conditional) eval(f *frame) (Value, error) {
	test, err := f.eval(c.test)
	switch {
	case err != nil:
		return nil, err
	case truthy(test):
		return f.eval(c.then)
	case c.otherwise != nil:
		return f.eval(c.otherwise)
	}
	return &undefined{"the inline if-expression has no else and its condition is false"}, nil
}

func (c *call) eval(f *frame) (Value, error) {
	fn, err := f.eval(c.fn)
	if err != nil {
		return nil, err
	}
	args, err := f.arguments(c.args)
	if err != nil {
		return nil, err
	}
	return f.call(fn, args)
}

// call calls what can be called.
func (m *machine) call(fn Value, args arguments) (Value, error) {
	switch fn := fn.(type) {
	case *Func:
		return fn.fn(m, args)
	case *loop:
		return fn.call(args)
	case *undefined:
		return nil, fn.fail()
	}
	return nil, fail("'%s' object is not callable", typeName(fn))
}

func (x *filterExpr) eval(f *frame) (Value, error) {
	v, err := f.eval(x.x)
	if err != nil {
		return nil, err
	}
	args, err := f.arguments(x.args)
	if err != nil {
		return nil, err
	}
	return f.filter(x.name, v, args)
}

func (m *machine) filter(name string, v Value, args arguments) (Value, error) {
	fn, ok := filters[name]
	if !ok {
		return nil, fail("unknown filter %s", name)
	}
	return fn(m, v, args)
}

func (x *testExpr) eval(f *frame) (Value, error) {
	v, err := f.eval(x.x)
	if err != nil {
		return nil, err
	}
	args, err := f.arguments(x.args)
	if err != nil {
		return nil, err
	}
	return f.test(x.name, v, args)
}

func (m *machine) test(name string, v Value, args arguments) (bool, error) {
	fn, ok := tests[name]
	if !ok {
		return false, fail("unknown test %s", name)
	}
	return fn(m, v, args)
}
