package codec

import (
	"fmt"

	"dure/gguf"
	"dure/kvcache/blob"
)

// Form says what the numbers of a state mean. It guides the search for what they
// have in common: a wrong one costs bytes, not correctness.
type Form struct {
	Layout blob.Layout
	// Keys and Values are the heads of each layer of each pool.
	Keys, Values [][]Heads
}

// Heads are the parts of a row.
type Heads struct {
	// Count heads of Dim elements.
	Count, Dim int
	// Rotary positions of each; none for values.
	Rotary Rotary
	// Mixed is how many elements side by side the engine has mixed, by a Hadamard
	// matrix, before it quantised them; 0 for none.
	Mixed int
}

// Rotary positions turn pairs of elements by an angle that grows with the
// position: position * Scale * Base^(-2i/Dims) for pair i.
type Rotary struct {
	// Dims of a head are turned, an even number; 0 for none.
	Dims        int
	Base, Scale float64
	// Halves: pair i is elements i and i+Dims/2; else 2i and 2i+1.
	Halves bool
}

// adjacent lists the architectures whose pairs are neighbours, as of
// llama_model_rope_type of llama.cpp v0.5.0; all others known have halves.
var adjacent = map[string]bool{"llama": true, "mistral3": true, "smollm3": true, "granite": true, "granitemoe": true}

// windowBase of the layers with a window, where it is not that of the file.
var windowBase = map[string]float64{"gemma3": 10000}

// FormOf derives the form of a model's states in a layout made for it. Of a
// stretched context (YaRN) and of files with factors of their own for each pair
// the angles are not those the engine uses; see Form.
func FormOf(g *gguf.Geometry, l blob.Layout) (Form, error) {
	f := Form{Layout: l, Keys: make([][]Heads, len(l.Pools)), Values: make([][]Heads, len(l.Pools))}
	if err := l.Validate(); err != nil {
		return Form{}, fmt.Errorf("form of states: %w", err)
	}
	for i := range l.Pools {
		windowed := l.Pools[i].Window > 0
		rotary := Rotary{Dims: g.Rope.Dims &^ 1, Base: g.Rope.Base, Scale: 1, Halves: !adjacent[g.Architecture]}
		if g.Rope.Factor > 0 && g.Rope.Scaling == "linear" {
			rotary.Scale = 1 / g.Rope.Factor
		}
		if base := windowBase[g.Architecture]; windowed && base > 0 {
			rotary.Base, rotary.Scale = base, 1
		}
		for _, layer := range g.Layers {
			if layer.MTP || layer.Recurrent || (layer.Window > 0) != windowed {
				continue
			}
			k := Heads{Count: layer.KVHeads, Dim: layer.KeyDim, Rotary: rotary}
			k.Rotary.Dims = min(k.Rotary.Dims, k.Dim&^1)
			f.Keys[i] = append(f.Keys[i], k)
			f.Values[i] = append(f.Values[i], Heads{Count: layer.KVHeads, Dim: layer.ValueDim})
		}
	}
	f.mix()
	if err := f.validate(); err != nil {
		return Form{}, err
	}
	return f, nil
}

// leastMixed is the width whose multiples the engine mixes, as of v0.5.0: keys as
// wide as the largest power of two that divides a head, values by this width.
const leastMixed = 64

// mix notes what the engine does to quantised cells of heads that have one width
// in all layers.
func (f *Form) mix() {
	for k, pools := range [2][][]Heads{f.Keys, f.Values} {
		same := -1
		for _, list := range pools {
			for _, h := range list {
				if same < 0 || same == h.Dim {
					same = h.Dim
				} else {
					same = 0
				}
			}
		}
		if same <= 0 || same%leastMixed != 0 {
			continue
		}
		for i, list := range pools {
			rows := f.Layout.Pools[i].Keys
			width := same & -same
			if k == 1 {
				rows, width = f.Layout.Pools[i].Values, leastMixed
			}
			for layer := range list {
				if layer < len(rows) && rows[layer].Type.BlockSize() > 1 {
					list[layer].Mixed = width
				}
			}
		}
	}
}

// validate refuses a form whose heads are not those of its layout.
func (f Form) validate() error {
	if err := f.Layout.Validate(); err != nil {
		return fmt.Errorf("form of states: %w", err)
	}
	if len(f.Keys) != len(f.Layout.Pools) || len(f.Values) != len(f.Layout.Pools) {
		return fmt.Errorf("form of states: heads of %d and %d pools, the layout has %d", len(f.Keys), len(f.Values), len(f.Layout.Pools))
	}
	for i, p := range f.Layout.Pools {
		if err := fits(f.Keys[i], p.Keys); err != nil {
			return fmt.Errorf("form of states: pool %d: keys: %w", i, err)
		}
		if err := fits(f.Values[i], p.Values); err != nil {
			return fmt.Errorf("form of states: pool %d: values: %w", i, err)
		}
	}
	return nil
}

func fits(heads []Heads, rows []blob.Row) error {
	if len(heads) != len(rows) {
		return fmt.Errorf("heads of %d layers, the layout has %d", len(heads), len(rows))
	}
	for i, h := range heads {
		switch {
		case h.Count < 1 || h.Dim < 1 || h.Count > rows[i].Width || h.Count*h.Dim != rows[i].Width:
			return fmt.Errorf("layer %d: %d heads of %d, a row has %d elements", i, h.Count, h.Dim, rows[i].Width)
		case h.Rotary.Dims < 0 || h.Rotary.Dims > h.Dim || h.Rotary.Dims%2 != 0:
			return fmt.Errorf("layer %d: %d of %d elements of a head are turned", i, h.Rotary.Dims, h.Dim)
		case h.Mixed < 0 || h.Mixed&(h.Mixed-1) != 0 || h.Mixed > 0 && h.Dim%h.Mixed != 0:
			return fmt.Errorf("layer %d: %d of %d elements of a head are mixed", i, h.Mixed, h.Dim)
		}
	}
	return nil
}
