package blob

import (
	"encoding/binary"
	"slices"
)

// Size in bytes of what Append appends.
func (b *Blob) Size(part Part) int {
	n := envelopeBytes
	for i, p := range b.layout.Pools {
		if b.layout.in(part, p) {
			n += p.size(b.pools[i].cells)
		}
	}
	if r := b.layout.Recurrent; r != nil {
		n += r.size(b.state != nil)
	}
	return n
}

// Append appends the bytes as the engine takes them. As Partial, the pools
// without a window are left out. Where a recurrent part or a pool is empty the
// bytes say so, and the sequence they are set into has none: for sequences that
// are to be decoded, ask Complete first.
func (b *Blob) Append(dst []byte, part Part) []byte {
	dst = slices.Grow(dst, b.Size(part))
	dst = put32(put32(dst, magic), uint32(b.Seq))
	for i, p := range b.layout.Pools {
		if b.layout.in(part, p) {
			dst = b.appendPool(dst, p, &b.pools[i])
		}
	}
	if r := b.layout.Recurrent; r != nil {
		dst = b.appendState(dst, r)
	}
	return dst
}

func (b *Blob) appendPool(dst []byte, p Pool, cells *pool) []byte {
	dst = put32(dst, uint32(p.Streams))
	for s := range p.Streams {
		if s != cells.stream || cells.cells == 0 {
			dst = put32(dst, 0)
			continue
		}
		dst = put32(dst, uint32(cells.cells))
		dst = b.appendBody(dst, p, cells)
	}
	return dst
}

func (b *Blob) appendBody(dst []byte, p Pool, cells *pool) []byte {
	size := p.cell()
	for _, r := range cells.runs {
		start := len(dst)
		dst = append(dst, r.src.table[r.from*size:r.to*size]...)
		for at := start + size - 4; at < len(dst); at += size {
			binary.LittleEndian.PutUint32(dst[at:], uint32(b.Seq))
		}
	}
	transposed := uint32(0)
	if p.Transposed {
		transposed = 1
	}
	dst = put32(put32(dst, transposed), uint32(len(p.Keys)))
	for i, k := range p.Keys {
		dst = appendRowHead(dst, k)
		for _, r := range cells.runs {
			dst = append(dst, r.src.keys[i][r.from*k.Bytes():r.to*k.Bytes()]...)
		}
	}
	for i, v := range p.Values {
		if p.Transposed {
			dst = appendTransposed(dst, v, i, cells.runs)
			continue
		}
		dst = appendRowHead(dst, v)
		for _, r := range cells.runs {
			dst = append(dst, r.src.values[i][r.from*v.Bytes():r.to*v.Bytes()]...)
		}
	}
	return dst
}

func appendTransposed(dst []byte, v Row, layer int, runs []run) []byte {
	element := int(v.Type.BlockBytes())
	dst = put32(put32(put32(dst, uint32(v.Type)), uint32(element)), uint32(v.Width))
	for channel := range v.Width {
		for _, r := range runs {
			start := channel * r.src.cells
			dst = append(dst, r.src.values[layer][(start+r.from)*element:(start+r.to)*element]...)
		}
	}
	return dst
}

func (b *Blob) appendState(dst []byte, r *Recurrent) []byte {
	s := b.state
	if s == nil {
		dst = put32(dst, 0)
		s = &state{conv: make([][]byte, len(r.Conv)), delta: make([][]byte, len(r.Delta))}
	} else {
		dst = put32(put32(put32(dst, 1), uint32(s.pos)), 0)
	}
	dst = put32(put32(dst, 0), uint32(r.Layers))
	for i, row := range r.Conv {
		dst = append(appendRowHead(dst, row), s.conv[i]...)
	}
	for i, row := range r.Delta {
		dst = append(appendRowHead(dst, row), s.delta[i]...)
	}
	return dst
}

func appendRowHead(dst []byte, r Row) []byte {
	return binary.LittleEndian.AppendUint64(put32(dst, uint32(r.Type)), uint64(r.Bytes()))
}

func put32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }
