package plan

import (
	"cmp"
	"fmt"
	"slices"

	"dure/gguf"
)

// maxSequences is the most that the engine holds.
const maxSequences = 256

// mostMicroBatch is far beyond what any device gains from.
const (
	usualMicroBatch = 512
	mostMicroBatch  = 65536
)

// A layer that predicts the next token but one is fed its own predictions for
// those behind. Each step is less often right than the one before: what is
// drafted beyond this is thrown away.
const (
	draftsPerLayer = 8
	mostDrafts     = 15
)

// checkCounts looks at each field on its own.
func (w *Wish) checkCounts() error {
	for _, c := range []struct {
		field string
		n     int
	}{
		{"context", w.Context}, {"agents", w.Agents}, {"active agents", w.Active}, {"MTP depth", w.MTP}, {"rollback", w.Rollback},
		{"micro batch", w.MicroBatch}, {"output rows", w.Outputs},
	} {
		if c.n < 0 {
			return fmt.Errorf("%s %d: must not be negative", c.field, c.n)
		}
	}
	if w.MicroBatch > mostMicroBatch {
		return fmt.Errorf("micro batch %d: must be %d at most", w.MicroBatch, mostMicroBatch)
	}
	if w.Layers < LayersNone {
		return fmt.Errorf("layers %d: must be a count, %d to choose, or %d for none on a GPU", w.Layers, LayersAuto, LayersNone)
	}
	if w.Pool != "" && w.Pool != Split && w.Pool != Unified {
		return fmt.Errorf("pool %q: must be %q or %q", w.Pool, Split, Unified)
	}
	return nil
}

// checkAgainst looks at what the model and the engine allow.
func (w *Wish) checkAgainst(g *gguf.Geometry) error {
	if w.Active > w.Agents {
		return fmt.Errorf("%d agents active of %d alive", w.Active, w.Agents)
	}
	if most := maxSequences - w.Pool.spare(); w.Active > most {
		return fmt.Errorf("%d agents active, the engine holds %d of them at most in a %s pool", w.Active, most, w.Pool)
	}
	if all := len(g.Layers) + 1; w.Layers > all && w.Layers != LayersAll {
		return fmt.Errorf("layers %d: the model has %d, the output counting as one", w.Layers, all)
	}
	if w.Rollback > 0 && g.RecurrentLayers() == 0 {
		return fmt.Errorf("rollback %d, but the model has no recurrent layers: its sequences can go back anywhere", w.Rollback)
	}
	if w.Rollback > mostDrafts {
		return fmt.Errorf("rollback %d: must be %d at most", w.Rollback, mostDrafts)
	}
	if w.MTP > 0 && g.MTPLayers == 0 {
		return fmt.Errorf("MTP depth %d, but the model has no MTP layers", w.MTP)
	}
	if most := min(draftsPerLayer*g.MTPLayers, mostDrafts); w.MTP > most {
		return fmt.Errorf("MTP depth %d: %s of this model can draft %d tokens at most", w.MTP, count(g.MTPLayers, "MTP layer"), most)
	}
	return nil
}

func newPlanner(in Input) (*planner, error) {
	g, w := in.Model.Geometry, in.Wish
	if g == nil || len(g.Layers) == 0 {
		return nil, fmt.Errorf("the model's layers are not known")
	}
	if err := w.checkCounts(); err != nil {
		return nil, err
	}
	w.Agents = cmp.Or(w.Agents, max(w.Active, 1))
	w.Pool = cmp.Or(w.Pool, Split)
	w.MicroBatch = cmp.Or(w.MicroBatch, usualMicroBatch)
	if err := w.checkAgainst(g); err != nil {
		return nil, err
	}
	p := &planner{Input: in, limit: g.TrainContext}
	p.Wish = w
	p.inner, p.channels = deltaShape(in.Model.Files)
	p.tensors = tensorsOf(in.Model.Files, g.Tied)
	if w.LongContext {
		if err := p.stretch(); err != nil {
			return nil, err
		}
	}
	if p.limit > 0 && w.Context > p.limit {
		return nil, fmt.Errorf("context of %d tokens, the model takes %d%s", w.Context, p.limit, p.longHint())
	}
	if err := p.checkDevices(); err != nil {
		return nil, err
	}
	if err := p.checkCache(); err != nil {
		return nil, err
	}
	var err error
	p.draft, err = in.drafter(w)
	return p, err
}

// checkDevices finds the CPU, or stands one in, and puts it last.
func (p *planner) checkDevices() error {
	names := map[string]bool{}
	host := Device{Name: "CPU", Kind: CPU, Backend: "CPU"}
	for _, d := range p.Devices {
		if names[d.Name] {
			return fmt.Errorf("two devices are named %q", d.Name)
		}
		names[d.Name] = true
		if d.FreeBytes > d.TotalBytes {
			return fmt.Errorf("device %s: %d bytes free of %d", d.Name, d.FreeBytes, d.TotalBytes)
		}
		if d.Kind == CPU {
			host = d
		} else {
			p.gpus = append(p.gpus, d)
		}
	}
	p.host = host
	if err := p.oneBackend(); err != nil {
		return err
	}
	for _, d := range p.gpus {
		names[d.Name] = true // those that oneBackend renamed
	}
	for _, c := range p.Wish.Beside {
		if !names[c.Device] && c.Device != host.Name {
			return fmt.Errorf("%s is to be put on %q, which is not a device here", c.Name, c.Device)
		}
	}
	if p.Wish.Layers > 0 && p.Wish.Layers != LayersAll && len(p.gpus) == 0 {
		return fmt.Errorf("%d layers are to go to a GPU, there is none", p.Wish.Layers)
	}
	return nil
}

// checkCache collects the cache types to try.
func (p *planner) checkCache() error {
	p.caches = nil
	if c := p.Wish.Cache; c != nil {
		if p.Wish.NoFlash && c.Values.BlockSize() > 1 {
			return fmt.Errorf("values stored as %v need flash attention", c.Values)
		}
		if _, err := p.Model.Geometry.KV(c.Keys, c.Values); err != nil {
			return err
		}
		p.caches = []Cache{*c}
		return nil
	}
	for _, t := range []gguf.TensorType{gguf.F16, gguf.Q8_0, gguf.Q4_0} {
		if t != gguf.F16 && p.Wish.NoFlash {
			continue
		}
		if _, err := p.Model.Geometry.KV(t, t); err == nil && !slices.Contains(p.Wish.Refused, Cache{t, t}) {
			p.caches = append(p.caches, Cache{t, t})
		}
	}
	return nil
}
