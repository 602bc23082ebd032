package turn

import (
	"time"

	"dure/audio"
)

// step is one call of Next: the new state as it becomes, and what is to be done.
type step struct {
	State
	now     time.Duration
	effects []Effect
}

// Next tells the state what happened at a time since the session began (it never goes
// back), and gives the new state and what is to be done, in order. The given state is not
// changed.
func Next(s State, now time.Duration, ev Event) (State, []Effect) {
	st := &step{State: s, now: now}
	switch {
	case s.closed:
		st.refuse(clientID(ev), "session_closed", "the session has ended", "")
		if clientEvent(ev) == "" {
			st.effects = nil
		}
		return st.State, st.effects
	case !s.opened:
		if o, ok := ev.(Open); ok {
			st.open(o)
		} else if clientEvent(ev) != "" {
			st.refuse(clientID(ev), "session_not_open", "the session is not open yet", "")
		}
		return st.State, st.effects
	}
	st.apply(ev)
	if !st.closed {
		st.settle()
		st.forget()
	}
	return st.State, st.effects
}

func (st *step) apply(ev Event) {
	switch e := ev.(type) {
	case Open:
		st.refuse("", "session_open", "the session is open already", "")
	case Update:
		st.update(e)
	case Append:
		st.append(e)
	case Commit:
		st.commit(e)
	case Clear:
		st.clear()
	case CreateItem:
		st.createItem(e)
	case RetrieveItem:
		st.retrieveItem(e)
	case DeleteItem:
		st.deleteItem(e)
	case TruncateItem:
		st.truncateItem(e)
	case CreateResponse:
		st.createResponse(e)
	case CancelResponse:
		st.cancelResponse(e)
	case Acknowledge:
		st.acknowledge(e)
	case Attach:
		st.attached = true
	case Detach:
		st.attached = false
	case Close:
		st.close(e)
	case Heard:
		st.heard(e)
	case Partial:
		st.partial(e)
	case Transcribed:
		st.transcribed(e)
	case TranscriptionFailed:
		st.transcriptionFailed(e)
	case CancelConfirmed:
		st.cancelConfirmed(e)
	case EngineLost:
		st.engineLost(e)
	case EngineBack:
		st.engineBack(e)
	case Native:
		st.native(e)
	case Played:
		st.played()
	case Tick:
		st.tick()
	default:
		st.answering(ev)
	}
}

// answering handles what comes of a response's responder and of its speech.
func (st *step) answering(ev Event) {
	switch e := ev.(type) {
	case Said:
		st.said(e)
	case Called:
		st.called(e)
	case Progressed:
		st.progressed(e)
	case Shown:
		st.shown(e)
	case Claimed:
		if r := st.edit(e.Response); r != nil {
			r.claimed = true
		}
	case Answered:
		st.answered(e)
	case AnswerFailed:
		st.answerFailed(e)
	case Synthesised:
		st.synthesised(e)
	case Uttered:
		st.uttered(e.Response, e.Utterance, "")
	case SpeechFailed:
		st.uttered(e.Response, e.Utterance, e.Message)
	case Due:
		st.due(e)
	}
}

func (st *step) do(e Effect)   { st.effects = append(st.effects, e) }
func (st *step) emit(n Notice) { st.effects = append(st.effects, Emit{n}) }

func (st *step) refuse(event, code, message, param string) {
	st.emit(Failed{Event: event, Code: code, Message: message, Param: param})
}

// clientEvent names an event of a client, "" for others; clientID is the id it gave.
func clientEvent(ev Event) string {
	switch ev.(type) {
	case Update:
		return "session.update"
	case Append:
		return "input_audio_buffer.append"
	case Commit:
		return "input_audio_buffer.commit"
	case Clear:
		return "input_audio_buffer.clear"
	case CreateItem:
		return "conversation.item.create"
	case RetrieveItem:
		return "conversation.item.retrieve"
	case DeleteItem:
		return "conversation.item.delete"
	case TruncateItem:
		return "conversation.item.truncate"
	case CreateResponse:
		return "response.create"
	case CancelResponse:
		return "response.cancel"
	case Acknowledge:
		return "playback.ack"
	}
	return ""
}

func clientID(ev Event) string {
	switch e := ev.(type) {
	case Update:
		return e.ID
	case Append:
		return e.ID
	case Commit:
		return e.ID
	case Clear:
		return e.ID
	case CreateItem:
		return e.ID
	case RetrieveItem:
		return e.ID
	case DeleteItem:
		return e.ID
	case TruncateItem:
		return e.ID
	case CreateResponse:
		return e.ID
	case CancelResponse:
		return e.ID
	case Acknowledge:
		return e.ID
	}
	return ""
}

func (st *step) open(o Open) {
	st.opened, st.config = true, o.Config
	st.emit(SessionCreated{o.Config})
}

func (st *step) close(e Close) {
	for len(st.live) > 0 {
		st.end(st.live[0].ID, ResponseCancelled, ReasonClient)
	}
	for _, t := range st.tasks {
		st.do(StopResponding{t.response})
	}
	for _, l := range st.listening {
		st.do(StopListening{l.item})
	}
	st.tasks, st.listening, st.late, st.news, st.queued = nil, nil, nil, nil, nil
	st.in.speech = ""
	st.closed = true
	st.emit(Closed{e.Reason})
	st.do(End{})
}

// settle does what is due now that the event is dealt with: a turn that waited, an answer
// that came late, progress.
func (st *step) settle() {
	if st.active() == nil && st.queued != nil && st.in.speech == "" {
		q := st.queued
		st.queued = nil
		st.answerTurn(q.item, false)
	}
	st.offerLate()
	st.tellNews()
}

// forget lets go of input that nobody needs any more, a second at a time.
func (st *step) forget() {
	keep := st.in.start
	if st.in.speech != "" {
		keep = min(keep, st.in.from)
	}
	for _, l := range st.listening {
		keep = min(keep, l.from)
	}
	if keep-st.forgotten >= audio.Rate {
		st.forgotten = keep
		st.do(Forget{keep})
	}
}

func (st *step) engineLost(e EngineLost) {
	st.lost = withKey(st.lost, e.Engine, true)
	st.emit(Warning{"engine_lost", e.Engine + ": " + e.Message})
}

func (st *step) engineBack(e EngineBack) {
	st.lost = withKey(st.lost, e.Engine, false)
	st.emit(Warning{"engine_back", e.Engine})
}

func withKey(m map[string]bool, key string, value bool) map[string]bool {
	out := make(map[string]bool, len(m)+1)
	for k := range m {
		out[k] = true
	}
	if value {
		out[key] = true
	} else {
		delete(out, key)
	}
	return out
}
