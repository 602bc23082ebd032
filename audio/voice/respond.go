package voice

import (
	"context"

	"dure/audio/turn"
	"dure/inference"
)

// respond asks for an answer, in a goroutine of its own.
func (w *owner) respond(r turn.Request) {
	if w.o.Responder == nil {
		w.tellLater(turn.AnswerFailed{Response: r.Response, Code: "no_responder", Message: "nobody is there to answer"})
		return
	}
	ctx, cancel := context.WithCancel(w.ctx)
	w.answering[r.Response] = cancel
	s, responder := w.s, w.o.Responder
	go func() {
		defer cancel()
		tell := func(ev turn.Event) { s.report(func(w *owner) { w.answer(r.Response, ev) }) }
		for d, err := range responder.Respond(ctx, r) {
			if err != nil {
				if ctx.Err() == nil {
					tell(turn.AnswerFailed{Response: r.Response, Code: codeOf(err, "responder_failed"), Message: err.Error()})
				}
				return
			}
			if d.Done != nil {
				tell(turn.Answered{Response: r.Response, Finish: d.Done.Finish, Usage: d.Done.Usage})
				return
			}
			if ev := eventOf(r.Response, d); ev != nil {
				tell(ev)
			}
		}
		if ctx.Err() == nil {
			tell(turn.Answered{Response: r.Response, Finish: inference.FinishStop})
		}
	}()
}

// eventOf is a piece of an answer as the machine is told it.
func eventOf(response string, d Delta) turn.Event {
	switch {
	case d.Text != "":
		return turn.Said{Response: response, Text: d.Text}
	case d.Call != nil:
		return turn.Called{Response: response, Index: d.Call.Index, CallID: d.Call.ID, Name: d.Call.Name, Arguments: d.Call.Arguments}
	case d.Progress != nil:
		return turn.Progressed{Response: response, Key: d.Progress.Key, Text: d.Progress.Text}
	case d.Unverified:
		return turn.Claimed{Response: response}
	case d.Screen != "":
		return turn.Shown{Response: response, Text: d.Screen}
	}
	return nil
}

// answer tells the machine a piece of an answer that is still wanted.
func (w *owner) answer(response string, ev turn.Event) {
	if w.answering[response] == nil {
		return
	}
	switch ev.(type) {
	case turn.Answered, turn.AnswerFailed:
		delete(w.answering, response)
	}
	w.tell(ev)
}

func (w *owner) stopResponding(response string) {
	if cancel := w.answering[response]; cancel != nil {
		cancel()
		delete(w.answering, response)
	}
}

// confirmCancel asks the responder whether its work is to be called off.
func (w *owner) confirmCancel(words string) {
	c, ok := w.o.Responder.(Canceller)
	if !ok {
		w.tellLater(turn.CancelConfirmed{Confirmed: false})
		return
	}
	s, ctx := w.s, w.ctx
	go func() {
		yes, err := c.ConfirmCancel(ctx, words)
		s.report(func(w *owner) {
			if err != nil {
				w.log.Error("the responder could not be asked to cancel", "error", err)
			}
			w.tell(turn.CancelConfirmed{Confirmed: yes && err == nil})
		})
	}()
}
