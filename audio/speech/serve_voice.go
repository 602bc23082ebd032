package speech

import (
	"context"
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// maxText bounds one utterance, in bytes: some minutes of speech.
const maxText = 4000

// saying is a stream that speaks one text.
type saying struct{ cancel context.CancelFunc }

func (s *server) openVoice(id uint32, o opening) (stream, error) {
	v, ok := s.e.cfg.voice(o.Voice, o.Language)
	if !ok {
		return nil, fmt.Errorf("speech: no voice for language %q; `dure voice list` shows what is installed", o.Language)
	}
	if len(o.Text) > maxText || !utf8.ValidString(o.Text) {
		return nil, fmt.Errorf("speech: a text of %d bytes: want valid UTF-8 of at most %d bytes at once", len(o.Text), maxText)
	}
	if o.Speed == 0 {
		o.Speed = 1
	}
	ctx, cancel := context.WithCancel(s.ctx)
	go func() {
		defer cancel()
		speaker, err := s.e.speakers[v.Name].get()
		if err == nil {
			err = speaker.say(ctx, s.out, id, o)
		}
		switch {
		case ctx.Err() != nil: // nobody listens
		case err != nil:
			_ = s.out.json(id, kError, failure{Code: "failed", Message: err.Error()}) // a dead parent ends the loop
		default:
			_ = s.out.write(id, kEnd, nil)
		}
	}()
	return &saying{cancel}, nil
}

// say sends the rate, then the sound. It waits for its turn at the voice.
func (sp *speaker) say(ctx context.Context, out *writer, id uint32, o opening) error {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	rate := func(n int) error { return out.write(id, kRate, binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	if sp.program != nil {
		n, pcm, err := sp.program.Speak(ctx, o.Text, o.Language, o.Speed)
		if err != nil || len(pcm) == 0 {
			return err
		}
		if err := rate(n); err != nil {
			return err
		}
		return out.sound(id, kSound, pcm)
	}
	first := true
	for pcm, err := range sp.network.Speak(ctx, o.Text, o.Speed) {
		if err != nil {
			return err
		}
		if first {
			if err := rate(sp.rate); err != nil {
				return err
			}
			first = false
		}
		if err := out.sound(id, kSound, pcm); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *saying) sound([]float32) error { return fmt.Errorf("speech: this stream takes no sound") }
func (s *saying) finish()               {}
func (s *saying) peek()                 {}
func (s *saying) reset()                {}
func (s *saying) close()                { s.cancel() }
