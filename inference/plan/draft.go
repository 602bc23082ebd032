package plan

import (
	"errors"
	"fmt"

	"dure/gguf"
)

// drafter plans the smaller model that guesses for the other one.
func (in Input) drafter(w Wish) (*planner, error) {
	if w.Draft == nil {
		return nil, nil
	}
	g := w.Draft.Geometry
	switch {
	case w.MTP > 0:
		return nil, errors.New("a draft model and MTP both guess; leave out one of them")
	case g != nil && (g.RecurrentLayers() > 0 || g.Encoder):
		return nil, errors.New("draft model: it must write text and be able to go back when a guess was wrong; take one without recurrent layers")
	case in.Model.Geometry.RecurrentLayers() > 0 && w.Rollback == 0:
		return nil, errors.New("a draft model needs a model whose sequences can go back when a guess was wrong; this one keeps a state that cannot without memory for older ones (--rollback)")
	}
	none := uint64(0)
	p, err := newPlanner(Input{Model: *w.Draft, Devices: in.Devices, Wish: Wish{
		Agents: w.Agents, Active: w.Active, Pool: w.Pool, Cache: &Cache{gguf.F16, gguf.F16}, NoFlash: w.NoFlash, Reserve: &none,
	}})
	if err != nil {
		return nil, fmt.Errorf("draft model: %w", err)
	}
	return p, nil
}

// draftItems are the kinds of a draft model's items, by what they are of a model.
var draftItems = map[string]string{Weights: DraftWeights, KV: DraftCells, Compute: DraftScratch, Output: DraftRows}

// layDraft adds the draft model to a plan: its sequences are as many and as long as
// the model's own, as far as it was trained for. All of it goes to the GPUs where
// any of the model does.
func (p *planner) layDraft(out *Plan) {
	d := p.draft
	if d == nil || p.Wish.Draft == nil {
		return
	}
	each := out.Context
	if d.limit > 0 {
		each = min(each, d.limit)
	}
	sub := Plan{All: len(d.Model.Geometry.Layers) + 1}
	if out.Layers > 0 {
		sub.Layers, out.DraftLayers = sub.All, sub.All
	}
	s := Shape{
		Cells: each * out.Active, Sequences: out.Active, Cache: d.caches[0], Pool: out.Pool, MicroBatch: max(usualMicroBatch, out.Active),
		Outputs: out.Active, NoFlash: out.NoFlash, Layers: sub.Layers,
	}
	at, host := d.spread(&sub)
	d.weigh(at, host)
	d.remember(s, KV, at)
	d.scratch(s, Compute, at, host)
	host.add(Output, count(s.Outputs, "row"), uint64(s.Outputs)*uint64(d.Model.Geometry.Vocabulary)*f32, Exact)
	for i := range sub.Devices {
		for _, it := range sub.Devices[i].Items {
			out.Devices[i].add(draftItems[it.Kind], it.Label, it.Bytes, it.Source)
		}
	}
	if each < out.Context {
		out.Notes = append(out.Notes, fmt.Sprintf("the draft model was trained for %d tokens: it guesses up to there", each))
	}
}

// mtpRows are kept of the layers for further tokens: logits and a hidden row of each
// sequence, a hidden row of the model for each token of a batch, and those that are
// read with the next one.
func mtpRows(out *Plan, g *gguf.Geometry) uint64 {
	batch := max(usualMicroBatch, out.Batch)
	return f32 * (uint64(out.Sequences)*uint64(g.Vocabulary+g.Embedding) + 2*uint64(batch)*uint64(g.Embedding))
}
