package load

import (
	"context"
	"iter"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"dure/audio"
	"dure/audio/turn"
	"dure/audio/voice"
	"dure/inference"
)

// Detector takes anything that is not silence for speech. It is exact for the tones that
// persons of this package send.
type Detector struct{ rest []float32 }

const hop = 512

// Hop is that of Silero.
func (d *Detector) Hop() int { return hop }

// Feed judges by loudness.
func (d *Detector) Feed(dst, pcm []float32) ([]float32, error) {
	d.rest = append(d.rest, pcm...)
	for len(d.rest) >= hop {
		sum := float32(0)
		for _, x := range d.rest[:hop] {
			sum += x * x
		}
		p := float32(0.02)
		if sum > 0.5 {
			p = 0.98
		}
		dst = append(dst, p)
		d.rest = d.rest[:copy(d.rest, d.rest[hop:])]
	}
	return dst, nil
}

// Reset forgets the past.
func (d *Detector) Reset() { d.rest = d.rest[:0] }

// Close does nothing.
func (d *Detector) Close() error { return nil }

// Recogniser hears the same words in everything, after a while.
type Recogniser struct {
	Text  string
	Delay time.Duration
}

type transcriber struct{ r Recogniser }

// Start begins an utterance.
func (r Recogniser) Start(context.Context, voice.ListenOptions) (voice.Transcriber, error) {
	return &transcriber{r}, nil
}

func (t *transcriber) Feed([]float32) error { return nil }
func (t *transcriber) Close() error         { return nil }
func (t *transcriber) Finish(ctx context.Context) (voice.Transcript, error) {
	select {
	case <-time.After(t.r.Delay):
		return voice.Transcript{Text: t.r.Text, Language: "en"}, nil
	case <-ctx.Done():
		return voice.Transcript{}, ctx.Err()
	}
}

// Synthesiser speaks in tones, 60 ms for a character, faster than realtime.
type Synthesiser struct {
	First time.Duration // to the first piece
	Speed float64       // times realtime; 0 is 10
}

// Speak gives half-second pieces at 22,050 Hz.
func (s Synthesiser) Speak(ctx context.Context, u voice.Utterance) iter.Seq2[voice.Chunk, error] {
	return func(yield func(voice.Chunk, error) bool) {
		const rate = 22050
		speed := s.Speed
		if speed == 0 {
			speed = 10
		}
		left, wait := len([]rune(u.Text))*rate*6/100, s.First
		for left > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			n := min(left, rate/2)
			pcm := make([]float32, n)
			for i := range pcm {
				pcm[i] = float32(0.3 * math.Sin(float64(left-i)/9))
			}
			if !yield(voice.Chunk{Rate: rate, PCM: pcm}, nil) {
				return
			}
			left -= n
			wait = time.Duration(float64(n) / rate / speed * float64(time.Second))
		}
	}
}

// Answerer answers every turn with the same text, word by word.
type Answerer struct {
	First time.Duration // to the first word
	Word  time.Duration // between words
	Text  string
	Asked atomic.Int64
}

// Respond gives the text.
func (a *Answerer) Respond(ctx context.Context, _ turn.Request) iter.Seq2[voice.Delta, error] {
	return func(yield func(voice.Delta, error) bool) {
		a.Asked.Add(1)
		wait := a.First
		for _, w := range strings.SplitAfter(a.Text, " ") {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
			if !yield(voice.Delta{Text: w}, nil) {
				return
			}
			wait = a.Word
		}
		yield(voice.Delta{Done: &voice.Done{Finish: inference.FinishStop}}, nil)
	}
}

// sound is n samples of a tone in PCM16.
func sound(n audio.Samples, loud float64) []byte {
	pcm := make([]float32, n)
	for i := range pcm {
		pcm[i] = float32(loud * math.Sin(float64(i)/7))
	}
	return audio.PCM16.Encode(nil, pcm)
}
