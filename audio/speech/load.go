package speech

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"dure/audio/onnx"
	"dure/audio/stt/vosk"
	"dure/audio/stt/whisper"
	"dure/audio/tts/hibari"
	"dure/audio/tts/piper"
	"dure/audio/tts/program"
	"dure/audio/vad"
)

// engines are what a child has. The first voice and the first recogniser are loaded
// before it is ready, the others when they are first asked for.
type engines struct {
	cfg      Config
	runtime  *onnx.Library
	vad      *vad.Model
	speakers map[string]*lazy[*speaker]
	ears     map[string]*lazy[*ears]
	// hearing is held by a recognition that computes: two at once would both be slow.
	hearing sync.Mutex
}

// lazy is loaded once. A load that failed is not tried again.
type lazy[T any] struct {
	once sync.Once
	load func() (T, error)
	v    T
	err  error
}

func (l *lazy[T]) get() (T, error) {
	l.once.Do(func() { l.v, l.err = l.load() })
	return l.v, l.err
}

// speaker is a voice, used by one utterance at a time: a program, or a network with the
// rate of its sound.
type speaker struct {
	mu      sync.Mutex
	program *program.Voice
	network network
	rate    int
}

// network is a voice in this process.
type network interface {
	Speak(ctx context.Context, text string, speed float64) iter.Seq2[[]float32, error]
}

// ears are a recogniser: one of the two.
type ears struct {
	whisper *whisper.Model
	vosk    *vosk.Model
}

// load opens what a configuration names, the first voice and recogniser side by side.
func load(cfg Config) (*engines, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	e := &engines{cfg: cfg, speakers: map[string]*lazy[*speaker]{}, ears: map[string]*lazy[*ears]{}}
	if cfg.Runtime != "" {
		lib, err := onnx.Open(cfg.Runtime)
		if err != nil {
			return nil, err
		}
		e.runtime = lib
	}
	if cfg.VAD != "" {
		data, err := os.ReadFile(cfg.VAD)
		if err != nil {
			return nil, fmt.Errorf("load voice detector: %w", err)
		}
		if e.vad, err = vad.Load(e.runtime, data); err != nil {
			return nil, err
		}
	}
	for _, v := range cfg.Voices {
		e.speakers[v.Name] = &lazy[*speaker]{load: func() (*speaker, error) { return e.loadVoice(v) }}
	}
	for _, r := range cfg.Ears {
		e.ears[r.Name] = &lazy[*ears]{load: func() (*ears, error) { return e.loadEars(r) }}
	}
	var first sync.WaitGroup
	var voiceErr, earsErr error
	if len(cfg.Voices) > 0 {
		first.Go(func() { _, voiceErr = e.speakers[cfg.Voices[0].Name].get() })
	}
	if len(cfg.Ears) > 0 {
		first.Go(func() { _, earsErr = e.ears[cfg.Ears[0].Name].get() })
	}
	first.Wait()
	return e, errors.Join(voiceErr, earsErr)
}

func (e *engines) loadVoice(v Voice) (*speaker, error) {
	switch v.Kind {
	case Program:
		return &speaker{program: &program.Voice{Kind: program.Kind(v.Program), Path: v.Path, Name: v.Variant}}, nil
	case Piper:
		voice, err := piper.Load(e.runtime, os.DirFS(v.Path), v.Model, os.DirFS(v.Reader), e.cfg.Threads)
		if err != nil {
			return nil, err
		}
		return &speaker{network: voice, rate: voice.Rate()}, nil
	}
	voice, err := hibari.Load(e.runtime, os.DirFS(v.Path), hibari.Options{Model: v.Model, British: v.British, Threads: e.cfg.Threads})
	if err != nil {
		return nil, err
	}
	return &speaker{network: voice, rate: hibari.Rate}, nil
}

func (e *engines) loadEars(r Recogniser) (*ears, error) {
	if r.Kind == Vosk {
		lib, err := vosk.Open(r.Library)
		if err != nil {
			return nil, err
		}
		m, err := lib.Load(r.Path)
		return &ears{vosk: m}, err
	}
	m, err := whisper.Load(e.runtime, os.DirFS(filepath.Clean(r.Path)), whisper.Options{Threads: e.cfg.Threads})
	return &ears{whisper: m}, err
}

// Info is what a child has.
type Info struct {
	Runtime string   `json:"runtime,omitempty"` // version of the ONNX Runtime
	VAD     bool     `json:"vad"`
	Voices  []string `json:"voices,omitempty"`
	Ears    []string `json:"recognisers,omitempty"`
}

func (e *engines) info() Info {
	i := Info{VAD: e.vad != nil}
	if e.runtime != nil {
		i.Runtime = e.runtime.Version()
	}
	for _, v := range e.cfg.Voices {
		i.Voices = append(i.Voices, v.Name)
	}
	for _, r := range e.cfg.Ears {
		i.Ears = append(i.Ears, r.Name)
	}
	return i
}
