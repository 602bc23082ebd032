package main

import (
	"fmt"
	"slices"

	benchkv "dure/inference/bench/kv"
	"dure/kvcache/codec"
)

// allClasses stands for all of them.
const allClasses = "all"

// calibrationTokens are read to make a model's basis, of texts that are not measured.
const calibrationTokens = 4096

// parkedSettings are classes of parked states by their names.
func parkedSettings(names []string) (out []benchkv.Setting, err error) {
	classes := codec.Classes()
	switch {
	case slices.Equal(names, []string{"none"}):
		return nil, nil
	case !slices.Equal(names, []string{allClasses}):
		classes = nil
		for _, name := range names {
			c, err := codec.ParseClass(name)
			if err != nil {
				return nil, err
			}
			classes = append(classes, c)
		}
	}
	for _, c := range classes {
		out = append(out, benchkv.Setting{Name: c.String(), Tier: benchkv.Parked, Make: func(g benchkv.Ground) (benchkv.Transform, error) { return newParking(c, g) }})
	}
	return out, nil
}

// parking is a class of the codec for one model.
type parking struct {
	class codec.Class
	form  codec.Form
	basis *codec.Basis
}

func newParking(c codec.Class, g benchkv.Ground) (p parking, err error) {
	p.class = c
	if p.form, err = codec.FormOf(g.Geometry, g.Layout); err != nil || c != codec.Calibrated {
		return p, err
	}
	state, err := g.State(calibrationTokens)
	if err != nil {
		return p, fmt.Errorf("read a text to calibrate on: %w", err)
	}
	p.basis, err = codec.Calibrate(p.form, state)
	return p, err
}

// Encode implements benchkv.Transform.
func (p parking) Encode(state []byte) ([]byte, error) {
	return codec.Encode(nil, state, p.form, p.class, p.basis)
}

// Decode implements benchkv.Transform.
func (p parking) Decode(coded []byte) ([]byte, error) {
	return codec.Decode(nil, coded, p.form, p.basis)
}
