package audio

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSamples(t *testing.T) {
	for _, c := range []struct {
		n  Samples
		ms int64
		d  time.Duration
	}{
		{0, 0, 0}, {1, 0, 41666}, {24, 1, time.Millisecond}, {FrameSamples, 133, 133333333}, {Rate * 3600 * 24 * 365, 365 * 24 * 3600 * 1000, 365 * 24 * time.Hour},
	} {
		if c.n.Milliseconds() != c.ms || c.n.Duration() != c.d {
			t.Errorf("%d: %d ms, %v", c.n, c.n.Milliseconds(), c.n.Duration())
		}
	}
	if FromMilliseconds(300) != 7200 || FromMilliseconds(math.MaxInt64) <= 0 || FromMilliseconds(math.MinInt64) >= 0 {
		t.Error("FromMilliseconds")
	}
}

// Values of the tables of ITU-T G.711.
func TestG711(t *testing.T) {
	for c, want := range map[byte]int16{0x00: -32124, 0x7f: 0, 0x80: 32124, 0xff: 0, 0xfe: 8} {
		if got := decodeULaw(c); got != want {
			t.Errorf("mu-law %#x is %d, want %d", c, got, want)
		}
	}
	for c, want := range map[byte]int16{0xd5: 8, 0x55: -8, 0xaa: 32256, 0x2a: -32256, 0xd4: 24, 0x80: 5504} {
		if got := decodeALaw(c); got != want {
			t.Errorf("A-law %#x is %d, want %d", c, got, want)
		}
	}
	for c := range 256 {
		if got := encodeULaw(decodeULaw(byte(c))); got != byte(c) && c != 0x7f {
			t.Errorf("mu-law %#x becomes %#x", c, got)
		}
		if got := encodeALaw(decodeALaw(byte(c))); got != byte(c) {
			t.Errorf("A-law %#x becomes %#x", c, got)
		}
	}
	// No code is further from what it stands for than half a step of its segment.
	for v := math.MinInt16; v <= math.MaxInt16; v++ {
		u, a := int(decodeULaw(encodeULaw(int16(v)))), int(decodeALaw(encodeALaw(int16(v))))
		size := max(v, -v)
		if d := u - v; max(d, -d) > max(4, (size+132)/32) && size < 32636 {
			t.Fatalf("mu-law of %d is %d", v, u)
		}
		if d := a - v; max(d, -d) > max(8, size/32+8) {
			t.Fatalf("A-law of %d is %d", v, a)
		}
	}
}

func TestFormatRoundTrip(t *testing.T) {
	for v := math.MinInt16; v <= math.MaxInt16; v++ {
		b := []byte{byte(v), byte(v >> 8)}
		s, err := PCM16.Decode(nil, b)
		if err != nil || !bytes.Equal(PCM16.Encode(nil, s), b) {
			t.Fatalf("%d does not survive", v)
		}
	}
	if _, err := PCM16.Decode(nil, make([]byte, 3)); err == nil {
		t.Error("half a sample is taken")
	}
	if _, err := Float32.Decode(nil, []byte{0, 0, 0xc0, 0x7f}); err == nil {
		t.Error("NaN is taken")
	}
	if s, err := Float32.Decode(nil, Float32.Encode(nil, []float32{0.25, -7, 3})); err != nil || !slices.Equal(s, []float32{0.25, -1, 1}) {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := Format("audio/opus").Decode(nil, []byte{1}); err == nil {
		t.Error("an unknown format is taken")
	}
}

func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20000).Draw(t, "limit")
		r := NewRing(Samples(limit))
		var all []float32
		start := 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			piece := make([]float32, rapid.IntRange(0, 9000).Draw(t, "append"))
			for i := range piece {
				piece[i] = float32(len(all) + i)
			}
			err := r.Append(piece)
			if fits := len(all)-start+len(piece) <= limit; fits != (err == nil) {
				t.Fatalf("%d held, %d more, limit %d: %v", len(all)-start, len(piece), limit, err)
			}
			if err == nil {
				all = append(all, piece...)
			}
			from := rapid.IntRange(-10, len(all)+10).Draw(t, "from")
			to := rapid.IntRange(-10, len(all)+10).Draw(t, "to")
			a, b := r.Range(Samples(from), Samples(to))
			lo, hi := max(from, start), min(to, len(all))
			var want []float32
			if lo < hi {
				want = all[lo:hi]
			}
			if got := append(slices.Clone(a), b...); !slices.Equal(got, want) {
				t.Fatalf("from %d to %d: %d samples, want %d", from, to, len(got), len(want))
			}
			forget := rapid.IntRange(-10, len(all)+10).Draw(t, "forget")
			r.Forget(Samples(forget))
			start = max(start, min(forget, len(all)))
			if r.Start() != Samples(start) || r.End() != Samples(len(all)) {
				t.Fatalf("holds %d to %d", r.Start(), r.End())
			}
		}
	})
}

func TestWAV(t *testing.T) {
	pcm := []float32{0, 0.5, -0.5, 1, -1, 0.001}
	var b bytes.Buffer
	if err := WriteWAV(&b, 24000, pcm, SyntheticLabel); err != nil {
		t.Fatal(err)
	}
	if size := b.Len(); int(b.Bytes()[4])|int(b.Bytes()[5])<<8 != size-8 {
		t.Errorf("the header does not say %d bytes", size)
	}
	w, err := ReadWAV(bytes.NewReader(b.Bytes()), 100)
	if err != nil || w.Rate != 24000 || w.Label != SyntheticLabel || len(w.PCM) != len(pcm) {
		t.Fatalf("%+v, %v", w, err)
	}
	for i, v := range w.PCM {
		if math.Abs(float64(v-pcm[i])) > 1.0/32768 {
			t.Errorf("sample %d is %v, was %v", i, v, pcm[i])
		}
	}
	if _, err := ReadWAV(bytes.NewReader(b.Bytes()), 5); !errors.Is(err, ErrTooLong) {
		t.Errorf("more samples than asked for: %v", err)
	}
	// A file that was cut, and one by a writer that did not know the length.
	if w, err = ReadWAV(bytes.NewReader(b.Bytes()[:b.Len()-3]), 100); err != nil || len(w.PCM) != 4 {
		t.Errorf("cut: %+v, %v", w, err)
	}
	stream := slices.Clone(b.Bytes())
	copy(stream[b.Len()-2*len(pcm)-4:], []byte{0xff, 0xff, 0xff, 0xff})
	if w, err = ReadWAV(bytes.NewReader(stream), 100); err != nil || len(w.PCM) != len(pcm) {
		t.Errorf("stream: %+v, %v", w, err)
	}
	for _, bad := range []string{"", "RIFF", "RIFF\x00\x00\x00\x00WAVE", "RIFX\x00\x00\x00\x00WAVEdata\x00\x00\x00\x00"} {
		if _, err := ReadWAV(bytes.NewReader([]byte(bad)), 100); err == nil {
			t.Errorf("%q is taken for a sound file", bad)
		}
	}
}

func FuzzReadWAV(f *testing.F) {
	var b bytes.Buffer
	if err := WriteWAV(&b, 16000, []float32{0, 0.5, -1}, "label"); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:40])
	f.Add([]byte("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x03\x00\x02\x00\x80\xbb\x00\x00\x00\x00\x00\x00\x08\x00\x20\x00data\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x80\x7f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := ReadWAV(bytes.NewReader(data), 1000)
		if err != nil {
			return
		}
		if len(w.PCM) > 1000 || w.Rate < MinRate || w.Rate > MaxRate {
			t.Fatalf("%d samples at %d Hz", len(w.PCM), w.Rate)
		}
		for _, v := range w.PCM {
			if v != v || v < -1 || v > 1 {
				t.Fatalf("a sample of %v", v)
			}
		}
		var again bytes.Buffer
		if err := WriteWAV(&again, w.Rate, w.PCM, w.Label); err != nil {
			t.Fatal(err)
		}
		back, err := ReadWAV(&again, 1000)
		if err != nil || len(back.PCM) != len(w.PCM) {
			t.Fatalf("what was read cannot be written and read: %v", err)
		}
	})
}

func FuzzFormat(f *testing.F) {
	f.Add("audio/pcm", []byte{1, 2, 3, 4})
	f.Add("audio/pcm_f32", []byte{0, 0, 0x80, 0x7f})
	f.Add("audio/pcmu", []byte{0, 0xff})
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		s, err := Format(name).Decode(nil, data)
		if err != nil {
			return
		}
		if b := Format(name).Encode(nil, s); len(b) != len(data) {
			t.Fatalf("%s: %d bytes became %d", name, len(data), len(b))
		}
	})
}
