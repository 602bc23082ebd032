package whisper_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"dure/audio/enginetest"
	"dure/audio/stt/whisper"
)

// shared is the tests' only model.
var shared struct {
	once sync.Once
	m    *whisper.Model
	err  error
}

func load(t *testing.T) *whisper.Model {
	t.Helper()
	lib, files := enginetest.Runtime(t), os.DirFS(filepath.Join(enginetest.Dir(t, "english"), "whisper-tiny.en"))
	shared.once.Do(func() { shared.m, shared.err = whisper.Load(lib, files, whisper.Options{Threads: 2}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.m
}

func TestTranscribe(t *testing.T) {
	m := load(t)
	v := enginetest.Voice(t, enginetest.Runtime(t))
	if got := m.Languages(); !slices.Equal(got, []string{"en"}) {
		t.Errorf("languages %v, want English alone", got)
	}
	wrong, words := 0, 0
	for _, s := range enginetest.Sentences[:4] {
		pcm := enginetest.Say(t, v, s, whisper.Rate)
		r, err := m.Transcribe(t.Context(), pcm, "")
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.Transcribe(t.Context(), pcm, "en")
		if err != nil || again != r {
			t.Errorf("the second time: %v, %v, want %v", again, err, r)
		}
		if r.Language != "en" || r.NoSpeech > 0.5 || r.Confidence < -0.5 || r.Confidence > 0 {
			t.Errorf("%q: %+v", s, r)
		}
		n, all := enginetest.WordErrors(s, r.Text)
		wrong, words = wrong+n, words+all
	}
	if 10*wrong > words {
		t.Errorf("%d of %d words are wrong", wrong, words)
	}
	// A short word is heard once.
	for _, s := range []string{"Yes.", "No.", "Stop.", "Okay.", "Hello?", "Go on.", "Wait."} {
		r, err := m.Transcribe(t.Context(), enginetest.Say(t, v, s, whisper.Rate), "en")
		if n, _ := enginetest.WordErrors(s, r.Text); err != nil || n > 0 {
			t.Errorf("%q was heard as %q, %v", s, r.Text, err)
		}
	}
	// Longer than the model hears at once: everything is heard, in order.
	var pcm []float32
	for range 2 {
		for _, s := range enginetest.Sentences[:5] {
			pcm = append(append(pcm, enginetest.Say(t, v, s, whisper.Rate)...), make([]float32, 8000)...)
		}
	}
	if len(pcm) <= whisper.Longest {
		t.Fatalf("%d samples are not long", len(pcm))
	}
	r, err := m.TranscribeAll(t.Context(), pcm, "en")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(enginetest.Sentences[:5], " ")
	if n, all := enginetest.WordErrors(said+" "+said, r.Text); 10*n > all {
		t.Errorf("%d of %d words are wrong: %q", n, all, r.Text)
	}
}

// Where nobody speaks there is no text.
func TestNothingSaid(t *testing.T) {
	m := load(t)
	noise, tone := make([]float32, 2*whisper.Rate), make([]float32, 2*whisper.Rate)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = float32(0.02 * r.NormFloat64())
		tone[i] = float32(0.2 * math.Sin(float64(i)/10))
	}
	for name, pcm := range map[string][]float32{"nothing": nil, "noise": noise, "a tone": tone, "silence": make([]float32, 3*whisper.Rate), "a long silence": make([]float32, 70*whisper.Rate)} {
		r, err := m.TranscribeAll(t.Context(), pcm, "en")
		if err != nil || r.Text != "" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestTranscribeRefuses(t *testing.T) {
	m := load(t)
	if _, err := m.Transcribe(t.Context(), make([]float32, 16000), "ko"); !errors.Is(err, whisper.ErrLanguage) {
		t.Errorf("Korean: %v", err)
	}
	if _, err := m.Transcribe(t.Context(), make([]float32, whisper.Longest+1), "en"); err == nil {
		t.Error("more than the longest was taken")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := m.Transcribe(ctx, make([]float32, 16000), "en"); !errors.Is(err, why) {
		t.Errorf("after the end of the context: %v", err)
	}
	lib := enginetest.Runtime(t)
	vocabulary := "<|endoftext|>\n<|startoftranscript|>\n<|transcribe|>\n<|notimestamps|>\n"
	for want, files := range map[string]fstest.MapFS{
		"vocabulary.txt": {},
		"<|":             {"vocabulary.txt": {Data: []byte("a\nb\n")}},
		"model.bin":      {"vocabulary.txt": {Data: []byte(vocabulary)}},
		"of version":     {"vocabulary.txt": {Data: []byte(vocabulary)}, "model.bin": {Data: []byte{9, 0, 0, 0}}},
	} {
		m, err := whisper.Load(lib, files, whisper.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if err == nil {
			m.Close()
		}
	}
}
