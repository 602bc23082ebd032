package jinja

// slice is start:stop:step as a key; each is nil or a number.
type slice struct{ start, stop, step Value }

func (x *sliceExpr) eval(f *frame) (Value, error) {
	s := &slice{}
	for _, p := range []struct {
		x  expr
		to *Value
	}{{x.start, &s.start}, {x.stop, &s.stop}, {x.step, &s.step}} {
		if p.x == nil {
			continue
		}
		v, err := f.eval(p.x)
		if err != nil {
			return nil, err
		}
		*p.to = v
	}
	return s, nil
}

// slice is Python's v[start:stop:step].
func (m *machine) slice(v Value, s *slice) (Value, error) {
	text, isString := str(v)
	var items []Value
	var n int64
	switch v := v.(type) {
	case *List:
		items, n = v.items, int64(len(v.items))
	case *Tuple:
		items, n = v.items, int64(len(v.items))
	case *interval:
		n = v.n
	default:
		if !isString {
			return nil, fail("'%s' object cannot be sliced", typeName(v))
		}
	}
	var characters []rune
	if isString {
		if err := m.alloc(4 * len(text)); err != nil {
			return nil, err
		}
		characters = []rune(text)
		n = int64(len(characters))
	}
	start, stop, step, err := s.resolve(n)
	if err != nil {
		return nil, err
	}
	count := steps(start, stop, step)
	if err := m.allocItems(int(count)); err != nil {
		return nil, err
	}
	if isString {
		out := make([]rune, count)
		for i := range out {
			out[i] = characters[start+int64(i)*step]
		}
		return string(out), nil
	}
	if r, ok := v.(*interval); ok {
		return &interval{r.at(start), r.at(stop), r.step * step, count}, nil
	}
	out := make([]Value, count)
	for i := range out {
		out[i] = items[start+int64(i)*step]
	}
	if _, ok := v.(*Tuple); ok {
		return &Tuple{items: out}, nil
	}
	return &List{out}, nil
}

// resolve makes the bounds of a slice of n items concrete, as Python's
// slice.indices does.
func (s *slice) resolve(n int64) (start, stop, step int64, err error) {
	part := func(v Value, otherwise int64) int64 {
		if v == nil {
			return otherwise
		}
		i, _, isInt, number := numeric(v)
		if !number || !isInt {
			err = fail("slice indices must be integers or None, not %s", typeName(v))
		}
		return i
	}
	if step = part(s.step, 1); step == 0 && err == nil {
		err = fail("slice step cannot be zero")
	}
	// A step beyond the length takes one item, like the length itself, and
	// cannot overflow.
	step = min(max(step, -n-1), n+1)
	low, high := int64(0), n
	first, last := low, high
	if step < 0 {
		low, high = -1, n-1
		first, last = high, low
	}
	bound := func(v Value, otherwise int64) int64 {
		if v == nil {
			return otherwise
		}
		i := part(v, 0)
		if i < 0 {
			i = max(i, -n-1) + n
		}
		return min(max(i, low), high)
	}
	start, stop = bound(s.start, first), bound(s.stop, last)
	return start, stop, step, err
}

// steps is the number of members of a range.
func steps(start, stop, step int64) int64 {
	switch {
	case step > 0 && start < stop:
		return (stop-start-1)/step + 1
	case step < 0 && start > stop:
		return (start-stop-1)/-step + 1
	}
	return 0
}
