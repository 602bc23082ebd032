package codec

import (
	"fmt"
	"slices"

	"dure/gguf"
)

// groupsOf channels of a plane that are coded with tables of their own: fewer
// for few rows, whose tables would cost more than they save.
func groupsOf(rows, channels int) int {
	const most, least = 16, 4096
	return max(1, min(most, rows*channels/least))
}

// appendExact codes rows without loss: the bytes of a number, or block, apart,
// each in a code of its own where that pays. Of a float the exponent costs half,
// the mantissa is noise and stays as it is. The exponents of a channel are alike
// over all positions, so the high bytes of f16 are coded in groups of channels.
func (w *worker) appendExact(dst, rows []byte, t gguf.TensorType, channels int) []byte {
	record := int(t.BlockBytes())
	if t == gguf.F16 && channels > 1 {
		n := len(rows) / 2 / channels
		groups := w.groupByExponent(rows, n, channels)
		dst = append(dst, byte(groups))
		dst = w.ent.append(dst, w.group[:channels])
		w.bytes = w.bytes[:0]
		for g := range groups {
			start := len(w.bytes)
			w.bytes = gatherGroup(w.bytes, rows, w.members(g), n, channels)
			dst = w.ent.append(dst, w.bytes[start:])
		}
		w.bytes = gatherBytes(w.bytes[:0], rows, 2, 0, 1)
		return w.ent.append(dst, w.bytes)
	}
	head := headOf(t)
	for p := range head {
		w.bytes = gatherBytes(w.bytes[:0], rows, record, p, 1)
		dst = w.ent.append(dst, w.bytes)
	}
	if head < record {
		w.bytes = gatherBytes(w.bytes[:0], rows, record, head, record-head)
		dst = w.ent.append(dst, w.bytes)
	}
	return dst
}

// headOf is how many bytes of a block have a code of their own: of quantised
// types the scale.
func headOf(t gguf.TensorType) int {
	n := int(t.BlockBytes())
	if t.BlockSize() > 1 {
		return min(2, n)
	}
	return n
}

// readExact is its inverse.
func (w *worker) readExact(rows, coded []byte, t gguf.TensorType, channels int) (rest []byte, err error) {
	record := int(t.BlockBytes())
	if t == gguf.F16 && channels > 1 {
		return w.readExactHalves(rows, coded, channels)
	}
	head := headOf(t)
	for p := 0; p < record; {
		width := 1
		if p == head {
			width = record - p
		}
		w.bytes = room(w.bytes, len(rows)/record*width)
		if coded, err = w.ent.read(w.bytes, coded); err != nil {
			return nil, err
		}
		scatterBytes(rows, w.bytes, record, p, width)
		p += width
	}
	return coded, nil
}

func (w *worker) readExactHalves(rows, coded []byte, channels int) (rest []byte, err error) {
	if len(coded) < 1 {
		return nil, fmt.Errorf("%w: no groups", ErrCoded)
	}
	groups, n := int(coded[0]), len(rows)/2/channels
	w.group = room(w.group, channels)
	if coded, err = w.ent.read(w.group, coded[1:]); err != nil {
		return nil, err
	}
	if err := w.sortGroups(channels, groups); err != nil {
		return nil, err
	}
	for g := range groups {
		members := w.members(g)
		w.bytes = room(w.bytes, n*len(members))
		if coded, err = w.ent.read(w.bytes, coded); err != nil {
			return nil, err
		}
		scatterGroup(rows, w.bytes, members, n, channels)
	}
	w.bytes = room(w.bytes, n*channels)
	if coded, err = w.ent.read(w.bytes, coded); err != nil {
		return nil, err
	}
	scatterBytes(rows, w.bytes, 2, 0, 1)
	return coded, nil
}

// groupByExponent sorts the channels of f16 rows into groups of like exponents.
func (w *worker) groupByExponent(rows []byte, n, channels int) (groups int) {
	groups = groupsOf(n, channels)
	sum := make([]int, channels)
	for i := range n {
		row := rows[2*i*channels : 2*(i+1)*channels]
		for c := range sum {
			sum[c] += int(row[2*c+1] & 0x7f)
		}
	}
	w.order = w.order[:0]
	for c := range channels {
		w.order = append(w.order, int32(c))
	}
	slices.SortStableFunc(w.order, func(a, b int32) int { return sum[a] - sum[b] })
	w.group = room(w.group, channels)
	for i, c := range w.order {
		w.group[c] = byte(i * groups / channels)
	}
	_ = w.sortGroups(channels, groups) // of groups that were just made
	return groups
}

// sortGroups makes members from group: which channels each group has.
func (w *worker) sortGroups(channels, groups int) error {
	w.starts = w.starts[:0]
	w.order = w.order[:0]
	for g := range groups {
		w.starts = append(w.starts, len(w.order))
		for c, of := range w.group[:channels] {
			if int(of) == g {
				w.order = append(w.order, int32(c))
			}
		}
	}
	w.starts = append(w.starts, len(w.order))
	if len(w.order) != channels {
		return fmt.Errorf("%w: %d of %d channels are in one of %d groups", ErrCoded, len(w.order), channels, groups)
	}
	return nil
}

func (w *worker) members(g int) []int32 { return w.order[w.starts[g]:w.starts[g+1]] }

// gatherGroup appends the high bytes of some channels, row by row.
func gatherGroup(dst, rows []byte, members []int32, n, channels int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, n*len(members))[:start+n*len(members)]
	out := dst[start:]
	for i := range n {
		row := rows[2*i*channels : 2*(i+1)*channels]
		to := out[i*len(members) : (i+1)*len(members)]
		for k, c := range members {
			to[k] = row[2*c+1]
		}
	}
	return dst
}

func scatterGroup(rows, src []byte, members []int32, n, channels int) {
	for i := range n {
		row := rows[2*i*channels : 2*(i+1)*channels]
		from := src[i*len(members) : (i+1)*len(members)]
		for k, c := range members {
			row[2*c+1] = from[k]
		}
	}
}

// gatherBytes appends bytes [at, at+width) of each record.
func gatherBytes(dst, b []byte, record, at, width int) []byte {
	if record == width {
		return append(dst, b...)
	}
	n := len(b) / record
	if n == 0 {
		return dst
	}
	start := len(dst)
	dst = slices.Grow(dst, n*width)[:start+n*width]
	out := dst[start:]
	switch {
	case width == 1 && record == 2:
		b = b[at:]
		for i := range out {
			out[i] = b[2*i]
		}
	case width == 1:
		for i := range out {
			out[i] = b[i*record+at]
		}
	default:
		for i := range n {
			copy(out[i*width:(i+1)*width], b[i*record+at:])
		}
	}
	return dst
}

// scatterBytes is its inverse.
func scatterBytes(b, src []byte, record, at, width int) {
	switch {
	case record == width:
		copy(b, src)
	case width == 1:
		for i, v := range src {
			b[i*record+at] = v
		}
	default:
		for i := 0; i*width < len(src); i++ {
			copy(b[i*record+at:], src[i*width:(i+1)*width])
		}
	}
}

// room is a slice of length n, b's where it is large enough.
func room[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}
