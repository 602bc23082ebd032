package jinja

import (
	"strings"
)

// machine counts what one rendering uses.
type machine struct {
	limits Limits
	steps  int
	memory int
	depth  int
}

func limitError(what string, limit int) error {
	return &Error{Message: what + " exceeds the limit of " + itoa(limit), Err: ErrLimit}
}

// work counts n bytes that are looked at.
func (m *machine) work(n int) error { return m.step(n / 16) }

func (m *machine) step(n int) error {
	// Compared before the sum, so that no n can overflow it.
	if n > m.limits.Steps-m.steps {
		return limitError("the number of steps", m.limits.Steps)
	}
	m.steps += n
	return nil
}

// alloc counts n bytes that are about to be made.
func (m *machine) alloc(n int) error {
	if n > m.limits.Memory-m.memory {
		return limitError("the memory used", m.limits.Memory)
	}
	m.memory += n
	return nil
}

// What elements of lists and dictionaries count for, in bytes.
const (
	itemSize  = 16
	entrySize = 64
)

// allocItems counts n elements that are about to be made.
func (m *machine) allocItems(n int) error {
	if n > m.limits.Memory/itemSize {
		return limitError("the memory used", m.limits.Memory)
	}
	return m.alloc(n * itemSize)
}

// enter counts one evaluation and one level of nesting; the caller takes the
// level back when it is done, unless by an error, which ends everything.
func (m *machine) enter() error {
	if m.depth++; m.depth > m.limits.Depth {
		return limitError("the nesting", m.limits.Depth)
	}
	return m.step(1)
}

// frame is where a piece of template is executed: its variables and where its
// text goes.
type frame struct {
	*machine
	scope *scope
	out   *strings.Builder
	hole  Value // what hole evaluates to
}

// scope holds variables. Those of the scopes around can be read, not set.
type scope struct {
	vars  map[string]Value
	outer *scope
}

func (s *scope) get(name string) (Value, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.vars[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func (s *scope) set(name string, v Value) {
	if s.vars == nil {
		s.vars = map[string]Value{}
	}
	s.vars[name] = v
}

// inner is a frame with a scope of its own that writes to out.
func (f *frame) inner(out *strings.Builder) *frame {
	return &frame{machine: f.machine, scope: &scope{outer: f.scope}, out: out}
}

// eval evaluates an expression within the limits. All evaluation of parts goes
// through it.
func (f *frame) eval(x expr) (Value, error) {
	if err := f.enter(); err != nil {
		return nil, err
	}
	v, err := x.eval(f)
	f.depth--
	return v, err
}

func (f *frame) evalAll(xs []expr) ([]Value, error) {
	if err := f.allocItems(len(xs)); err != nil {
		return nil, err
	}
	out := make([]Value, len(xs))
	for i, x := range xs {
		v, err := f.eval(x)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// run executes statements within the limits.
func (f *frame) run(body []stmt) error {
	for _, s := range body {
		if err := f.enter(); err != nil {
			return err
		}
		err := s.exec(f)
		f.depth--
		if err != nil {
			return err
		}
	}
	return nil
}

// write puts text out.
func (f *frame) write(s string) error {
	if f.out.Len()+len(s) > f.limits.Output {
		return limitError("the text", f.limits.Output)
	}
	if err := f.alloc(len(s)); err != nil {
		return err
	}
	f.out.WriteString(s)
	return nil
}

// capture runs a body in a scope of its own and returns its text.
func (f *frame) capture(body []stmt) (string, error) {
	var out strings.Builder
	err := f.inner(&out).run(body)
	return out.String(), err
}
