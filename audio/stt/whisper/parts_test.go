package whisper

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFloat16(t *testing.T) {
	for h, want := range map[uint16]float64{0: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 0x0001: 1.0 / (1 << 24), 0x8001: -1.0 / (1 << 24), 0x7bff: 65504, 0x7c00: math.Inf(1), 0x0400: 1.0 / (1 << 14)} {
		if got := float64(float16(h)); got != want {
			t.Errorf("%#04x is %v, want %v", h, got, want)
		}
	}
	if got := float16(0x7e00); got == got {
		t.Errorf("not a number is %v", got)
	}
}

// The filters cover the whole band, each bin by at most two of them, with the areas of
// the published ones.
func TestMelBands(t *testing.T) {
	bands := melBands(80)
	covered := make([]int, melPlan.Bins())
	for i, b := range bands {
		if len(b.weights) == 0 {
			t.Errorf("band %d is empty", i)
		}
		for k := range b.weights {
			covered[b.first+k]++
		}
	}
	for bin, n := range covered[1 : len(covered)-1] {
		if n < 1 || n > 2 {
			t.Errorf("bin %d is in %d bands", bin+1, n)
		}
	}
	// From the published filter bank: the first three weights of the first bands.
	for band, want := range map[int]float64{0: 0.024862593, 1: 0.0019908} {
		if got := bands[band].weights[0]; math.Abs(got-want) > 1e-4 {
			t.Errorf("band %d begins with %v, want %v", band, got, want)
		}
	}
}

// A tone is loudest in the band of its pitch, at all its frames; silence is flat.
func TestSpectrogram(t *testing.T) {
	bands := melBands(80)
	const frames = 200
	for _, hz := range []float64{300, 1000, 4000} {
		pcm := make([]float32, Rate)
		for i := range pcm {
			pcm[i] = float32(0.5 * math.Sin(2*math.Pi*hz*float64(i)/Rate))
		}
		mel := spectrogram(pcm, bands, frames)
		best := 0
		for b := range bands {
			if mel[b*frames+50] > mel[best*frames+50] {
				best = b
			}
		}
		low := float64(bands[best].first) * Rate / melWindow
		high := float64(bands[best].first+len(bands[best].weights)-1) * Rate / melWindow
		if hz < low-Rate/melWindow || hz > high+Rate/melWindow {
			t.Errorf("%v Hz is loudest in the band from %v to %v", hz, low, high)
		}
		if v := mel[best*frames+150]; v >= mel[best*frames+50]-1 {
			t.Errorf("the silence after %v Hz reads %v", hz, v)
		}
	}
	for i, v := range spectrogram(make([]float32, Rate), bands, frames) {
		if v != -1.5 { // (-10 + 4) / 4
			t.Fatalf("silence reads %v at %d", v, i)
		}
	}
}

func TestRepeats(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 0, "a b c": 0, "no no no": 0, "a b a b a b": 0, "no no no no no no": 2,
		"x a b c d a b c d a b c d": 8, "x a b c d a b c d a b c": 0,
	} {
		var words []int64
		for _, w := range strings.Fields(text) {
			words = append(words, int64(w[0]))
		}
		if got := repeats(words); got != want {
			t.Errorf("%q repeats %d words, want %d", text, got, want)
		}
	}
}

// A doubtful beginning after the end of a sentence is left out, and nothing else.
func TestLoose(t *testing.T) {
	v := &vocabulary{bytes: [][]byte{[]byte("a"), []byte("."), []byte(" The")}}
	for _, c := range []struct {
		words []int64
		logs  []float64
		want  int
	}{
		{nil, nil, 0}, {[]int64{2}, []float64{-3}, 0}, {[]int64{0, 1, 2}, []float64{0, 0, -3}, 1}, {[]int64{0, 1, 2}, []float64{0, 0, -0.1}, 0}, {[]int64{0, 1, 2, 1}, []float64{0, 0, -3, 0}, 0},
		{[]int64{0, 1, 2, 0}, []float64{0, 0, -3, 0}, 2}, {[]int64{0, 1, 0, 2}, []float64{0, 0, 0, -3}, 0}, {[]int64{0, 2}, []float64{0, -3}, 0},
	} {
		if got := loose(v, c.words, c.logs); got != c.want {
			t.Errorf("%v with %v: %d, want %d", c.words, c.logs, got, c.want)
		}
	}
}

// Parts of long sound are never too long, lose nothing and end where it is quiet.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*Longest).Draw(t, "n")
		quiet := rapid.IntRange(cutFrom, cutTo-2*cutWidth).Draw(t, "quiet")
		pcm := make([]float32, n)
		for i := range pcm {
			pcm[i] = 0.5
		}
		for i := quiet; i < min(n, quiet+2*cutWidth); i++ {
			pcm[i] = 0
		}
		got := cut(pcm)
		switch {
		case n <= Longest && got != n:
			t.Fatalf("%d samples are cut at %d", n, got)
		case n > Longest && (got < quiet || got > quiet+2*cutWidth):
			t.Fatalf("cut at %d, it is quiet from %d to %d", got, quiet, quiet+2*cutWidth)
		}
	})
}

func TestVocabulary(t *testing.T) {
	words := []string{"Ġhello", "Ġw", "orld", "Ãī", "<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|nocaptions|>", "<|notimestamps|>"}
	v, err := newVocabulary(words)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.text([]int64{0, 1, 2, 3, 4, 99, -1}); got != "hello worldÉ" {
		t.Errorf("got %q", got)
	}
	if got := v.text([]int64{0, 3, 4}); !strings.HasPrefix(got, "hello") {
		t.Errorf("got %q", got)
	}
	if p, ok := v.prompt("en"); !ok || !slices.Equal(p, []int64{5, 9}) || v.mute != 8 {
		t.Errorf("prompt %v, %v, no speech %d", p, ok, v.mute)
	}
	if _, ok := v.prompt("ko"); ok {
		t.Error("a model of English alone knows Korean")
	}
	many := make([]string, multilingual)
	copy(many, []string{"<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|ko|>", "<|yue|>", "<|translate|>", "<|transcribe|>", "<|nospeech|>", "<|notimestamps|>"})
	v, err = newVocabulary(many)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := v.prompt("ko"); !ok || !slices.Equal(p, []int64{1, 3, 6, 8}) {
		t.Errorf("prompt for Korean: %v, %v", p, ok)
	}
}

// variable writes one as model.bin has it.
func variable(b []byte, name string, kind byte, shape []uint32, raw []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)+1))
	b = append(append(b, name...), 0, byte(len(shape)))
	for _, d := range shape {
		b = binary.LittleEndian.AppendUint32(b, d)
	}
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(raw)))
	return append(b, raw...)
}

// small is a model.bin of two variables and an alias.
func small() []byte {
	b := binary.LittleEndian.AppendUint32(nil, binVersion)
	b = binary.LittleEndian.AppendUint16(b, 12)
	b = append(b, "WhisperSpec\x00"...)
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 3), 2)
	b = variable(b, "half", kindFloat16, []uint32{2}, []byte{0, 0x3c, 0, 0xc0})
	b = variable(b, "one", kindFloat32, nil, []byte{0, 0, 0x80, 0x3f})
	b = binary.LittleEndian.AppendUint32(b, 1)
	for _, s := range []string{"other\x00", "half\x00"} {
		b = append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
	}
	return b
}

func TestReadWeights(t *testing.T) {
	all, err := readWeights(bytes.NewReader(small()))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float32{"half": {1, -2}, "other": {1, -2}, "one": {1}} {
		if got, err := all[name].floats(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
	for n := range small() {
		if _, err := readWeights(bytes.NewReader(small()[:n])); err == nil {
			t.Errorf("%d bytes of %d were taken", n, len(small()))
		}
	}
}

// A damaged file is an error: no panic, no memory for what it only claims to hold.
func FuzzReadWeights(f *testing.F) {
	f.Add(small())
	f.Add(small()[:30])
	huge := small()
	binary.LittleEndian.PutUint32(huge[35:], 1<<31)
	f.Add(huge)
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := readWeights(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, v := range all {
			if x, err := v.floats(); err == nil && len(x)*2 > len(v.raw)+2 {
				t.Fatalf("%d numbers of %d bytes", len(x), len(v.raw))
			}
		}
		if b, err := newBuilder(all); err == nil {
			_, _ = b.encoder() // a model that fits by chance
		}
	})
}
