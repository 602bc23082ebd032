package front

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/front/strict"
)

// Models is what the front needs of whoever keeps the models.
// It is safe for concurrent use.
type Models interface {
	// List returns the catalogue, in its order. The result is not changed.
	List() []Listing
	// Open returns the named model, ready to generate, and the function that
	// gives it back, which is called exactly once. It starts a load or joins
	// one that is under way and returns early when ctx ends. The name is one
	// that List returned. Once given back, the model stays loaded for keep; 0 is
	// the model's own time, negative for ever.
	Open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error)
}

// Listing is one entry of the catalogue.
type Listing struct {
	Name    string
	Created time.Time // zero when unknown
	OwnedBy string
	Role    string // what the catalogue says the model is for
	Default bool   // answers requests that name no model
	Loaded  bool
	Context int // largest prompt plus completion, in tokens; 0 when unknown
	// Params apply where a request leaves a field out. Seed 0 means a new
	// random seed for each request.
	Params inference.Params
}

// find finds a model of the catalogue, the default one for an empty name: among all, or
// among those that the request may ask for. Only these are told where there is none.
func (x *Exchange) find(name string, all bool) (Listing, error) {
	var names []string
	for _, l := range x.h.models.List() {
		may := x.Allows(l.Name)
		if (all || may) && (l.Name == name || name == "" && l.Default) {
			return l, nil
		}
		if may {
			names = append(names, l.Name)
		}
	}
	err := inference.Errorf(inference.CodeModelNotFound,
		"there is no model %q; the models are: %s", strict.Clip(name), strings.Join(names, ", "))
	if name == "" {
		err = inference.Errorf(inference.CodeInvalidRequest,
			"model: is required, because none is the default; the models are: %s", strings.Join(names, ", "))
	}
	err.Param = "model"
	return Listing{}, err
}

// Listings returns the part of the catalogue that the request may ask for.
func (x *Exchange) Listings() []Listing {
	return slices.DeleteFunc(slices.Clone(x.h.models.List()), func(l Listing) bool { return !x.Allows(l.Name) })
}

// Lookup finds a model among [Exchange.Listings], the default one for an empty name.
func (x *Exchange) Lookup(name string) (Listing, error) { return x.find(name, false) }

// Find looks up the model that a request asks something of. Whether it may is decided
// when it does.
func (x *Exchange) Find(name string) (Listing, error) {
	listing, err := x.find(name, true)
	if err == nil && x.h.isClosing() {
		err = errClosing
	}
	if err == nil {
		x.progress.model = listing.Name
	}
	return listing, err
}

// Open opens a model for something else than a generation; it may have to be
// loaded first. The function gives it back, and is called exactly once; after that
// the model stays for keep (0 is its own time). It counts as a request that takes no
// tokens.
func (x *Exchange) Open(ctx context.Context, l Listing, keep time.Duration) (inference.Model, func(), error) {
	visit, _, err := x.admit(l, inference.Caller{}, 0)
	if err != nil {
		return nil, nil, err
	}
	model, release, err := x.h.open(ctx, l.Name, keep)
	if err != nil {
		visit.Settle(inference.Usage{})
		return nil, nil, err
	}
	return model, func() { release(); visit.Settle(inference.Usage{}) }, nil
}

func (h *Handler) open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	model, release, err := h.models.Open(ctx, name, keep)
	if err != nil {
		return nil, nil, fmt.Errorf("open model %s: %w", name, err)
	}
	return model, release, nil
}
