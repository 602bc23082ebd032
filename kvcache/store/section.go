package store

import (
	"encoding/binary"

	"dure/kvcache/blob"
)

// blockBytes is the most that is coded as one: small enough for the cache of a
// core and for huff0, large enough that a table of codes costs nothing.
const blockBytes = 128 << 10

// minSection is the length below which a table of codes costs more than it saves.
const minSection = 2 << 10

// section is a stretch of equal records: each of the first head bytes of a
// record makes a plane of its own, the rest of it one together.
type section struct{ bytes, record, head int }

var plainSection = section{record: 1}

// sections finds the rows in the bytes of a state, so that each kind of byte can
// be coded by itself. It believes nothing: bytes that are not of the layout are
// one section without records, and are stored as well, only not as small.
func sections(l blob.Layout, data []byte) []section {
	for _, part := range []blob.Part{blob.Whole, blob.Partial} {
		w := walker{data: data}
		w.skip(8)
		for _, p := range l.Pools {
			if part == blob.Whole || p.Window > 0 || !l.HasState() {
				w.pool(p)
			}
		}
		if r := l.Recurrent; r != nil {
			w.recurrent(r)
		}
		if !w.lost && w.off == len(data) {
			return w.out
		}
	}
	return []section{{len(data), 1, 0}}
}

type walker struct {
	data []byte
	off  int
	out  []section
	lost bool
}

// take enters the next bytes. Short stretches join the plain one before them.
func (w *walker) take(s section) {
	if s.bytes < 0 || s.bytes > len(w.data)-w.off || s.bytes%s.record != 0 {
		w.lost = true
		return
	}
	if s.bytes < minSection {
		s.record, s.head = plainSection.record, plainSection.head
	}
	w.off += s.bytes
	if n := len(w.out); n > 0 && s.record == 1 && w.out[n-1].record == 1 {
		w.out[n-1].bytes += s.bytes
	} else if s.bytes > 0 {
		w.out = append(w.out, s)
	}
}

func (w *walker) skip(n int) { w.take(section{n, 1, 0}) }

func (w *walker) u32() int {
	if w.lost || len(w.data)-w.off < 4 {
		w.lost = true
		return 0
	}
	v := binary.LittleEndian.Uint32(w.data[w.off:])
	w.skip(4)
	return int(v)
}

func (w *walker) pool(p blob.Pool) {
	streams := w.u32()
	if streams > 256 {
		w.lost = true
	}
	for s := 0; s < streams && !w.lost; s++ {
		n := w.u32()
		if n == 0 || w.lost {
			continue
		}
		if n > len(w.data) {
			w.lost = true
			return
		}
		cell := 4 * (3 + p.Extra)
		w.take(section{n * cell, cell, cell})
		w.skip(8)
		w.rows(p.Keys, n, 12)
		w.rows(p.Values, n, 12)
	}
}

// rows of each layer, after a header of type and size: 12 bytes in all forms.
func (w *walker) rows(rows []blob.Row, n, header int) {
	for _, r := range rows {
		if w.lost {
			return
		}
		w.skip(header)
		size := int(r.Type.BlockBytes())
		if size < 1 || size > 255 {
			w.lost = true
			return
		}
		head := size
		if r.Type.BlockSize() > 1 {
			head = min(2, size) // the scale
		}
		w.take(section{n * r.Bytes(), size, head})
	}
}

func (w *walker) recurrent(r *blob.Recurrent) {
	n := w.u32()
	if n > 1 {
		w.lost = true
		return
	}
	w.skip(8*n + 8)
	w.rows(r.Conv, n, 12)
	w.rows(r.Delta, n, 12)
}
