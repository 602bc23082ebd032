package jinja

import "errors"

// How break and continue reach their loop: as errors that are none.
var (
	errBreak    = errors.New("break outside of a loop")
	errContinue = errors.New("continue outside of a loop")
)

func (t *text) exec(f *frame) error { return f.write(t.text) }

func (o *output) exec(f *frame) error {
	v, err := f.eval(o.x)
	if err != nil {
		return at(o.line, err)
	}
	s, err := f.text(v)
	if err != nil {
		return at(o.line, err)
	}
	return at(o.line, f.write(s))
}

func (s *ifStmt) exec(f *frame) error {
	v, err := f.eval(s.test)
	if err != nil {
		return at(s.line, err)
	}
	if truthy(v) {
		return f.run(s.body)
	}
	return f.run(s.otherwise)
}

func (s *setStmt) exec(f *frame) error {
	v, err := f.eval(s.value)
	if err != nil {
		return at(s.line, err)
	}
	return at(s.line, f.assign(s.target, v))
}

// assign sets a target: a variable of the innermost scope, an attribute of a
// namespace, or several targets to the items of v.
func (f *frame) assign(t target, v Value) error {
	switch {
	case t.items != nil:
		items, err := f.iterate(v)
		if err != nil {
			return err
		}
		if len(items) != len(t.items) {
			return fail("%d values cannot be assigned to %d names", len(items), len(t.items))
		}
		for i := range items {
			if err := f.assign(t.items[i], items[i]); err != nil {
				return err
			}
		}
		return nil
	case t.attr != "":
		v2, _ := f.scope.get(t.name)
		ns, ok := v2.(*namespace)
		if !ok {
			return fail("cannot assign attribute on non-namespace object '%s'", t.name)
		}
		ns.attrs.set(t.attr, t.attr, v)
	default:
		f.scope.set(t.name, v)
	}
	return f.alloc(entrySize)
}

func (s *setBlock) exec(f *frame) error {
	v, err := f.filtered(s.filter, s.body)
	if err != nil {
		return at(s.line, err)
	}
	return at(s.line, f.assign(s.target, v))
}

func (s *filterBlock) exec(f *frame) error {
	v, err := f.filtered(s.filter, s.body)
	if err != nil {
		return at(s.line, err)
	}
	out, err := f.text(v)
	if err != nil {
		return at(s.line, err)
	}
	return at(s.line, f.write(out))
}

// filtered runs a body and evaluates a filter over its text.
func (f *frame) filtered(filter expr, body []stmt) (Value, error) {
	captured, err := f.capture(body)
	if err != nil {
		return nil, err
	}
	g := *f
	g.hole = captured
	return g.eval(filter)
}

func (s *withStmt) exec(f *frame) error {
	values, err := f.evalAll(s.values)
	if err != nil {
		return at(s.line, err)
	}
	g := f.inner(f.out)
	for i, t := range s.targets {
		if err := g.assign(t, values[i]); err != nil {
			return at(s.line, err)
		}
	}
	return g.run(s.body)
}

func (s *loopControl) exec(*frame) error { return s.err }
