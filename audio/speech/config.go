package speech

import (
	"fmt"
	"path/filepath"
)

// Config says which engines a child loads. Paths are absolute.
type Config struct {
	// Runtime is the file of the ONNX Runtime library.
	Runtime string `json:"runtime,omitempty" yaml:"runtime"`
	// VAD is the file of the Silero network; "" loads none.
	VAD    string       `json:"vad,omitempty" yaml:"vad"`
	Voices []Voice      `json:"voices,omitempty" yaml:"voices"`
	Ears   []Recogniser `json:"recognisers,omitempty" yaml:"recognisers"`
	// Threads of one recognition; 0 is one.
	Threads int `json:"threads,omitempty" yaml:"threads"`
	// Nice is the child's priority: 0 is the parent's, 19 the lowest.
	Nice int `json:"nice,omitempty" yaml:"nice"`
}

// Kinds of engines.
const (
	Hibari  = "hibari"  // English voices, package hibari
	Piper   = "piper"   // English voices, package piper
	Program = "program" // another program, package program
	Whisper = "whisper" // package whisper
	Vosk    = "vosk"    // package vosk
)

// Voice is a voice to speak with.
type Voice struct {
	Name     string `json:"name" yaml:"name"`
	Kind     string `json:"kind" yaml:"kind"`
	Language string `json:"language,omitempty" yaml:"language"` // ISO 639-1; "" is any
	// Path is the folder of a hibari voice's assets, that of a piper voice, or a program.
	Path string `json:"path" yaml:"path"`
	// Model is the file of a hibari voice in that folder, "" for the usual one, or that
	// of a piper voice without its .onnx.
	Model string `json:"model,omitempty" yaml:"model"`
	// Reader is the folder of a hibari voice, for a piper voice: English is read with it.
	Reader  string `json:"reader,omitempty" yaml:"reader"`
	British bool   `json:"british,omitempty" yaml:"british"`
	// Program is which program it is, and Variant its own name of a voice.
	Program string `json:"program,omitempty" yaml:"program"`
	Variant string `json:"variant,omitempty" yaml:"variant"`
}

// Recogniser is a way to recognise speech.
type Recogniser struct {
	Name     string `json:"name" yaml:"name"`
	Kind     string `json:"kind" yaml:"kind"`
	Language string `json:"language,omitempty" yaml:"language"` // ISO 639-1; "" is all that the model knows
	Path     string `json:"path" yaml:"path"`                   // the model's folder
	Library  string `json:"library,omitempty" yaml:"library"`   // of Vosk
}

// Validate says what is wrong with a configuration.
func (c Config) Validate() error {
	needRuntime := c.VAD != ""
	names := map[string]bool{}
	for _, v := range c.Voices {
		switch {
		case v.Name == "" || names["voice "+v.Name]:
			return fmt.Errorf("speech: voice %q: a voice needs a name of its own", v.Name)
		case v.Kind != Hibari && v.Kind != Piper && v.Kind != Program:
			return fmt.Errorf("speech: voice %s: kind %q is not known; use %s, %s or %s", v.Name, v.Kind, Hibari, Piper, Program)
		case v.Kind == Piper && (!filepath.IsAbs(v.Reader) || v.Model == ""):
			return fmt.Errorf("speech: voice %s: a piper voice needs model and reader", v.Name)
		case !filepath.IsAbs(v.Path):
			return fmt.Errorf("speech: voice %s: path %q must be absolute", v.Name, v.Path)
		}
		names["voice "+v.Name] = true
		needRuntime = needRuntime || v.Kind != Program
	}
	for _, r := range c.Ears {
		switch {
		case r.Name == "" || names["recogniser "+r.Name]:
			return fmt.Errorf("speech: recogniser %q: a recogniser needs a name of its own", r.Name)
		case r.Kind != Whisper && r.Kind != Vosk:
			return fmt.Errorf("speech: recogniser %s: kind %q is not known; use %s or %s", r.Name, r.Kind, Whisper, Vosk)
		case !filepath.IsAbs(r.Path):
			return fmt.Errorf("speech: recogniser %s: path %q must be absolute", r.Name, r.Path)
		case r.Kind == Vosk && !filepath.IsAbs(r.Library):
			return fmt.Errorf("speech: recogniser %s: library %q must be an absolute path", r.Name, r.Library)
		}
		names["recogniser "+r.Name] = true
		needRuntime = needRuntime || r.Kind == Whisper
	}
	if needRuntime && !filepath.IsAbs(c.Runtime) {
		return fmt.Errorf("speech: runtime %q must be the absolute path of an ONNX Runtime library; `dure voice install` fetches one", c.Runtime)
	}
	if c.Nice < 0 || c.Nice > 19 || c.Threads < 0 || c.Threads > 256 {
		return fmt.Errorf("speech: nice %d and threads %d: want 0 to 19 and 0 to 256", c.Nice, c.Threads)
	}
	return nil
}

// voice is the one for a name and a language: the one of that name unless it speaks
// another language, else the first of the language (of all, where none is named), else the
// first that speaks any, else false. A name that is no voice here is passed over: clients name the voices of other
// services.
func (c Config) voice(name, language string) (Voice, bool) {
	for _, v := range c.Voices {
		if v.Name == name && (language == "" || v.Language == "" || sameLanguage(v.Language, language)) {
			return v, true
		}
	}
	if language == "" && len(c.Voices) > 0 {
		return c.Voices[0], true
	}
	for _, v := range c.Voices {
		if sameLanguage(v.Language, language) {
			return v, true
		}
	}
	for _, v := range c.Voices {
		if v.Language == "" {
			return v, true
		}
	}
	return Voice{}, false
}

// ears is the recogniser for a language; "" is the first one's.
func (c Config) ears(language string) (Recogniser, bool) {
	for _, r := range c.Ears {
		if language == "" || sameLanguage(r.Language, language) {
			return r, true
		}
	}
	for _, r := range c.Ears {
		if r.Language == "" {
			return r, true
		}
	}
	return Recogniser{}, false
}

// sameLanguage compares by the language alone: en-GB is en.
func sameLanguage(a, b string) bool { return a != "" && base(a) == base(b) }

func base(language string) string {
	for i, c := range language {
		if c == '-' || c == '_' {
			return language[:i]
		}
	}
	return language
}
