package speech

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"dure/audio"
	"dure/audio/stt/vosk"
	"dure/audio/stt/whisper"
)

// Transcript is what was recognised.
type Transcript struct {
	Text     string `json:"text"`
	Language string `json:"language,omitempty"`
	// Confidence is the mean logarithm of the words' probabilities, 0 where the engine
	// does not tell.
	Confidence float64 `json:"confidence,omitempty"`
}

const (
	// MaxUtterance is how much sound one utterance may have, in samples at 16 kHz: two
	// minutes.
	MaxUtterance = 120 * audio.ListenRate
	// partialEvery is how much new sound a text in between is worth computing for.
	partialEvery = audio.ListenRate
)

// hearing is a stream that recognises one utterance. The loop adds sound; one goroutine at
// a time computes.
type hearing struct {
	id       uint32
	s        *server
	language string
	partials bool
	by       Recogniser
	whisper  *whisper.Model // the worker's, as what follows
	stream   *vosk.Stream
	told     string // the last text in between
	answered int    // how much of what was wanted was told
	decoded  int    // samples that the last partial, or the stream, has seen
	ctx      context.Context
	cancel   context.CancelFunc
	work     chan struct{} // there is more to do: sound, or the end

	mu     sync.Mutex // guards what follows, between the loop and the worker
	pcm    []float32
	ended  bool
	wanted int                // sound that a text is wanted of now
	drop   context.CancelFunc // gives up the text in between that is being computed
}

func (s *server) openEars(id uint32, o opening) (stream, error) {
	r, ok := s.e.cfg.ears(o.Language)
	if !ok {
		return nil, fmt.Errorf("speech: no recogniser for language %q; `dure voice list` shows what is installed", o.Language)
	}
	h := &hearing{id: id, s: s, by: r, language: base(o.Language), partials: o.Partial, work: make(chan struct{}, 1)}
	if r.Kind == Vosk {
		h.language = r.Language
	}
	h.ctx, h.cancel = context.WithCancel(s.ctx)
	go h.run()
	return h, nil
}

func (h *hearing) sound(pcm []float32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pcm)+len(pcm) > MaxUtterance {
		return fmt.Errorf("speech: an utterance of more than %d s", MaxUtterance/audio.ListenRate)
	}
	h.pcm = append(h.pcm, pcm...)
	if h.by.Kind == Vosk || h.partials {
		h.wake()
	}
	return nil
}

func (h *hearing) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	if h.drop != nil {
		h.drop()
	}
	h.wake()
}

// peek wants the text so far of what there is now. One that is being computed is of less.
func (h *hearing) peek() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted = len(h.pcm)
	if h.drop != nil {
		h.drop()
	}
	h.wake()
}

func (h *hearing) reset() {}
func (h *hearing) close() { h.cancel() }

func (h *hearing) wake() {
	select {
	case h.work <- struct{}{}:
	default: // the worker looks again anyway
	}
}

// run is the worker.
func (h *hearing) run() {
	defer h.cancel()
	if err := h.begin(); err != nil {
		h.tell(Transcript{}, err)
		return
	}
	if h.stream != nil {
		defer h.stream.Close()
	}
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-h.work:
		}
		h.mu.Lock()
		pcm, ended, wanted := h.pcm, h.ended, h.wanted // what is there is never changed, only added to
		h.mu.Unlock()
		if ended {
			t, err := h.all(pcm)
			h.tell(t, err)
			return
		}
		if err := h.between(pcm, wanted); err != nil {
			h.tell(Transcript{}, err)
			return
		}
	}
}

// begin waits for the recogniser to be loaded.
func (h *hearing) begin() error {
	e, err := h.s.e.ears[h.by.Name].get()
	if err != nil {
		return err
	}
	if h.whisper = e.whisper; e.vosk != nil {
		h.stream, err = e.vosk.Open(audio.ListenRate)
	}
	return err
}

func (h *hearing) tell(t Transcript, err error) {
	switch {
	case h.ctx.Err() != nil: // nobody listens
	case err != nil:
		_ = h.s.out.json(h.id, kError, failure{Code: "failed", Message: err.Error()})
	default:
		_ = h.s.out.json(h.id, kText, t)
	}
}

// all is the whole utterance's text.
func (h *hearing) all(pcm []float32) (Transcript, error) {
	if h.stream != nil {
		if err := h.follow(pcm); err != nil {
			return Transcript{}, err
		}
		return Transcript{Text: h.stream.Finish(), Language: h.language}, nil
	}
	h.s.e.hearing.Lock()
	defer h.s.e.hearing.Unlock()
	r, err := h.whisper.TranscribeAll(h.ctx, pcm, h.language)
	return Transcript{Text: r.Text, Language: r.Language, Confidence: r.Confidence}, err
}

// between tells the text so far where that is worth it.
func (h *hearing) between(pcm []float32, wanted int) error {
	text, heard, err := h.soFar(pcm, wanted)
	if err != nil || h.ctx.Err() != nil || !h.partials {
		return err
	}
	if heard == 0 && h.stream == nil && h.decoded >= wanted {
		text, heard = h.told, h.decoded // what is wanted was computed already
	}
	asked := wanted > h.answered && heard >= wanted
	if !asked && (text == "" || text == h.told) {
		return nil
	}
	h.told, h.answered = text, max(h.answered, heard)
	_ = h.s.out.write(h.id, kPartial, append(binary.LittleEndian.AppendUint32(nil, uint32(heard)), text...)) // a dead parent ends the loop
	return nil
}

// soFar is the text of the first samples, as many as heard says; "" and 0 where nothing new
// is known. A recogniser that must hear everything anew does so at once where the text is
// wanted, else once a second of sound at most, and never while another utterance waits.
func (h *hearing) soFar(pcm []float32, wanted int) (text string, heard int, err error) {
	if h.stream != nil {
		if err := h.follow(pcm); err != nil {
			return "", 0, err
		}
		return h.stream.Partial(), len(pcm), nil
	}
	asked := wanted > h.decoded
	switch {
	case asked:
		h.s.e.hearing.Lock()
	case len(pcm)-h.decoded < partialEvery || !h.s.e.hearing.TryLock():
		return "", 0, nil
	}
	defer h.s.e.hearing.Unlock()
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	h.mu.Lock()
	void := h.ended || h.wanted != wanted
	h.drop = cancel
	h.mu.Unlock()
	if void {
		return "", 0, nil // it woke this worker for something newer
	}
	r, err := h.whisper.TranscribeAll(ctx, pcm, h.language)
	if ctx.Err() != nil && h.ctx.Err() == nil {
		return "", 0, nil
	}
	h.decoded = len(pcm)
	return r.Text, len(pcm), err
}

// follow gives the stream what it has not heard.
func (h *hearing) follow(pcm []float32) error {
	for h.decoded < len(pcm) {
		if h.ctx.Err() != nil {
			return h.ctx.Err()
		}
		n := min(len(pcm)-h.decoded, audio.ListenRate/2)
		if err := h.stream.Feed(pcm[h.decoded : h.decoded+n]); err != nil {
			return err
		}
		h.decoded += n
	}
	return nil
}
