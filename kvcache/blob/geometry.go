package blob

import (
	"fmt"

	"dure/gguf"
)

// Options of the context that states are of.
type Options struct {
	// Keys and Values are the types of the cache.
	Keys, Values gguf.TensorType
	// Streams is 1 for a unified pool, else the number of sequences.
	Streams int
	// Transposed: flash attention is off.
	Transposed bool
}

// Of derives the layout of a model's states from its header. It refuses with
// ErrLayout what it does not know; Probe proves what it believes.
func Of(g *gguf.Geometry, opt Options) (Layout, error) {
	if g.Encoder || len(g.Layers) == 0 {
		return Layout{}, fmt.Errorf("%w: %s keeps no state, or none that is known", ErrLayout, g.Architecture)
	}
	extra := 0
	if g.Rope.Sections != [4]int{} {
		extra = 3
	}
	pool := Pool{Streams: opt.Streams, Extra: extra, Transposed: opt.Transposed}
	full, windowed, r := pool, pool, &Recurrent{}
	for i, layer := range g.Layers {
		if layer.MTP {
			continue // of another context
		}
		r.Layers++
		if layer.Recurrent {
			r.Conv = append(r.Conv, Row{gguf.F32, layer.ConvState})
			r.Delta = append(r.Delta, Row{gguf.F32, layer.DeltaState})
			continue
		}
		into := &full
		if layer.Window > 0 {
			if into = &windowed; into.Window != 0 && into.Window != layer.Window {
				return Layout{}, fmt.Errorf("%w: layer %d has a window of %d, others of %d", ErrLayout, i, layer.Window, into.Window)
			}
			into.Window = layer.Window
		}
		into.Keys = append(into.Keys, Row{opt.Keys, layer.KVHeads * layer.KeyDim})
		into.Values = append(into.Values, Row{opt.Values, layer.KVHeads * layer.ValueDim})
	}
	l := Layout{Pools: []Pool{full}}
	if windowed.Window > 0 {
		l.Pools = append(l.Pools, windowed)
	}
	if len(r.Conv) > 0 {
		l.Recurrent = r
	}
	if windowed.Window > 0 && l.Recurrent != nil {
		return Layout{}, fmt.Errorf("%w: a window and recurrent layers together are not known", ErrLayout)
	}
	if r := l.Recurrent; r != nil && len(full.Keys) == 0 {
		l.Pools = nil // the engine makes no pool for a model without attention
	}
	return l, l.Validate()
}
