package main

import (
	"slices"

	benchkv "dure/inference/bench/kv"
	"dure/kvcache/codec"
)

// allClasses stands for all of them.
const allClasses = "all"

// parkedClasses reads the names of classes.
func parkedClasses(names []string) (classes []codec.Class, err error) {
	switch {
	case slices.Equal(names, []string{"none"}):
		return nil, nil
	case slices.Equal(names, []string{allClasses}):
		return codec.Classes(), nil
	}
	for _, name := range names {
		c, err := codec.ParseClass(name)
		if err != nil {
			return nil, err
		}
		classes = append(classes, c)
	}
	return classes, nil
}

// parkedSettings are classes of parked states. The basis is the one that the rig has
// when they are measured.
func parkedSettings(classes []codec.Class, r *kvRig) (out []benchkv.Setting) {
	for _, c := range classes {
		out = append(out, benchkv.Setting{Name: c.String(), Tier: benchkv.Parked, Beside: besideCells(c),
			Make: func(g benchkv.Ground) (benchkv.Transform, error) { return newParking(c, g, r.basis) }})
	}
	return out
}

// codecsOf enters the coding of each class into a report.
func codecsOf(report *benchkv.Report, basis *codec.Basis) {
	for i := range report.Results {
		x := &report.Results[i]
		if c, err := codec.ParseClass(x.Setting); err == nil && x.Tier == benchkv.Parked {
			x.Codec = codecKey(c, basis)
		}
	}
}

// parking is a class of the codec for one model.
type parking struct {
	class codec.Class
	form  codec.Form
	basis *codec.Basis
}

func newParking(c codec.Class, g benchkv.Ground, basis *codec.Basis) (p parking, err error) {
	p.class, p.basis = c, basis
	p.form, err = codec.FormOf(g.Geometry, g.Layout)
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
