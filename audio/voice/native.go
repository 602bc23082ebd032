package voice

import (
	"fmt"
	"time"

	"dure/audio"
	"dure/audio/pace"
	"dure/audio/turn"
)

// native is the owner's side of a speech model that works frame by frame.
type native struct {
	mic    []float32        // the person's sound at 24 kHz that it has not had
	up     *audio.Resampler // to 24 kHz, where the input has another rate
	frames chan<- *audio.Frame
	busy   bool         // a step is under way
	says   *audio.Frame // of the Native that is being told
}

const (
	// mostBacklog is how much of the person's sound may wait for the model: then silent
	// frames are left out, the oldest first, and at last the oldest of all.
	mostBacklog = 8 * audio.FrameSamples
	// silentBelow is the mean square of a frame that holds nothing to be heard.
	silentBelow = 1e-5
)

// frameInput keeps the person's sound for the model.
func (w *owner) frameInput(pcm []float32, format audio.Format) {
	if w.o.Frames == nil {
		return
	}
	if format.Rate() != audio.Rate {
		if w.up == nil {
			w.up, _ = audio.NewResampler(format.Rate(), audio.Rate) // both rates are known ones
		}
		w.mic = w.up.Feed(w.mic, pcm)
	} else {
		w.mic = append(w.mic, pcm...)
	}
	for len(w.mic) > mostBacklog {
		w.leaveOut()
	}
}

// leaveOut drops a frame of the backlog: the oldest silent one, or else the oldest.
func (w *owner) leaveOut() {
	at := 0
	for i := 0; i+audio.FrameSamples <= len(w.mic); i += audio.FrameSamples {
		if !loud(w.mic[i : i+audio.FrameSamples]) {
			at = i
			break
		}
	}
	if loud(w.mic[at : at+audio.FrameSamples]) {
		w.emit(turn.Failed{Code: "input_audio_buffer_overflow", Message: fmt.Sprintf("the model is more than %d frames behind; sound was left out", mostBacklog/audio.FrameSamples), Param: "audio"})
	}
	w.mic = append(w.mic[:at], w.mic[at+audio.FrameSamples:]...)
	w.ledger.LeftOut += audio.FrameSamples
}

func loud(pcm []float32) bool {
	sum := float32(0)
	for _, v := range pcm {
		sum += v * v
	}
	return sum > silentBelow*float32(len(pcm))
}

// stepFrame gives the model the frame that is due; silence where the person sent none. A
// model that has not finished the one before misses its turn: nothing is made up for later
// by hurrying.
func (w *owner) stepFrame() {
	if w.o.Frames == nil || !w.here {
		return
	}
	if w.busy {
		w.o.Metrics.Missed.Add(1)
		return
	}
	if w.frames == nil {
		w.playout.Slack = pace.Budget
		w.model(w.o.Frames)
	}
	frame := new(audio.Frame)
	n := copy(frame[:], w.mic)
	w.mic = w.mic[:copy(w.mic, w.mic[n:])]
	w.busy = true
	w.frames <- frame // there is room: one step is under way at a time
}

// model starts the model's goroutine. It ends with the session, or the model's first error.
func (w *owner) model(engine FrameEngine) {
	frames := make(chan *audio.Frame, 1)
	w.frames = frames
	s, ctx := w.s, w.ctx
	go func() {
		defer engine.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case in := <-frames:
				began := time.Now()
				out, err := engine.Step(ctx, in)
				took := time.Since(began)
				s.report(func(w *owner) { w.stepped(out, err, took) })
				if err != nil {
					return
				}
			}
		}
	}()
}

// stepped takes what the model said.
func (w *owner) stepped(out FrameOut, err error, took time.Duration) {
	w.busy = false
	if err != nil {
		w.log.Error("the speech model failed", "error", err)
		w.o.Frames, w.mic = nil, nil // the cascade goes on by itself
		w.tell(turn.EngineLost{Engine: "model", Message: err.Error()})
		if response, utterance, speaking := w.state.Native(); speaking {
			w.tell(turn.SpeechFailed{Response: response, Utterance: utterance, Message: err.Error()})
			w.tell(turn.Answered{Response: response})
		}
		return
	}
	w.o.Metrics.Compute.Observe(took)
	w.lateness(took)
	frame := out.Audio
	if frame == nil {
		frame = new(audio.Frame)
	}
	w.says = frame
	w.tell(turn.Native{Text: out.Text, Samples: audio.FrameSamples, Loud: loud(frame[:])})
	w.says = nil
}

// takeVoice puts the model's frame behind what is to be sent.
func (w *owner) takeVoice(response string) {
	w.ledger.Synthesised += audio.FrameSamples
	w.ledger.Queued += audio.FrameSamples
	w.queue = append(w.queue, piece{response: response, pcm: w.says[:], last: true})
}
