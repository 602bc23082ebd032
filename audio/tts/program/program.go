// Package program speaks by running another program for every utterance: espeak-ng for
// the languages that no voice here has, flite for a second voice.
//
// It owns the arguments of those programs and the life of their processes. They are
// separate programs under licences of their own and nothing of them is linked. The process
// that serves the speech engines calls it.
//
// Text goes to the program's standard input or is an argument of its own, never to a shell. A program that is cancelled
// is killed and waited for.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"dure/audio"
)

// Kind is a program that is known here.
type Kind string

// The programs.
const (
	ESpeak Kind = "espeak-ng"
	Flite  Kind = "flite"
)

// Voice is a way to speak with a program.
type Voice struct {
	Kind Kind
	Path string // of the program, absolute
	Name string // the program's own name of a voice; "" is its usual one
}

// ErrNotInstalled says that a program is not on this machine.
var ErrNotInstalled = errors.New("it is not installed")

// Find looks a program up.
func Find(kind Kind) (string, error) {
	if kind != ESpeak && kind != Flite {
		return "", fmt.Errorf("speech program %q is not known; use %s or %s", kind, ESpeak, Flite)
	}
	path, err := exec.LookPath(string(kind))
	if err != nil {
		return "", fmt.Errorf("speech program %s: %w; `apt-get install %s` brings it", kind, ErrNotInstalled, kind)
	}
	return path, nil
}

// Limits of one utterance.
const (
	longestText  = 4000 // bytes
	longestSound = 5 * 60 * 48000
)

// wordsPerMinute is espeak-ng's usual speed.
const wordsPerMinute = 165

// Speak makes the sound of a text in a language (ISO 639-1; "" is English): samples in
// [-1, 1] at the rate that is returned. Speed 1 is the voice's own. Text without anything
// to say gives no samples.
func (v Voice) Speak(ctx context.Context, text, language string, speed float64) (rate int, pcm []float32, err error) {
	if len(text) > longestText {
		return 0, nil, fmt.Errorf("%s: a text of %d bytes is more than %d at once", v.Kind, len(text), longestText)
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	if strings.TrimSpace(text) == "" {
		return audio.Rate, nil, nil
	}
	cmd := exec.CommandContext(ctx, v.Path, v.arguments(text, language, max(0.25, min(4, speed)))...)
	if v.Kind == ESpeak {
		cmd.Stdin = strings.NewReader(text + "\n")
	}
	var out, complaint limited
	out.most, complaint.most = 4*longestSound, 4096
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return 0, nil, context.Cause(ctx)
		}
		return 0, nil, fmt.Errorf("%s: %w: %s", v.Kind, err, strings.TrimSpace(complaint.String()))
	}
	wav, err := audio.ReadWAV(&out, longestSound)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w: %s", v.Kind, err, strings.TrimSpace(complaint.String()))
	}
	return wav.Rate, wav.PCM, nil
}

func (v Voice) arguments(text, language string, speed float64) []string {
	if v.Kind == Flite { // it waits for ever for text that comes through a pipe
		args := []string{"-t", text, "-o", "/dev/stdout", "--setf", fmt.Sprintf("duration_stretch=%.3f", 1/speed)}
		if v.Name != "" {
			args = append(args, "-voice", v.Name)
		}
		return args
	}
	name := language
	if name == "" {
		name = "en"
	}
	if v.Name != "" {
		name += "+" + v.Name
	}
	return []string{"-v", name, "-s", fmt.Sprint(int(wordsPerMinute*speed + 0.5)), "--stdin", "--stdout"}
}

// limited keeps the first most bytes and drops the rest: a program that does not stop
// must not fill the memory.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.most - l.Len(); room < len(p) {
		l.Buffer.Write(p[:max(0, room)])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

var _ io.Writer = (*limited)(nil)
