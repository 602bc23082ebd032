package codec

import (
	"encoding/binary"
	"math"

	"dure/gguf"
)

// mostHalf is the largest finite half, mostHalfBits are its bits as an f32.
const (
	mostHalf     = 65504
	mostHalfBits = 0x477fe000
)

// half reads a finite IEEE half: without branches, so that its infinities are
// large numbers.
func half(h uint16) float32 {
	f := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(f) | uint32(h&0x8000)<<16)
}

// toHalf rounds a number to the nearest half, and in ties to the even one, but
// for those below 2^-14, where it may be the other. What is beyond the largest
// half, or no number, becomes that.
func toHalf(f float32) uint16 {
	u := math.Float32bits(f)
	abs := u & 0x7fffffff
	if abs > mostHalfBits {
		abs = mostHalfBits
	}
	abs = math.Float32bits(math.Float32frombits(abs) * 0x1p-112)
	return uint16(u>>16&0x8000) | uint16((abs+0xfff+abs>>13&1)>>13)
}

// isNumber reports whether numbers of this type have lost nothing yet.
func isNumber(t gguf.TensorType) bool { return t == gguf.F16 || t == gguf.F32 }

// codable reports whether planes of this type can be coded with loss.
func codable(t gguf.TensorType) bool { return isNumber(t) || t == gguf.Q8_0 }

// allFinite reports whether none of the numbers is infinite or not a number.
func allFinite(b []byte, t gguf.TensorType) bool {
	if t == gguf.F16 {
		for ; len(b) >= 8; b = b[8:] {
			// An exponent of all ones carries into the sign.
			v := binary.LittleEndian.Uint64(b) & 0x7c007c007c007c00
			if (v+0x0400040004000400)&0x8000800080008000 != 0 {
				return false
			}
		}
		for ; len(b) >= 2; b = b[2:] {
			if binary.LittleEndian.Uint16(b)&0x7c00 == 0x7c00 {
				return false
			}
		}
		return true
	}
	if t == gguf.Q8_0 {
		for ; len(b) >= eightBytes; b = b[eightBytes:] {
			if b[1]&0x7c == 0x7c { // the scale
				return false
			}
		}
		return true
	}
	for ; len(b) >= 4; b = b[4:] {
		if binary.LittleEndian.Uint32(b)&0x7f800000 == 0x7f800000 {
			return false
		}
	}
	return true
}

// tame reports whether numbers can be added and turned without ever becoming
// infinite.
func tame(b []byte, t gguf.TensorType) bool {
	if t != gguf.F32 {
		return allFinite(b, t)
	}
	for ; len(b) >= 4; b = b[4:] {
		if binary.LittleEndian.Uint32(b)&0x7fffffff >= 0x70000000 { // 2^97
			return false
		}
	}
	return true
}

// readNumbers fills dst from the finite numbers of a type.
func readNumbers(dst []float32, b []byte, t gguf.TensorType) {
	if t == gguf.F16 {
		b = b[:2*len(dst)]
		for i := range dst {
			dst[i] = half(binary.LittleEndian.Uint16(b[2*i:]))
		}
		return
	}
	if t == gguf.Q8_0 {
		readEight(dst, b)
		return
	}
	b = b[:4*len(dst)]
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// writeNumbers is its inverse. What is beyond a type's range becomes its largest
// number.
func writeNumbers(b []byte, src []float32, t gguf.TensorType) {
	if t == gguf.F16 {
		b = b[:2*len(src)]
		for i, v := range src {
			binary.LittleEndian.PutUint16(b[2*i:], toHalf(v))
		}
		return
	}
	if t == gguf.Q8_0 {
		writeEight(b, src)
		return
	}
	b = b[:4*len(src)]
	for i, v := range src {
		v = min(max(v, -math.MaxFloat32), math.MaxFloat32)
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
}

// A block of q8_0: a scale of f16 and 32 numbers of 8 bits.
const (
	eightBlock = 32
	eightBytes = 2 + eightBlock
)

func readEight(dst []float32, b []byte) {
	for ; len(dst) >= eightBlock; dst, b = dst[eightBlock:], b[eightBytes:] {
		scale := half(binary.LittleEndian.Uint16(b))
		for i, q := range b[2:eightBytes] {
			dst[i] = float32(int8(q)) * scale
		}
	}
}

// writeEight quantises as the engine does.
func writeEight(b []byte, src []float32) {
	for ; len(src) >= eightBlock; src, b = src[eightBlock:], b[eightBytes:] {
		most := float32(0)
		for _, v := range src[:eightBlock] {
			most = max(most, v, -v)
		}
		scale := min(most/127, mostHalf)
		inverse := float32(0)
		if scale > 0 {
			inverse = 1 / scale
		}
		binary.LittleEndian.PutUint16(b, toHalf(scale))
		for i, v := range src[:eightBlock] {
			b[2+i] = byte(int8(math.Round(float64(min(max(v*inverse, -127), 127)))))
		}
	}
}
