package blob

import "encoding/binary"

// magic opens every state.
const magic = 0xAF143CD8

// Parse reads the bytes that the engine gave for a sequence, or that Append
// made. It refuses, with a *FormatError, whatever is not to the byte what a
// context of this layout writes; what the engine itself would not notice, too.
func Parse(l Layout, data []byte, part Part) (*Blob, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	c := &cursor{data: data, pool: -1, layer: -1, cell: -1}
	c.want32("magic", magic, ErrMalformed)
	b := &Blob{Seq: int32(c.u32("sequence")), layout: l, pools: make([]pool, len(l.Pools))}
	if b.Seq < 0 {
		c.fail(c.off-4, "sequence", ErrMalformed, "is %d", b.Seq)
	}
	for i, p := range l.Pools {
		if l.in(part, p) && c.err == nil {
			c.pool = i
			b.pools[i] = c.readPool(p, b.Seq)
			c.pool = -1
		}
	}
	if l.Recurrent != nil && c.err == nil {
		b.state = c.readState(l.Recurrent)
	}
	if c.err == nil && c.left() > 0 {
		c.fail(c.off, "end", ErrMalformed, "%d bytes too many", c.left())
	}
	if c.err != nil {
		return nil, c.err
	}
	return b, nil
}

// readPool reads one pool. A sequence lives in one stream: of a second one the
// engine would forget the first.
func (c *cursor) readPool(p Pool, seq int32) (out pool) {
	c.want32("streams", uint32(p.Streams), ErrLayout)
	for s := range p.Streams {
		at := c.off
		n := int(c.u32("cells"))
		if c.err != nil || n == 0 {
			continue
		}
		if out.cells > 0 {
			c.fail(at, "cells", ErrMalformed, "stream %d has some, and stream %d too", out.stream, s)
			return out
		}
		if need := p.body(n); need > c.left() {
			c.fail(at, "cells", ErrTruncated, "%d need %d bytes, %d are left", n, need, c.left())
			return out
		}
		src := c.readBody(p, n, seq)
		out = pool{stream: s, cells: n, runs: []run{{src, 0, 0, n}}}
	}
	return out
}

func (c *cursor) readBody(p Pool, n int, seq int32) *source {
	src := &source{cells: n, table: c.readTable(p, n, seq)}
	transposed := uint32(0)
	if p.Transposed {
		transposed = 1
	}
	c.want32("transposed", transposed, ErrLayout)
	c.want32("layers", uint32(len(p.Keys)), ErrLayout)
	src.keys = c.readRows(p.Keys, n, "key")
	if p.Transposed {
		src.values = c.readTransposed(p.Values, n)
	} else {
		src.values = c.readRows(p.Values, n, "value")
	}
	return src
}

// readTable checks the cells and leaves them where they are.
func (c *cursor) readTable(p Pool, n int, seq int32) []byte {
	start, size := c.off, p.cell()
	table := c.bytes(n*size, "cells")
	for i := 0; i < n && c.err == nil; i++ {
		rec := table[i*size : (i+1)*size]
		field := func(at int) int32 { return int32(binary.LittleEndian.Uint32(rec[at:])) }
		at := start + i*size
		c.cell = i
		switch {
		case field(0) < 0:
			c.fail(at, "position", ErrMalformed, "is %d", field(0))
		case field(4) != 1:
			c.fail(at+4, "number of sequences", ErrMalformed, "is %d, must be 1", field(4))
		case field(size-4) != seq:
			c.fail(at+size-4, "sequence", ErrMalformed, "is %d, the state is of %d", field(size-4), seq)
		}
		c.cell = -1
	}
	return table
}

// readRows reads n rows for each layer.
func (c *cursor) readRows(rows []Row, n int, name string) [][]byte {
	out := make([][]byte, 0, len(rows))
	for i, r := range rows {
		c.layer = i
		c.want32(name+" type", uint32(r.Type), ErrLayout)
		c.want64(name+" row size", uint64(r.Bytes()))
		out = append(out, c.bytes(n*r.Bytes(), name+" rows"))
		c.layer = -1
	}
	return out
}

func (c *cursor) readTransposed(rows []Row, n int) [][]byte {
	out := make([][]byte, 0, len(rows))
	for i, r := range rows {
		c.layer = i
		c.want32("value type", uint32(r.Type), ErrLayout)
		c.want32("value element size", uint32(r.Type.BlockBytes()), ErrLayout)
		c.want32("value channels", uint32(r.Width), ErrLayout)
		out = append(out, c.bytes(n*r.Bytes(), "value channels"))
		c.layer = -1
	}
	return out
}

// readState reads the recurrent part. More than one cell would abort the engine.
func (c *cursor) readState(r *Recurrent) *state {
	at := c.off
	n := c.u32("recurrent cells")
	if n > 1 {
		c.fail(at, "recurrent cells", ErrMalformed, "are %d, must be 0 or 1", n)
	}
	s := &state{}
	if n == 1 {
		at = c.off
		if s.pos = int32(c.u32("recurrent position")); s.pos < 0 {
			c.fail(at, "recurrent position", ErrMalformed, "is %d", s.pos)
		}
		c.want32("number of sequences of the recurrent cell", 0, ErrMalformed)
	}
	c.want32("recurrent state transposed", 0, ErrLayout)
	c.want32("layers of the model", uint32(r.Layers), ErrLayout)
	s.conv = c.readRows(r.Conv, int(n), "convolution")
	s.delta = c.readRows(r.Delta, int(n), "delta network")
	if n == 0 {
		return nil
	}
	return s
}
