package speech

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFramesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type sent struct {
			stream uint32
			kind   byte
			body   []byte
		}
		var want []sent
		var b bytes.Buffer
		w := &writer{w: &b}
		for range rapid.IntRange(0, 5).Draw(t, "frames") {
			s := sent{rapid.Uint32().Draw(t, "stream"), rapid.Byte().Draw(t, "kind"), rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "body")}
			want = append(want, s)
			if err := w.write(s.stream, s.kind, s.body); err != nil {
				t.Fatal(err)
			}
		}
		var buf []byte
		for _, s := range want {
			var f frame
			var err error
			if f, buf, err = readFrame(&b, buf); err != nil || f.stream != s.stream || f.kind != s.kind || !bytes.Equal(f.body, s.body) {
				t.Fatalf("got %v, %v, want %v", f, err, s)
			}
		}
		if _, _, err := readFrame(&b, buf); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last: %v", err)
		}
	})
}

func TestSoundIsSplit(t *testing.T) {
	pcm := make([]float32, 2*maxSamples+5)
	for i := range pcm {
		pcm[i] = float32(i)
	}
	var b bytes.Buffer
	if err := (&writer{w: &b}).sound(7, kSound, pcm); err != nil {
		t.Fatal(err)
	}
	var got []float32
	var buf []byte
	for range 3 {
		var f frame
		var err error
		if f, buf, err = readFrame(&b, buf); err != nil {
			t.Fatal(err)
		}
		if got, err = decode(got, f.body); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, pcm) || b.Len() != 0 {
		t.Errorf("%d samples of %d came back, %d bytes are left", len(got), len(pcm), b.Len())
	}
	odd, err := decode(nil, encode(nil, []float32{1, float32(math.NaN()), float32(math.Inf(1))}))
	if err != nil || !slices.Equal(odd, []float32{1, 0, 0}) {
		t.Errorf("what is no number became %v, %v", odd, err)
	}
	if _, err := decode(nil, make([]byte, 5)); err == nil {
		t.Error("five bytes were taken for samples")
	}
}

// FuzzServe: whatever a parent sends to a child without engines, the child ends or goes on,
// and answers frames only.
func FuzzServe(f *testing.F) {
	frames := func(write func(w *writer)) []byte {
		var b bytes.Buffer
		write(&writer{w: &b})
		return b.Bytes()
	}
	f.Add(frames(func(w *writer) { _ = w.json(1, kOpen, opening{Kind: "vad"}) }))
	f.Add(frames(func(w *writer) {
		_ = w.json(1, kOpen, opening{Kind: "tts", Text: "a"})
		_ = w.write(1, kClose, nil)
	}))
	f.Add(frames(func(w *writer) { _ = w.json(0, kOpen, opening{Kind: "stt"}) }))
	f.Add(frames(func(w *writer) { _ = w.write(3, 99, []byte("x")) }))
	f.Add([]byte{255, 255, 255, 255, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		_ = Serve(context.Background(), io.MultiReader(strings.NewReader("{}\n"), bytes.NewReader(data)), &out)
		var buf []byte
		for first := true; ; first = false {
			var fr frame
			var err error
			if fr, buf, err = readFrame(&out, buf); errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if first != (fr.kind == kReady) {
				t.Fatalf("a frame of kind %d; ready comes first, and once", fr.kind)
			}
		}
	})
}

func TestConfigRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"name of its own":      {Voices: []Voice{{Kind: Hibari, Path: "/a"}}},
		"voice a: kind":        {Voices: []Voice{{Name: "a", Kind: "x", Path: "/a"}}},
		"must be absolute":     {Voices: []Voice{{Name: "a", Kind: Program, Path: "a"}}},
		"runtime \"\"":         {VAD: "/a"},
		"recogniser a: kind":   {Ears: []Recogniser{{Name: "a", Kind: "x", Path: "/a"}}},
		"library \"\"":         {Ears: []Recogniser{{Name: "a", Kind: Vosk, Path: "/a"}}},
		"nice 20":              {Nice: 20},
		"recogniser \"\"":      {Ears: []Recogniser{{Kind: Whisper, Path: "/a"}}},
		"runtime \"relative\"": {Runtime: "relative", Ears: []Recogniser{{Name: "a", Kind: Whisper, Path: "/a"}}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", c, err, want)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
	// What a child cannot load it says, and ends.
	var out bytes.Buffer
	line, err := json.Marshal(Config{Runtime: "/nowhere", VAD: "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), bytes.NewReader(append(line, '\n')), &out); err == nil {
		t.Error("served without a library")
	}
	f, _, err := readFrame(&out, nil)
	if err != nil || f.kind != kError || !strings.Contains(string(f.body), "/nowhere") {
		t.Errorf("told %q of kind %d, %v", f.body, f.kind, err)
	}
}

func TestWhoSpeaksAndHears(t *testing.T) {
	c := Config{
		Voices: []Voice{{Name: "heart", Language: "en"}, {Name: "slt", Language: "en"}, {Name: "espeak"}},
		Ears:   []Recogniser{{Name: "tiny", Language: "en"}, {Name: "vosk", Language: "ko"}},
	}
	for _, x := range []struct{ name, language, want string }{
		{"", "", "heart"}, {"slt", "", "slt"}, {"slt", "en", "slt"}, {"heart", "ko", "espeak"}, {"alloy", "en-GB", "heart"}, {"espeak", "en", "espeak"}, {"", "fr", "espeak"},
	} {
		if v, ok := c.voice(x.name, x.language); !ok || v.Name != x.want {
			t.Errorf("voice %q for %q is %q, want %q", x.name, x.language, v.Name, x.want)
		}
	}
	for language, want := range map[string]string{"": "tiny", "en": "tiny", "en-US": "tiny", "ko": "vosk", "fr": ""} {
		if r, ok := c.ears(language); r.Name != want || ok != (want != "") {
			t.Errorf("%q is heard by %q, want %q", language, r.Name, want)
		}
	}
	for text, want := range map[string]string{"Hello": "en", "안녕": "ko", "hi 안녕": "ko", "こんにちは": "ja", "你好": "zh", "Привет": "ru", "": "en"} {
		if got := guess(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
