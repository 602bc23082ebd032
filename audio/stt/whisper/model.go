package whisper

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	"dure/audio/onnx"
)

// Options says how a model is loaded.
type Options struct {
	Threads int // 0 is one
}

// Model is a loaded model.
type Model struct {
	lib              *onnx.Library
	encoder, decoder *onnx.Session
	words            *vocabulary
	d                dims
	bands            []melBand
	never, notFirst  []bool // words that are no speech; words that cannot come first
	audio, text      []float32
}

// Load reads a model's folder: model.bin, config.json and vocabulary.txt or
// vocabulary.json.
func Load(lib *onnx.Library, files fs.FS, o Options) (*Model, error) {
	m := &Model{lib: lib}
	if err := m.load(files, o); err != nil {
		m.Close()
		return nil, fmt.Errorf("load Whisper: %w", err)
	}
	return m, nil
}

func (m *Model) load(files fs.FS, o Options) error {
	var err error
	if m.words, err = readVocabulary(files); err != nil {
		return err
	}
	f, err := files.Open("model.bin")
	if err != nil {
		return err
	}
	defer f.Close()
	weights, err := readWeights(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return err
	}
	b, err := newBuilder(weights)
	if err != nil {
		return err
	}
	m.d = b.d
	if int64(len(m.words.bytes)) != m.d.words {
		return fmt.Errorf("the vocabulary has %d words, the model %d", len(m.words.bytes), m.d.words)
	}
	if m.encoder, err = m.session(b.encoder, o); err != nil {
		return fmt.Errorf("encoder: %w", err)
	}
	if m.decoder, err = m.session(b.decoder, o); err != nil {
		return fmt.Errorf("decoder: %w", err)
	}
	m.bands = melBands(int(m.d.mels))
	m.audio, m.text = m.d.audioPositions, m.d.textPositions
	return m.suppressed(files)
}

// session compiles one of the graphs.
func (m *Model) session(write func() ([]byte, error), o Options) (*onnx.Session, error) {
	model, err := write()
	if err != nil {
		return nil, err
	}
	return m.lib.Load(model, onnx.Options{Threads: o.Threads})
}

// suppressed reads which words never stand in a transcript: signs that the model learned
// from subtitles, and all special words.
func (m *Model) suppressed(files fs.FS) error {
	var config struct {
		Never    []int64 `json:"suppress_ids"`
		NotFirst []int64 `json:"suppress_ids_begin"`
	}
	data, err := fs.ReadFile(files, "config.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	mark := func(ids []int64) []bool {
		set := make([]bool, m.d.words)
		for _, id := range ids {
			if id >= 0 && id < m.d.words {
				set[id] = true
			}
		}
		return set
	}
	m.never, m.notFirst = mark(config.Never), mark(config.NotFirst)
	for id := m.words.end + 1; id < m.d.words; id++ {
		m.never[id] = true
	}
	m.never[m.words.end] = false
	return nil
}

// Languages are the codes of those that the model knows.
func (m *Model) Languages() []string {
	if len(m.words.languages) == 0 {
		return []string{"en"}
	}
	var all []string
	for code := range m.words.languages {
		all = append(all, code)
	}
	return all
}

// Close releases the model.
func (m *Model) Close() {
	m.encoder.Close()
	m.decoder.Close()
}

// encode hears at most Longest samples as frames of the spectrogram, an even number, and
// returns the keys and values for the decoder.
func (m *Model) encode(ctx context.Context, pcm []float32, frames int) ([]*onnx.Value, error) {
	mel, err := onnx.New(m.lib, []int64{1, m.d.mels, int64(frames)}, spectrogram(pcm, m.bands, frames))
	if err != nil {
		return nil, err
	}
	defer mel.Close()
	places := int64(frames / 2)
	positions, err := onnx.New(m.lib, []int64{1, places, m.d.width}, m.audio[:places*m.d.width])
	if err != nil {
		return nil, err
	}
	defer positions.Close()
	return m.encoder.Run(ctx, mel, positions)
}
