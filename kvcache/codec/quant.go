package codec

import (
	"encoding/binary"
	"math"
)

// Groups of channels whose deviation is about 2^((group-unitGroup)/2) steps. Each
// has a table of its own: their numbers have about the same distribution.
const (
	groups    = 32
	unitGroup = 6
	// wideGroup is the first whose numbers have low bits that are noise and are
	// stored as they are.
	wideGroup = unitGroup + 8
	// leastGroup is the fewest numbers for which a table pays.
	leastGroup = 2048
	// escape stands for a number that has no symbol.
	escape, zeroSymbol = 0, 128
	mostQuantum        = 1 << 30
)

// lowBits of the numbers of a group.
func lowBits(group int) uint {
	if group < wideGroup {
		return 0
	}
	return uint(group-wideGroup)/2 + 1
}

// appendQuantised codes rows of numbers as whole multiples of a step, measured
// from the mean of each channel. The step is a part of the deviation of all of
// them: an error is the same in every channel, and bits go where the numbers
// vary.
//
//	step f32, mean of each channel (upper half of an f32), group of each channel,
//	by group: symbols, low bits, escapes
func (w *worker) appendQuantised(dst []byte, x []float32, channels int, part float64) []byte {
	n := len(x) / channels
	mean, variance := w.moments(x, n, channels)
	sum := 0.0
	for _, v := range variance {
		sum += v
	}
	step := float32(part * math.Sqrt(sum/float64(channels)))
	if math.IsInf(float64(1/step), 0) {
		step = 0 // all are equal, nearly: each is its mean
	}
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(step))
	for _, m := range mean {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(math.Float32bits(m)>>16))
	}
	w.groupByDeviation(variance, step, n)
	dst = w.ent.append(dst, w.group)
	w.quantise(x, mean, step)
	for g := range groups {
		if members := w.members(g); len(members) > 0 {
			dst = w.appendGroup(dst, members, n, channels, lowBits(g))
		}
	}
	return dst
}

// moments gives the mean of each channel, rounded as it is stored, and the
// variance about it.
func (w *worker) moments(x []float32, n, channels int) (mean []float32, variance []float64) {
	w.mean = room(w.mean, channels)
	w.sum, w.variance = room(w.sum, channels), room(w.variance, channels)
	clear(w.sum)
	clear(w.variance)
	mean, variance = w.mean, w.variance
	sum := w.sum
	for i := range n {
		row := x[i*channels : (i+1)*channels]
		for c, v := range row {
			sum[c] += float64(v)
		}
	}
	for c, s := range sum {
		// Rounded to eight bits; towards zero, so that it stays finite.
		mean[c] = math.Float32frombits(math.Float32bits(float32(s/float64(n))) &^ 0xffff)
	}
	for i := range n {
		row := x[i*channels : (i+1)*channels]
		for c, v := range row {
			d := float64(v) - float64(mean[c])
			variance[c] += d * d
		}
	}
	for c := range variance {
		variance[c] /= float64(n)
	}
	return mean, variance
}

// groupByDeviation sorts channels into groups, and those of groups that are too
// small for a table into the next one.
func (w *worker) groupByDeviation(variance []float64, step float32, n int) {
	w.group = room(w.group, len(variance))
	var count [groups]int
	for c, v := range variance {
		g := 0.0
		if step > 0 && v > 0 {
			g = math.Round(math.Log2(v/float64(step)/float64(step))) + unitGroup
		}
		w.group[c] = byte(min(max(g, 0), groups-1))
		count[w.group[c]] += n
	}
	var to [groups]byte
	last := -1 // the group that takes what is left over at the end
	for g, sum := 0, 0; g < groups; g++ {
		to[g] = byte(g)
		if sum += count[g]; count[g] > 0 && sum >= leastGroup {
			for k := last + 1; k < g; k++ {
				to[k] = byte(g)
			}
			last, sum = g, 0
		}
	}
	// The last ones keep the highest of them, whose symbols reach farthest.
	top := last
	for g := last + 1; g < groups; g++ {
		if count[g] > 0 {
			top = g
		}
	}
	for g := last + 1; g < groups; g++ {
		to[g] = byte(max(top, 0))
	}
	for c, g := range w.group {
		w.group[c] = to[g]
	}
	_ = w.sortGroups(len(variance), groups) // all of them are below
}

// quantise fills quanta.
func (w *worker) quantise(x, mean []float32, step float32) {
	w.quanta = room(w.quanta, len(x))
	inverse := float32(0)
	if step > 0 {
		inverse = 1 / step
	}
	// Adding this rounds to the nearest whole number, which then is in the lower
	// bits.
	const magic = 3 << 22
	for at := 0; at < len(x); at += len(mean) {
		row, out := x[at:at+len(mean)], w.quanta[at:at+len(mean)]
		for c, m := range mean {
			v := (row[c] - m) * inverse
			if v > -1<<21 && v < 1<<21 {
				out[c] = int32(math.Float32bits(v+magic)) - 0x4b400000
			} else {
				out[c] = int32(min(max(v, -mostQuantum), mostQuantum))
			}
		}
	}
}

func (w *worker) appendGroup(dst []byte, members []int32, n, channels int, low uint) []byte {
	w.bytes = room(w.bytes, n*len(members))
	w.escapes = w.escapes[:0]
	out := w.bytes
	for i := range n {
		row := w.quanta[i*channels : (i+1)*channels]
		to := out[i*len(members) : (i+1)*len(members)]
		for k, c := range members {
			s := row[c]>>low + zeroSymbol
			if uint32(s-1) >= 255 {
				w.escapes = binary.AppendVarint(w.escapes, int64(s-zeroSymbol))
				s = escape
			}
			to[k] = byte(s)
		}
	}
	dst = w.ent.append(dst, out)
	if low > 0 {
		dst = w.appendLow(dst, members, n, channels, low)
	}
	return append(dst, w.escapes...)
}

// appendLow packs the low bits of the numbers of some channels.
func (w *worker) appendLow(dst []byte, members []int32, n, channels int, low uint) []byte {
	var bits uint64
	var have uint
	mask := int32(1)<<low - 1
	for i := range n {
		row := w.quanta[i*channels : (i+1)*channels]
		for _, c := range members {
			bits |= uint64(row[c]&mask) << have
			if have += low; have >= 32 {
				dst = binary.LittleEndian.AppendUint32(dst, uint32(bits))
				bits >>= 32
				have -= 32
			}
		}
	}
	for ; have > 0; have -= min(have, 8) {
		dst = append(dst, byte(bits))
		bits >>= 8
	}
	return dst
}
