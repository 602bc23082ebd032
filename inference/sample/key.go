package sample

import (
	"math"
	"slices"
)

// key is a token and its logit as one integer that sorts as sampling ranks
// them: the smaller key has the larger logit or, of equal logits, the lower
// index. Comparing integers is several times as fast as comparing pairs.
type key uint64

// newKey makes the key of a logit that is not NaN. -0 and +0 are equal logits
// and give the same rank.
func newKey(logit float32, token int32) key {
	bits := math.Float32bits(logit + 0) // the sum turns -0 into +0
	// The bits of a float rise with its value from 0 up and fall with it below;
	// what is wanted falls throughout.
	if bits>>31 == 0 {
		bits = ^bits &^ (1 << 31)
	}
	return key(bits)<<32 | key(uint32(token))
}

func (k key) token() int32 { return int32(uint32(k)) }

func (k key) logit() float32 {
	bits := uint32(k >> 32)
	if bits>>31 == 0 {
		bits = ^bits &^ (1 << 31)
	}
	return math.Float32frombits(bits)
}

// selectKeys moves the n smallest of keys to its front, in any order
// (quickselect; 0 < n < len(keys)). The keys of a row are all different.
func selectKeys(keys []key, n int) {
	for len(keys) > 1 {
		pivot := median(keys[0], keys[len(keys)/2], keys[len(keys)-1])
		i, j := 0, len(keys)-1
		for i <= j {
			for keys[i] < pivot {
				i++
			}
			for keys[j] > pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i++
				j--
			}
		}
		// Now keys[:j+1] <= keys[j+1:i] == pivot <= keys[i:].
		switch {
		case n <= j:
			keys = keys[:j+1]
		case n >= i:
			keys, n = keys[i:], n-i
			if n == 0 {
				return
			}
		default:
			return
		}
	}
}

func median(a, b, c key) key { return max(min(a, b), min(max(a, b), c)) }

func sortKeys(keys []key) { slices.Sort(keys) }
