package vosk_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/audio"
	"dure/audio/enginetest"
	"dure/audio/stt/vosk"
	"dure/audio/tts/program"
)

// The Korean recogniser hears Korean words in speech of a machine voice: most of them not
// those that were said, since that voice is no person's. What is tested is that it keeps
// up, and that the same sound gives the same text however it is cut.
func TestKorean(t *testing.T) {
	dir := enginetest.Dir(t, "korean")
	path, err := exec.LookPath(string(program.ESpeak))
	if err != nil {
		t.Skipf("SKIPPED: Korean speech to recognise: %v; `apt-get install espeak-ng` brings a voice", err)
	}
	lib, err := vosk.Open(filepath.Join(dir, "libvosk.so"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := lib.Load(filepath.Join(dir, "model"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rate, pcm, err := program.Voice{Kind: program.ESpeak, Path: path}.Speak(t.Context(), "안녕하세요. 오늘 날씨가 좋습니다.", "ko", 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := audio.NewResampler(rate, audio.ListenRate)
	if err != nil {
		t.Fatal(err)
	}
	pcm = r.Flush(r.Feed(nil, pcm))
	text := ""
	for _, piece := range []int{8000, 1600} {
		s, err := m.Open(audio.ListenRate)
		if err != nil {
			t.Fatal(err)
		}
		partials := 0
		for rest := pcm; len(rest) > 0; {
			n := min(len(rest), piece)
			if err := s.Feed(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			if s.Partial() != "" {
				partials++
			}
		}
		got := s.Finish()
		s.Close()
		s.Close() // twice is allowed
		if partials == 0 || !strings.ContainsFunc(got, func(r rune) bool { return r >= '가' && r <= '힣' }) {
			t.Errorf("in pieces of %d: %d partial texts, then %q", piece, partials, got)
		}
		if text == "" {
			text = got
		}
	}
	t.Logf("heard %q", text)
}

func TestOpenRefuses(t *testing.T) {
	if _, err := vosk.Open(filepath.Join(t.TempDir(), "libvosk.so")); err == nil || !strings.Contains(err.Error(), "dure voice install korean") {
		t.Errorf("a missing library: %v", err)
	}
	if _, err := vosk.Open("libc.so.6"); err == nil || !strings.Contains(err.Error(), "vosk_") {
		t.Errorf("another library: %v", err)
	}
	lib, err := vosk.Open(filepath.Join(enginetest.Dir(t, "korean"), "libvosk.so"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lib.Load(t.TempDir()); err == nil {
		t.Error("an empty folder was loaded as a model")
	}
}
