package codec

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/kvcache/blob"
)

// geometry of a synthetic model.
func geometry(t testing.TB, write func(io.Writer, synth.Config) error, cfg synth.Config) *gguf.Geometry {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes(), uint64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.Geometry()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The form of each kind of model codes its states, in each type of cells.
func TestFormOf(t *testing.T) {
	for name, write := range map[string]func(io.Writer, synth.Config) error{"llama": synth.Llama, "gemma3": synth.Gemma3, "qwen35": synth.Qwen35} {
		g := geometry(t, write, synth.Config{HeadDim: 64, Layers: 8})
		for _, typ := range []gguf.TensorType{gguf.F16, gguf.F32, gguf.Q8_0, gguf.Q4_0} {
			l, err := blob.Of(g, blob.Options{Keys: typ, Values: typ, Streams: 1})
			if err != nil {
				t.Fatal(err)
			}
			f, err := FormOf(g, l)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			k, v := f.Keys[0][0], f.Values[0][0]
			if k.Rotary.Dims != g.Rope.Dims || k.Rotary.Halves == (name == "llama") || v.Rotary.Dims != 0 {
				t.Errorf("%s: keys %+v, values %+v", name, k, v)
			}
			if mixed := typ.BlockSize() > 1; mixed && (k.Mixed != 64 || v.Mixed != 64) || !mixed && k.Mixed+v.Mixed != 0 {
				t.Errorf("%s, %v: %d elements of keys are mixed, %d of values", name, typ, k.Mixed, v.Mixed)
			}
			state := stateOf(f, 200, rand.New(rand.NewPCG(1, 1)))
			coded, err := Encode(nil, state, f, NearSmall, nil)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Decode(nil, coded, f, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkClose(t, f, NearSmall, state, back)
		}
	}
	windowed := geometry(t, synth.Gemma3, synth.Config{HeadDim: 64})
	l, err := blob.Of(windowed, blob.Options{Keys: gguf.F16, Values: gguf.F16, Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	f, err := FormOf(windowed, l)
	if err != nil || f.Keys[1][0].Rotary.Base != 10000 {
		t.Errorf("layers with a window turn by %+v: %v", f.Keys[1][0].Rotary, err)
	}
	if l.Pools[0].Keys = l.Pools[0].Keys[1:]; true {
		if _, err := FormOf(windowed, l); err == nil {
			t.Error("a layout of fewer layers was taken")
		}
	}
}

// Pairs are turned by position * base^(-2i/dims), neighbours or halves.
func TestTurn(t *testing.T) {
	for _, halves := range []bool{false, true} {
		h := Heads{Count: 2, Dim: 8, Rotary: Rotary{Dims: 4, Base: 100, Scale: 0.5, Halves: halves}}
		x := make([]float32, 16)
		for i := range x {
			x[i] = float32(i + 1)
		}
		turned := slices.Clone(x)
		newTurns(h.Rotary, []int32{7}).turn(turned, h, false)
		for head := range 2 {
			for pair := range 2 {
				a, b := 2*pair, 2*pair+1
				if halves {
					a, b = pair, pair+2
				}
				sin, cos := math.Sincos(7 * 0.5 * math.Pow(100, -float64(pair)/2))
				u, v := float64(x[8*head+a]), float64(x[8*head+b])
				if d := math.Abs(u*cos-v*sin-float64(turned[8*head+a])) + math.Abs(u*sin+v*cos-float64(turned[8*head+b])); d > 1e-5 {
					t.Errorf("halves %v, head %d, pair %d: off by %v", halves, head, pair, d)
				}
			}
			for i := 4; i < 8; i++ {
				if turned[8*head+i] != x[8*head+i] {
					t.Errorf("element %d was turned", i)
				}
			}
		}
		newTurns(h.Rotary, []int32{7}).turn(turned, h, true)
		for i := range x {
			if math.Abs(float64(turned[i]-x[i])) > 1e-5 {
				t.Errorf("element %d is not turned back", i)
			}
		}
	}
}

// Damage that carries the right checksum is refused, or decoded to what parses:
// never a panic, whatever byte it is.
func TestResealedDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	f := formFor(2, shape{1, 64, Rotary{Dims: 64, Base: 10000, Scale: 1}}, gguf.F16, gguf.Q8_0, 0, 3, false, true)
	state := stateOf(f, 300, rng)
	basisOf, err := Calibrate(basisForm(), mixed(basisForm(), 300, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	try := func(f Form, state []byte, class Class, b *Basis) {
		coded, err := Encode(nil, state, f, class, b)
		if err != nil {
			t.Fatal(err)
		}
		body := coded[:len(coded)-4]
		for range 400 {
			bad := bytes.Clone(body)
			for range 1 + rng.IntN(3) {
				// Lengths, tables and heads of planes are in the first part.
				at := rng.IntN(len(bad))
				if rng.IntN(2) == 0 {
					at = rng.IntN(min(len(bad), 600))
				}
				bad[at] = byte(rng.Uint32())
			}
			bad = binary.LittleEndian.AppendUint32(bad, crc32.Checksum(bad, castagnoli))
			back, err := Decode(nil, bad, f, b)
			if err != nil {
				continue
			}
			if _, _, err := partOf(f, back); err != nil {
				t.Fatalf("%v: decoded to what is no state: %v", class, err)
			}
		}
	}
	for _, class := range Classes()[:4] {
		try(f, state, class, nil)
	}
	try(basisForm(), mixed(basisForm(), 300, 1, 2), Calibrated, basisOf)
}

// A plane of several stretches is read as it was written.
func TestStretches(t *testing.T) {
	f := formFor(1, shape{2, 256, Rotary{Dims: 64, Base: 10000, Scale: 1, Halves: true}}, gguf.F16, gguf.F16, 0, 0, false, false)
	state := stateOf(f, 2*stretch(512)+300, rand.New(rand.NewPCG(1, 1)))
	for _, class := range []Class{Exact, Small} {
		coded, err := NewCoder(2).Encode(nil, state, f, class, nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := NewCoder(2).Decode(nil, coded, f, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkClose(t, f, class, state, back)
	}
}

// All halves are read, and written again, as they are; what lies between goes to
// the nearest, as in the rest of the program.
func TestHalves(t *testing.T) {
	for u := range 1 << 16 {
		if u&0x7c00 == 0x7c00 {
			continue
		}
		if got := toHalf(half(uint16(u))); got != uint16(u) {
			t.Fatalf("%x became %x", u, got)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1 << 16 {
		f := float32(rng.NormFloat64() * math.Exp(4*rng.NormFloat64()))
		if a := math.Abs(float64(f)); a < mostHalf && a > 0x1p-14 && toHalf(f) != gguf.Float16(f) {
			t.Fatalf("%v became %x, not %x", f, toHalf(f), gguf.Float16(f))
		}
	}
	for _, f := range []float32{65519, 65520, 1e30, float32(math.Inf(1))} {
		if toHalf(f) != 0x7bff || toHalf(-f) != 0xfbff {
			t.Errorf("%v became %x", f, toHalf(f))
		}
	}
}
