package speech

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Stream is the parent's end of a stream. What the child sends is queued without bound
// but the child's own: an utterance has at most some minutes of sound.
type Stream struct {
	c  *Child
	id uint32

	mu    sync.Mutex
	queue []answer
	over  error         // set once nothing more comes; io.EOF in order
	wake  chan struct{} // has one element after a change
}

// answer is a frame of the child, decoded.
type answer struct {
	kind byte
	pcm  []float32
	text string
	rate int
	// heard is how many samples text is of.
	heard int
	said  Transcript
}

func newStream(c *Child, id uint32) *Stream {
	return &Stream{c: c, id: id, wake: make(chan struct{}, 1)}
}

// take is called by the child's reader.
func (s *Stream) take(f frame) {
	a := answer{kind: f.kind}
	var err, over error
	switch f.kind {
	case kSound, kHeard:
		a.pcm, err = decode(make([]float32, 0, len(f.body)/4), f.body)
	case kPartial:
		if len(f.body) >= 4 {
			a.heard, a.text = int(binary.LittleEndian.Uint32(f.body)), string(f.body[4:])
		}
	case kText:
		err, over = json.Unmarshal(f.body, &a.said), io.EOF
	case kRate:
		if len(f.body) == 4 {
			a.rate = int(binary.LittleEndian.Uint32(f.body))
		}
	case kEnd:
		over = io.EOF
	case kError:
		var why failure
		if err = json.Unmarshal(f.body, &why); err == nil {
			err = errors.New(why.Message)
		}
	default:
		return // of a later version
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return
	}
	if err != nil {
		over = err
	} else if f.kind != kEnd {
		s.queue = append(s.queue, a)
	}
	if over != nil {
		s.over = over
	}
	s.signal()
}

// end is the end of the child.
func (s *Stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = err
	}
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // the reader will look
	}
}

// next waits for an answer; io.EOF after the last one. One reader at a time.
func (s *Stream) next(ctx context.Context) (answer, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			a := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return a, nil
		}
		over := s.over
		s.mu.Unlock()
		if over != nil {
			return answer{}, over
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
	}
}

// send writes a frame of sound.
func (s *Stream) send(pcm []float32) error {
	if err := s.c.out.sound(s.id, kSound, pcm); err != nil {
		return s.c.broken(err)
	}
	return nil
}

func (s *Stream) order(kind byte) error {
	if err := s.c.out.write(s.id, kind, nil); err != nil {
		return s.c.broken(err)
	}
	return nil
}

// Close ends the stream; what is under way for it is given up.
func (s *Stream) Close() {
	s.c.forget(s.id)
	s.end(fmt.Errorf("speech: the stream was closed"))
	_ = s.order(kClose) // a child that is dead has closed it
}
