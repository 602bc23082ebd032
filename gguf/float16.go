package gguf

import "math"

// Float16 converts to IEEE half precision, rounding to nearest even. Values
// beyond the range become infinite.
func Float16(f float32) uint16 {
	u := math.Float32bits(f)
	sign := uint16(u >> 16 & 0x8000)
	abs := u & 0x7fffffff
	switch {
	case abs >= 0x47800000: // >= 65536, infinite or not a number
		if abs > 0x7f800000 {
			return sign | 0x7e00
		}
		return sign | 0x7c00
	case abs < 0x38800000: // below the smallest normal half
		// Adding 0.5 aligns the mantissa so that the processor rounds for us.
		half := math.Float32bits(math.Float32frombits(abs)+0.5) - math.Float32bits(0.5)
		return sign | uint16(half)
	}
	abs += 0xfff + abs>>13&1
	return sign | uint16((abs-0x38000000)>>13)
}
