package kvcache

import "math/bits"

// seqSet is a set of slots.
type seqSet [MaxSlots / 64]uint64

func (s *seqSet) add(i int)     { s[i/64] |= 1 << (i % 64) }
func (s *seqSet) del(i int)     { s[i/64] &^= 1 << (i % 64) }
func (s seqSet) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }
func (s seqSet) empty() bool    { return s == seqSet{} }

func (s seqSet) and(o seqSet) seqSet {
	for i := range s {
		s[i] &= o[i]
	}
	return s
}

func (s seqSet) or(o seqSet) seqSet {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

func (s seqSet) without(o seqSet) seqSet {
	for i := range s {
		s[i] &^= o[i]
	}
	return s
}

// first is the lowest slot of the set, -1 of an empty one.
func (s seqSet) first() int {
	for i, w := range s {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

func (s seqSet) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}
