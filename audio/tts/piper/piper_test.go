package piper_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"dure/audio"
	"dure/audio/enginetest"
	"dure/audio/stt/whisper"
	"dure/audio/tts/piper"
)

// What the voice says is understood.
func TestSpeak(t *testing.T) {
	dir := enginetest.Dir(t, "joe")
	lib := enginetest.Runtime(t)
	english := enginetest.Dir(t, "english")
	v, err := piper.Load(lib, os.DirFS(dir), "en_US-joe-medium", os.DirFS(filepath.Join(english, "hibari")), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	m, err := whisper.Load(lib, os.DirFS(filepath.Join(english, "whisper-tiny.en")), whisper.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	wrong, words := 0, 0
	for _, s := range enginetest.Sentences[:4] {
		r, err := audio.NewResampler(v.Rate(), audio.ListenRate)
		if err != nil {
			t.Fatal(err)
		}
		var pcm []float32
		for piece, err := range v.Speak(t.Context(), s, 1) {
			if err != nil {
				t.Fatal(err)
			}
			pcm = r.Feed(pcm, piece)
		}
		got, err := m.Transcribe(t.Context(), r.Flush(pcm), "en")
		if err != nil {
			t.Fatal(err)
		}
		n, all := enginetest.WordErrors(s, got.Text)
		wrong, words = wrong+n, words+all
		t.Logf("%d of %d wrong: %q", n, all, got.Text)
	}
	if 5*wrong > words { // the voice has a random part
		t.Errorf("%d of %d words are wrong", wrong, words)
	}
	for range v.Speak(t.Context(), "안녕 ...", 1) {
		t.Error("sound for nothing to say")
	}
}

func TestLoadRefuses(t *testing.T) {
	lib := enginetest.Runtime(t)
	ids := `"phoneme_id_map": {"_": [0], "^": [1], "$": [2], "ə": [59]}`
	for want, card := range map[string]string{
		"no \"_\"":         `{}`,
		"\"ko\"":           `{"audio": {"sample_rate": 22050}, "espeak": {"voice": "ko"}, ` + ids + `}`,
		"of one":           `{"audio": {"sample_rate": 22050}, "espeak": {"voice": "en-us"}, "num_speakers": 9, ` + ids + `}`,
		"samples a second": `{"espeak": {"voice": "en-us"}, ` + ids + `}`,
		"a.onnx":           `{"audio": {"sample_rate": 22050}, "espeak": {"voice": "en-us"}, ` + ids + `}`,
	} {
		v, err := piper.Load(lib, fstest.MapFS{"a.onnx.json": {Data: []byte(card)}}, "a", fstest.MapFS{}, 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if err == nil {
			v.Close()
		}
	}
}
