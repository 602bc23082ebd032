package codec

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dure/gguf"
	"pgregory.net/rapid"
)

// mixed is a state whose numbers hang together: few directions carry most of
// what varies, the same in every state of one mix.
func mixed(f Form, n int, mix, seed uint64) []byte {
	rng, how := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(mix, 2))
	state := stateOf(f, n, rng)
	ps, _, err := partOf(f, state)
	if err != nil {
		panic(err)
	}
	const rank = 3
	for k := range ps.planes {
		p := &ps.planes[k]
		if p.pos == nil || !isNumber(p.row.Type) {
			continue
		}
		w := p.row.Width
		directions := make([]float32, rank*w)
		for i := range directions {
			directions[i] = float32(how.NormFloat64())
		}
		x := make([]float32, n*w)
		for i := range n {
			for range rank {
				r, a := how.IntN(rank), float32(rng.NormFloat64())
				for c := range w {
					x[i*w+c] += a*directions[r*w+c] + 0.05*float32(rng.NormFloat64())
				}
			}
		}
		if p.kind == keys {
			newTurns(p.heads.Rotary, p.pos).turn(x, p.heads, false)
		}
		for i := range p.cells {
			writeRow(state[p.at:p.at+p.bytes()], x[i*w:(i+1)*w], p, i)
		}
	}
	return state
}

func basisForm() Form {
	return formFor(2, shape{2, 32, Rotary{Dims: 32, Base: 10000, Scale: 1}}, gguf.F16, gguf.F16, 0, 0, false, false)
}

// A basis finds what hangs together, in states it was not made from, and is the
// same after a way through its file.
func TestBasis(t *testing.T) {
	f := basisForm()
	b, err := Calibrate(f, mixed(f, 300, 1, 1), mixed(f, 200, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	file, err := b.Append([]byte("before"), f)
	if err != nil {
		t.Fatal(err)
	}
	same, err := ParseBasis(file[6:], f)
	if err != nil || same.Fingerprint() != b.Fingerprint() {
		t.Fatalf("%x, not %x: %v", same.Fingerprint(), b.Fingerprint(), err)
	}
	state := mixed(f, 2000, 1, 3)
	size := map[Class]int{}
	for _, class := range []Class{Small, Calibrated} {
		coded, err := Encode(nil, state, f, class, b)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(nil, coded, f, same)
		if err != nil {
			t.Fatal(err)
		}
		size[class] = len(coded)
		checkClose(t, f, class, state, back)
	}
	if 3*size[Calibrated] > 2*size[Small] {
		t.Errorf("%d bytes, without a basis %d", size[Calibrated], size[Small])
	}
}

// checkClose bounds the error of a number; of turned ones only the sum over a row
// is bounded so, which is what a class promises in both cases.
func TestCalibratedError(t *testing.T) {
	f := basisForm()
	b, err := Calibrate(f, mixed(f, 300, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		// Also of a state that the basis does not fit.
		state := mixed(f, rapid.IntRange(1, 400).Draw(t, "cells"), rapid.Uint64Range(1, 3).Draw(t, "mix"), rapid.Uint64().Draw(t, "seed"))
		coded, err := Encode(nil, state, f, Calibrated, b)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(nil, coded, f, b)
		if err != nil {
			t.Fatal(err)
		}
		ps, _, err := partOf(f, state)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ps.planes {
			p := &ps.planes[i]
			a, c := make([]float32, p.row.Width), make([]float32, p.row.Width)
			signal, noise := 0.0, 0.0
			for r := range p.cells {
				readRow(a, state[p.at:], p, r)
				readRow(c, back[p.at:], p, r)
				for k := range a {
					signal += float64(a[k]) * float64(a[k])
					noise += float64(a[k]-c[k]) * float64(a[k]-c[k])
				}
			}
			// A step of s deviations has an error of s/sqrt(12) of them, at most half a step.
			if !(noise <= signal/4*math.Pow(stepsOf(Calibrated, p.kind).body, 2)+1e-4*signal) {
				t.Fatalf("plane %d: noise of %v in %v", i, noise, signal)
			}
		}
	})
}

func TestBasisRefuses(t *testing.T) {
	f := basisForm()
	state := mixed(f, 300, 1, 1)
	b, err := Calibrate(f, state)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Calibrate(f, mixed(f, 300, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	coded, err := Encode(nil, state, f, Calibrated, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(nil, coded, f, other); !errors.Is(err, ErrBasis) {
		t.Errorf("decoded with another basis: %v", err)
	}
	if _, err := Decode(nil, coded, f, nil); !errors.Is(err, ErrBasis) {
		t.Errorf("decoded without a basis: %v", err)
	}
	angles := basisForm()
	angles.Keys[0][1].Rotary.Base++
	if _, err := Encode(nil, state, angles, Calibrated, b); !errors.Is(err, ErrBasis) {
		t.Errorf("taken for another form: %v", err)
	}
	if _, err := b.Append(nil, angles); !errors.Is(err, ErrBasis) {
		t.Errorf("written for another form: %v", err)
	}
	quantised := formFor(2, shape{2, 32, Rotary{}}, gguf.Q8_0, gguf.F16, 0, 0, false, false)
	if _, err := Calibrate(quantised, stateOf(quantised, 300, rand.New(rand.NewPCG(1, 1)))); !errors.Is(err, ErrBasis) {
		t.Errorf("calibrated with quantised cells: %v", err)
	}
	if _, err := Calibrate(f, mixed(f, 100, 1, 1)); !errors.Is(err, ErrBasis) {
		t.Errorf("calibrated with few tokens: %v", err)
	}
	if _, err := Calibrate(f, state[:100]); err == nil {
		t.Error("calibrated with half a state")
	}
	file, err := b.Append(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(file); at += 37 {
		bad := bytes.Clone(file)
		bad[at] ^= 0x10
		if _, err := ParseBasis(bad, f); !errors.Is(err, ErrBasis) {
			t.Fatalf("byte %d changed: %v", at, err)
		}
		if _, err := ParseBasis(file[:at], f); !errors.Is(err, ErrBasis) {
			t.Fatalf("%d bytes of %d: %v", at, len(file), err)
		}
	}
}

// A basis that carries the right checksum is orthonormal, or refused, and what is
// coded with it stays finite.
func FuzzBasis(fz *testing.F) {
	f := formFor(1, shape{1, 8, Rotary{}}, gguf.F16, gguf.F16, 0, 0, false, false)
	state := mixed(f, 300, 1, 1)
	b, err := Calibrate(f, state)
	if err != nil {
		fz.Fatal(err)
	}
	file, err := b.Append(nil, f)
	if err != nil {
		fz.Fatal(err)
	}
	fz.Add(file[:len(file)-sha256.Size])
	fz.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		b, err := ParseBasis(append(bytes.Clone(body), sum[:]...), f)
		if err != nil {
			if !errors.Is(err, ErrBasis) {
				t.Fatal(err)
			}
			return
		}
		coded, err := Encode(nil, state, f, Calibrated, b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(nil, coded, f, b); err != nil {
			t.Fatal(err)
		}
	})
}

// The directions of a matrix are orthonormal and carry its variances.
func TestEigen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 24).Draw(t, "n")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		a := make([]float64, n*n)
		for range rapid.IntRange(1, 2*n).Draw(t, "samples") {
			x := make([]float64, n)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			for i := range n {
				for j := range n {
					a[i*n+j] += x[i] * x[j]
				}
			}
		}
		variances, rows := eigen(slices.Clone(a), n)
		for i := range n {
			if i > 0 && variances[i] > variances[i-1]+1e-9 {
				t.Fatalf("variances are not sorted: %v", variances)
			}
			for j := range n {
				dot, form := 0.0, 0.0
				for k := range n {
					dot += rows[i*n+k] * rows[j*n+k]
					for l := range n {
						form += rows[i*n+k] * a[k*n+l] * rows[j*n+l]
					}
				}
				want, wantForm := 0.0, 0.0
				if i == j {
					want, wantForm = 1, variances[i]
				}
				if math.Abs(dot-want) > 1e-6 || math.Abs(form-wantForm) > 1e-5*(1+variances[0]) {
					t.Fatalf("directions %d and %d: %v, %v", i, j, dot, form)
				}
			}
		}
	})
}
