package enginetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"dure/audio"
	"dure/audio/onnx"
	"dure/audio/tts/hibari"
)

// english is the test program's only voice: it takes half a second to load.
var english struct {
	once  sync.Once
	voice *hibari.Voice
	err   error
}

// Voice is the English voice in the test's own process, for one goroutine at a time.
func Voice(t testing.TB, lib *onnx.Library) *hibari.Voice {
	t.Helper()
	files := os.DirFS(filepath.Join(Dir(t, "english"), "hibari"))
	english.once.Do(func() { english.voice, english.err = hibari.Load(lib, files, hibari.Options{Threads: 2}) })
	if english.err != nil {
		t.Fatal(english.err)
	}
	return english.voice
}

// Say is a text's sound at a rate.
func Say(t testing.TB, v *hibari.Voice, text string, rate int) []float32 {
	t.Helper()
	r, err := audio.NewResampler(hibari.Rate, rate)
	if err != nil {
		t.Fatal(err)
	}
	var pcm []float32
	for piece, err := range v.Speak(context.Background(), text, 1) {
		if err != nil {
			t.Fatal(err)
		}
		pcm = r.Feed(pcm, piece)
	}
	return r.Flush(pcm)
}
