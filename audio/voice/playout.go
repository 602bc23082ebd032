package voice

import (
	"time"

	"dure/audio"
	"dure/audio/pace"
	"dure/audio/turn"
)

// play sends what is due: never more than two frames ahead of what is played.
func (w *owner) play() {
	if !w.here {
		return
	}
	for {
		now := w.now()
		n := w.ready(now)
		if n == 0 || w.playout.Room(now) < n {
			break
		}
		w.send(now, n)
	}
	w.drained(w.now())
	w.nextUtterance()
}

// ready is how much of the queue makes the next frame: a whole one, or less where the
// utterance ends with it or nothing is being played.
func (w *owner) ready(now time.Duration) audio.Samples {
	n, ended := 0, false
	for _, p := range w.queue {
		if p.response != w.queue[0].response {
			ended = true
			break
		}
		n += len(p.pcm)
		if n >= audio.FrameSamples {
			return audio.FrameSamples
		}
		ended = p.last
	}
	switch {
	case n == 0:
		return 0
	case ended && (w.voice == nil || !w.voice.some):
		return audio.Samples(n)
	case w.playout.Left(now) <= 2*time.Millisecond && n >= shortPiece:
		return audio.Samples(n)
	}
	return 0
}

// send tells the machine that the next n samples are due; what it allows goes out.
func (w *owner) send(now time.Duration, n audio.Samples) {
	response := w.queue[0].response
	pcm := make([]float32, 0, n)
	for len(pcm) < int(n) {
		p := &w.queue[0]
		take := min(len(p.pcm), int(n)-len(pcm))
		pcm = append(pcm, p.pcm[:take]...)
		if p.pcm = p.pcm[take:]; len(p.pcm) == 0 {
			w.queue = w.queue[1:]
		}
	}
	w.ledger.Queued -= n
	w.measureFirst(response, now)
	w.payload = pcm
	w.tell(turn.Due{Response: response, Samples: n})
	if w.payload != nil { // the machine did not want it
		w.payload = nil
		w.ledger.Dropped += n
		return
	}
	w.ledger.Sent += n
	w.playout.Sent(now, n)
	w.last = append(w.last[:0], pcm[max(0, len(pcm)-pace.Fade):]...)
}

// encode writes the sound of an AudioDelta in the client's format.
func (w *owner) encode(d turn.AudioDelta) []byte {
	pcm := w.payload
	w.payload = nil
	format := w.state.Config().Output
	if format.Rate() == audio.Rate {
		return format.Encode(make([]byte, 0, len(pcm)*format.Width()), pcm)
	}
	if w.out == nil || w.outOf != d.At.Response || w.outRate != format.Rate() {
		w.out, _ = audio.NewResampler(audio.Rate, format.Rate()) // both rates are known ones
		w.outOf, w.outRate = d.At.Response, format.Rate()
	}
	low := w.out.Feed(nil, pcm)
	return format.Encode(make([]byte, 0, len(low)*format.Width()), low)
}

// endSound forgets what is kept for a response's sound.
func (w *owner) endSound(response string) {
	if w.outOf == response {
		w.out, w.outOf = nil, ""
	}
	delete(w.firstOf, response)
}

// drained looks after a playout buffer that has run empty: within an utterance it is an
// underrun, else the person has heard all there is.
func (w *owner) drained(now time.Duration) {
	if !w.playout.Drained(now) {
		return
	}
	response, utterance, within := w.state.Native()
	if v := w.voice; v != nil && v.some {
		response, utterance, within = v.e.Response, v.e.Utterance, true
	}
	if !within {
		if !w.state.Speaking() {
			w.tell(turn.Played{})
		}
		return
	}
	w.o.Metrics.Underruns.Add(1)
	// The fade belongs to the utterance: the client counts it as played.
	fade := pace.Conceal(w.last)
	w.ledger.Synthesised += pace.Fade
	w.ledger.Concealed += pace.Fade
	w.ledger.Queued += pace.Fade
	w.queue = append([]piece{{response: response, pcm: fade}}, w.queue...)
	w.tell(turn.Synthesised{Response: response, Utterance: utterance, Samples: pace.Fade})
	w.send(now, pace.Fade)
	w.last = w.last[:0] // a second fade of the same sound would be heard as an echo
}
