package store

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"dure/gguf"
	"dure/kvcache/blob"

	"pgregory.net/rapid"
)

func TestBlocksComeBackAsTheyWere(t *testing.T) {
	var c, d coder
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.IntRange(1, 255).Draw(t, "record")
		s := section{record: record, head: rapid.IntRange(1, record).Draw(t, "head")}
		n := rapid.IntRange(1, max(1, 6000/record)).Draw(t, "records")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		spread := make([]int, record) // of the values at each place of a record
		for i := range spread {
			spread[i] = []int{1, 2, 20, 256}[rng.IntN(4)]
		}
		b := make([]byte, n*record)
		for i := range b {
			b[i] = byte(rng.IntN(spread[i%record]))
		}
		coded, codec := c.encode(b, s, Planes)
		got := make([]byte, len(b))
		if err := d.decode(got, coded, codec, s); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%v: %v", codec, err)
		}
		if len(coded) > len(b) || len(coded)*maxGain < len(b) {
			t.Fatalf("%d bytes as %d", len(b), len(coded))
		}
	})
}

func TestExponentsAreCodedAndMantissasAreNot(t *testing.T) {
	l := testIdentity().Layout
	data := rows(l, 2000, rand.New(rand.NewPCG(1, 1)))
	var cut int
	h := plan(nil, &Job{Path: tokens(1, 1), Data: data}, sections(l, data))
	var c coder
	for _, b := range h.blocks {
		coded, codec := c.encode(data[cut:cut+b.raw], b.section, Planes)
		if b.section.record == 2 && (codec != Planes || len(coded) > b.raw*3/4) {
			t.Errorf("a block of %d floats is %d bytes, %v", b.raw/2, len(coded), codec)
		}
		cut += b.raw
	}
	if cut != len(data) {
		t.Errorf("blocks of %d bytes of %d", cut, len(data))
	}
}

func TestSectionsAreTheLayoutsOrNone(t *testing.T) {
	row := []blob.Row{{Type: gguf.Q8_0, Width: 64}}
	for name, l := range map[string]blob.Layout{
		"plain":  testIdentity().Layout,
		"q8_0":   {Pools: []blob.Pool{{Streams: 1, Extra: 3, Keys: row, Values: row}}},
		"window": {Pools: []blob.Pool{{Streams: 1, Keys: row, Values: row}, {Streams: 1, Window: 64, Keys: row, Values: row}}},
	} {
		for _, n := range []int{1, 7, 100, 1000} {
			data := rows(l, n, rand.New(rand.NewPCG(2, 2)))
			for _, b := range [][]byte{data, data[:len(data)-1], append(bytes.Clone(data), 0), data[:3], nil} {
				sum, records := 0, 0
				for _, s := range sections(l, b) {
					if s.bytes%s.record != 0 {
						t.Fatalf("%s: section %+v", name, s)
					}
					sum += s.bytes
					if s.record > 1 {
						records++
					}
				}
				if sum != len(b) {
					t.Fatalf("%s: sections of %d bytes of %d", name, sum, len(b))
				}
				if (records > 0) != (len(b) == len(data) && n >= 100) {
					t.Errorf("%s: %d sections of records in %d cells, %d bytes too many", name, records, n, len(b)-len(data))
				}
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	var c coder
	b := rows(testIdentity().Layout, 100, rand.New(rand.NewPCG(3, 3)))[:4096]
	coded, _ := c.encode(b, section{record: 2, head: 2}, Planes)
	f.Add(bytes.Clone(coded), uint16(4096), uint8(2), uint8(2), uint8(1))
	coded, _ = c.encode(b[:4080], section{record: 34, head: 2}, Planes)
	f.Add(bytes.Clone(coded), uint16(4080), uint8(34), uint8(2), uint8(1))
	f.Add([]byte{planeConstant, 1, planeConstant, 2}, uint16(64), uint8(2), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, coded []byte, size uint16, record, head, codec uint8) {
		var c coder
		dst := make([]byte, size)
		_ = c.decode(dst, coded, Codec(codec), section{record: int(record), head: int(head)})
	})
}
