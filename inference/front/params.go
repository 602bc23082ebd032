package front

import (
	"crypto/rand"
	"encoding/binary"
	"math"

	"dure/inference"
	"dure/inference/front/strict"
)

// Changes are what the fields of a request do to the defaults of its model, which
// are not known before the whole body is read.
type Changes []func(*inference.Params)

// Add notes a change.
func (c *Changes) Add(change func(*inference.Params)) { *c = append(*c, change) }

// Over returns the defaults with all changes made.
func (c Changes) Over(defaults inference.Params) inference.Params {
	p := defaults
	for _, change := range c {
		change(&p)
	}
	if p.Penalties.LastN == lookBackNone {
		p.Penalties = inference.Penalties{}
	}
	if p.DRY.LastN == lookBackNone {
		p.DRY = inference.DRY{}
	}
	return p
}

// ParamNumber is a field that sets one of the model's parameters from a number in
// [low, high].
func ParamNumber[R any](of func(*R) *Changes, low, high float64, set func(*inference.Params, float32)) strict.Field[R] {
	return func(d *strict.Decoder, r *R, v strict.Value) error {
		f, err := d.Number(v, low, high)
		if err == nil {
			of(r).Add(func(p *inference.Params) { set(p, f) })
		}
		return err
	}
}

// ParamPositive is ParamNumber for (0, high].
func ParamPositive[R any](of func(*R) *Changes, high float64, set func(*inference.Params, float32)) strict.Field[R] {
	return func(d *strict.Decoder, r *R, v strict.Value) error {
		f, err := d.Positive(v, high)
		if err == nil {
			of(r).Add(func(p *inference.Params) { set(p, f) })
		}
		return err
	}
}

// ParamInteger is a field that sets one of the model's parameters from an integer
// in [low, high].
func ParamInteger[R any](of func(*R) *Changes, low, high int64, set func(*inference.Params, int)) strict.Field[R] {
	return func(d *strict.Decoder, r *R, v strict.Value) error {
		i, err := d.Integer(v, low, high)
		if err == nil {
			of(r).Add(func(p *inference.Params) { set(p, int(i)) })
		}
		return err
	}
}

// lookBackNone notes a look back of no token at all, which turns off what looks
// back. In inference.Params 0 is the default length.
const lookBackNone = math.MinInt

// LookBack is a LastN for a request that says how many tokens to look back, where 0
// is none of them and -1 all.
func LookBack(n int) int {
	if n == 0 {
		return lookBackNone
	}
	return n
}

// RandomSeed is a seed for a request that names none. It has 53 bits: the answer
// tells it, and a client that keeps numbers as float64 can send it back unchanged.
func RandomSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:]) >> 11
}
