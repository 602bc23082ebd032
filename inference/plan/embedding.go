package plan

import (
	"fmt"

	"dure/gguf"
)

// Embedding is the load of a model that makes vectors, or scores, of whole inputs. Of
// Wish only Layers, Reserve, Beside and NoFlash count beside it.
type Embedding struct {
	// MaxInput is the longest input in tokens, Tokens and Inputs what is computed
	// together, Tokens a multiple of Inputs.
	MaxInput, Tokens, Inputs int
	// MicroBatch is the tokens computed at once where an input can be read in parts.
	MicroBatch int
	// Pooling is "mean", "cls", "last" or "rank".
	Pooling string
	// Stepwise says that an input can be read in parts: only its last token's vector
	// counts, and each token sees those before it.
	Stepwise bool
}

// leastInput is the smallest that an alternative offers.
const leastInput = 128

// MakeEmbedding plans such a load. Errors are those of Make; the alternatives of a
// refusal have shorter inputs.
func MakeEmbedding(in Input, e Embedding) (Plan, error) {
	if e.MaxInput < 1 || e.Inputs < 1 || e.Tokens < e.MaxInput || e.Tokens%e.Inputs != 0 {
		return Plan{}, fmt.Errorf("plan: inputs of %d tokens, %d tokens of %d inputs together", e.MaxInput, e.Tokens, e.Inputs)
	}
	in.Wish.Context, in.Wish.Agents, in.Wish.Active, in.Wish.Pool = e.MaxInput, 1, 1, Unified
	in.Wish.Cache, in.Wish.MicroBatch, in.Wish.MTP = &Cache{gguf.F16, gguf.F16}, 0, 0
	p, err := newPlanner(in)
	if err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	if plan, ok := p.embedding(e); ok {
		return plan, nil
	}
	return Plan{}, p.refuseEmbedding(e)
}

// embedding is the plan with the most layers on GPUs that fits.
func (p *planner) embedding(e Embedding) (Plan, bool) {
	for _, layers := range p.layerSteps() {
		if plan := p.layEmbedding(e, layers); plan.Fits() {
			return plan, true
		}
	}
	return Plan{}, false
}

func (p *planner) refuseEmbedding(e Embedding) error {
	steps := p.layerSteps()
	asked := p.layEmbedding(e, steps[len(steps)-1])
	short := asked.short()
	refused := &RefusedError{Asked: asked, Device: short.Device.Name, Need: short.Used, Free: short.Device.FreeBytes}
	for shorter := e.MaxInput / 2; shorter >= leastInput; shorter /= 2 {
		less := e
		less.MaxInput, less.Tokens = shorter, padInt(shorter, e.Inputs)
		if plan, ok := p.embedding(less); ok {
			refused.Nearest = []Alternative{{fmt.Sprintf("inputs of %s", count(shorter, "token")), plan}}
			break
		}
	}
	return refused
}

// layEmbedding puts the load onto the devices, whether it fits or not.
func (p *planner) layEmbedding(e Embedding, layers int) Plan {
	g := p.Model.Geometry
	out := Plan{
		Layers: min(layers, len(g.Layers)+1), All: len(g.Layers) + 1, Context: e.MaxInput, Agents: 1, Active: 1, Sequences: e.Inputs,
		Cells: e.Tokens, Cache: *p.Wish.Cache, Pool: Unified, Batch: e.Tokens, MicroBatch: e.Tokens, Outputs: e.Tokens,
		NoFlash: p.Wish.NoFlash, YarnFactor: 1, Slowdown: 1, Larger: []Step{}, Notes: append([]string{}, p.notes...),
	}
	if e.Stepwise {
		out.Outputs = e.Inputs
		if e.MicroBatch > 0 {
			out.MicroBatch = min(out.Batch, max(e.MicroBatch, e.Inputs))
		}
	}
	s := out.Shape()
	l := s.layout(g, out.MicroBatch)
	out.PoolCells, out.SequenceCells = l.pool, l.sequence
	at, host := p.spread(&out)
	copied := p.weigh(at, host)
	p.remember(s, KV, at)
	if g.Encoder {
		p.scratchEncoder(s, e, at, host)
	} else {
		p.scratch(s, Compute, at, host)
		if e.Pooling == "mean" && p.measured(s) == nil {
			at[len(at)-1].add(Compute, "pooling", 4*uint64(e.Tokens)*uint64(e.Inputs), Formula)
		}
	}
	// Beside the logits, which the engine has room for even where there are none.
	host.add(Output, "vectors", uint64(out.Outputs)*uint64(g.Embedding)*f32, Exact)
	p.finish(&out, at, host)
	p.note(&out, copied)
	return out
}

// scratchEncoder adds the compute buffers of a model without cells.
func (p *planner) scratchEncoder(s Shape, e Embedding, at []*Allocation, host *Allocation) {
	measured := p.measured(s)
	inputs := encoderInputs(s, e)
	used := map[*Allocation]uint64{}
	for _, a := range at {
		used[a] = inputs + encoderStep(p.Model.Geometry, s)
	}
	if _, computes := used[host]; !computes {
		used[host] = inputs + 2*uint64(s.MicroBatch)*uint64(p.Model.Geometry.Embedding)*f32
	}
	for a, n := range used {
		if m, ok := measured[a.Device.Name]; ok {
			a.add(Compute, "", m, Measured)
		} else {
			a.add(Compute, "", n, Formula)
		}
	}
}

// encoderInputs are the inputs of an encoder's graph: the mask of each token for each
// other one, what each token is and where, and what the pooling picks.
func encoderInputs(s Shape, e Embedding) uint64 {
	tokens := uint64(s.MicroBatch)
	mask := tokens * tokens * 2
	if s.NoFlash {
		mask *= 2
	}
	const perToken = 4 + 4 + 4 // token, position, row
	if e.Pooling == "mean" {
		return mask + tokens*(perToken+4*uint64(e.Inputs))
	}
	return mask + tokens*perToken + pad(4*uint64(e.Inputs), 32)
}

// encoderStep is the largest set of intermediate values of a BERT: of its attention, or
// of its feed-forward network, which has no gate.
func encoderStep(g *gguf.Geometry, s Shape) (n uint64) {
	tokens, width := uint64(s.MicroBatch), uint64(g.Embedding)
	for i := range g.Layers {
		l := &g.Layers[i]
		attention := tokens * width * 22 // keys and values as halves beside five rows
		if s.NoFlash {
			attention = tokens*tokens*uint64(l.Heads)*f32 + 6*tokens*width*f32
		}
		n = max(n, attention, tokens*(uint64(l.FeedForward)+3*width)*f32)
	}
	return n
}
