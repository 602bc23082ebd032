package gguf

import "fmt"

// stateBytes is the size of one element of recurrent state: always F32.
const stateBytes = 4

// KVCost is the size in bytes of one token's keys and values.
type KVCost struct {
	// Full is for the layers that see the whole context, Windowed for those
	// that see a window. The engine keeps the latter in a pool of their own,
	// which may be smaller.
	Full, Windowed uint64
}

// Total is the size where all layers keep all tokens.
func (c KVCost) Total() uint64 { return c.Full + c.Windowed }

// KV is the cost of one token in the main pass with keys and values stored as
// the given types. It fails where blocks of a type do not divide a head, which
// the engine refuses too.
func (g *Geometry) KV(keys, values TensorType) (KVCost, error) {
	return g.kv(keys, values, false)
}

// MTPKV is the cost of one token in the context of the MTP layers.
func (g *Geometry) MTPKV(keys, values TensorType) (KVCost, error) {
	return g.kv(keys, values, true)
}

func (g *Geometry) kv(keys, values TensorType, mtp bool) (c KVCost, err error) {
	if g.Encoder {
		return c, nil
	}
	for i := range g.Layers {
		l := &g.Layers[i]
		if l.MTP != mtp || l.Recurrent {
			continue
		}
		n, err := l.kv(keys, values)
		if err != nil {
			return KVCost{}, fmt.Errorf("gguf: cache of layer %d: %w", i, err)
		}
		if l.Window > 0 {
			c.Windowed += n
		} else {
			c.Full += n
		}
	}
	return c, nil
}

func (l *Layer) kv(keys, values TensorType) (uint64, error) {
	k, err := headBytes(keys, l.KeyDim)
	if err != nil {
		return 0, err
	}
	v, err := headBytes(values, l.ValueDim)
	if err != nil {
		return 0, err
	}
	return uint64(l.KVHeads) * (k + v), nil
}

func headBytes(t TensorType, width int) (uint64, error) {
	if !t.Known() {
		return 0, fmt.Errorf("unknown %v", t)
	}
	if uint64(width)%t.BlockSize() != 0 {
		return 0, fmt.Errorf("blocks of %d elements of %v do not divide a head of %d", t.BlockSize(), t, width)
	}
	return t.RowBytes(uint64(width)), nil
}

// State is the size in bytes of one sequence's recurrent state, whatever its
// length. A context that can roll back n tokens keeps 1+n of them.
func (g *Geometry) State() uint64 {
	var n uint64
	for i := range g.Layers {
		n += uint64(g.Layers[i].ConvState+g.Layers[i].DeltaState) * stateBytes
	}
	return n
}

// KVLayers counts the layers of the main pass that hold keys and values.
func (g *Geometry) KVLayers() int {
	n := 0
	for i := range g.Layers {
		if l := &g.Layers[i]; !g.Encoder && !l.Recurrent && !l.MTP && l.KVHeads > 0 {
			n++
		}
	}
	return n
}

// RecurrentLayers counts the layers that hold a state of fixed size.
func (g *Geometry) RecurrentLayers() int {
	n := 0
	for i := range g.Layers {
		if g.Layers[i].Recurrent {
			n++
		}
	}
	return n
}

// Window is the largest window of any layer in tokens, 0 if none has one.
func (g *Geometry) Window() int {
	n := 0
	for i := range g.Layers {
		n = max(n, g.Layers[i].Window)
	}
	return n
}
