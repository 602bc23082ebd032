package codec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// stateBlock is the most numbers of a recurrent state that are rotated together:
// a row of the delta network's state.
const stateBlock = 128

// mostScale bounds what a rotated number can be, so that turning it back stays
// finite. Of states beyond it nothing is lost.
const mostScale = 1e30

// stateModes of the classes: the error of a recurrent state feeds on itself, so
// it gets more bits than keys and values.
func stateMode(c Class) byte {
	switch c {
	case Near, NearSmall:
		return planeBrain
	case Small, Calibrated:
		return planeRotated
	}
	return planeExact
}

// appendBrain codes numbers of f32 as bf16, each byte by itself.
func (w *worker) appendBrain(dst, data []byte) []byte {
	w.bytes = room(w.bytes, len(data)/2)
	high, low := w.bytes[:len(data)/4], w.bytes[len(data)/4:]
	for i := range high {
		u := binary.LittleEndian.Uint32(data[4*i:])
		v := (u + 0x7fff + u>>16&1) >> 16 // the numbers are tame: no carry into infinity
		high[i], low[i] = byte(v>>8), byte(v)
	}
	return w.ent.append(w.ent.append(dst, high), low)
}

func (w *worker) readBrain(data, coded []byte) (rest []byte, err error) {
	w.bytes = room(w.bytes, len(data)/2)
	high, low := w.bytes[:len(data)/4], w.bytes[len(data)/4:]
	if coded, err = w.ent.read(high, coded); err != nil {
		return nil, err
	}
	if coded, err = w.ent.read(low, coded); err != nil {
		return nil, err
	}
	for i := range high {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(high[i])<<24|uint32(low[i])<<16)
	}
	return coded, nil
}

// blockOfState is the largest power of two up to stateBlock that divides a row.
func blockOfState(width int) int {
	n := stateBlock
	for width%n != 0 {
		n /= 2
	}
	return n
}

// appendRotated codes numbers of f32 in 8 bits after a rotation that spreads
// outliers over their block: scales (upper half of an f32), then numbers.
func (w *worker) appendRotated(dst, data []byte, width int) []byte {
	n := len(data) / 4
	block := blockOfState(width)
	w.x, w.bytes = room(w.x, n), room(w.bytes, n)
	for i := range w.x {
		w.x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	w.packed = w.packed[:0]
	for at := 0; at < n; at += block {
		x := w.x[at : at+block]
		hadamard(x)
		most := float32(0)
		for _, v := range x {
			most = max(most, v, -v)
		}
		bits := uint16(math.Float32bits(most/127) >> 16)
		if most > 0 {
			bits++ // upwards: no number may exceed 127
		}
		scale := math.Float32frombits(uint32(bits) << 16)
		w.packed = append(w.packed, byte(bits>>8), byte(bits))
		for i, v := range x {
			q := 0.0
			if scale > 0 {
				q = math.RoundToEven(float64(v / scale))
			}
			w.bytes[at+i] = byte(int(q) + zeroSymbol)
		}
	}
	symbols := w.bytes
	w.bytes = nil
	for p := range 2 {
		w.bytes = gatherBytes(w.bytes[:0], w.packed, 2, p, 1)
		dst = w.ent.append(dst, w.bytes)
	}
	return w.ent.append(dst, symbols)
}

func (w *worker) readRotated(data, coded []byte, width int) (rest []byte, err error) {
	n := len(data) / 4
	block := blockOfState(width)
	w.packed, w.bytes = room(w.packed, 2*(n/block)), room(w.bytes, n)
	high, low := w.packed[:n/block], w.packed[n/block:]
	for _, b := range [3][]byte{high, low, w.bytes} {
		if coded, err = w.ent.read(b, coded); err != nil {
			return nil, err
		}
	}
	w.x = room(w.x, block)
	for k := range high {
		scale := math.Float32frombits(uint32(high[k])<<24 | uint32(low[k])<<16)
		if !(scale >= 0 && scale <= mostScale) {
			return nil, fmt.Errorf("%w: scale of %v", ErrCoded, scale)
		}
		for i := range w.x {
			w.x[i] = float32(int(w.bytes[k*block+i])-zeroSymbol) * scale
		}
		hadamard(w.x)
		for i, v := range w.x {
			binary.LittleEndian.PutUint32(data[4*(k*block+i):], math.Float32bits(v))
		}
	}
	return coded, nil
}

// mix rotates numbers in blocks.
func mix(x []float32, block int) {
	for at := 0; at < len(x); at += block {
		hadamard(x[at : at+block])
	}
}

// hadamard rotates numbers, a power of two of them. It is its own inverse.
func hadamard(x []float32) {
	for step := 1; step < len(x); step *= 2 {
		for at := 0; at < len(x); at += 2 * step {
			a, b := x[at:at+step], x[at+step:at+2*step]
			for i, u := range a {
				v := b[i]
				a[i], b[i] = u+v, u-v
			}
		}
	}
	scale := float32(1 / math.Sqrt(float64(len(x))))
	for i := range x {
		x[i] *= scale
	}
}
