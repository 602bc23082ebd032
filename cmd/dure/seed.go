package main

import (
	"context"
	"iter"
	"math/rand/v2"

	"dure/inference"
)

// seeded gives each request that names no seed a fresh one, as the HTTP surface
// does.
type seeded struct{ inference.Model }

// Generate implements inference.Model.
func (s seeded) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	r := *req
	if r.Params.Seed == 0 {
		r.Params.Seed = rand.Uint64()
	}
	return s.Model.Generate(ctx, &r)
}
