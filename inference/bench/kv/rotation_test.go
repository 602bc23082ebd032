package kv

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/kvcache/blob"
)

// What RotationOf says is what the engine does: cells of q8_0 are those of f16, turned
// by as many elements.
func TestRotationOfTheEngine(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, dim := range []int{32, 64, 96, 128, 192} {
		t.Run(fmt.Sprint(dim), func(t *testing.T) {
			path := enginetest.Llama(t, synth.Config{Layers: 1, Context: 256, HeadDim: dim, Heads: 2, KVHeads: 1})
			m, g := enginetest.Load(t, path), geometry(t, path)
			plain, stored := cellsOf(t, m, g, gguf.F16), cellsOf(t, m, g, gguf.Q8_0)
			r := RotationOf(g, gguf.Q8_0, gguf.Q8_0, false)
			for i, n := range []int{r.Keys, r.Values} {
				if off := distance(hadamard(plain[i], n), stored[i]); off > 0.02 {
					t.Errorf("part %d, turned by %d: %.3f away", i, n, off)
				}
				if off := distance(plain[i], stored[i]); (off > 0.02) != (n > 0) {
					t.Errorf("part %d, not turned: %.3f away", i, off)
				}
			}
		})
	}
}

// cellsOf is the key and the value of the last of some tokens in the first layer.
func cellsOf(t *testing.T, m *engine.Model, g *gguf.Geometry, typ gguf.TensorType) [2][]float64 {
	t.Helper()
	c, err := m.NewContext(engine.ContextOptions{Cells: 256, Sequences: 1, Batch: 16, MicroBatch: 16, Outputs: 1, Threads: 1,
		FlashAttention: engine.FlashOn, KeyType: TypesName(typ, typ), ValueType: TypesName(typ, typ)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l := &line{c: c, batch: c.NewBatch(), rows: 16}
	defer l.batch.Close()
	if err := l.read(t.Context(), []engine.Token{300, 301, 302, 303, 304}); err != nil {
		t.Fatal(err)
	}
	state, err := l.state()
	if err != nil {
		t.Fatal(err)
	}
	layout, err := blob.Of(g, blob.Options{Keys: typ, Values: typ, Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	b, err := blob.Parse(layout, state, blob.Whole)
	if err != nil {
		t.Fatal(err)
	}
	return [2][]float64{numbers(b.Key(0, 0, 4), typ), numbers(b.Value(0, 0, 4).Bytes, typ)}
}

// numbers of a row of f16 or q8_0.
func numbers(row []byte, typ gguf.TensorType) (out []float64) {
	half := func(b []byte) float64 { // infinities do not come here
		h := binary.LittleEndian.Uint16(b)
		v := math.Ldexp(1+float64(h&0x3ff)/1024, int(h>>10&0x1f)-15)
		if h&0x7c00 == 0 {
			v = math.Ldexp(float64(h&0x3ff), -24)
		}
		if h&0x8000 != 0 {
			return -v
		}
		return v
	}
	if typ == gguf.F16 {
		for i := 0; i < len(row); i += 2 {
			out = append(out, half(row[i:]))
		}
		return out
	}
	for ; len(row) > 0; row = row[34:] {
		for _, q := range row[2:34] {
			out = append(out, half(row)*float64(int8(q)))
		}
	}
	return out
}

// hadamard turns each n elements by Sylvester's matrix; n = 0 leaves them.
func hadamard(x []float64, n int) []float64 {
	if n == 0 {
		return x
	}
	out := make([]float64, len(x))
	for i := range x {
		for j := range n {
			sign := 1 - 2*float64(bits.OnesCount(uint(i%n&j))%2)
			out[i] += sign * x[i-i%n+j] / math.Sqrt(float64(n))
		}
	}
	return out
}

// distance of two vectors beside the length of the first.
func distance(a, b []float64) float64 {
	var off, length float64
	for i := range a {
		off, length = off+(a[i]-b[i])*(a[i]-b[i]), length+a[i]*a[i]
	}
	return math.Sqrt(off / length)
}
