package openai

import (
	"math"
	"strconv"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// The makers of fields that note a change to the parameters of the model.

func changesOf(r *request) *front.Changes { return &r.changes }

// paramNumber sets one of the model's parameters from a number in [low, high].
func paramNumber(low, high float64, set func(*inference.Params, float32)) strict.Field[request] {
	return front.ParamNumber(changesOf, low, high, set)
}

// paramPositive is paramNumber for (0, high].
func paramPositive(high float64, set func(*inference.Params, float32)) strict.Field[request] {
	return front.ParamPositive(changesOf, high, set)
}

// paramInteger sets one of the model's parameters from an integer in
// [low, high].
func paramInteger(low, high int64, set func(*inference.Params, int)) strict.Field[request] {
	return front.ParamInteger(changesOf, low, high, set)
}

// limit reads a number of tokens. Several clients send -1 for "no limit",
// which is 0 in inference.Params.
func limit(set func(*request, int)) strict.Field[request] {
	return func(d *strict.Decoder, r *request, v strict.Value) error {
		n, err := d.Integer(v, -1, math.MaxInt32)
		if err == nil && n == 0 {
			err = d.Invalid("must be at least 1; leave it out, or send -1, for no limit")
		}
		if err == nil {
			set(r, max(0, int(n)))
		}
		return err
	}
}

func setStop(d *strict.Decoder, r *request, v strict.Value) error {
	stops, err := d.Texts(v, maxStops, maxStopBytes)
	r.changes.Add(func(p *inference.Params) { p.Stop = stops })
	return err
}

func setBreakers(d *strict.Decoder, r *request, v strict.Value) error {
	if v.Kind != strict.KindList {
		return d.Expected("a list of strings", v)
	}
	breakers, err := d.Texts(v, maxBreakers, maxBreakerBytes)
	if err == nil && len(breakers) == 0 {
		err = d.Invalid("must hold at least one string; leave it out for the default ones")
	}
	r.changes.Add(func(p *inference.Params) { p.DRY.Breakers = breakers })
	return err
}

// setLogitBias reads an object whose names are tokens.
func setLogitBias(d *strict.Decoder, r *request, v strict.Value) error {
	var biases []inference.TokenBias
	err := d.Object(v, maxBiases, func(name string, v strict.Value) error {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || id < 0 || strconv.FormatInt(id, 10) != name {
			return d.Invalid("the name must be a token: its number in the model's vocabulary, as \"1234\"")
		}
		bias, err := d.Number(v, -100, 100)
		biases = append(biases, inference.TokenBias{Token: int32(id), Bias: bias})
		return err
	})
	r.changes.Add(func(p *inference.Params) { p.LogitBias = biases })
	return err
}

func setStreamOptions(d *strict.Decoder, r *request, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "include_usage":
			r.includeUsage, err = d.Boolean(v)
		case name == "include_obfuscation":
			err = strict.Only[request]("false", strict.IsFalse)(d, r, v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
}
