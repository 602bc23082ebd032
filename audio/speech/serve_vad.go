package speech

import (
	"context"
	"fmt"

	"dure/audio"
	"dure/audio/vad"
)

// detector is a stream that tells speech from silence. It computes in the loop: 0.1 ms
// for 32 ms of sound.
type detector struct {
	id     uint32
	s      *vad.Stream
	out    *writer
	chance []float32
}

func (s *server) openVAD(id uint32) (stream, error) {
	if s.e.vad == nil {
		return nil, fmt.Errorf("speech: this process has no voice detector")
	}
	st, err := s.e.vad.Open(audio.ListenRate)
	if err != nil {
		return nil, err
	}
	return &detector{id: id, s: st, out: s.out}, nil
}

func (d *detector) sound(pcm []float32) error {
	d.chance = d.chance[:0]
	err := d.s.Feed(context.Background(), pcm, func(p float32) { d.chance = append(d.chance, p) })
	if err != nil {
		return err
	}
	return d.out.sound(d.id, kHeard, d.chance)
}

func (d *detector) finish() {}
func (d *detector) peek()   {}
func (d *detector) reset()  { d.s.Reset() }
func (d *detector) close()  {}
