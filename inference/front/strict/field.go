package strict

import (
	"maps"
	"slices"
	"strconv"
)

// The makers of fields.

// Text is a field that holds a string.
func Text[R any](set func(*R, string)) Field[R] {
	return func(d *Decoder, r *R, v Value) error {
		s, err := d.Text(v)
		if err == nil {
			set(r, s)
		}
		return err
	}
}

// Boolean is a field that holds a boolean.
func Boolean[R any](set func(*R, bool)) Field[R] {
	return func(d *Decoder, r *R, v Value) error {
		b, err := d.Boolean(v)
		if err == nil {
			set(r, b)
		}
		return err
	}
}

// Integer is a field that holds a whole number in [low, high].
func Integer[R any](low, high int64, set func(*R, int64)) Field[R] {
	return func(d *Decoder, r *R, v Value) error {
		i, err := d.Integer(v, low, high)
		if err == nil {
			set(r, i)
		}
		return err
	}
}

// Only is a known field that is not implemented, but for the values that ask
// for nothing. example is one of them, as JSON.
func Only[R any](example string, neutral func(d *Decoder, v Value) bool) Field[R] {
	return func(d *Decoder, _ *R, v Value) error {
		if neutral(d, v) {
			return nil
		}
		return d.Unsupported("not supported; leave it out or set it to %s", example)
	}
}

// Instead is a field that has another name here, but for the values that ask for
// nothing.
func Instead[R any](name string, neutral func(d *Decoder, v Value) bool) Field[R] {
	return func(d *Decoder, _ *R, v Value) error {
		if neutral(d, v) {
			return nil
		}
		return d.Unsupported("not supported under this name; send %s", name)
	}
}

// Joined returns what is in either table; where both know a field, more stands.
func Joined[R any](base, more Fields[R]) Fields[R] {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}

// Values that ask for nothing, for [Only] and [Instead]. So does
// (*Decoder).IsEmpty.

// Never is no value at all.
func Never(*Decoder, Value) bool { return false }

// IsTrue is true.
func IsTrue(_ *Decoder, v Value) bool { return v.Kind == KindTrue }

// IsFalse is false.
func IsFalse(_ *Decoder, v Value) bool { return v.Kind == KindFalse }

// IsText is one of these strings.
func IsText(want ...string) func(*Decoder, Value) bool {
	return func(_ *Decoder, v Value) bool {
		return v.Kind == KindString && slices.Contains(want, v.text())
	}
}

// IsNumber is one of these numbers.
func IsNumber(want ...float64) func(*Decoder, Value) bool {
	return func(_ *Decoder, v Value) bool {
		if v.Kind != KindNumber {
			return false
		}
		got, err := strconv.ParseFloat(string(v.Raw), 64)
		return err == nil && slices.Contains(want, got)
	}
}
