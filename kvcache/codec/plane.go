package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"dure/gguf"
)

// How a plane is coded.
const (
	planeExact   = iota
	planeLossy   // multiples of a step
	planeBrain   // bf16
	planeRotated // 8 bits of rotated numbers
)

// worker codes planes. It belongs to one goroutine.
type worker struct {
	ent     entropy
	bytes   []byte
	packed  []byte
	escapes []byte

	group  []byte  // of each channel
	order  []int32 // channels by group
	starts []int   // of each group in order

	x, scratch    []float32
	mean, means   []float32
	sum, variance []float64
	quanta        []int32
}

// steps are the parts of a plane's deviation that make a step, of most rows and
// of the last ones.
type steps struct{ body, last float64 }

// appendPlane codes a plane: lossy where a step is given and the numbers allow it.
func (w *worker) appendPlane(dst, state []byte, p *plane, rows *rowSets, st steps, d *directions) []byte {
	data := state[p.at : p.at+p.bytes()]
	if st.body == 0 || !codable(p.row.Type) || !tame(data, p.row.Type) || len(rows.body)+len(rows.last) == 0 {
		return w.appendExact(append(dst, planeExact), data, p.row.Type, w.channels(p))
	}
	dst = append(dst, planeLossy)
	w.packed = w.packed[:0]
	for _, i := range rows.first {
		w.packed = appendRow(w.packed, data, p, int(i))
	}
	dst = w.appendExact(dst, w.packed, p.row.Type, 1)
	for k, set := range [2][]int32{rows.body, rows.last} {
		if len(set) == 0 {
			continue
		}
		part := [2]float64{st.body, st.last}[k]
		for at, step := 0, stretch(p.row.Width); at < len(set); at += step {
			end := min(at+step, len(set))
			w.load(data, p, set[at:end], rows.turnsOf(p, k, at, end), d)
			dst = w.appendQuantised(dst, w.x, p.row.Width, part)
		}
	}
	return dst
}

// stretch is how many rows are coded with tables and steps of their own: enough
// of them that tables cost nothing, few enough for little memory.
func stretch(width int) int {
	const numbers = 1 << 20
	return max(1, numbers/width)
}

// load fills x with some rows as they are coded: mixing and positions undone, in
// the directions of the basis, if there is one.
func (w *worker) load(data []byte, p *plane, rows []int32, t *turns, d *directions) {
	w.x = room(w.x, len(rows)*p.row.Width)
	for j, i := range rows {
		readRow(w.x[j*p.row.Width:(j+1)*p.row.Width], data, p, int(i))
	}
	if p.heads.Mixed > 1 {
		mix(w.x, p.heads.Mixed)
	}
	if t != nil {
		t.turn(w.x, p.heads, true)
	}
	if d != nil {
		w.scratch = room(w.scratch, d.block)
		d.turn(w.x, w.scratch, false)
	}
}

// unload is its inverse.
func (w *worker) unload(data []byte, p *plane, rows []int32, t *turns, d *directions) {
	if d != nil {
		w.scratch = room(w.scratch, d.block)
		d.turn(w.x, w.scratch, true)
	}
	if t != nil {
		t.turn(w.x, p.heads, false)
	}
	if p.heads.Mixed > 1 {
		mix(w.x, p.heads.Mixed)
	}
	for j, i := range rows {
		writeRow(data, w.x[j*p.row.Width:(j+1)*p.row.Width], p, int(i))
	}
}

// appendState codes a recurrent state.
func (w *worker) appendState(dst, state []byte, p *plane, mode byte) []byte {
	data := state[p.at : p.at+p.bytes()]
	if p.row.Type != gguf.F32 || !tame(data, p.row.Type) {
		mode = planeExact
	}
	dst = append(dst, mode)
	switch mode {
	case planeBrain:
		return w.appendBrain(dst, data)
	case planeRotated:
		return w.appendRotated(dst, data, p.row.Width)
	}
	return w.appendExact(dst, data, p.row.Type, 1)
}

// channels of a plane whose rows lie behind one another, else 1.
func (w *worker) channels(p *plane) int {
	if p.transposed || p.cells < 2 {
		return 1
	}
	return p.row.Width
}

// readPlane is its inverse.
func (w *worker) readPlane(state, coded []byte, p *plane, rows *rowSets, d *directions) error {
	if len(coded) == 0 {
		return fmt.Errorf("%w: empty plane", ErrCoded)
	}
	mode, coded := coded[0], coded[1:]
	data := state[p.at : p.at+p.bytes()]
	var err error
	switch {
	case mode == planeExact:
		coded, err = w.readExact(data, coded, p.row.Type, w.channels(p))
	case mode == planeLossy && codable(p.row.Type) && rows != nil:
		coded, err = w.readLossy(data, coded, p, rows, d)
	case mode == planeBrain && p.row.Type == gguf.F32:
		coded, err = w.readBrain(data, coded)
	case mode == planeRotated && p.row.Type == gguf.F32:
		coded, err = w.readRotated(data, coded, p.row.Width)
	default:
		err = fmt.Errorf("%w: plane of kind %d", ErrCoded, mode)
	}
	if err == nil && mode != planeExact && !allFinite(data, p.row.Type) {
		err = fmt.Errorf("%w: numbers beyond all bounds", ErrCoded)
	}
	if err == nil && len(coded) > 0 {
		err = fmt.Errorf("%w: %d bytes too many", ErrCoded, len(coded))
	}
	return err
}

func (w *worker) readLossy(data, coded []byte, p *plane, rows *rowSets, d *directions) (rest []byte, err error) {
	size := p.row.Bytes()
	w.packed = room(w.packed, len(rows.first)*size)
	if coded, err = w.readExact(w.packed, coded, p.row.Type, 1); err != nil {
		return nil, err
	}
	for k, i := range rows.first {
		writeExactRow(data, w.packed[k*size:(k+1)*size], p, int(i))
	}
	for k, set := range [2][]int32{rows.body, rows.last} {
		if len(set) == 0 {
			continue
		}
		for at, step := 0, stretch(p.row.Width); at < len(set); at += step {
			end := min(at+step, len(set))
			w.x = room(w.x, (end-at)*p.row.Width)
			if coded, err = w.readQuantised(w.x, coded, p.row.Width); err != nil {
				return nil, err
			}
			w.unload(data, p, set[at:end], rows.turnsOf(p, k, at, end), d)
		}
	}
	return coded, nil
}

// appendRow appends the bytes of row i.
func appendRow(dst, data []byte, p *plane, i int) []byte {
	if !p.transposed {
		return append(dst, data[i*p.row.Bytes():(i+1)*p.row.Bytes()]...)
	}
	element := int(p.row.Type.BlockBytes())
	for c := range p.row.Width {
		at := (c*p.cells + i) * element
		dst = append(dst, data[at:at+element]...)
	}
	return dst
}

func writeExactRow(data, row []byte, p *plane, i int) {
	if !p.transposed {
		copy(data[i*len(row):], row)
		return
	}
	element := int(p.row.Type.BlockBytes())
	for c := range p.row.Width {
		copy(data[(c*p.cells+i)*element:][:element], row[c*element:])
	}
}

// readRow reads the numbers of row i.
func readRow(dst []float32, data []byte, p *plane, i int) {
	if !p.transposed {
		readNumbers(dst, data[i*p.row.Bytes():(i+1)*p.row.Bytes()], p.row.Type)
		return
	}
	for c := range dst {
		at := c*p.cells + i
		if p.row.Type == gguf.F16 {
			dst[c] = half(binary.LittleEndian.Uint16(data[2*at:]))
		} else {
			dst[c] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*at:]))
		}
	}
}

func writeRow(data []byte, src []float32, p *plane, i int) {
	if !p.transposed {
		writeNumbers(data[i*p.row.Bytes():(i+1)*p.row.Bytes()], src, p.row.Type)
		return
	}
	element := int(p.row.Type.BlockBytes())
	for c := range src {
		at := (c*p.cells + i) * element
		writeNumbers(data[at:at+element], src[c:c+1], p.row.Type)
	}
}

// appendLengths codes sizes of what follows.
func appendLengths(dst []byte, lengths []int) []byte {
	dst = slices.Grow(dst, 4*len(lengths))
	for _, n := range lengths {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return dst
}
