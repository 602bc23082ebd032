package voice

import (
	"context"
	"errors"
	"fmt"

	"dure/audio"
	"dure/audio/turn"
	"dure/inference"
)

// listen starts a recogniser.
func (w *owner) listen(e turn.Listen) {
	ctx, cancel := context.WithCancel(w.ctx)
	ear := &ear{at: to16(e.From), stop: -1, done: cancel}
	w.ears[e.Item] = ear
	if w.o.STT == nil {
		return // FinishListening says so
	}
	s, item, from := w.s, e.Item, ear.at
	tr, err := w.o.STT.Start(ctx, ListenOptions{Language: e.Language, Prompt: e.Prompt, Partial: func(text string, heard int) {
		to := to24(from + audio.Samples(heard))
		s.try(func(w *owner) { w.tell(turn.Partial{Item: item, Text: text, To: to}) })
	}})
	if err != nil {
		w.log.Error("recogniser did not start", "error", err)
		return
	}
	ear.tr = tr
}

// feedEars gives recognisers the sound that has come.
func (w *owner) feedEars() {
	for item, e := range w.ears {
		if e.tr == nil || w.clips[item] != nil {
			continue
		}
		// What the detector has not heard yet may be of the next turn: recordings come
		// at once.
		to := w.heardAt
		if e.stop >= 0 {
			to = e.stop
		}
		a, b := w.ring.Range(e.at, to)
		for _, part := range [][]float32{a, b} {
			if len(part) == 0 {
				continue
			}
			if err := e.tr.Feed(part); err != nil {
				w.log.Error("recogniser failed", "error", err)
				_ = e.tr.Close()
				e.tr = nil
				break
			}
		}
		e.at = max(e.at, to)
		e.peekIfAsked()
	}
}

// peekIfAsked passes a Peek on once the recogniser has the sound that it is about.
func (e *ear) peekIfAsked() {
	if p, ok := e.tr.(Peeker); ok && e.peek {
		p.Peek()
	}
	e.peek = false
}

// finishListening waits, elsewhere, for the transcript.
func (w *owner) finishListening(f turn.FinishListening) {
	e := w.ears[f.Item]
	if e == nil {
		return
	}
	clip := w.clips[f.Item]
	if e.tr != nil && clip != nil {
		if err := e.tr.Feed(clip); err != nil {
			_ = e.tr.Close()
			e.tr = nil
		}
	}
	// The resampler keeps the last 2 ms back: they are silence, or belong to what follows.
	e.stop = min(to16(f.To), w.ring.End())
	w.feedEars()
	delete(w.ears, f.Item)
	delete(w.clips, f.Item)
	if e.tr == nil {
		e.done()
		w.tellLater(turn.TranscriptionFailed{Item: f.Item, Code: "stt_unavailable", Message: "no recogniser is available"})
		return
	}
	s, base := w.s, w.ctx
	go func() {
		defer e.done()
		ctx, cancel := context.WithTimeout(base, sttTimeout)
		defer cancel()
		got, err := e.tr.Finish(ctx)
		_ = e.tr.Close()
		s.report(func(w *owner) {
			if err != nil {
				w.log.Error("recognition failed", "error", err)
				w.tell(turn.TranscriptionFailed{Item: f.Item, Code: codeOf(err, "stt_failed"), Message: err.Error()})
				return
			}
			if got.Text == "" && f.Item == w.stoppedBy {
				w.o.Metrics.FalseStops.Add(1)
			}
			w.tell(turn.Transcribed{Item: f.Item, Text: got.Text, Language: got.Language})
		})
	}()
}

// tellLater tells an event after what is being carried out: the machine is not called from
// within itself.
func (w *owner) tellLater(ev turn.Event) {
	go w.s.report(func(w *owner) { w.tell(ev) })
}

func (w *owner) stopListening(item string) {
	if e := w.ears[item]; e != nil {
		if e.tr != nil {
			_ = e.tr.Close()
		}
		e.done()
		delete(w.ears, item)
	}
	delete(w.clips, item)
}

// createClip makes an item of sound that is no part of the input buffer.
func (w *owner) createClip(e turn.CreateItem, b []byte) {
	format := w.state.Config().Input
	pcm, err := format.Decode(nil, b)
	n := audio.Samples(len(pcm) * audio.Rate / format.Rate())
	if err == nil && n > w.o.Rules.MostInput {
		err = fmt.Errorf("%d seconds of sound are more than the %d that an item may hold", n/audio.Rate, w.o.Rules.MostInput/audio.Rate)
	}
	if err != nil {
		w.emit(turn.Failed{Event: e.ID, Code: "invalid_audio", Message: err.Error(), Param: "item.content"})
		return
	}
	if e.Item.ID == "" {
		e.Item.ID = fmt.Sprintf("item_%sa%d", w.s.id, w.s.clips.Add(1))
	}
	if w.clips[e.Item.ID] != nil {
		w.emit(turn.Failed{Event: e.ID, Code: "invalid_value", Message: "the item id is in use already", Param: "item.id"})
		return
	}
	for i := range e.Item.Parts {
		if p := &e.Item.Parts[i]; p.Kind == turn.InputAudio {
			p.From, p.To, p.Samples = 0, n, n
		}
	}
	r, _ := audio.NewResampler(format.Rate(), audio.ListenRate)
	w.clips[e.Item.ID] = r.Flush(r.Feed(nil, pcm))
	w.tell(e)
	delete(w.clips, e.Item.ID) // if it was refused
}

func (w *owner) closeHearing() {
	for item := range w.ears {
		w.stopListening(item)
	}
	if w.jobs == nil && w.o.VAD != nil {
		_ = w.o.VAD.Close()
	}
	if w.frames == nil && w.o.Frames != nil {
		_ = w.o.Frames.Close()
	}
}

// codeOf is the code of an error that has one.
func codeOf(err error, otherwise string) string {
	var e *inference.Error
	if errors.As(err, &e) && e.Code != "" {
		return string(e.Code)
	}
	return otherwise
}
