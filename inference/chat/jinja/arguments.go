package jinja

import "strings"

// arguments are those of a call, evaluated.
type arguments struct {
	positional []Value
	keyword    []keyword
}

type keyword struct {
	name  string
	value Value
}

// absent stands for an optional argument that was not given: None is a value.
type absent struct{}

// bind assigns arguments to parameters as a Python function does. A parameter
// that ends in "?" may be absent.
func (a arguments) bind(fn string, params ...string) ([]Value, error) {
	if len(a.positional) > len(params) {
		return nil, fail("%s takes at most %d arguments, not %d", fn, len(params), len(a.positional))
	}
	out := make([]Value, len(params))
	for i := range out {
		out[i] = absent{}
	}
	copy(out, a.positional)
next:
	for _, k := range a.keyword {
		for i, p := range params {
			if strings.TrimSuffix(p, "?") == k.name {
				if out[i] != (absent{}) {
					return nil, fail("%s got several values for the argument %s", fn, k.name)
				}
				out[i] = k.value
				continue next
			}
		}
		return nil, fail("%s has no argument %s", fn, k.name)
	}
	for i, p := range params {
		if out[i] == (absent{}) && !strings.HasSuffix(p, "?") {
			return nil, fail("%s needs the argument %s", fn, p)
		}
	}
	return out, nil
}

// none refuses arguments.
func (a arguments) none(fn string) error {
	_, err := a.bind(fn)
	return err
}

func truthyOr(v Value, otherwise bool) bool {
	if v == (absent{}) {
		return otherwise
	}
	return truthy(v)
}

// intOr returns an integer argument.
func intOr(fn string, v Value, otherwise int64) (int64, error) {
	if v == (absent{}) {
		return otherwise, nil
	}
	if u, ok := v.(*undefined); ok {
		return 0, u.fail()
	}
	i, _, isInt, ok := numeric(v)
	if !ok || !isInt {
		return 0, fail("%s needs an integer, not %s", fn, typeName(v))
	}
	return i, nil
}

// stringOr returns a string argument.
func stringOr(fn string, v Value, otherwise string) (string, error) {
	if v == (absent{}) {
		return otherwise, nil
	}
	s, ok := str(v)
	if !ok {
		return "", fail("%s needs a string, not %s", fn, typeName(v))
	}
	return s, nil
}

// arguments evaluates the arguments of a call.
func (f *frame) arguments(list []argument) (arguments, error) {
	var a arguments
	if len(list) == 0 {
		return a, nil
	}
	if err := f.allocItems(2 * len(list)); err != nil {
		return a, err
	}
	for _, x := range list {
		v, err := f.eval(x.value)
		if err != nil {
			return a, err
		}
		switch x.name {
		case "":
			a.positional = append(a.positional, v)
		case "*":
			items, err := f.iterate(v)
			if err == nil {
				err = f.allocItems(len(items))
			}
			if err != nil {
				return a, err
			}
			a.positional = append(a.positional, items...)
		case "**":
			d, ok := v.(*Dict)
			if !ok {
				return a, fail("the argument after ** must be a mapping, not %s", typeName(v))
			}
			if err := f.alloc(entrySize * d.Len()); err != nil {
				return a, err
			}
			for _, e := range d.entries {
				key, ok := str(e.key)
				if !ok {
					return a, fail("keywords must be strings")
				}
				a.keyword = append(a.keyword, keyword{key, e.value})
			}
		default:
			a.keyword = append(a.keyword, keyword{x.name, v})
		}
	}
	return a, nil
}
