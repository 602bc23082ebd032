package voice

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"dure/audio"
	"dure/audio/pace"
	"dure/audio/turn"
)

// owner is the one goroutine of a session, and all that it owns.
type owner struct {
	s   *Session
	o   Options
	log *slog.Logger
	ctx context.Context // of the session's workers; ends with the session
	end context.CancelFunc

	state turn.State
	frame int64 // the next one that is due
	gone  time.Duration
	here  bool // a client is attached
	over  bool

	hearing
	speaking
	native
	answering map[string]context.CancelFunc
	ledger    audio.Ledger
	late      pace.Lateness

	speechItem string // of the person's speech, and the one that stopped an answer
	stoppedBy  string
}

func newOwner(ctx context.Context, s *Session, o Options) *owner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = &pace.Metrics{}
	}
	if o.Rules == (turn.Rules{}) {
		o.Rules = turn.DefaultRules()
	}
	o.Rules.Prefix = s.id
	o.Config.Duplex = o.Config.Duplex || o.Frames != nil
	w := &owner{s: s, o: o, log: o.Log.With("session", s.id), answering: map[string]context.CancelFunc{}}
	w.ctx, w.end = context.WithCancel(context.WithoutCancel(ctx))
	w.state = turn.New(o.Rules)
	w.hearing.init(o)
	context.AfterFunc(ctx, func() { s.report(func(w *owner) { w.tell(turn.Close{Reason: "the server is shutting down"}) }) })
	return w
}

func (w *owner) now() time.Duration { return time.Since(w.s.began) }

func (w *owner) run() {
	defer w.finish()
	w.tell(turn.Open{Config: w.o.Config})
	w.frame = pace.Next(w.now())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !w.over {
		timer.Reset(max(0, w.wakeAt()-w.now()))
		select {
		case r := <-w.s.inbox:
			w.request(r)
		case f := <-w.s.reports:
			f(w)
		case <-timer.C:
		}
		if w.over {
			return
		}
		w.tick()
		w.hear()
		w.play()
	}
}

// wakeAt is when the owner has something to do by itself.
func (w *owner) wakeAt() time.Duration {
	at := pace.Due(w.frame)
	if d, ok := w.state.Deadline(); ok {
		at = min(at, d)
	}
	if w.playout.Left(w.now()) > 0 {
		at = min(at, w.now()+w.playout.Left(w.now()))
	}
	return at
}

// tick does what is due at this time.
func (w *owner) tick() {
	now := w.now()
	if due := pace.Due(w.frame); now >= due {
		w.o.Metrics.Wake.Observe(now - due)
		next := pace.Next(now)
		w.o.Metrics.Frames.Add(next - w.frame)
		w.o.Metrics.Missed.Add(next - w.frame - 1) // those that nobody woke up for
		w.frame = next
		w.stepFrame()
	}
	if d, ok := w.state.Deadline(); ok && now >= d {
		w.tell(turn.Tick{})
	}
	if !w.here && now-w.gone >= w.keep() {
		w.tell(turn.Close{Reason: "expired"})
	}
}

// tell asks the machine, and carries out what it says.
func (w *owner) tell(ev turn.Event) {
	var effects []turn.Effect
	before := w.state.Epoch()
	w.state, effects = turn.Next(w.state, w.now(), ev)
	for _, e := range effects {
		w.carryOut(e)
	}
	if w.state.Epoch() != before {
		w.voided()
	}
}

func (w *owner) carryOut(e turn.Effect) {
	switch e := e.(type) {
	case turn.Emit:
		w.emit(e.Notice)
	case turn.Take:
		w.taken = true
	case turn.Listen:
		w.listen(e)
	case turn.FinishListening:
		w.finishListening(e)
	case turn.StopListening:
		w.stopListening(e.Item)
	case turn.Peek:
		if ear := w.ears[e.Item]; ear != nil {
			ear.peek = true // the sound is fed after what the detector says of it
		}
	case turn.Forget:
		w.forget(e.Before)
	case turn.TakeVoice:
		w.takeVoice(e.Response)
	case turn.ResetHearing:
		w.resetHearing()
	case turn.Respond:
		w.respond(e.Request)
	case turn.StopResponding:
		w.stopResponding(e.Response)
	case turn.ConfirmCancel:
		w.confirmCancel(e.Words)
	case turn.Speak:
		w.speak(e)
	case turn.Silence:
		w.silence(e.Response)
	case turn.End:
		w.over = true
	}
}

// emit tells the client.
func (w *owner) emit(n turn.Notice) {
	out := Out{Epoch: w.state.Epoch(), Notice: n}
	switch n := n.(type) {
	case turn.AudioDelta:
		out.Audio = w.encode(n)
	case turn.SpeechStarted:
		w.speechItem = n.Item
	case turn.ResponseDone:
		w.endSound(n.Response.ID)
		if n.Response.Reason == turn.ReasonTurnDetected {
			w.measureStop()
		}
	}
	w.s.journal.put(out)
}

// request is what a client told.
func (w *owner) request(r request) {
	switch e := r.ev.(type) {
	case turn.Append:
		w.append(e.ID, r.audio)
	case turn.CreateItem:
		if r.clip {
			w.createClip(e, r.audio)
			return
		}
		w.tell(e)
	case turn.Acknowledge:
		w.measureHeard(e)
		w.tell(e)
	case turn.Update, turn.Commit, turn.Clear, turn.RetrieveItem, turn.DeleteItem, turn.TruncateItem,
		turn.CreateResponse, turn.CancelResponse, turn.Close:
		w.tell(e)
	default:
		w.log.Error("no event of a client", "event", fmt.Sprintf("%T", e))
	}
}

func (w *owner) attached() {
	w.here = true
	w.tell(turn.Attach{})
}

// detached begins the time in which the client may come back. The conversation stands
// still: nothing is sent that nobody hears.
func (w *owner) detached() {
	if w.s.journal.busy() {
		return // another connection has attached meanwhile
	}
	w.here, w.gone = false, w.now()
	w.playout.Stop(w.now())
	w.tell(turn.Detach{})
}

// warn tells the person what is no failure.
func (w *owner) warn(code, format string, args ...any) {
	w.emit(turn.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
}

func (w *owner) status() Status {
	l := w.ledger
	l.Skipped = w.s.journal.skips()
	return Status{ID: w.s.id, Phase: w.state.Phase(), Epoch: w.state.Epoch(), Attached: w.here, Ledger: l, Items: len(w.state.Items()), Age: w.now()}
}

// finish ends all workers, and the journal.
func (w *owner) finish() {
	w.end()
	w.closeHearing()
	if err := w.ledger.Check(); err != nil {
		w.log.Error("ledger does not add up", "error", err)
	}
	w.o.Metrics.Skipped.Add(int64(w.s.journal.skips()))
	w.s.final = w.ledger
	w.s.final.Skipped = w.s.journal.skips()
	w.s.journal.close()
	close(w.s.ended)
}
