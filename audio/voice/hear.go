package voice

import (
	"context"
	"time"

	"dure/audio"
	"dure/audio/pace"
	"dure/audio/turn"
)

// hearing is the owner's side of the person's sound. Recognition works at 16 kHz: place p
// there is place p*3/2 in what the turn machine counts.
type hearing struct {
	ring     *audio.Ring // at 16 kHz
	resample *audio.Resampler
	format   audio.Format // that resample is for
	pcm      []float32    // scratch
	buf      []float32
	received audio.Samples // at 24 kHz, exact
	taken    bool          // the machine took the last Append

	jobs    chan<- vadJob // of the detector that works now
	inVAD   bool          // a job is under way
	vadAt   audio.Samples // how far the detector was fed, 16 kHz
	heardAt audio.Samples // how far it has answered
	reset   bool
	arrived []arrival

	ears  map[string]*ear
	clips map[string][]float32
}

// arrival remembers when sound came, to measure from.
type arrival struct {
	end audio.Samples // 24 kHz
	at  time.Duration
}

// ear is an utterance that is being recognised.
type ear struct {
	tr   Transcriber
	at   audio.Samples // fed up to here, 16 kHz
	stop audio.Samples // its end, -1 while it is open
	peek bool          // its words are wanted once it was fed
	done context.CancelFunc
}

// vadJob is a piece of sound for the detector.
type vadJob struct {
	pcm   []float32
	reset bool
	to    audio.Samples // its end, 16 kHz
	came  time.Duration // when its last sound came; 0 where it is a clip that came at once
}

const (
	// slice bounds what the detector is given at once.
	slice = audio.ListenRate / 2
	// liveBacklog is how much unprocessed sound is still a conversation: above it a
	// client sends a recording, and lateness is none.
	liveBacklog = 8 * audio.FrameSamples
	// sttTimeout is how long a transcript may take.
	sttTimeout = 30 * time.Second
)

func to24(p audio.Samples) audio.Samples { return p * 3 / 2 }
func to16(p audio.Samples) audio.Samples { return p * 2 / 3 }

func (h *hearing) init(o Options) {
	most := o.Rules.MostInput + 20*audio.Rate
	h.ring = audio.NewRing(to16(most))
	h.ears = map[string]*ear{}
	h.clips = map[string][]float32{}
}

// append takes sound of the client.
func (w *owner) append(id string, b []byte) {
	format := w.state.Config().Input
	pcm, err := format.Decode(w.pcm[:0], b)
	w.pcm = pcm[:0]
	if err != nil {
		w.emit(turn.Failed{Event: id, Code: "invalid_audio", Message: err.Error(), Param: "audio"})
		return
	}
	n := audio.Samples(len(pcm) * audio.Rate / format.Rate())
	w.taken = false
	w.tell(turn.Append{ID: id, Samples: n})
	if !w.taken {
		w.ledger.Refused += n
		return
	}
	if w.resample == nil || w.format != format {
		w.resample, _ = audio.NewResampler(format.Rate(), audio.ListenRate) // both rates are known ones
		w.format = format
	}
	w.buf = w.resample.Feed(w.buf[:0], pcm)
	// A new resampler begins with a delay; what it owes is silence, so that places agree.
	if err := w.ring.Append(w.buf); err != nil {
		w.log.Error("input ring is full", "error", err)
		w.ledger.Refused += n
		return
	}
	w.frameInput(pcm, format)
	w.received += n
	w.ledger.Received += n
	w.arrived = append(w.arrived, arrival{w.received, w.now()})
	if len(w.arrived) > 512 {
		w.arrived = append(w.arrived[:0], w.arrived[256:]...)
	}
}

// came is when the sound at a place had come.
func (w *owner) came(p audio.Samples) (time.Duration, bool) {
	for _, a := range w.arrived {
		if a.end >= p {
			return a.at, true
		}
	}
	return 0, false
}

// hear gives the detector the next sound, one piece at a time.
func (w *owner) hear() {
	end := w.ring.End()
	if w.inVAD || w.vadAt >= end && !w.reset {
		return
	}
	to := min(end, w.vadAt+slice)
	a, b := w.ring.Range(w.vadAt, to)
	job := vadJob{pcm: append(append(make([]float32, 0, len(a)+len(b)), a...), b...), to: to, reset: w.reset}
	if to24(end-w.vadAt) <= liveBacklog {
		job.came, _ = w.came(to24(to) - 1)
	}
	w.reset, w.inVAD, w.vadAt = false, true, to
	if w.jobs == nil {
		vad := w.o.VAD
		if vad == nil {
			vad = &loudness{}
		}
		w.detect(vad)
	}
	w.jobs <- job // there is room: one job is under way at a time
}

// detect starts a detector's goroutine. It ends with the session, or with the detector's
// first error.
func (w *owner) detect(vad VAD) {
	jobs := make(chan vadJob, 1)
	w.jobs = jobs
	s, ctx := w.s, w.ctx
	go func() {
		defer vad.Close()
		var carry audio.Samples // of an incomplete hop
		for {
			select {
			case <-ctx.Done():
				return
			case job := <-jobs:
				if job.reset {
					vad.Reset()
					carry = 0
				}
				probs, err := vad.Feed(nil, job.pcm)
				hop := audio.Samples(vad.Hop())
				start := job.to - audio.Samples(len(job.pcm)) - carry
				carry = job.to - start - hop*audio.Samples(len(probs))
				s.report(func(w *owner) { w.probabilities(job, start, hop, probs, err) })
				if err != nil {
					return
				}
			}
		}
	}()
}

// probabilities are what the detector says about a job.
func (w *owner) probabilities(job vadJob, start, hop audio.Samples, probs []float32, err error) {
	w.inVAD = false
	if err != nil {
		w.log.Error("speech detector failed", "error", err)
		w.heardAt = job.to
		w.tell(turn.EngineLost{Engine: "vad", Message: err.Error() + "; loudness decides from here on"})
		w.detect(&loudness{})
		return
	}
	for i, p := range probs {
		to := min(to24(start+hop*audio.Samples(i+1)), w.received)
		w.tell(turn.Heard{To: to, Prob: p})
	}
	w.heardAt = job.to
	w.feedEars()
	w.ledger.Processed = min(to24(job.to), w.received)
	if job.came > 0 && w.o.Frames == nil { // a model's frames are what counts where there is one
		took := w.now() - job.came
		w.o.Metrics.Compute.Observe(took)
		w.lateness(took)
	}
}

// lateness draws the consequences of how long a frame took.
func (w *owner) lateness(took time.Duration) {
	action := w.late.Note(w.now(), took)
	if action == pace.OnTime {
		return
	}
	w.o.Metrics.Missed.Add(1)
	switch action {
	case pace.Relieve:
		w.o.Metrics.Relieved.Add(1)
		if w.o.Relieve != nil {
			w.o.Relieve()
		}
	case pace.Degrade:
		w.o.Metrics.Degraded.Add(1)
		w.warn("degraded", "the machine is too busy: frames were late eight times within ten seconds")
	}
}

// measureStop observes how long an answer went on into the person's speech.
func (w *owner) measureStop() {
	w.stoppedBy = w.speechItem
	onset, _ := w.state.Speech()
	if came, ok := w.came(onset + 1); ok {
		w.o.Metrics.Stop.Observe(w.now() - came)
	}
}

// resetHearing forgets the detector's past, and what it has not looked at.
func (w *owner) resetHearing() {
	w.reset = true
	w.vadAt, w.heardAt = w.ring.End(), w.ring.End()
}

// forget lets go of sound that is not needed. What the detector has not seen is.
func (w *owner) forget(before audio.Samples) {
	keep := min(to16(before), w.vadAt)
	for _, e := range w.ears {
		keep = min(keep, e.at)
	}
	w.ring.Forget(keep)
}
