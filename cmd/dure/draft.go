package main

import (
	"cmp"
	"context"
	"fmt"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/plan"
)

const draftHelp = "a smaller model of the same vocabulary that guesses tokens for this one, where that pays; off for none, also where models.yaml names one"

// draftOff leaves out the draft model that an entry names.
const draftOff = "off"

// draft is a draft model as it is loaded; empty for none.
type draft struct {
	name, path string
	model      *plan.Model // nil for none
	layers     int         // on graphics cards; negative is all
}

// draftName is the draft model for an entry, asked for or its own; "" is none.
func draftName(e catalog.Entry, asked string) string {
	if name := cmp.Or(asked, e.Draft); name != draftOff {
		return name
	}
	return ""
}

// draftOf finds the draft model of a load.
func (h *host) draftOf(e catalog.Entry) (d draft, err error) {
	if d.name = draftName(e, h.opt.load.spec.draft); d.name == "" {
		return d, nil
	}
	if _, d.path, err = resolveLocal(h.home, []string{d.name}); err != nil {
		return d, fmt.Errorf("draft model: %w", err)
	}
	file, err := gguf.Open(d.path)
	if err != nil {
		return d, fmt.Errorf("draft model %s: %w", d.name, err)
	}
	defer file.Close()
	m, err := plan.FromFile(file)
	if err != nil {
		return d, fmt.Errorf("draft model %s: %w", d.name, err)
	}
	d.model = &m
	return d, nil
}

func (d draft) notes() []string {
	if d.model == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s guesses tokens for it, where that pays", d.name)}
}

// planDraft is what `plan` knows of a draft model.
func planDraft(ctx context.Context, home, name string) (*plan.Model, []string, error) {
	e, err := resolve(home, []string{name})
	if err != nil {
		return nil, nil, fmt.Errorf("--draft: %w", err)
	}
	m, notes, err := planModel(ctx, home, e)
	if err != nil {
		return nil, nil, fmt.Errorf("--draft: %w", err)
	}
	return &m, notes, nil
}
