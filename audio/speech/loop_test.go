package speech_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dure/audio"
	"dure/audio/enginetest"
	"dure/audio/speech"
)

// openEngines are the engines of all tests: loading them takes a second, and much longer
// under the race detector.
func openEngines(t *testing.T) *speech.Engines {
	t.Helper()
	shared.once.Do(func() {
		var err error
		if shared.e, err = speech.New(command(t), enginetest.Config(t), nil); err != nil {
			t.Fatal(err)
		}
	})
	if shared.e == nil {
		t.Fatal("the speech engines could not be made")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := shared.e.Warm(ctx); err != nil {
		t.Fatal(err)
	}
	return shared.e
}

// speak is a text's sound at 16 kHz.
func speak(t testing.TB, e *speech.Engines, u speech.Utterance) []float32 {
	t.Helper()
	var pcm []float32
	var r *audio.Resampler
	for c, err := range e.Speak(t.Context(), u) {
		if err != nil {
			t.Fatal(err)
		}
		if r == nil {
			if r, err = audio.NewResampler(c.Rate, audio.ListenRate); err != nil {
				t.Fatal(err)
			}
		}
		pcm = r.Feed(pcm, c.PCM)
	}
	if r == nil {
		t.Fatalf("no sound for %q", u.Text)
	}
	return r.Flush(pcm)
}

func hear(t testing.TB, e *speech.Engines, pcm []float32, o speech.ListenOptions) speech.Transcript {
	t.Helper()
	h, err := e.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	for len(pcm) > 0 {
		n := min(len(pcm), 1000)
		if err := h.Feed(pcm[:n]); err != nil {
			t.Fatal(err)
		}
		pcm = pcm[n:]
	}
	got, err := h.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The whole loop: ten sentences are spoken one after the other with pauses, the detector
// finds them, and the recogniser writes down what it finds.
func TestSpokenLoop(t *testing.T) {
	e := openEngines(t)
	const gap = 8 * audio.ListenRate / 10
	noise := rand.New(rand.NewPCG(1, 2))
	silence := func() []float32 {
		s := make([]float32, gap)
		for i := range s {
			s[i] = float32(noise.NormFloat64() * 0.0005)
		}
		return s
	}
	pcm := silence()
	var ends []int
	for _, s := range enginetest.Sentences {
		pcm = append(append(pcm, speak(t, e, speech.Utterance{Text: s})...), silence()...)
		ends = append(ends, len(pcm))
	}
	d, err := e.VAD(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	found := segments(t, d, pcm)
	if len(found) != len(enginetest.Sentences) {
		t.Fatalf("the detector found %d stretches of speech, want %d: %v", len(found), len(enginetest.Sentences), found)
	}
	errors, words := 0, 0
	for i, s := range found {
		if s[1] > ends[i] || i > 0 && s[0] < ends[i-1]-gap {
			t.Errorf("stretch %d is from %d to %d, outside its sentence, which ends before %d", i, s[0], s[1], ends[i])
		}
		got := hear(t, e, pcm[s[0]:s[1]], speech.ListenOptions{Language: "en"})
		wrong, n := enginetest.WordErrors(enginetest.Sentences[i], got.Text)
		errors, words = errors+wrong, words+n
		t.Logf("%d of %d wrong: %q", wrong, n, got.Text)
	}
	t.Logf("word error rate: %d of %d words, %.1f %%", errors, words, 100*float64(errors)/float64(words))
	if 10*errors > words {
		t.Errorf("%d of %d words are wrong, more than a tenth", errors, words)
	}
}

// segments are where speech is: from 200 ms before the first hop to 300 ms after the
// last, where less than 400 ms are between.
func segments(t *testing.T, d *speech.Detector, pcm []float32) [][2]int {
	t.Helper()
	var chances []float32
	for at := 0; at < len(pcm); at += 777 {
		var err error
		if chances, err = d.Feed(chances, pcm[at:min(len(pcm), at+777)]); err != nil {
			t.Fatal(err)
		}
	}
	if want := len(pcm) / d.Hop(); len(chances) != want {
		t.Fatalf("%d probabilities for %d samples, want %d", len(chances), len(pcm), want)
	}
	const before, after, join = 3200, 4800, 6400
	var out [][2]int
	for i, p := range chances {
		if p < 0.5 {
			continue
		}
		from, to := max(0, i*d.Hop()-before), min(len(pcm), (i+1)*d.Hop()+after)
		if n := len(out); n > 0 && from+before-(out[n-1][1]-after) < join {
			out[n-1][1] = to
			continue
		}
		out = append(out, [2]int{from, to})
	}
	return out
}

// A child that is killed is replaced: the detector's hops stay where they were, and what
// was said before the kill is in the text.
func TestKilledChildren(t *testing.T) {
	e := openEngines(t)
	sentence := enginetest.Sentences[2]
	pcm := speak(t, e, speech.Utterance{Text: sentence})
	d, err := e.VAD(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	half := len(pcm)/2 + 100
	chances, err := d.Feed(nil, pcm[:half])
	if err != nil {
		t.Fatal(err)
	}
	h, err := e.Listen(speech.ListenOptions{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Feed(pcm[:half]); err != nil {
		t.Fatal(err)
	}
	for _, pid := range speech.Pids(e) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if chances, err = d.Feed(chances, pcm[half:]); err != nil {
		t.Fatal(err)
	}
	if want := len(pcm) / d.Hop(); len(chances) != want {
		t.Errorf("%d probabilities for %d samples, want %d", len(chances), len(pcm), want)
	}
	if err := h.Feed(pcm[half:]); err != nil {
		t.Fatal(err)
	}
	got, err := h.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if wrong, n := enginetest.WordErrors(sentence, got.Text); wrong > n/4 {
		t.Errorf("after the kill: got %q, want about %q", got.Text, sentence)
	}
	if again := speak(t, e, speech.Utterance{Text: sentence}); len(again) != len(pcm) {
		t.Errorf("after the kill the voice made %d samples, before %d", len(again), len(pcm))
	}
}

// Many at once: each gets its own text.
func TestManyAtOnce(t *testing.T) {
	e := openEngines(t)
	var all sync.WaitGroup
	for _, s := range enginetest.Sentences[:4] {
		all.Go(func() {
			var partials []string
			pcm := speak(t, e, speech.Utterance{Text: s})
			got := hear(t, e, pcm, speech.ListenOptions{Partial: func(text string, _ int) { partials = append(partials, text) }})
			if wrong, n := enginetest.WordErrors(s, got.Text); wrong > n/4 {
				t.Errorf("got %q, want about %q", got.Text, s)
			}
		})
	}
	all.Wait()
}

// Leaving the range stops the voice: the next utterance has not to wait for a long one.
func TestSpeakIsCut(t *testing.T) {
	e := openEngines(t)
	long := strings.Repeat("This goes on and on, and on, and it does not end. ", 60)
	pieces := 0
	for c, err := range e.Speak(t.Context(), speech.Utterance{Text: long}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(c.PCM) == 0 || c.Rate != 24000 {
			t.Fatalf("a piece of %d samples at %d", len(c.PCM), c.Rate)
		}
		pieces++
		break
	}
	if pieces != 1 {
		t.Fatalf("%d pieces", pieces)
	}
	speak(t, e, speech.Utterance{Text: "Yes."})

	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("interrupted")
	var got error
	for _, err := range e.Speak(ctx, speech.Utterance{Text: long}) {
		if err != nil {
			got = err
			break
		}
		cancel(why)
	}
	if !errors.Is(got, why) {
		t.Errorf("after the context ended: %v, want %v", got, why)
	}
}

func TestSpeed(t *testing.T) {
	e := openEngines(t)
	s := enginetest.Sentences[0]
	slow, fast := speak(t, e, speech.Utterance{Text: s, Speed: 0.8}), speak(t, e, speech.Utterance{Text: s, Speed: 1.5})
	if len(fast)*3 > len(slow)*2 {
		t.Errorf("at 1.5 it takes %d samples, at 0.8 %d", len(fast), len(slow))
	}
}

func TestWhatCannotBe(t *testing.T) {
	e := openEngines(t)
	if _, err := e.Listen(speech.ListenOptions{Language: "ko"}); err == nil || !strings.Contains(err.Error(), "ko") {
		t.Errorf("a language nobody knows: %v", err)
	}
	for text, u := range map[string]speech.Utterance{
		"language":  {Text: "안녕하세요"},
		"4000":      {Text: strings.Repeat("a", 4001)},
		"valid UTF": {Text: "a\xff"},
	} {
		var got error
		for _, err := range e.Speak(t.Context(), u) {
			got = err
		}
		if got == nil || !strings.Contains(got.Error(), text) {
			t.Errorf("%q: got %v, want an error with %q", u.Text[:2], got, text)
		}
	}
	h, err := e.Listen(speech.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Feed(make([]float32, speech.MaxUtterance+1)); err == nil {
		t.Error("more than the longest utterance was taken")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if got := hear(t, e, nil, speech.ListenOptions{}); got.Text != "" {
		t.Errorf("nothing was said, heard %q", got.Text)
	}
	if got := hear(t, e, make([]float32, 40000), speech.ListenOptions{}); got.Text != "" {
		t.Errorf("silence, heard %q", got.Text)
	}
}
