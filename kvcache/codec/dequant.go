package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// readQuantised is its inverse, as far as there is one.
func (w *worker) readQuantised(x []float32, coded []byte, channels int) (rest []byte, err error) {
	n := len(x) / channels
	if len(coded) < 4+2*channels {
		return nil, fmt.Errorf("%w: no step and means of %d channels", ErrCoded, channels)
	}
	step := math.Float32frombits(binary.LittleEndian.Uint32(coded))
	if !(step >= 0 && step <= math.MaxFloat32) {
		return nil, fmt.Errorf("%w: step of %v", ErrCoded, step)
	}
	coded = coded[4:]
	w.mean = room(w.mean, channels)
	for c := range w.mean {
		w.mean[c] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(coded[2*c:])) << 16)
		if m := float64(w.mean[c]); math.IsNaN(m) || math.IsInf(m, 0) {
			return nil, fmt.Errorf("%w: mean of channel %d is %v", ErrCoded, c, m)
		}
	}
	w.group = room(w.group, channels)
	if coded, err = w.ent.read(w.group, coded[2*channels:]); err != nil {
		return nil, err
	}
	if err := w.sortGroups(channels, groups); err != nil {
		return nil, err
	}
	for g := range groups {
		if members := w.members(g); len(members) > 0 {
			if coded, err = w.readGroup(x, coded, members, n, channels, step, lowBits(g)); err != nil {
				return nil, err
			}
		}
	}
	return coded, nil
}

func (w *worker) readGroup(x []float32, coded []byte, members []int32, n, channels int, step float32, low uint) (rest []byte, err error) {
	count := n * len(members)
	w.bytes = room(w.bytes, count)
	if coded, err = w.ent.read(w.bytes, coded); err != nil {
		return nil, err
	}
	var packed []byte
	if size := (count*int(low) + 7) / 8; size > len(coded) {
		return nil, fmt.Errorf("%w: %d bytes of low bits, %d are left", ErrCoded, size, len(coded))
	} else if low > 0 {
		packed, coded = coded[:size], coded[size:]
	}
	if low > 0 || bytes.IndexByte(w.bytes, escape) >= 0 {
		return w.readWide(x, coded, packed, members, n, channels, step, low)
	}
	var number [256]float32
	for s := range number {
		number[s] = float32(s-zeroSymbol) * step
	}
	means := w.meansOf(members)
	for i := range n {
		row := x[i*channels : (i+1)*channels]
		from := w.bytes[i*len(members) : (i+1)*len(members)]
		for k, c := range members {
			row[c] = number[from[k]] + means[k]
		}
	}
	return coded, nil
}

func (w *worker) meansOf(members []int32) []float32 {
	w.means = room(w.means, len(members))
	for k, c := range members {
		w.means[k] = w.mean[c]
	}
	return w.means
}

// readWide reads numbers that have low bits or no symbol.
func (w *worker) readWide(x []float32, coded, packed []byte, members []int32, n, channels int, step float32, low uint) (rest []byte, err error) {
	var bits uint64
	var have uint
	mask := uint64(1)<<low - 1
	means := w.meansOf(members)
	for i := range n {
		row := x[i*channels : (i+1)*channels]
		from := w.bytes[i*len(members) : (i+1)*len(members)]
		for k, c := range members {
			high := int64(from[k]) - zeroSymbol
			if from[k] == escape {
				v, size := binary.Varint(coded)
				if size <= 0 || v < -mostQuantum || v > mostQuantum {
					return nil, fmt.Errorf("%w: number without a symbol", ErrCoded)
				}
				high, coded = v, coded[size:]
			}
			for have < low {
				bits |= uint64(packed[0]) << have
				packed, have = packed[1:], have+8
			}
			q := high<<low | int64(bits&mask)
			bits >>= low
			have -= low
			row[c] = float32(q)*step + means[k]
		}
	}
	return coded, nil
}
