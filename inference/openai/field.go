package openai

import (
	"math"
	"slices"
	"strconv"

	"dure/inference"
)

// The makers of fields. Those without a type parameter are of the routes that
// generate, and note a change to the parameters of the model.

func text[R any](set func(*R, string)) field[R] {
	return func(d *decoder, r *R, t token) error {
		s, err := d.text(t)
		if err == nil {
			set(r, s)
		}
		return err
	}
}

func boolean[R any](set func(*R, bool)) field[R] {
	return func(d *decoder, r *R, t token) error {
		b, err := d.boolean(t)
		if err == nil {
			set(r, b)
		}
		return err
	}
}

func integer[R any](low, high int64, set func(*R, int64)) field[R] {
	return func(d *decoder, r *R, t token) error {
		i, err := d.integer(t, low, high)
		if err == nil {
			set(r, i)
		}
		return err
	}
}

// only is a known field that is not implemented, but for the values that ask
// for nothing. example is one of them, as JSON.
func only[R any](example string, neutral func(d *decoder, t token) bool) field[R] {
	return func(d *decoder, _ *R, t token) error {
		if neutral(d, t) {
			return nil
		}
		return d.unsupported("not supported; leave it out or set it to %s", example)
	}
}

func never(*decoder, token) bool { return false }

func isFalse(_ *decoder, t token) bool { return t.kind == kindFalse }

func isText(want ...string) func(*decoder, token) bool {
	return func(_ *decoder, t token) bool {
		return t.kind == kindString && slices.Contains(want, t.text())
	}
}

// paramNumber sets one of the model's parameters from a number in [low, high].
func paramNumber(low, high float64, set func(*inference.Params, float32)) field[request] {
	return func(d *decoder, r *request, t token) error {
		f, err := d.number(t, low, high)
		if err == nil {
			r.change(func(p *inference.Params) { set(p, f) })
		}
		return err
	}
}

// paramPositive is paramNumber for (0, high].
func paramPositive(high float64, set func(*inference.Params, float32)) field[request] {
	return func(d *decoder, r *request, t token) error {
		f, err := d.positive(t, high)
		if err == nil {
			r.change(func(p *inference.Params) { set(p, f) })
		}
		return err
	}
}

// paramInteger sets one of the model's parameters from an integer in
// [low, high].
func paramInteger(low, high int64, set func(*inference.Params, int)) field[request] {
	return func(d *decoder, r *request, t token) error {
		i, err := d.integer(t, low, high)
		if err == nil {
			r.change(func(p *inference.Params) { set(p, int(i)) })
		}
		return err
	}
}

// limit reads a number of tokens. Several clients send -1 for "no limit",
// which is 0 in inference.Params.
func limit(set func(*request, int)) field[request] {
	return func(d *decoder, r *request, t token) error {
		n, err := d.integer(t, -1, math.MaxInt32)
		if err == nil && n == 0 {
			err = d.invalid("must be at least 1; leave it out, or send -1, for no limit")
		}
		if err == nil {
			set(r, max(0, int(n)))
		}
		return err
	}
}

// texts reads a string or a list of them, each of 1 to mostBytes bytes.
func (d *decoder) texts(t token, most, mostBytes int) ([]string, error) {
	var all []string
	add := func(t token) error {
		s, err := d.text(t)
		switch {
		case err != nil:
			return err
		case len(s) == 0 || len(s) > mostBytes:
			return d.invalid("a string must have 1 to %d bytes here, not %d", mostBytes, len(s))
		case len(all) == most:
			return d.invalid("at most %d strings are allowed", most)
		}
		all = append(all, s)
		return nil
	}
	switch t.kind {
	case kindList:
		return all, d.list(t, add)
	case kindString:
		err := add(t)
		return all, err
	}
	return nil, d.expected("a string or a list of strings", t)
}

func (d *decoder) setStop(r *request, t token) error {
	stops, err := d.texts(t, maxStops, maxStopBytes)
	r.change(func(p *inference.Params) { p.Stop = stops })
	return err
}

func (d *decoder) setBreakers(r *request, t token) error {
	if t.kind != kindList {
		return d.expected("a list of strings", t)
	}
	breakers, err := d.texts(t, maxBreakers, maxBreakerBytes)
	if err == nil && len(breakers) == 0 {
		err = d.invalid("must hold at least one string; leave it out for the default ones")
	}
	r.change(func(p *inference.Params) { p.DRY.Breakers = breakers })
	return err
}

// setLogitBias reads an object whose names are tokens.
func (d *decoder) setLogitBias(r *request, t token) error {
	var biases []inference.TokenBias
	err := d.object(t, maxBiases, func(name string, t token) error {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || id < 0 || strconv.FormatInt(id, 10) != name {
			return d.invalid("the name must be a token: its number in the model's vocabulary, as \"1234\"")
		}
		bias, err := d.number(t, -100, 100)
		biases = append(biases, inference.TokenBias{Token: int32(id), Bias: bias})
		return err
	})
	r.change(func(p *inference.Params) { p.LogitBias = biases })
	return err
}

func (d *decoder) setStreamOptions(r *request, t token) error {
	return d.object(t, maxMembers, func(name string, t token) (err error) {
		switch {
		case t.kind == kindNull:
		case name == "include_usage":
			r.includeUsage, err = d.boolean(t)
		case name == "include_obfuscation":
			err = only[request]("false", isFalse)(d, r, t)
		default:
			err = d.unknown(t)
		}
		return err
	})
}
