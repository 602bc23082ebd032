package voice

import (
	"context"
	"errors"
	"time"

	"dure/audio"
	"dure/audio/clause"
	"dure/audio/pace"
	"dure/audio/turn"
)

// speaking is the owner's side of answers' sound.
type speaking struct {
	wanted  []turn.Speak // utterances that wait for the synthesiser
	voice   *voicing     // the one that is synthesised
	queue   []piece      // sound that waits for its time
	playout pace.Playout
	last    []float32 // the end of what was sent, for an underrun
	payload []float32 // of the Due that is being told
	failed  int       // utterances in a row that failed

	out     *audio.Resampler // to the output format, of one response
	outOf   string
	outRate int
	firstOf map[string]bool // responses of which sound was sent
}

// voicing is an utterance that is being synthesised.
type voicing struct {
	e      turn.Speak
	cancel context.CancelFunc
	some   bool // sound came
}

// piece is sound of a response at 24 kHz.
type piece struct {
	response string
	pcm      []float32
	last     bool // its utterance is complete with it
}

const (
	// bufferAhead is how much sound may wait before the next utterance is synthesised:
	// the person may interrupt.
	bufferAhead = 4 * audio.Rate
	// lostAfter utterances that failed in a row the synthesiser is given up.
	lostAfter = 3
	// shortPiece is the least that is sent when nothing is being played: a frame that
	// is not full comes early, but not in crumbs.
	shortPiece = audio.Rate / 25
)

// speak has an utterance synthesised, after those before it.
func (w *owner) speak(e turn.Speak) {
	w.wanted = append(w.wanted, e)
	w.nextUtterance()
}

// waiting is how much sound waits for its time.
func (w *owner) waiting() audio.Samples { return w.ledger.Queued }

func (w *owner) nextUtterance() {
	if w.voice != nil || len(w.wanted) == 0 || w.waiting() >= bufferAhead {
		return
	}
	e := w.wanted[0]
	w.wanted = w.wanted[1:]
	ctx, cancel := context.WithCancel(w.ctx)
	v := &voicing{e: e, cancel: cancel}
	w.voice = v
	u := Utterance{Text: clause.Spoken(e.Text, e.Language), Language: e.Language, Voice: e.Voice, Speed: e.Speed}
	tts, s, keep := w.o.TTS, w.s, w.o.Phrases
	if !e.Filler {
		keep = nil
	}
	go func() {
		defer cancel()
		err := synthesise(ctx, tts, u, keep, func(pcm []float32) {
			s.report(func(w *owner) { w.voiced(v, pcm) })
		})
		s.report(func(w *owner) { w.voiceEnded(v, err) })
	}()
}

// synthesise gives the sound of an utterance at 24 kHz.
func synthesise(ctx context.Context, tts TTS, u Utterance, keep *Phrases, give func([]float32)) error {
	if tts == nil {
		return errors.New("no synthesiser is available")
	}
	if pcm := keep.get(u); pcm != nil {
		give(pcm)
		return nil
	}
	var r *audio.Resampler
	var all []float32
	for c, err := range tts.Speak(ctx, u) {
		if err != nil {
			return err
		}
		if r == nil {
			var err error
			if r, err = audio.NewResampler(c.Rate, audio.Rate); err != nil {
				return err
			}
		}
		if pcm := r.Feed(nil, c.PCM); len(pcm) > 0 {
			all = keep.collect(all, pcm)
			give(pcm)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r != nil {
		if pcm := r.Flush(nil); len(pcm) > 0 {
			all = keep.collect(all, pcm)
			give(pcm)
		}
	}
	keep.put(u, all)
	return nil
}

// voiced takes sound of an utterance.
func (w *owner) voiced(v *voicing, pcm []float32) {
	n := audio.Samples(len(pcm))
	w.ledger.Synthesised += n
	if w.voice != v || !w.state.Live(v.e.Response) {
		w.ledger.Dropped += n
		return
	}
	v.some = true
	w.ledger.Queued += n
	w.queue = append(w.queue, piece{response: v.e.Response, pcm: pcm})
	w.tell(turn.Synthesised{Response: v.e.Response, Utterance: v.e.Utterance, Samples: n})
}

// voiceEnded ends an utterance.
func (w *owner) voiceEnded(v *voicing, err error) {
	if w.voice != v {
		return // it was silenced
	}
	w.voice = nil
	if n := len(w.queue); n > 0 {
		w.queue[n-1].last = true
	}
	if err != nil {
		w.log.Error("synthesis failed", "error", err)
		if w.failed++; w.failed == lostAfter {
			w.tell(turn.EngineLost{Engine: "tts", Message: err.Error()})
		}
		w.tell(turn.SpeechFailed{Response: v.e.Response, Utterance: v.e.Utterance, Message: err.Error()})
	} else {
		if w.failed >= lostAfter {
			w.tell(turn.EngineBack{Engine: "tts"})
		}
		w.failed = 0
		w.tell(turn.Uttered{Response: v.e.Response, Utterance: v.e.Utterance})
	}
	w.nextUtterance()
}

// silence stops the speech of a response.
func (w *owner) silence(response string) {
	kept := w.wanted[:0]
	for _, e := range w.wanted {
		if e.Response != response {
			kept = append(kept, e)
		}
	}
	w.wanted = kept
	if v := w.voice; v != nil && v.e.Response == response {
		v.cancel()
		w.voice = nil
	}
	rest := w.queue[:0]
	for _, p := range w.queue {
		if p.response != response {
			rest = append(rest, p)
			continue
		}
		w.ledger.Queued -= audio.Samples(len(p.pcm))
		w.ledger.Dropped += audio.Samples(len(p.pcm))
	}
	clear(w.queue[len(rest):])
	w.queue = rest
	w.nextUtterance()
}

// voided: sound under way is worth nothing any more; the client drops what it has.
func (w *owner) voided() {
	now := w.now()
	w.playout.Stop(now)
	w.last = w.last[:0]
}

// measureFirst observes how long the person waited for the first sound of an answer.
func (w *owner) measureFirst(response string, now time.Duration) {
	if w.firstOf[response] {
		return
	}
	if w.firstOf == nil {
		w.firstOf = map[string]bool{}
	}
	w.firstOf[response] = true
	_, last := w.state.Speech()
	if came, ok := w.came(last); ok && last > 0 {
		w.o.Metrics.TTFA.Observe(now - came)
	}
}

// measureHeard observes by how much the session's idea of what was played is wrong.
func (w *owner) measureHeard(e turn.Acknowledge) {
	if n, ok := w.state.SentOf(e.Item); ok {
		ours := n.Milliseconds() - w.playout.Left(w.now()).Milliseconds()
		d := time.Duration(ours-e.PlayedMS) * time.Millisecond
		w.o.Metrics.HeardError.Observe(max(d, -d))
	}
}
