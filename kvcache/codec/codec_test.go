package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"dure/gguf"
	"dure/kvcache/blob"
	"pgregory.net/rapid"
)

// Every class gives back a state of the same positions and types, exact the same
// bytes, the others numbers that are off by no more than a step says.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawForm(t)
		state := stateOf(f, rapid.IntRange(1, 400).Draw(t, "cells"), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		if rapid.Bool().Draw(t, "partial") && f.Layout.HasState() {
			b, err := blob.Parse(f.Layout, state, blob.Whole)
			if err != nil {
				t.Fatal(err)
			}
			state = b.Append(nil, blob.Partial)
		}
		for _, class := range Classes()[:4] {
			coded, err := NewCoder(2).Encode([]byte("before"), state, f, class, nil)
			if err != nil {
				t.Fatal(err)
			}
			if i, err := Inspect(coded[6:]); err != nil || i != (Info{class, len(state)}) {
				t.Fatalf("%+v, %v", i, err)
			}
			back, err := Decode([]byte("ahead"), coded[6:], f, nil)
			if err != nil {
				t.Fatal(err)
			}
			if back = back[5:]; class == Exact && !bytes.Equal(back, state) {
				t.Fatal("exact is not")
			}
			checkClose(t, f, class, state, back)
		}
	})
}

// checkClose compares two states that parse.
func checkClose(t rapid.TB, f Form, class Class, want, got []byte) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d bytes, not %d", len(got), len(want))
	}
	ps, _, err := partOf(f, want)
	if err != nil {
		t.Fatal(err)
	}
	end := 0
	for i := range ps.planes {
		p := &ps.planes[i]
		if !bytes.Equal(want[end:p.at], got[end:p.at]) {
			t.Fatalf("what is before plane %d differs", i)
		}
		end = p.at + p.bytes()
		if p.pos == nil {
			checkState(t, class, want[p.at:end], got[p.at:end])
			continue
		}
		if p.row.Type == gguf.Q8_0 && class > Near {
			checkNoise(t, p, stepsOf(class, p.kind).body, want[p.at:end], got[p.at:end])
			continue
		}
		if !isNumber(p.row.Type) {
			if !bytes.Equal(want[p.at:end], got[p.at:end]) {
				t.Fatalf("plane %d of %v differs", i, p.row.Type)
			}
			continue
		}
		checkPlane(t, p, stepsOf(class, p.kind).body, want[p.at:end], got[p.at:end])
	}
	if !bytes.Equal(want[end:], got[end:]) {
		t.Fatal("the end differs")
	}
}

// checkNoise compares numbers that were mixed, of which only the sum is bounded:
// half a step each, and what quantising them again adds.
func checkNoise(t rapid.TB, p *plane, part float64, want, got []byte) {
	t.Helper()
	a, b := make([]float32, p.row.Width), make([]float32, p.row.Width)
	signal, noise, again := 0.0, 0.0, 0.0
	for i := range p.cells {
		readRow(a, want, p, i)
		readRow(b, got, p, i)
		most := 0.0
		for c := range a {
			signal += float64(a[c]) * float64(a[c])
			noise += float64(a[c]-b[c]) * float64(a[c]-b[c])
			most = max(most, math.Abs(float64(b[c])))
		}
		again += float64(len(a)) * most * most / 127 / 127 / 4 * 1.1
	}
	if !(math.Sqrt(noise) <= part/2*math.Sqrt(signal)+math.Sqrt(again)) {
		t.Fatalf("noise of %v in %v, at most a part of %v and %v", noise, signal, part/2, again)
	}
}

// checkState compares a recurrent state: bf16 has 8 bits of each number, rotated
// ones 8 bits of the largest in a block.
func checkState(t rapid.TB, class Class, want, got []byte) {
	t.Helper()
	number := func(b []byte, i int) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	square := 0.0
	for i := range len(want) / 4 {
		square += number(want, i) * number(want, i)
	}
	for i := range len(want) / 4 {
		a, b := number(want, i), number(got, i)
		most := 0.0
		switch {
		case class == Near || class == NearSmall:
			most = math.Abs(a) / 256
		case class != Exact: // all of them could be in one block, and all off by half
			most = math.Sqrt(square) / 127 * 1.02 / 2 * math.Sqrt(stateBlock)
		}
		if !(math.Abs(a-b) <= most) {
			t.Fatalf("state number %d: %v became %v, at most %v", i, a, b, most)
		}
	}
}

func checkPlane(t rapid.TB, p *plane, part float64, want, got []byte) {
	t.Helper()
	a, b := make([]float32, p.row.Width), make([]float32, p.row.Width)
	square := 0.0
	fewest := p.cells
	for _, set := range [][]int32{sets(p.pos, firstRows, lastRows).body, sets(p.pos, firstRows, lastRows).last} {
		if len(set) > 0 {
			fewest = min(fewest, len(set)) // each set has a deviation of its own
		}
	}
	for i := range p.cells {
		readRow(a, want, p, i)
		for _, v := range a {
			square += float64(v) * float64(v)
		}
	}
	// A pair that is turned back has the error of both its parts.
	most := part / 2 * math.Sqrt(2*square/float64(fewest*p.row.Width))
	for i := range p.cells {
		readRow(a, want, p, i)
		readRow(b, got, p, i)
		for c := range a {
			if d := math.Abs(float64(a[c] - b[c])); d > 0 && (int(p.pos[i]) < firstRows || !(d <= most+math.Abs(float64(a[c]))/512)) {
				t.Fatalf("row %d (position %d), channel %d: %v became %v, at most %v", i, p.pos[i], c, a[c], b[c], most)
			}
		}
	}
}

// Numbers that are none are not lost, nor are those around them.
func TestNotFinite(t *testing.T) {
	f := formFor(2, shape{2, 32, Rotary{Dims: 32, Base: 10000, Scale: 1}}, gguf.F16, gguf.F32, 0, 0, false, false)
	for _, bits := range []uint32{0x7c00, 0xfc00, 0x7e01, 0x7f800000, 0xffc00001} {
		state := stateOf(f, 300, rand.New(rand.NewPCG(1, 1)))
		ps, _, err := partOf(f, state)
		if err != nil {
			t.Fatal(err)
		}
		p := &ps.planes[0]
		if bits > 0xffff {
			p = &ps.planes[3]
			binary.LittleEndian.PutUint32(state[p.at+4*777:], bits)
		} else {
			binary.LittleEndian.PutUint16(state[p.at+2*777:], uint16(bits))
		}
		coded, err := Encode(nil, state, f, Small, nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(nil, coded, f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(back[p.at:p.at+p.bytes()], state[p.at:p.at+p.bytes()]) {
			t.Errorf("%x: the plane changed", bits)
		}
		other := &ps.planes[1]
		if bytes.Equal(back[other.at:other.at+other.bytes()], state[other.at:other.at+other.bytes()]) {
			t.Errorf("%x: no other plane lost anything", bits)
		}
	}
}

// Extreme numbers stay numbers.
func TestExtremes(t *testing.T) {
	f := formFor(1, shape{1, 32, Rotary{Dims: 32, Base: 10000, Scale: 1}}, gguf.F16, gguf.F32, 0, 0, false, false)
	for name, v := range map[string]float32{"zero": 0, "one": 1, "least": 1e-45, "tiny": 1e-38, "most": math.MaxFloat32, "alternating": -2} {
		state := stateOf(f, 200, rand.New(rand.NewPCG(1, 1)))
		ps, _, err := partOf(f, state)
		if err != nil {
			t.Fatal(err)
		}
		for k := range ps.planes {
			p := &ps.planes[k]
			row := make([]float32, p.row.Width)
			for i := range p.cells {
				for c := range row {
					if row[c] = v; v < 0 && (i+c)%2 == 0 || v == math.MaxFloat32 && c == 3 {
						row[c] = -v
					}
				}
				writeRow(state[p.at:p.at+p.bytes()], row, p, i)
			}
		}
		for _, class := range Classes()[:4] {
			coded, err := Encode(nil, state, f, class, nil)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Decode(nil, coded, f, nil)
			if err != nil {
				t.Fatal(err)
			}
			for k := range ps.planes {
				p := &ps.planes[k]
				if !allFinite(back[p.at:p.at+p.bytes()], p.row.Type) {
					t.Errorf("%s, %v: plane %d is not finite", name, class, k)
				}
			}
		}
	}
}

// What is not what Encode made is refused.
func TestDamage(t *testing.T) {
	f := formFor(2, shape{2, 32, Rotary{Dims: 32, Base: 10000, Scale: 1}}, gguf.F16, gguf.F16, 0, 0, false, true)
	state := stateOf(f, 200, rand.New(rand.NewPCG(1, 1)))
	coded, err := Encode(nil, state, f, Small, nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 500 {
		bad := bytes.Clone(coded)
		if rng.IntN(3) == 0 {
			bad = bad[:rng.IntN(len(bad))]
		} else {
			bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
		}
		if _, err := Decode(nil, bad, f, nil); !errors.Is(err, ErrCoded) {
			t.Fatalf("%d bytes of %d: %v", len(bad), len(coded), err)
		}
	}
	other := formFor(2, shape{2, 64, Rotary{Dims: 32, Base: 10000, Scale: 1}}, gguf.F16, gguf.F16, 0, 0, false, true)
	if _, err := Decode(nil, coded, other, nil); err == nil {
		t.Error("taken as the state of another model")
	}
	if _, err := Encode(nil, state, other, Exact, nil); err == nil {
		t.Error("coded as the state of another model")
	}
	if _, err := Encode(nil, state, f, Calibrated, nil); !errors.Is(err, ErrBasis) {
		t.Errorf("calibrated without a basis: %v", err)
	}
	if _, err := Encode(nil, state, f, 0, nil); err == nil {
		t.Error("no class is one")
	}
}

// Whatever passes the checksum is decoded or refused, within bounds.
func FuzzDecode(fz *testing.F) {
	forms := []Form{
		formFor(1, shape{1, 32, Rotary{Dims: 32, Base: 10000, Scale: 1}}, gguf.F16, gguf.F16, 0, 0, false, false),
		formFor(1, shape{1, 32, Rotary{Dims: 8, Base: 10000, Scale: 1, Halves: true}}, gguf.F32, gguf.F16, 0, 3, true, true),
		formFor(1, shape{1, 32, Rotary{}}, gguf.Q8_0, gguf.Q4_0, 8, 0, false, false),
	}
	for i, f := range forms {
		for _, class := range Classes()[:4] {
			coded, err := Encode(nil, stateOf(f, 140, rand.New(rand.NewPCG(3, 3))), f, class, nil)
			if err != nil {
				fz.Fatal(err)
			}
			fz.Add(byte(i), coded[:len(coded)-4])
		}
	}
	fz.Fuzz(func(t *testing.T, which byte, body []byte) {
		f := forms[int(which)%len(forms)]
		coded := binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
		back, err := Decode(nil, coded, f, nil)
		if err != nil {
			return
		}
		if len(back) > maxGain*len(coded) {
			t.Fatalf("%d bytes from %d", len(back), len(coded))
		}
		if _, _, err := partOf(f, back); err != nil {
			t.Fatal(err)
		}
		again, err := Encode(nil, back, f, Exact, nil)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := Decode(nil, again, f, nil); err != nil || !bytes.Equal(same, back) {
			t.Fatalf("what was decoded cannot be coded: %v", err)
		}
	})
}
