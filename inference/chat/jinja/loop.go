package jinja

import (
	"errors"
	"strings"
)

// loop is one run of a for statement, and the variable of that name.
type loop struct {
	stmt  *forStmt
	frame *frame
	depth int // of recursion, from 0
	// items are those that passed the loop's test; rest is not tested yet. The
	// test runs as late as it can, because it may see what the body changes.
	items []Value
	rest  []Value
	at    int
	last  []Value // what changed() was called with
}

func (s *forStmt) exec(f *frame) error {
	v, err := f.eval(s.iter)
	if err != nil {
		return at(s.line, err)
	}
	return at(s.line, s.loop(f, v, 0))
}

func (s *forStmt) loop(f *frame, iter Value, depth int) error {
	items, err := f.iterate(iter)
	if err != nil {
		return err
	}
	l := &loop{stmt: s, frame: f, depth: depth, items: items}
	if s.test != nil {
		l.items, l.rest = nil, items
	}
	completed := false // a body that ran to its end; what Jinja's else looks at
	for ; ; l.at++ {
		more, err := l.fetch(l.at)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		g := f.inner(f.out)
		if err := g.assign(s.target, l.items[l.at]); err != nil {
			return err
		}
		g.scope.set("loop", l)
		if err := f.alloc(entrySize); err != nil {
			return err
		}
		err = g.run(s.body)
		if errors.Is(err, errBreak) {
			break
		}
		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
		completed = completed || err == nil
	}
	if !completed {
		return f.inner(f.out).run(s.otherwise)
	}
	return nil
}

// fetch tests items until there are more than n that passed, or none is left.
func (l *loop) fetch(n int) (bool, error) {
	for len(l.items) <= n && len(l.rest) > 0 {
		x := l.rest[0]
		l.rest = l.rest[1:]
		g := l.frame.inner(nil)
		if err := g.assign(l.stmt.target, x); err != nil {
			return false, err
		}
		ok, err := g.eval(l.stmt.test)
		if err != nil {
			return false, err
		}
		if truthy(ok) {
			if err := g.allocItems(1); err != nil {
				return false, err
			}
			l.items = append(l.items, x)
		}
	}
	return len(l.items) > n, nil
}

// call runs a recursive loop over other items, one level deeper.
func (l *loop) call(a arguments) (Value, error) {
	if !l.stmt.recursive {
		return nil, fail("the loop must have the 'recursive' marker to be called recursively")
	}
	p, err := a.bind("loop", "iterable")
	if err != nil {
		return nil, err
	}
	if err := l.frame.enter(); err != nil {
		return nil, err
	}
	var out strings.Builder
	g := *l.frame
	g.out = &out
	err = l.stmt.loop(&g, p[0], l.depth+1)
	l.frame.machine.depth--
	return out.String(), err
}

// attr is an attribute of the loop variable.
func (l *loop) attr(name string) (Value, bool, error) {
	i := int64(l.at)
	switch name {
	case "index":
		return i + 1, true, nil
	case "index0":
		return i, true, nil
	case "first":
		return i == 0, true, nil
	case "depth":
		return int64(l.depth + 1), true, nil
	case "depth0":
		return int64(l.depth), true, nil
	case "previtem":
		if i == 0 {
			return &undefined{"there is no previous item"}, true, nil
		}
		return l.items[i-1], true, nil
	case "cycle":
		return &Func{"cycle", func(_ *machine, a arguments) (Value, error) {
			if len(a.positional) == 0 {
				return nil, fail("no items for cycling given")
			}
			return a.positional[l.at%len(a.positional)], nil
		}}, true, nil
	case "changed":
		return &Func{"changed", l.changed}, true, nil
	case "last", "nextitem":
		more, err := l.fetch(l.at + 1)
		if name == "last" {
			return !more, true, err
		}
		if !more {
			return &undefined{"there is no next item"}, true, err
		}
		return l.items[l.at+1], true, err
	case "length", "revindex", "revindex0":
		_, err := l.fetch(len(l.items) + len(l.rest))
		n := int64(len(l.items))
		return map[string]int64{"length": n, "revindex": n - i, "revindex0": n - i - 1}[name], true, err
	}
	return nil, false, nil
}

func (l *loop) changed(m *machine, a arguments) (Value, error) {
	same := false
	if l.last != nil {
		var err error
		if same, err = m.equalItems(l.last, a.positional, 0); err != nil {
			return nil, err
		}
	}
	l.last = append([]Value{}, a.positional...)
	return !same, nil
}
