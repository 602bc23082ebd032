package blob

import (
	"encoding/binary"
	"iter"
	"sort"
)

// Blob is the state of one sequence, or a part of it. It points into the bytes
// it was parsed from.
type Blob struct {
	// Seq is the sequence it was read from. The engine ignores it.
	Seq    int32
	layout Layout
	pools  []pool
	state  *state
}

// pool is the cells of one pool, as runs of rows that lie side by side.
type pool struct {
	stream int
	cells  int
	runs   []run
}

// run is cells [from, to) of a source; first is the index of its first cell
// within the pool.
type run struct {
	src      *source
	first    int
	from, to int
}

// source is a pool as it lies in the bytes.
type source struct {
	cells        int
	table        []byte
	keys, values [][]byte // by layer
}

// state is the recurrent part; nil where it is empty.
type state struct {
	pos         int32
	conv, delta [][]byte // by recurrent layer
}

// Cell is one entry of a pool's table. X, Y and Token are 0 where the layout
// does not have them.
type Cell struct{ Pos, X, Y, Token int32 }

// Value is what a layer keeps as value of one cell: whole, or, transposed,
// element by element with Stride bytes from one to the next.
type Value struct {
	Bytes           []byte
	Element, Stride int
}

// Append puts the elements behind one another.
func (v Value) Append(dst []byte) []byte {
	for at := 0; at < len(v.Bytes); at += v.Stride {
		dst = append(dst, v.Bytes[at:at+v.Element]...)
	}
	return dst
}

// Layout of the bytes.
func (b *Blob) Layout() Layout { return b.layout }

// Cells is the number of cells of a pool.
func (b *Blob) Cells(pool int) int { return b.pools[pool].cells }

// All are the cells of a pool in their order, which need not be that of
// positions.
func (b *Blob) All(pool int) iter.Seq2[int, Cell] {
	return func(yield func(int, Cell) bool) {
		for _, r := range b.pools[pool].runs {
			for row := r.from; row < r.to; row++ {
				if !yield(r.first+row-r.from, b.layout.Pools[pool].at(r.src, row)) {
					return
				}
			}
		}
	}
}

// Cell i of a pool. Like an index of a slice, i must be below Cells.
func (b *Blob) Cell(pool, i int) Cell {
	src, row := b.pools[pool].find(i)
	return b.layout.Pools[pool].at(src, row)
}

// Key of layer (counted within the pool) of cell i. Borrowed.
func (b *Blob) Key(pool, layer, i int) []byte {
	src, row := b.pools[pool].find(i)
	n := b.layout.Pools[pool].Keys[layer].Bytes()
	return src.keys[layer][row*n : (row+1)*n : (row+1)*n]
}

// Value of layer (counted within the pool) of cell i. Borrowed.
func (b *Blob) Value(pool, layer, i int) Value {
	src, row := b.pools[pool].find(i)
	p := b.layout.Pools[pool]
	n := p.Values[layer].Bytes()
	if !p.Transposed {
		return Value{src.values[layer][row*n : (row+1)*n : (row+1)*n], n, n}
	}
	element, all := int(p.Values[layer].Type.BlockBytes()), src.values[layer]
	end := len(all) - (src.cells-1-row)*element
	return Value{all[row*element : end : end], element, src.cells * element}
}

// Recurrent is the recurrent part: the position of the last token folded into
// it and its states by recurrent layer; ok is false where it is empty. Borrowed.
func (b *Blob) Recurrent() (pos int32, conv, delta [][]byte, ok bool) {
	if b.state == nil {
		return 0, nil, nil, false
	}
	return b.state.pos, b.state.conv, b.state.delta, true
}

// End is the position after the last one that anything in the blob is of, 0 for
// an empty blob.
func (b *Blob) End() int {
	end := 0
	for i := range b.pools {
		for _, c := range b.All(i) {
			end = max(end, int(c.Pos)+1)
		}
	}
	if b.state != nil {
		end = max(end, int(b.state.pos)+1)
	}
	return end
}

func (p *pool) find(i int) (*source, int) {
	r := p.runs[sort.Search(len(p.runs), func(k int) bool { return p.runs[k].first > i })-1]
	return r.src, r.from + i - r.first
}

// add appends a row, to the last run where it fits.
func (p *pool) add(src *source, row int) {
	if n := len(p.runs); n > 0 && p.runs[n-1].src == src && p.runs[n-1].to == row {
		p.runs[n-1].to++
	} else {
		p.runs = append(p.runs, run{src, p.cells, row, row + 1})
	}
	p.cells++
}

func (p Pool) at(src *source, row int) Cell {
	n := p.cell()
	rec := src.table[row*n : (row+1)*n]
	field := func(i int) int32 { return int32(binary.LittleEndian.Uint32(rec[4*i:])) }
	c := Cell{Pos: field(0)}
	if p.Extra >= 2 {
		c.X, c.Y = field(2), field(3)
	}
	if p.Extra == 3 {
		c.Token = field(4)
	}
	return c
}
