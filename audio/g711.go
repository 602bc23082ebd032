package audio

import "math/bits"

// The tables of ITU-T G.711, computed: code -> linear int16.
var (
	ulawDecode [256]int16
	alawDecode [256]int16
)

func init() {
	for i := range 256 {
		ulawDecode[i] = decodeULaw(byte(i))
		alawDecode[i] = decodeALaw(byte(i))
	}
}

// ulawBias makes every segment of mu-law begin at a power of two.
const ulawBias = 132

func decodeULaw(c byte) int16 {
	c = ^c
	exponent, mantissa := int(c>>4)&7, int(c&15)
	v := (mantissa<<3+ulawBias)<<exponent - ulawBias
	if c&0x80 != 0 {
		return int16(-v)
	}
	return int16(v)
}

func encodeULaw(s int16) byte {
	v, sign := int(s), byte(0)
	if v < 0 {
		v, sign = -v, 0x80
	}
	v = min(v, 32635) + ulawBias
	exponent := bits.Len(uint(v)) - 8 // v is at least ulawBias, which has 8 bits
	mantissa := byte(v>>(exponent+3)) & 15
	return ^(sign | byte(exponent)<<4 | mantissa)
}

func decodeALaw(c byte) int16 {
	c ^= 0x55
	exponent, mantissa := int(c>>4)&7, int(c&15)
	v := mantissa<<4 + 8
	if exponent > 0 {
		v = (v + 256) << (exponent - 1)
	}
	if c&0x80 == 0 {
		return int16(-v)
	}
	return int16(v)
}

func encodeALaw(s int16) byte {
	v, sign := int(s), byte(0x80)
	if v < 0 {
		// The negative half is the positive one mirrored about -1/2, so that no
		// code is lost at zero.
		v, sign = -v-1, 0
	}
	exponent := max(0, bits.Len(uint(v))-8)
	mantissa := byte(v>>max(4, exponent+3)) & 15
	return (sign | byte(exponent)<<4 | mantissa) ^ 0x55
}
