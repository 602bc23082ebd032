package blob

import (
	"fmt"
	"slices"

	"dure/gguf"
)

// Part says which part of a sequence's state bytes are of.
type Part uint8

const (
	// Whole: everything.
	Whole Part = iota
	// Partial: only what cannot be cut by position, the window's pool and the
	// recurrent part. Of a model that has neither, everything all the same: so
	// does the engine.
	Partial
)

// Row is what one layer keeps of one cell.
type Row struct {
	Type gguf.TensorType
	// Width in elements.
	Width int
}

// Bytes of the row.
func (r Row) Bytes() int { return int(r.Type.RowBytes(uint64(r.Width))) }

// Pool is the form of one pool of keys and values.
type Pool struct {
	// Streams is 1 for a unified pool, else the number of sequences of the
	// context.
	Streams int
	// Extra is how many int32 a cell has beyond the usual: 0, 2 (x and y of
	// models that place tokens in a picture) or 3 (x, y, token).
	Extra int
	// Window in tokens, 0 for a pool that keeps all.
	Window int
	// Transposed values lie channel by channel: flash attention is off.
	Transposed bool
	// Keys and Values have one row for each layer of the pool, in ascending
	// order of the model's layers.
	Keys, Values []Row
}

// Recurrent is the form of the recurrent part.
type Recurrent struct {
	// Layers of the whole model, as the bytes count them.
	Layers int
	// Conv and Delta are the states of each recurrent layer.
	Conv, Delta []Row
}

// Layout is the form of the states of one context of one model.
type Layout struct {
	// Pools in the order of the bytes: at most one without a window, then at
	// most one with.
	Pools []Pool
	// Recurrent is nil for models that have no such part.
	Recurrent *Recurrent
}

const (
	// maxStreams is how many sequences a context of the engine can have.
	maxStreams = 256
	// maxCellBytes keeps products with a count of 32 bits within 63.
	maxCellBytes = 1 << 30
)

// Validate refuses what no context can have. Parse and Join do so too.
func (l Layout) Validate() error {
	if len(l.Pools) == 0 && l.Recurrent == nil {
		return fmt.Errorf("%w: neither pools nor a recurrent part", ErrLayout)
	}
	if len(l.Pools) > 2 || len(l.Pools) == 2 && (l.Pools[0].Window > 0 || l.Pools[1].Window == 0) {
		return fmt.Errorf("%w: %d pools, must be at most one without a window and one with, in this order", ErrLayout, len(l.Pools))
	}
	for i, p := range l.Pools {
		switch {
		case p.Streams < 1 || p.Streams > maxStreams:
			return fmt.Errorf("%w: pool %d: %d streams, must be 1..%d", ErrLayout, i, p.Streams, maxStreams)
		case p.Extra != 0 && p.Extra != 2 && p.Extra != 3:
			return fmt.Errorf("%w: pool %d: %d extra fields of a cell, must be 0, 2 or 3", ErrLayout, i, p.Extra)
		case p.Window < 0:
			return fmt.Errorf("%w: pool %d: window of %d", ErrLayout, i, p.Window)
		case p.Transposed && slices.ContainsFunc(p.Values, func(r Row) bool { return r.Type.BlockSize() != 1 }):
			return fmt.Errorf("%w: pool %d: transposed values must be of a type without blocks", ErrLayout, i)
		}
		if err := validRows(slices.Concat(p.Keys, p.Values)); err != nil {
			return fmt.Errorf("pool %d: %w", i, err)
		}
	}
	if r := l.Recurrent; r != nil {
		if r.Layers < max(len(r.Conv), len(r.Delta)) {
			return fmt.Errorf("%w: %d convolutions and %d delta networks in %d layers", ErrLayout, len(r.Conv), len(r.Delta), r.Layers)
		}
		return validRows(slices.Concat(r.Conv, r.Delta))
	}
	return nil
}

func validRows(rows []Row) error {
	sum := 0
	for i, r := range rows {
		if r.Width < 1 || r.Width > maxCellBytes || r.Bytes() == 0 {
			return fmt.Errorf("%w: row %d of %d elements of %v", ErrLayout, i, r.Width, r.Type)
		}
		if sum += r.Bytes(); sum > maxCellBytes {
			return fmt.Errorf("%w: rows of one cell take more than %d bytes", ErrLayout, maxCellBytes)
		}
	}
	return nil
}

// Same reports whether states can be moved between two layouts: they differ in
// the number of streams at most.
func (l Layout) Same(m Layout) bool {
	return slices.EqualFunc(l.Pools, m.Pools, func(a, b Pool) bool {
		return a.Extra == b.Extra && a.Window == b.Window && a.Transposed == b.Transposed &&
			slices.Equal(a.Keys, b.Keys) && slices.Equal(a.Values, b.Values)
	}) && (l.Recurrent == nil) == (m.Recurrent == nil) && (l.Recurrent == nil ||
		l.Recurrent.Layers == m.Recurrent.Layers &&
			slices.Equal(l.Recurrent.Conv, m.Recurrent.Conv) && slices.Equal(l.Recurrent.Delta, m.Recurrent.Delta))
}

// HasState reports whether the model keeps what cannot be cut by position: a
// prefix of it needs a checkpoint.
func (l Layout) HasState() bool {
	return l.Recurrent != nil || slices.ContainsFunc(l.Pools, func(p Pool) bool { return p.Window > 0 })
}

// in reports whether a part has the pool.
func (l Layout) in(part Part, p Pool) bool { return part == Whole || p.Window > 0 || !l.HasState() }

// rows is the index of the pool without a window, -1 for none.
func (l Layout) rows() int {
	return slices.IndexFunc(l.Pools, func(p Pool) bool { return p.Window == 0 })
}
