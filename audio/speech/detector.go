package speech

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dure/audio"
	"dure/audio/vad"
)

// detectorHop is the number of samples of one probability.
var detectorHop = vad.Hop(audio.ListenRate)

// answerWithin is far more than a detector that works needs for a piece of sound.
const answerWithin = 5 * time.Second

// VAD opens a voice detector for one session.
func (e *Engines) VAD(ctx context.Context) (*Detector, error) {
	d := &Detector{e: e}
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// Detector tells speech from silence for one session, in the quick child. It is used by one
// goroutine at a time. It keeps the samples that are no whole hop, so that
// hops stay where they are when the child has to be replaced.
type Detector struct {
	e    *Engines
	s    *Stream
	rest []float32
}

func (d *Detector) open(ctx context.Context) error {
	c, err := d.e.quick.get(ctx)
	if err != nil {
		return err
	}
	s, err := c.open(opening{Kind: "vad"})
	if err != nil {
		return err
	}
	if d.s != nil {
		d.s.Close()
	}
	d.s = s
	return nil
}

// Hop is the number of 16 kHz samples that one probability is about.
func (d *Detector) Hop() int { return detectorHop }

// Feed takes any number of samples and appends the probability of speech to dst for every
// hop that became complete. It waits for the answer: 0.2 ms for a hop. A child that died is replaced once; the network then begins
// anew.
func (d *Detector) Feed(dst, pcm []float32) ([]float32, error) {
	ctx, cancel := context.WithTimeout(d.e.ctx, answerWithin)
	defer cancel()
	out, err := d.ask(ctx, dst, pcm)
	if errors.Is(err, ErrLost) {
		if err = d.open(ctx); err == nil {
			again := append(append([]float32{}, d.rest...), pcm...)
			out, err = d.ask(ctx, dst, again)
		}
	}
	if err != nil {
		return dst, fmt.Errorf("voice detector: %w", err)
	}
	n := (len(d.rest) + len(pcm)) % detectorHop
	d.rest = append(d.rest, pcm...)
	d.rest = append(d.rest[:0], d.rest[len(d.rest)-n:]...)
	return out, nil
}

// ask sends sound and waits for the answer to each of its frames.
func (d *Detector) ask(ctx context.Context, dst, pcm []float32) ([]float32, error) {
	if len(pcm) == 0 {
		return dst, nil
	}
	if err := d.s.send(pcm); err != nil {
		return dst, err
	}
	out := dst
	for range (len(pcm) + maxSamples - 1) / maxSamples {
		a, err := d.s.next(ctx)
		if err != nil {
			return dst, err
		}
		out = append(out, a.pcm...)
	}
	return out, nil
}

// Reset forgets the past.
func (d *Detector) Reset() {
	d.rest = d.rest[:0]
	_ = d.s.order(kReset) // a child that is dead has forgotten; Feed replaces it
}

// Close ends the stream.
func (d *Detector) Close() error {
	d.s.Close()
	return nil
}
