package merge

import (
	"bytes"
	"hash/maphash"
)

// A Range is lines of a text, counted from 0: from Start up to, not with, End.
type Range struct{ Start, End int }

// Len is how many lines are in r.
func (r Range) Len() int { return r.End - r.Start }

// Empty reports whether no line is in r: a place between lines.
func (r Range) Empty() bool { return r.Start == r.End }

// join is the smallest range that holds both.
func (r Range) join(o Range) Range {
	return Range{min(r.Start, o.Start), max(r.End, o.End)}
}

// lines is a text, cut behind every newline. What follows the last newline is a
// line without one.
type lines struct {
	data  []byte
	ends  []int32 // where each line ends in data
	class []int32 // equal lines, and only these, have equal classes
}

func (l *lines) len() int { return len(l.ends) }

// offset is where line i begins; that of len() is the end of the text.
func (l *lines) offset(i int) int {
	if i == 0 {
		return 0
	}
	return int(l.ends[i-1])
}

// span is the bytes of some lines.
func (l *lines) span(r Range) []byte { return l.data[l.offset(r.Start):l.offset(r.End)] }

func (l *lines) line(i int) []byte { return l.span(Range{i, i + 1}) }

// cut finds the lines of data. Classes come from a dictionary.
func cut(data []byte, d *dictionary) *lines {
	n := bytes.Count(data, []byte{'\n'}) + 1
	l := &lines{data: data, ends: make([]int32, 0, n), class: make([]int32, 0, n)}
	for at := 0; at < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		l.ends = append(l.ends, int32(end))
		l.class = append(l.class, d.class(data[at:end]))
		at = end
	}
	return l
}

// A dictionary numbers different lines, so that comparing two is comparing two
// numbers. It is an open table, because lines are many and short: a map of
// strings would copy each.
type dictionary struct {
	seed  maphash.Seed
	slots []int32 // class + 1, 0 is free; the size is a power of two
	hash  []uint64
	words [][]byte
}

func newDictionary() *dictionary {
	return &dictionary{seed: maphash.MakeSeed(), slots: make([]int32, 256)}
}

func (d *dictionary) class(line []byte) int32 {
	if 2*len(d.words) >= len(d.slots) {
		d.grow()
	}
	h := maphash.Bytes(d.seed, line)
	mask := uint64(len(d.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		c := d.slots[at] - 1
		if c < 0 {
			d.slots[at] = int32(len(d.words)) + 1
			d.words = append(d.words, line)
			d.hash = append(d.hash, h)
			return d.slots[at] - 1
		}
		if d.hash[c] == h && bytes.Equal(d.words[c], line) {
			return c
		}
	}
}

func (d *dictionary) grow() {
	d.slots = make([]int32, 2*len(d.slots))
	mask := uint64(len(d.slots) - 1)
	for c, h := range d.hash {
		at := h & mask
		for d.slots[at] != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = int32(c) + 1
	}
}
