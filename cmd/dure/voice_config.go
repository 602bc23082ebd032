package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/goccy/go-yaml"

	"dure/audio/speech"
	"dure/audio/tts/program"
	"dure/inference/bundle"
)

// voiceFile is the user's own list of voices and recognisers, below DURE_HOME: the fields
// voices and recognisers of speech.Config. What it names comes before what is installed.
const voiceFile = "voice.yaml"

// maxVoiceFile is far more than such a list needs.
const maxVoiceFile = 1 << 20

// speechConfig is what the speech engines on this machine are: the user's own, then the
// installed sets, then the programs of the system. Without any of them it is an error that
// says how to get some.
func speechConfig(home string) (speech.Config, error) {
	own, err := ownVoices(filepath.Join(home, voiceFile))
	if err != nil {
		return speech.Config{}, err
	}
	cfg := speech.Config{Runtime: own.Runtime, VAD: own.VAD, Voices: own.Voices, Ears: own.Ears, Threads: max(1, min(4, runtime.NumCPU()))}
	sets, err := voiceSets()
	if err != nil {
		return cfg, err
	}
	for _, s := range sets {
		root, err := s.Open(home)
		if errors.Is(err, bundle.ErrNotInstalled) {
			continue
		}
		if err != nil {
			return cfg, fmt.Errorf("%w; `dure voice install %s` makes it anew", err, s.Name)
		}
		addSet(&cfg, s.Name, root)
	}
	addPrograms(&cfg)
	if cfg.Runtime == "" && len(cfg.Ears) == 0 {
		return cfg, fmt.Errorf("no speech engines are installed; `dure voice install` fetches them")
	}
	return cfg, cfg.Validate()
}

func addSet(cfg *speech.Config, name, root string) {
	switch name {
	case voiceBase:
		if cfg.Runtime == "" {
			cfg.Runtime = filepath.Join(root, "libonnxruntime.so")
		}
		if cfg.VAD == "" {
			cfg.VAD = filepath.Join(root, "silero.onnx")
		}
	case voiceEnglish:
		if cfg.Runtime == "" {
			return
		}
		cfg.Voices = append(cfg.Voices, speech.Voice{Name: "heart", Kind: speech.Hibari, Language: "en", Path: filepath.Join(root, "hibari")})
		cfg.Ears = append(cfg.Ears, speech.Recogniser{Name: "whisper-tiny.en", Kind: speech.Whisper, Language: "en", Path: filepath.Join(root, "whisper-tiny.en")})
	case voiceJoe:
		english := filepath.Join(filepath.Dir(root), voiceEnglish, "hibari")
		if _, err := os.Stat(english); cfg.Runtime == "" || err != nil {
			return // it is read with the other voice's dictionaries
		}
		cfg.Voices = append(cfg.Voices, speech.Voice{Name: "joe", Kind: speech.Piper, Language: "en", Path: root, Model: "en_US-joe-medium", Reader: english})
	case voiceKorean:
		cfg.Ears = append(cfg.Ears, speech.Recogniser{Name: "vosk-ko", Kind: speech.Vosk, Language: "ko",
			Path: filepath.Join(root, "model"), Library: filepath.Join(root, "libvosk.so")})
	}
}

// addPrograms adds what the system has: a second English voice, and one for every other
// language.
func addPrograms(cfg *speech.Config) {
	if path, err := program.Find(program.Flite); err == nil {
		cfg.Voices = append(cfg.Voices, speech.Voice{Name: "slt", Kind: speech.Program, Language: "en", Path: path, Program: string(program.Flite), Variant: "slt"})
	}
	if path, err := program.Find(program.ESpeak); err == nil {
		cfg.Voices = append(cfg.Voices, speech.Voice{Name: "espeak", Kind: speech.Program, Path: path, Program: string(program.ESpeak)})
	}
}

// ownVoices reads the user's list; none is an empty one.
func ownVoices(path string) (speech.Config, error) {
	var own speech.Config
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return own, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxVoiceFile) {
		err = fmt.Errorf("want a regular file of at most %d bytes", maxVoiceFile)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err == nil {
		err = yaml.UnmarshalWithOptions(data, &own, yaml.Strict())
	}
	if err != nil {
		return own, fmt.Errorf("%s: %w", path, err)
	}
	return own, nil
}
