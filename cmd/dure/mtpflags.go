package main

import (
	"cmp"
	"errors"
	"fmt"

	"dure/gguf"
	"dure/inference/engine"
	"dure/inference/llm"
	"dure/inference/plan"
)

// mtp is how many tokens the model's own layers shall guess: what --rollback says, or
// the usual. With auto they do where they can, and wanted is then false: they may be
// left out where the memory is short.
func (o *specOptions) mtp(g *gguf.Geometry, drafted bool) (depth int, wanted bool, err error) {
	can := engine.Facts{Architecture: g.Architecture, MTP: g.MTPLayers}.CheckMTP()
	depth = cmp.Or(o.back, usualRollback)
	switch llm.Speculation(o.mode) {
	case llm.SpeculationMTP:
		switch {
		case drafted:
			return 0, false, errors.New("--spec mtp: a draft model guesses already; leave out one of them (--draft off)")
		case can != nil:
			return 0, false, fmt.Errorf("--spec mtp: %w; use --spec ngram, or --draft with a smaller model", can)
		}
		return depth, true, nil
	case llm.SpeculationAuto:
		if can == nil && !drafted {
			return depth, false, nil
		}
	}
	return 0, false, nil
}

// planGuesses makes a plan in which the model's own layers guess, where they shall.
func (o *specOptions) planGuesses(in plan.Input, make func(plan.Input) (plan.Plan, error)) (plan.Plan, error) {
	g, drafted := in.Model.Geometry, in.Wish.Draft != nil
	depth, wanted, err := o.mtp(g, drafted)
	if err != nil {
		return plan.Plan{}, err
	}
	back, err := o.rollback(g, drafted)
	if err != nil {
		return plan.Plan{}, err
	}
	if in.Wish.Rollback = back; depth == 0 {
		return make(in)
	}
	with := in
	with.Wish.MTP, with.Wish.Rollback = depth, 0
	p, err := make(with)
	var refused *plan.RefusedError
	if wanted || !errors.As(err, &refused) {
		return p, err
	}
	p, err = make(in)
	if err == nil {
		p.Notes = append(p.Notes, "the model's own layers for further tokens do not guess: there is no room for what that takes (--spec mtp says how much)")
	}
	return p, err
}
