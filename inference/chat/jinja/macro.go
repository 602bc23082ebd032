package jinja

import (
	"slices"
	"strings"
)

func (s *macroStmt) exec(f *frame) error {
	f.scope.set(s.macro.name, s.macro.bind(f.scope))
	return f.alloc(entrySize)
}

func (s *callStmt) exec(f *frame) error {
	fn, err := f.eval(s.call.fn)
	if err != nil {
		return at(s.line, err)
	}
	args, err := f.arguments(s.call.args)
	if err != nil {
		return at(s.line, err)
	}
	args.keyword = append(args.keyword, keyword{"caller", s.macro.bind(f.scope)})
	v, err := f.call(fn, args)
	if err != nil {
		return at(s.line, err)
	}
	out, err := f.text(v)
	if err != nil {
		return at(s.line, err)
	}
	return at(s.line, f.write(out))
}

// bind makes a macro a function that sees the variables of scope, as they are
// when it is called.
func (c *macro) bind(outer *scope) *Func {
	return &Func{c.name, func(m *machine, a arguments) (Value, error) {
		var out strings.Builder
		f := &frame{machine: m, scope: &scope{outer: outer}, out: &out}
		if err := c.assign(f, a); err != nil {
			return nil, err
		}
		if err := f.run(c.body); err != nil {
			return nil, err
		}
		return out.String(), nil
	}}
}

// assign sets the parameters to the arguments. Defaults are evaluated in the
// macro, where they see the parameters before them.
func (c *macro) assign(f *frame, a arguments) error {
	if err := f.alloc(entrySize * (len(c.params) + 1)); err != nil {
		return err
	}
	rest := slices.Clone(a.keyword)
	for i, p := range c.params {
		v := Value(&undefined{"parameter '" + p.name + "' was not provided"})
		at := slices.IndexFunc(rest, func(k keyword) bool { return k.name == p.name })
		switch {
		case i < len(a.positional):
			v = a.positional[i]
			if at >= 0 {
				return fail("macro %s got several values for %s", c.name, p.name)
			}
		case at >= 0:
			v = rest[at].value
			rest = slices.Delete(rest, at, at+1)
		case p.value != nil:
			var err error
			if v, err = f.eval(p.value); err != nil {
				return err
			}
		}
		f.scope.set(p.name, v)
	}
	return c.assignRest(f, a.positional, rest)
}

// assignRest sets caller, varargs and kwargs where the body uses them, and
// refuses arguments that have no place.
func (c *macro) assignRest(f *frame, positional []Value, rest []keyword) error {
	if c.caller {
		v := Value(&undefined{"no caller defined"})
		if at := slices.IndexFunc(rest, func(k keyword) bool { return k.name == "caller" }); at >= 0 {
			v = rest[at].value
			rest = slices.Delete(rest, at, at+1)
		}
		f.scope.set("caller", v)
	}
	more := positional[min(len(positional), len(c.params)):]
	switch {
	case c.usesVarargs:
		f.scope.set("varargs", &Tuple{items: more})
	case len(more) > 0:
		return fail("macro %s takes not more than %d arguments", c.name, len(c.params))
	}
	if c.usesKw {
		d := NewDict()
		for _, k := range rest {
			d.Set(k.name, k.value)
		}
		f.scope.set("kwargs", d)
	} else if len(rest) > 0 {
		return fail("macro %s takes no keyword argument %s", c.name, rest[0].name)
	}
	return nil
}
