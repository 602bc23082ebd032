package voice

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dure/audio"
	"dure/audio/turn"
	"dure/inference"
)

// Engines of realistic timing and exact behaviour.

// stubVAD takes anything that is not silence for speech.
type stubVAD struct {
	rest  []float32
	fail  bool
	delay time.Duration
}

func (v *stubVAD) Hop() int { return 512 }
func (v *stubVAD) Feed(dst, pcm []float32) ([]float32, error) {
	time.Sleep(v.delay)
	if v.fail {
		return dst, errors.New("the detector's process died")
	}
	v.rest = append(v.rest, pcm...)
	for len(v.rest) >= 512 {
		sum := float32(0)
		for _, x := range v.rest[:512] {
			sum += x * x
		}
		p := float32(0.02)
		if sum > 0.5 {
			p = 0.98
		}
		dst = append(dst, p)
		v.rest = v.rest[512:]
	}
	return dst, nil
}
func (v *stubVAD) Reset()       { v.rest = nil }
func (v *stubVAD) Close() error { return nil }

// stubSTT knows what is said, and needs a while.
type stubSTT struct {
	mu      sync.Mutex
	texts   []string // of the next utterances
	delay   time.Duration
	heard   []int // samples of each finished utterance
	err     error
	partial string // told once some sound came
	peek    string // told where it is asked for
	peeked  int    // how often it was
}

type stubEar struct {
	s    *stubSTT
	o    ListenOptions
	n    int
	told bool
}

func (s *stubSTT) Start(_ context.Context, o ListenOptions) (Transcriber, error) {
	return &stubEar{s: s, o: o}, nil
}
func (e *stubEar) Feed(pcm []float32) error {
	e.n += len(pcm)
	if e.s.partial != "" && e.n > 16000 && !e.told {
		e.told = true
		e.o.Partial(e.s.partial, e.n)
	}
	return nil
}
func (e *stubEar) Peek() {
	e.s.mu.Lock()
	e.s.peeked++
	e.s.mu.Unlock()
	if e.s.peek != "" {
		go e.o.Partial(e.s.peek, e.n)
	}
}
func (e *stubEar) Finish(ctx context.Context) (Transcript, error) {
	select {
	case <-time.After(e.s.delay):
	case <-ctx.Done():
		return Transcript{}, ctx.Err()
	}
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.s.heard = append(e.s.heard, e.n)
	if e.s.err != nil {
		return Transcript{}, e.s.err
	}
	text := ""
	if len(e.s.texts) > 0 {
		text, e.s.texts = e.s.texts[0], e.s.texts[1:]
	}
	return Transcript{Text: text}, nil
}
func (e *stubEar) Close() error { return nil }

// stubTTS makes 60 ms of a tone for every character, at 22,050 Hz, in pieces.
type stubTTS struct {
	first, gap time.Duration
	piece      int
	mu         sync.Mutex
	spoken     []Utterance
	err        error
}

func (s *stubTTS) Speak(ctx context.Context, u Utterance) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		s.mu.Lock()
		s.spoken = append(s.spoken, u)
		err := s.err
		s.mu.Unlock()
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		left, wait := len([]rune(u.Text))*22050*6/100, s.first
		for left > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			n := min(left, max(1, s.piece))
			if s.piece == 0 {
				n = left
			}
			pcm := make([]float32, n)
			for i := range pcm {
				pcm[i] = float32(0.3 * math.Sin(float64(left-i)/10))
			}
			if !yield(Chunk{Rate: 22050, PCM: pcm}, nil) {
				return
			}
			left, wait = left-n, s.gap
		}
	}
}

// stubResponder answers from a script, or by a function.
type stubResponder struct {
	mu      sync.Mutex
	answer  func(ctx context.Context, r turn.Request, say func(Delta) bool)
	asked   []turn.Request
	stopped int
	confirm bool
	words   []string
}

func (s *stubResponder) Respond(ctx context.Context, r turn.Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		s.mu.Lock()
		s.asked = append(s.asked, r)
		s.mu.Unlock()
		s.answer(ctx, r, func(d Delta) bool { return yield(d, nil) })
		if ctx.Err() != nil {
			s.mu.Lock()
			s.stopped++
			s.mu.Unlock()
		}
	}
}
func (s *stubResponder) ConfirmCancel(_ context.Context, words string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words = append(s.words, words)
	return s.confirm, nil
}

// says answers every turn with a text, a word every 20 ms after a while.
func says(wait time.Duration, text string) func(context.Context, turn.Request, func(Delta) bool) {
	return func(ctx context.Context, _ turn.Request, say func(Delta) bool) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		for _, word := range strings.SplitAfter(text, " ") {
			if !say(Delta{Text: word}) || ctx.Err() != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		say(Delta{Done: &Done{Finish: inference.FinishStop}})
	}
}

// call is a person on the phone: a session, what is told, and a voice.
type call struct {
	t        *testing.T
	sessions *Sessions
	s        *Session
	a        *Attachment
	stt      *stubSTT
	tts      *stubTTS
	r        *stubResponder
	vad      *stubVAD

	mu    sync.Mutex
	got   []Out
	at    []time.Time
	began time.Time
	end   chan error
}

func dial(t *testing.T, change func(*Options, *call)) *call {
	c := &call{t: t, sessions: &Sessions{}, stt: &stubSTT{delay: 300 * time.Millisecond}, tts: &stubTTS{first: 60 * time.Millisecond},
		r: &stubResponder{answer: says(200*time.Millisecond, "The build is green. All tests passed.")}, vad: &stubVAD{}, began: time.Now()}
	o := Options{Config: turn.Config{Input: audio.PCM16, Output: audio.PCM16, Detection: turn.DefaultDetection(), Transcription: &turn.Transcription{}},
		VAD: c.vad, STT: c.stt, TTS: c.tts, Responder: c.r}
	if change != nil {
		change(&o, c)
	}
	var err error
	if c.s, err = c.sessions.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	c.attach(0)
	return c
}

func (c *call) attach(last int64) {
	c.t.Helper()
	var err error
	if c.a, err = c.s.Attach(last); err != nil {
		c.t.Fatal(err)
	}
	c.end = make(chan error, 1)
	a, end := c.a, c.end
	go func() {
		for {
			o, err := a.Next(context.Background())
			if err != nil {
				end <- err
				return
			}
			c.mu.Lock()
			c.got, c.at = append(c.got, o), append(c.at, time.Now())
			c.mu.Unlock()
		}
	}()
}

// hangUp ends the call and waits until all goroutines of it are gone.
func (c *call) hangUp() {
	c.t.Helper()
	if err := c.s.Do(context.Background(), turn.Close{Reason: "bye"}); err != nil && !errors.Is(err, ErrClosed) {
		c.t.Error(err)
	}
	<-c.s.Ended()
	<-c.end
	time.Sleep(time.Minute) // the clock is fake: stubs that slept are done
}

func tone(n audio.Samples, loud float64) []byte {
	pcm := make([]float32, n)
	for i := range pcm {
		pcm[i] = float32(loud * math.Sin(float64(i)/7))
	}
	return audio.PCM16.Encode(nil, pcm)
}

// live sends sound in pieces of 20 ms, as a microphone does.
func (c *call) live(d time.Duration, loud float64) {
	c.t.Helper()
	for range int(d / (20 * time.Millisecond)) {
		if err := c.s.Append(context.Background(), "", tone(480, loud)); err != nil {
			c.t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	synctest.Wait()
}
func (c *call) speak(d time.Duration) { c.live(d, 0.3) }
func (c *call) quiet(d time.Duration) { c.live(d, 0) }

// names lists what was told, repeated ones once.
func (c *call) names() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, o := range c.got {
		name := strings.TrimPrefix(fmt.Sprintf("%T", o.Notice), "turn.")
		if len(out) == 0 || out[len(out)-1] != name {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

// find gives the notices of a kind, and when they came.
func find[N turn.Notice](c *call) (all []N, at []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range c.got {
		if n, ok := o.Notice.(N); ok {
			all, at = append(all, n), append(at, c.at[i].Sub(c.began))
		}
	}
	return all, at
}

// sound is all that was sent, in bytes.
func (c *call) sound() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, o := range c.got {
		n += len(o.Audio)
	}
	return n
}
