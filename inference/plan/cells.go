package plan

import "dure/gguf"

// cellPad is the multiple that the engine rounds cells to.
const cellPad = 256

// stateBytes of one element of recurrent state.
const stateBytes = 4

// layout is the engine's rounding of a pool.
type layout struct {
	pool, sequence int // cells
	streams        int
	window         int // cells of a stream in layers with a window
	micro          int // tokens computed at once
}

// layout follows the engine: the pool is padded, then divided, then padded.
func (s Shape) layout(g *gguf.Geometry, micro int) layout {
	l := layout{streams: 1, micro: min(micro, s.Cells)}
	n := padInt(s.Cells, cellPad)
	if s.Pool == Unified {
		l.pool, l.sequence = n, n
	} else {
		l.streams = s.Sequences
		l.sequence = padInt(n/s.Sequences, cellPad)
		l.pool = l.sequence * s.Sequences
	}
	l.window = l.sequence
	if s.ShortWindow {
		per := g.Window()
		if s.Pool == Unified {
			per *= s.Sequences
		}
		l.window = padInt(min(l.sequence, per+l.micro), cellPad)
	}
	return l
}

func padInt(n, to int) int { return (n + to - 1) / to * to }

// cellBytes is what a layer's keys and values take on a device.
func (s Shape) cellBytes(l *gguf.Layer, at layout, d Device) uint64 {
	if l.Recurrent || l.KVHeads == 0 {
		return 0
	}
	cells := uint64(at.sequence * at.streams)
	if l.Window > 0 {
		cells = uint64(at.window * at.streams)
	}
	size := func(t gguf.TensorType, width int) uint64 {
		row := uint64(l.KVHeads * width)
		return d.padded(t, row, t.RowBytes(row)*cells)
	}
	return size(s.Cache.Keys, l.KeyDim) + size(s.Cache.Values, l.ValueDim)
}

// stateOf is what a recurrent layer's states take on a device.
func (s Shape) stateOf(l *gguf.Layer, d Device) uint64 {
	if !l.Recurrent {
		return 0
	}
	rows := uint64(s.Sequences * (1 + s.Rollback))
	return pad(uint64(l.ConvState)*stateBytes*rows, d.alignment()) + pad(uint64(l.DeltaState)*stateBytes*rows, d.alignment())
}

// agentBytes is what one parked agent takes in the machine's memory.
func agentBytes(g *gguf.Geometry, c Cache, context int) uint64 {
	kv, err := g.KV(c.Keys, c.Values)
	if err != nil {
		return 0 // such a cache was refused before
	}
	const perCell = 24 // position and token of a cell in a saved state
	return (kv.Total()+perCell)*uint64(context) + g.State()
}
