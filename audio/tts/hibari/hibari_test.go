package hibari_test

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"dure/audio/enginetest"
	"dure/audio/tts/hibari"
)

// One text is one sound, sample by sample, in range, as loud as speech, with its quiet
// and loud parts; and a faster one is shorter.
func TestSpeak(t *testing.T) {
	v := enginetest.Voice(t, enginetest.Runtime(t))
	all := func(text string, speed float64) (pcm []float32) {
		for piece, err := range v.Speak(t.Context(), text, speed) {
			if err != nil {
				t.Fatal(err)
			}
			pcm = append(pcm, piece...)
		}
		return pcm
	}
	text := enginetest.Sentences[0]
	pcm := all(text, 1)
	if s := float64(len(pcm)) / hibari.Rate; s < 2 || s > 5 {
		t.Errorf("%q takes %.2f s", text, s)
	}
	if !slices.Equal(pcm, all(text, 1)) {
		t.Error("the same text sounds otherwise the second time")
	}
	sum := 0.0
	for i, x := range pcm {
		if x != x || x < -1 || x > 1 {
			t.Fatalf("sample %d is %v", i, x)
		}
		sum += float64(x) * float64(x)
	}
	if rms := math.Sqrt(sum / float64(len(pcm))); rms < 0.02 || rms > 0.3 {
		t.Errorf("root mean square %.4f is no speech", rms)
	}
	if fast := all(text, 1.6); len(fast)*4 > len(pcm)*3 {
		t.Errorf("at 1.6 it takes %d samples, at 1 %d", len(fast), len(pcm))
	}
	for _, nothing := range []string{"", " ", "안녕", "\n"} {
		if pcm := all(nothing, 1); len(pcm) != 0 {
			t.Errorf("%q gave %d samples", nothing, len(pcm))
		}
	}
	long := strings.TrimSpace(strings.Repeat("It goes on, ", 80))
	if s := float64(len(all(long, 1))) / hibari.Rate; s < 30 {
		t.Errorf("a long text takes %.1f s only", s)
	}
}

func TestSpeakStops(t *testing.T) {
	v := enginetest.Voice(t, enginetest.Runtime(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("interrupted")
	pieces := 0
	var got error
	for _, err := range v.Speak(ctx, enginetest.Sentences[0], 1) {
		if got = err; err == nil {
			pieces++
			cancel(why)
		}
	}
	if pieces != 1 || !errors.Is(got, why) {
		t.Errorf("after the interruption: %d pieces, then %v", pieces, got)
	}
	for range v.Speak(t.Context(), enginetest.Sentences[0], 1) {
		break
	}
}

func TestLoadRefuses(t *testing.T) {
	lib := enginetest.Runtime(t)
	vad, err := os.ReadFile(enginetest.VADFile(t))
	if err != nil {
		t.Fatal(err)
	}
	vocabulary := &fstest.MapFile{Data: []byte(`{"a": 43}`)}
	for want, files := range map[string]fstest.MapFS{
		"vocab.json":  {},
		"hibari.onnx": {"vocab.json": vocabulary},
		"the model":   {"vocab.json": vocabulary, "hibari.onnx": {Data: vad}},
	} {
		v, err := hibari.Load(lib, files, hibari.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if err == nil {
			v.Close()
		}
	}
}
