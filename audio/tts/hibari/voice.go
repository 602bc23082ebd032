package hibari

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"

	"dure/audio/onnx"
	"dure/audio/tts/english"
)

// Voice is a loaded voice.
type Voice struct {
	lib     *onnx.Library
	session *onnx.Session
	ids     map[string]int64
	reader  *english.Reader
}

// Options says how a voice is loaded.
type Options struct {
	// Model is the file of the voice among the assets; empty is hibari.onnx.
	Model   string
	British bool
	Threads int
}

// outputs of the network, in its order.
var outputs = []string{"lh", "theta", "ln", "lr", "phi", "f0"}

// Load reads a voice from the assets folder of its package: the model, vocab.json and
// what package english reads.
func Load(lib *onnx.Library, assets fs.FS, o Options) (*Voice, error) {
	if o.Model == "" {
		o.Model = "hibari.onnx"
	}
	v := &Voice{lib: lib}
	if err := v.load(assets, o); err != nil {
		v.Close()
		return nil, fmt.Errorf("load voice %s: %w", o.Model, err)
	}
	return v, nil
}

func (v *Voice) load(assets fs.FS, o Options) error {
	vocabulary, err := fs.ReadFile(assets, "vocab.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(vocabulary, &v.ids); err != nil {
		return fmt.Errorf("vocab.json: %w", err)
	}
	if v.session, err = v.lib.LoadFile(assets, o.Model, onnx.Options{Threads: o.Threads}, []string{"ids", "speed"}, outputs); err != nil {
		return err
	}
	v.reader, err = english.Load(v.lib, assets, o.British)
	return err
}

// Close releases the voice.
func (v *Voice) Close() {
	v.session.Close()
	if v.reader != nil {
		v.reader.Close()
	}
}

const (
	// longest is how many sounds are made at once. The network was made for sentences;
	// its time grows faster than their length.
	longest = 400
	// pieceSamples is how much sound comes at once: 100 ms.
	pieceSamples = Rate / 10
)

// Slowest and Fastest bound the speed; 1 is the voice's own.
const (
	Slowest = 0.25
	Fastest = 4
)

// Speak gives the sound of a text, 100 ms at a time, at Rate. Leaving the range stops it.
// A slice is valid until the next. Text without anything to say gives nothing. The speed
// is kept between Slowest and Fastest.
func (v *Voice) Speak(ctx context.Context, text string, speed float64) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		sounds, err := v.reader.Phonemes(ctx, text)
		if err != nil {
			yield(nil, fmt.Errorf("speak: %w", err))
			return
		}
		for _, part := range split([]rune(sounds), longest) {
			s, err := v.predict(ctx, part, max(Slowest, min(Fastest, speed)))
			if err != nil {
				yield(nil, fmt.Errorf("speak %q: %w", string(part), err))
				return
			}
			if s.frames > 0 && !give(ctx, newWave(s), yield) {
				return
			}
		}
	}
}

// give passes a wave on in pieces; false where nobody wants more.
func give(ctx context.Context, w *wave, yield func([]float32, error) bool) bool {
	piece := make([]float32, 0, pieceSamples+hop)
	for more := true; more; {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return false
		}
		if piece, more = w.next(piece); len(piece) >= pieceSamples || !more && len(piece) > 0 {
			if !yield(piece, nil) {
				return false
			}
			piece = piece[:0]
		}
	}
	return true
}

// predict runs the network over sounds.
func (v *Voice) predict(ctx context.Context, sounds []rune, speed float64) (spectrum, error) {
	ids := []int64{0}
	for _, c := range sounds {
		if id, ok := v.ids[string(c)]; ok {
			ids = append(ids, id)
		}
	}
	if ids = append(ids, 0); len(ids) < 3 {
		return spectrum{}, nil
	}
	in, err := onnx.New(v.lib, []int64{1, int64(len(ids))}, ids)
	if err != nil {
		return spectrum{}, err
	}
	defer in.Close()
	pace, err := onnx.New(v.lib, []int64{1}, []float32{float32(speed)})
	if err != nil {
		return spectrum{}, err
	}
	defer pace.Close()
	out, err := v.session.Run(ctx, in, pace)
	if err != nil {
		return spectrum{}, err
	}
	defer onnx.CloseAll(out)
	return readSpectrum(out)
}

// readSpectrum copies the network's outputs and checks that they fit each other.
func readSpectrum(out []*onnx.Value) (spectrum, error) {
	var parts [6][]float32
	for i, value := range out {
		data, err := onnx.Data[float32](value)
		if err != nil {
			return spectrum{}, err
		}
		parts[i] = append([]float32(nil), data...)
	}
	frames := len(parts[5])
	for i, p := range parts[:5] {
		if len(p) != frames*bins {
			return spectrum{}, fmt.Errorf("the voice gave %d numbers of %s for %d frames, want %d of each", len(p), outputs[i], frames, bins)
		}
	}
	return spectrum{frames: frames, harmonic: parts[0], turn: parts[1], noise: parts[2], free: parts[3], phases: parts[4], pitch: parts[5]}, nil
}

// split cuts sounds into parts of at most most: after punctuation where there is some,
// else after a word.
func split(sounds []rune, most int) [][]rune {
	var parts [][]rune
	for len(sounds) > most {
		cut := lastOf(sounds[:most], func(c rune) bool {
			return c == ',' || c == ';' || c == ':' || c == '—' || c == '.' || c == '!' || c == '?'
		})
		if cut < most/4 {
			cut = lastOf(sounds[:most], func(c rune) bool { return c == ' ' })
		}
		if cut <= 0 {
			cut = most
		}
		parts = append(parts, sounds[:cut])
		sounds = sounds[cut:]
	}
	return append(parts, sounds)
}

// lastOf is the place after the last rune that is wanted, 0 where there is none.
func lastOf(s []rune, want func(rune) bool) int {
	for i := len(s); i > 0; i-- {
		if want(s[i-1]) {
			return i
		}
	}
	return 0
}
