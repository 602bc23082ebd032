package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dure/audio/speech"
)

func TestStretches(t *testing.T) {
	const hop = 0.125
	for _, c := range []struct {
		chances []float32
		want    [][2]float64
	}{
		{nil, [][2]float64{}},
		{[]float32{0, 0.4}, [][2]float64{}},
		{[]float32{1, 1}, [][2]float64{{0, 0.25}}},
		{[]float32{1, 0, 0, 1}, [][2]float64{{0, 0.5}}},
		{[]float32{1, 0, 0, 0, 0, 1}, [][2]float64{{0, 0.125}, {0.625, 0.75}}},
	} {
		if got := stretches(c.chances, hop); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.chances, got, c.want)
		}
	}
}

// The user's own list comes first, and a mistake in it is told with its place.
func TestOwnVoices(t *testing.T) {
	path := filepath.Join(t.TempDir(), voiceFile)
	if own, err := ownVoices(path); err != nil || len(own.Voices) > 0 {
		t.Errorf("without a file: %v, %v", own, err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("voices:\n- {name: mine, kind: program, path: /usr/bin/espeak-ng, program: espeak-ng}\nrecognisers:\n- {name: large, kind: whisper, path: /models/large}\n")
	own, err := ownVoices(path)
	if err != nil || len(own.Voices) != 1 || own.Voices[0].Kind != speech.Program || len(own.Ears) != 1 || own.Ears[0].Path != "/models/large" {
		t.Errorf("got %+v, %v", own, err)
	}
	write("voices:\n- {name: mine, knid: program}\n")
	if _, err := ownVoices(path); err == nil || !strings.Contains(err.Error(), "knid") || !strings.Contains(err.Error(), voiceFile) {
		t.Errorf("a misspelled field: %v", err)
	}
}

// The sets are consistent: every part has a pin, a size and a licence, and says what is
// taken out of it.
func TestVoiceSets(t *testing.T) {
	sets, err := voiceSets()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		for _, p := range s.Parts {
			if p.Artifact.Hash.String() == "" || p.Artifact.Bytes <= 0 || p.Bytes <= 0 || p.Licence == "" || len(p.Files) == 0 {
				t.Errorf("%s: %s is not complete: %+v", s.Name, p.Artifact.Spec(), p)
			}
		}
		if _, err := voiceSet(s.Name); err != nil {
			t.Error(err)
		}
	}
	if _, err := voiceSet("klingon"); err == nil || !strings.Contains(err.Error(), "english") {
		t.Errorf("a set that is not there: %v", err)
	}
}
