package speech

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dure/audio"
)

// Listen begins an utterance. It waits for nothing.
func (e *Engines) Listen(o ListenOptions) (*Heard, error) {
	if _, ok := e.cfg.ears(o.Language); !ok {
		return nil, fmt.Errorf("speech: no recogniser for language %q; `dure voice list` shows what is installed", o.Language)
	}
	u := &Heard{e: e, o: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	u.ctx, u.cancel = context.WithCancel(e.ctx)
	go u.run()
	return u, nil
}

// Heard is an utterance being recognised. It keeps the sound, so that a child that dies loses
// none of it.
type Heard struct {
	e      *Engines
	o      ListenOptions
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // has one element after a change
	done   chan struct{} // closed when text and err are there

	mu     sync.Mutex // guards pcm, ended and over
	pcm    []float32
	ended  bool
	peeks  int  // how often Peek was called
	over   bool // nothing more is told to Partial
	text   Transcript
	failed error
}

// Feed takes more sound at 16 kHz. It copies and returns at once.
func (u *Heard) Feed(pcm []float32) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pcm)+len(pcm) > MaxUtterance {
		return fmt.Errorf("speech: an utterance of more than %d s", MaxUtterance/audio.ListenRate)
	}
	u.pcm = append(u.pcm, pcm...)
	u.signal()
	return nil
}

func (u *Heard) signal() {
	select {
	case u.wake <- struct{}{}:
	default: // run will look
	}
}

// Peek wants the text of all sound fed so far told to Partial, soon; with it a pause can be
// judged. It returns at once.
func (u *Heard) Peek() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.peeks++
	u.signal()
}

// Finish says that there is no more, and waits for the text; "" where there was no speech.
func (u *Heard) Finish(ctx context.Context) (Transcript, error) {
	u.mu.Lock()
	u.ended = true
	u.signal()
	u.mu.Unlock()
	defer u.Close()
	select {
	case <-u.done:
	case <-ctx.Done():
		return Transcript{}, context.Cause(ctx)
	}
	return u.text, u.failed
}

// Close gives the utterance up; after Finish it does nothing.
func (u *Heard) Close() error {
	u.mu.Lock()
	u.over = true
	u.mu.Unlock()
	u.cancel()
	return nil
}

// run is the goroutine that talks with the child; one that died is replaced once.
func (u *Heard) run() {
	defer close(u.done)
	defer u.cancel()
	err := u.once()
	if errors.Is(err, ErrLost) && u.ctx.Err() == nil {
		err = u.once()
	}
	if err != nil {
		u.failed = fmt.Errorf("recognise speech: %w", err)
	}
}

// once sends all sound to a child, as it comes, and waits for the text.
func (u *Heard) once() error {
	c, err := u.e.slow.get(u.ctx)
	if err != nil {
		return err
	}
	s, err := c.open(opening{Kind: "stt", Language: u.o.Language, Partial: u.o.Partial != nil})
	if err != nil {
		return err
	}
	answers, left := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(left)
		answers <- u.answers(s)
	}()
	defer func() {
		s.Close()
		<-left // it writes the text
	}()
	for sent, peeked := 0, 0; ; {
		u.mu.Lock()
		pcm, ended, peeks := u.pcm[sent:], u.ended, u.peeks // only ever added to
		u.mu.Unlock()
		if len(pcm) > 0 {
			if err := s.send(pcm); err != nil {
				return err
			}
			sent += len(pcm)
			continue
		}
		if peeks > peeked && !ended {
			if err := s.order(kPeek); err != nil {
				return err
			}
			peeked = peeks
		}
		if ended {
			if err := s.order(kFinish); err != nil {
				return err
			}
			return <-answers
		}
		select {
		case <-u.wake:
		case err := <-answers:
			return err
		case <-u.ctx.Done():
			return context.Cause(u.ctx)
		}
	}
}

// answers waits for the text and passes on what is known before.
func (u *Heard) answers(s *Stream) error {
	for {
		a, err := s.next(u.ctx)
		if err != nil {
			return err
		}
		switch a.kind {
		case kText:
			u.text = a.said
			return nil
		case kPartial:
			u.mu.Lock()
			if !u.over && u.o.Partial != nil {
				u.o.Partial(a.text, a.heard)
			}
			u.mu.Unlock()
		}
	}
}
