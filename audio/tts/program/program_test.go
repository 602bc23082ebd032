package program_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/audio/tts/program"
)

// fake is a program that writes what a shell script says.
func fake(t *testing.T, script string) program.Voice {
	t.Helper()
	path := filepath.Join(t.TempDir(), "speak")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return program.Voice{Kind: program.ESpeak, Path: path}
}

// wav is four samples at 8 kHz, as printf writes them.
const wav = `printf 'RIFF\054\000\000\000WAVEfmt \020\000\000\000\001\000\001\000\100\037\000\000\200\076\000\000\002\000\020\000data\010\000\000\000\000\000\000\100\000\000\000\300'`

func TestSpeak(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	v := fake(t, "cat >"+said+"; echo \"$@\" >>"+said+"; "+wav)
	rate, pcm, err := v.Speak(t.Context(), "two\nlines; `touch x` $HOME", "ko", 2)
	if err != nil || rate != 8000 || len(pcm) != 4 || pcm[1] != 0.5 || pcm[3] != -0.5 {
		t.Errorf("%v at %d, %v", pcm, rate, err)
	}
	got, err := os.ReadFile(said)
	if want := "two lines; `touch x` $HOME\n-v ko -s 330 --stdin --stdout\n"; err != nil || string(got) != want {
		t.Errorf("the program was told %q, %v, want %q", got, err, want)
	}
	if _, pcm, err := v.Speak(t.Context(), " \n", "", 1); err != nil || len(pcm) != 0 {
		t.Errorf("nothing to say: %v, %v", pcm, err)
	}
	if _, _, err := v.Speak(t.Context(), strings.Repeat("a", 5000), "", 1); err == nil {
		t.Error("a text of 5000 bytes was taken")
	}
}

func TestSpeakFails(t *testing.T) {
	for want, script := range map[string]string{"no such voice": "echo no such voice >&2; exit 1", "read WAV": "echo no sound"} {
		if _, _, err := fake(t, script).Speak(t.Context(), "a", "", 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	v := fake(t, "exec sleep 600")
	cancel(why)
	if _, _, err := v.Speak(ctx, "a", "", 1); !errors.Is(err, why) {
		t.Errorf("interrupted: %v", err)
	}
}

// The real programs, where they are installed.
func TestPrograms(t *testing.T) {
	for kind, language := range map[program.Kind]string{program.ESpeak: "ko", program.Flite: "en"} {
		path, err := program.Find(kind)
		if errors.Is(err, program.ErrNotInstalled) {
			t.Logf("SKIPPED %s: %v", kind, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		v := program.Voice{Kind: kind, Path: path}
		rate, slow, err := v.Speak(t.Context(), "one two three 하나 둘 셋", language, 0.8)
		if err != nil {
			t.Fatal(err)
		}
		_, fast, err := v.Speak(t.Context(), "one two three 하나 둘 셋", language, 1.6)
		if err != nil || len(fast)*4 > len(slow)*3 || len(slow) < rate/2 {
			t.Errorf("%s: %d samples at %d, fast %d, %v", kind, len(slow), rate, len(fast), err)
		}
	}
	if _, err := program.Find("rm"); err == nil {
		t.Error("rm was found as a speech program")
	}
}
