package synth

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"dure/gguf"
)

// A filler writes one block of random elements with mean 0 and the standard
// deviation it was made for. Elements are uniform: an integer times one scale,
// so that no machine rounds differently.
type filler func(block []byte, r *rand.Rand)

// fillers makes a filler per type that random weights exist for.
var fillers = map[gguf.TensorType]func(std float64) filler{
	gguf.F32:  fillF32,
	gguf.F16:  fillF16,
	gguf.BF16: fillBF16,
	gguf.Q8_0: fillQ8,
	gguf.Q4_0: fillQ40,
	gguf.Q4_1: fillQ41,
	gguf.Q4K:  fillQ4K,
	gguf.Q6K:  fillQ6K,
}

func canFill(t gguf.TensorType) bool { return fillers[t] != nil }

// random is the data of a tensor with the given standard deviation. Its
// generator starts from seed and name alone, so that a tensor keeps its values
// when others come or go.
func random(seed uint64, name string, t gguf.TensorType, std float64, elements uint64) gguf.Data {
	return func(w io.Writer) error {
		newFiller := fillers[t]
		if newFiller == nil {
			return fmt.Errorf("no random weights of type %v", t)
		}
		h := fnv.New64a()
		io.WriteString(h, name)
		r := rand.New(rand.NewPCG(seed, h.Sum64()))
		return blocks(w, newFiller(std), r, elements/t.BlockSize(), t.BlockBytes())
	}
}

// blocks writes n blocks, some thousand bytes at a time.
func blocks(w io.Writer, fill filler, r *rand.Rand, n, size uint64) error {
	per := max(1, 1<<14/size)
	buf := make([]byte, per*size)
	for n > 0 {
		k := min(n, per)
		for i := range k {
			fill(buf[i*size:(i+1)*size], r)
		}
		if _, err := w.Write(buf[:k*size]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// shifted is F32 data around a centre other than 0.
func shifted(seed uint64, name string, n uint64, centre, std float32) gguf.Data {
	return func(w io.Writer) error {
		h := fnv.New64a()
		io.WriteString(h, name)
		r := rand.New(rand.NewPCG(seed, h.Sum64()))
		step := std * float32(math.Sqrt(3)) / (1 << 23)
		return blocks(w, func(b []byte, r *rand.Rand) {
			// The explicit conversion forbids a fused multiply-add.
			v := centre + float32(symmetric24(r)*step)
			binary.LittleEndian.PutUint32(b, math.Float32bits(v))
		}, r, n, 4)
	}
}

// symmetric24 is a uniform integer in [-2^23, 2^23), exact in a float32.
func symmetric24(r *rand.Rand) float32 { return float32(int32(r.Uint32()>>8) - 1<<23) }

func fillF32(std float64) filler {
	step := float32(std * math.Sqrt(3) / (1 << 23))
	return func(b []byte, r *rand.Rand) {
		binary.LittleEndian.PutUint32(b, math.Float32bits(symmetric24(r)*step))
	}
}

func fillF16(std float64) filler {
	step := float32(std * math.Sqrt(3) / (1 << 23))
	return func(b []byte, r *rand.Rand) {
		binary.LittleEndian.PutUint16(b, gguf.Float16(symmetric24(r)*step))
	}
}

func fillBF16(std float64) filler {
	step := float32(std * math.Sqrt(3) / (1 << 23))
	return func(b []byte, r *rand.Rand) {
		v := math.Float32bits(symmetric24(r) * step)
		binary.LittleEndian.PutUint16(b, uint16((v+0x7fff+v>>16&1)>>16))
	}
}

// fillQ8: value = d * q, q in [-127, 127].
func fillQ8(std float64) filler {
	d := gguf.Float16(float32(std * math.Sqrt(3) / 127))
	return func(b []byte, r *rand.Rand) {
		binary.LittleEndian.PutUint16(b, d)
		for i := 2; i < len(b); i++ {
			b[i] = byte(int8(int32(r.Uint32N(255)) - 127))
		}
	}
}

// std16 is the standard deviation of a uniform integer in [0, 16).
var std16 = math.Sqrt((16*16 - 1) / 12.0)

// fillQ40: value = d * (q - 8). The mean of q is 7.5, so the sign of d is
// drawn per block to keep the weights centred.
func fillQ40(std float64) filler {
	d := gguf.Float16(float32(std / std16))
	return func(b []byte, r *rand.Rand) {
		binary.LittleEndian.PutUint16(b, d^uint16(r.Uint32()&1)<<15)
		nibbles(b[2:], r)
	}
}

// fillQ41: value = d * q + m.
func fillQ41(std float64) filler {
	d, m := gguf.Float16(float32(std/std16)), gguf.Float16(float32(-7.5*std/std16))
	return func(b []byte, r *rand.Rand) {
		binary.LittleEndian.PutUint16(b, d)
		binary.LittleEndian.PutUint16(b[2:], m)
		nibbles(b[4:], r)
	}
}

// fillQ4K: value = d*sc*q - dmin*m with six-bit sc = 32 and m = 60 in all eight
// sub-blocks, packed as the format wants it; dmin = 4d centres the values.
func fillQ4K(std float64) filler {
	step := std / std16 / 32
	d, dmin := gguf.Float16(float32(step)), gguf.Float16(float32(4*step))
	scales := [12]byte{0xa0, 0xa0, 0xa0, 0xa0, 0xfc, 0xfc, 0xfc, 0xfc, 0xc0, 0xc0, 0xc0, 0xc0}
	return func(b []byte, r *rand.Rand) {
		binary.LittleEndian.PutUint16(b, d)
		binary.LittleEndian.PutUint16(b[2:], dmin)
		copy(b[4:], scales[:])
		nibbles(b[16:], r)
	}
}

// fillQ6K: value = d * scale * (q - 32), q in [0, 64); the sign of each of the
// 16 scales is drawn to keep the weights centred.
func fillQ6K(std float64) filler {
	d := gguf.Float16(float32(std / math.Sqrt((64*64-1)/12.0) / 64))
	return func(b []byte, r *rand.Rand) {
		nibbles(b[:192], r) // low four bits, then high two
		signs := r.Uint32()
		for i := range 16 {
			b[192+i] = byte(64 - 128*int32(signs>>i&1)) // 64 or -64
		}
		binary.LittleEndian.PutUint16(b[208:], d)
	}
}

func nibbles(b []byte, r *rand.Rand) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, r.Uint64())
		b = b[8:]
	}
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}
