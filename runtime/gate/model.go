package gate

import (
	"context"
	"iter"

	"dure/inference"
)

// Model is m behind the gate: an answer begins when the gate is open, and one that
// has begun is read to its end, so that what it cost is not lost.
func (g *Gate) Model(m inference.Model) inference.Model { return parked{g, m} }

type parked struct {
	gate *Gate
	inference.Model
}

func (p parked) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		leave, err := p.gate.Enter(ctx)
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		defer leave()
		for e, err := range p.Model.Generate(ctx, req) {
			if !yield(e, err) {
				return
			}
		}
	}
}
