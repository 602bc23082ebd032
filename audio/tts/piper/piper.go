// Package piper speaks with the English voices of the Piper project (VITS networks), read
// by package english instead of by the program that they were trained with.
//
// It owns the loaded voice and the translation of sounds from one alphabet into the other.
// The process that serves the speech engines calls it. A Voice may be used by one
// goroutine at a time. The network has a random part: the same text sounds alike, not the
// same.
package piper

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
	reader  *english.Reader
	card    card
}

// card is what a voice's .onnx.json says.
type card struct {
	Audio struct {
		Rate int `json:"sample_rate"`
	} `json:"audio"`
	Inference struct {
		Noise  float32 `json:"noise_scale"`
		Length float32 `json:"length_scale"`
		Width  float32 `json:"noise_w"`
	} `json:"inference"`
	Speakers int                `json:"num_speakers"`
	IDs      map[string][]int64 `json:"phoneme_id_map"`
	Espeak   struct {
		Voice string `json:"voice"`
	} `json:"espeak"`
}

// Marks of the alphabet that every voice has.
const (
	padding = "_"
	begin   = "^"
	end     = "$"
)

// Load reads a voice: the files name.onnx and name.onnx.json of voice, and what package
// english reads of assets. Voices of several speakers and of other languages are refused.
func Load(lib *onnx.Library, voice fs.FS, name string, assets fs.FS, threads int) (*Voice, error) {
	v := &Voice{lib: lib}
	if err := v.load(voice, name, assets, threads); err != nil {
		v.Close()
		return nil, fmt.Errorf("load voice %s: %w", name, err)
	}
	return v, nil
}

func (v *Voice) load(voice fs.FS, name string, assets fs.FS, threads int) error {
	data, err := fs.ReadFile(voice, name+".onnx.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &v.card); err != nil {
		return fmt.Errorf("%s.onnx.json: %w", name, err)
	}
	if err := v.card.check(); err != nil {
		return fmt.Errorf("%s.onnx.json: %w", name, err)
	}
	inputs, outputs := []string{"input", "input_lengths", "scales"}, []string{"output"}
	if v.session, err = v.lib.LoadFile(voice, name+".onnx", onnx.Options{Threads: threads}, inputs, outputs); err != nil {
		return err
	}
	v.reader, err = english.Load(v.lib, assets, v.card.Espeak.Voice != "en-us")
	return err
}

func (c *card) check() error {
	for _, mark := range []string{padding, begin, end, "ə"} {
		if len(c.IDs[mark]) == 0 {
			return fmt.Errorf("the alphabet has no %q", mark)
		}
	}
	switch voice := c.Espeak.Voice; {
	case len(voice) < 2 || voice[:2] != "en":
		return fmt.Errorf("the language is %q; only English can be read here", voice)
	case c.Speakers > 1:
		return fmt.Errorf("%d speakers; use a voice of one", c.Speakers)
	case c.Audio.Rate < 8000 || c.Audio.Rate > 48000:
		return fmt.Errorf("%d samples a second: want 8000 to 48000", c.Audio.Rate)
	}
	return nil
}

// Rate is the voice's, in samples a second.
func (v *Voice) Rate() int { return v.card.Audio.Rate }

// Close releases the voice.
func (v *Voice) Close() {
	v.session.Close()
	if v.reader != nil {
		v.reader.Close()
	}
}

// longest is how many sounds are made at once; what is longer is made part by part.
const longest = 200

// Speak gives the sound of a text at Rate, a part at a time. Leaving the range stops it.
// Speed 1 is the voice's own; it is kept between 0.25 and 4.
func (v *Voice) Speak(ctx context.Context, text string, speed float64) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		sounds, err := v.reader.Phonemes(ctx, text)
		if err != nil {
			yield(nil, fmt.Errorf("speak: %w", err))
			return
		}
		for _, part := range parts([]rune(sounds), longest) {
			pcm, err := v.predict(ctx, v.ids(part), max(0.25, min(4, speed)))
			if err != nil {
				yield(nil, fmt.Errorf("speak %q: %w", string(part), err))
				return
			}
			if len(pcm) > 0 && !yield(pcm, nil) {
				return
			}
		}
	}
}

// ids are the network's numbers for sounds, with padding between all; nil where there is
// nothing to say.
func (v *Voice) ids(sounds []rune) []int64 {
	alphabet := v.card.IDs
	out := append(append([]int64{}, alphabet[begin]...), alphabet[padding]...)
	said := false
	for _, r := range translate(sounds) {
		id := alphabet[string(r)]
		if len(id) == 0 {
			continue
		}
		said = said || !isMark(r)
		out = append(append(out, id...), alphabet[padding]...)
	}
	if !said {
		return nil
	}
	return append(out, alphabet[end]...)
}

func (v *Voice) predict(ctx context.Context, ids []int64, speed float64) ([]float32, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var in []*onnx.Value
	defer func() { onnx.CloseAll(in) }()
	n := int64(len(ids))
	input, err := onnx.New(v.lib, []int64{1, n}, ids)
	if err != nil {
		return nil, err
	}
	in = append(in, input)
	lengths, err := onnx.New(v.lib, []int64{1}, []int64{n})
	if err != nil {
		return nil, err
	}
	in = append(in, lengths)
	c := v.card.Inference
	scales, err := onnx.New(v.lib, []int64{3}, []float32{c.Noise, c.Length / float32(speed), c.Width})
	if err != nil {
		return nil, err
	}
	in = append(in, scales)
	out, err := v.session.Run(ctx, in...)
	if err != nil {
		return nil, err
	}
	defer onnx.CloseAll(out)
	pcm, err := onnx.Data[float32](out[0])
	if err != nil {
		return nil, err
	}
	kept := make([]float32, len(pcm))
	for i, x := range pcm {
		kept[i] = max(-1, min(1, x))
	}
	return kept, nil
}
