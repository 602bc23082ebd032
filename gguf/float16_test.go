package gguf

import (
	"math"
	"testing"
)

// TestFloat16 compares with the definition over all halves: each converts back
// to itself, and a value between two neighbours goes to the nearer.
func TestFloat16(t *testing.T) {
	value := func(h uint16) float32 {
		e, m := int(h>>10&31), float64(h&1023)
		v := math.Ldexp(1024+m, e-25)
		if e == 0 {
			v = math.Ldexp(m, -24)
		}
		return float32(v)
	}
	for h := range uint16(0x7c00) { // all finite non-negative halves
		if got := Float16(value(h)); got != h {
			t.Fatalf("%#x: got %#x", h, got)
		}
		if got := Float16(-value(h)); got != h|0x8000 {
			t.Fatalf("-%#x: got %#x", h, got)
		}
		if h+1 == 0x7c00 {
			continue
		}
		mid := (value(h) + value(h+1)) / 2 // exact
		even := h + h&1
		for v, want := range map[float32]uint16{mid: even, math.Nextafter32(mid, 0): h, math.Nextafter32(mid, 1e9): h + 1} {
			if got := Float16(v); got != want {
				t.Fatalf("%g between %#x and the next: got %#x, want %#x", v, h, got, want)
			}
		}
	}
	if got := Float16(float32(math.NaN())); got&0x7c00 != 0x7c00 || got&0x3ff == 0 {
		t.Errorf("NaN: got %#x", got)
	}
	for _, v := range []float32{65520, 65536, 1e10, float32(math.Inf(1))} {
		if got := Float16(v); got != 0x7c00 {
			t.Errorf("%g: got %#x, want infinity", v, got)
		}
	}
}
