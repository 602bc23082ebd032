package turn

import (
	"slices"
	"time"

	"dure/audio"
	"dure/audio/clause"
	"dure/inference"
)

// response is one that has not ended. Those in a State are not changed: edit gives a copy.
type response struct {
	Response
	params ResponseParams
	turn   string // the item that it answers, where a turn of speech made it
	idle   bool

	asked    bool // Respond was given, or it needs none
	model    bool // a speech model speaks by itself
	quiet    int  // of it: frames in a row without sound
	claims   bool // it spoke while the lead agent had a turn open
	own      bool // made by the session itself: no responder is behind it
	answered bool // the responder has ended
	finish   inference.FinishReason

	outs  []*Item
	msg   int // place of the message in outs, -1
	calls []call
	text  string // of the message: what was written, or what is spoken

	split     clause.Splitter
	said      []utterance
	weight    int    // of what is spoken
	rest      string // of a long answer, for the screen
	generated audio.Samples
	sent      audio.Samples
	played    audio.Samples // as the client tells, -1 = never
	begun     time.Duration // end of the turn that it answers
	ackAt     time.Duration // 0 = none
	first     bool          // the responder has said something
	claimed   bool          // what it says is no fact of the lead agent's
}

// call is a call of a tool that is being written.
type call struct {
	index, out int
	args       string
	closed     bool
}

// audible reports whether sound of it is under way or awaited.
func (r *response) audible() bool {
	if r.generated > r.sent {
		return true
	}
	for _, u := range r.said {
		if !u.done {
			return true
		}
	}
	return false
}

// edit gives a copy of a live response that can be changed until the step ends.
func (st *step) edit(id string) *response {
	old := st.find(id)
	if old == nil {
		return nil
	}
	r := *old
	r.outs, r.calls, r.said = slices.Clone(r.outs), slices.Clone(r.calls), slices.Clone(r.said)
	st.setLive(&r)
	return &r
}

// begin makes a response; it is asked for when what it answers is known.
func (st *step) begin(p ResponseParams, turn string) *response {
	c := st.config
	r := &response{params: p, turn: turn, msg: -1, played: -1, begun: st.now}
	r.Response = Response{ID: st.newID("resp"), Status: ResponseInProgress, OutOfBand: p.OutOfBand,
		TextOnly: c.TextOnly, Voice: c.Voice, MaxTokens: c.MaxTokens, Metadata: p.Metadata}
	if p.TextOnly != nil {
		r.TextOnly = *p.TextOnly
	}
	if p.Voice != "" {
		r.Voice = p.Voice
	}
	if p.MaxTokens > 0 {
		r.MaxTokens = p.MaxTokens
	}
	if r.OutOfBand {
		st.live = append(slices.Clone(st.live), r)
	} else {
		st.live = append([]*response{r}, st.live...)
		st.idleAt = 0
	}
	st.created++
	st.emit(ResponseCreated{r.snapshot()})
	return r
}

// answerTurn answers what the person said, or what nobody said. While an answer is under
// way that may not be interrupted, the turn waits for its end.
func (st *step) answerTurn(item string, idle bool) {
	if st.config.TranscriptionOnly {
		return
	}
	if a := st.active(); a != nil && a.model {
		st.cut(a.ID, ReasonTurnDetected) // the lead agent has the floor
	}
	if st.active() != nil {
		st.queued = &queuedTurn{item}
		return
	}
	r := st.begin(ResponseParams{}, item)
	r.idle = idle
	st.planAck(r)
	st.ask()
}

// interrupt stops the answer because the person speaks. why is told where that was judged.
func (st *step) interrupt(why string) {
	r := st.active()
	if r == nil {
		return
	}
	if why != "" {
		st.decide("barge_in", why)
	}
	st.interrupted = nothing
	if r.msg >= 0 {
		st.interrupted = r.outs[r.msg].ID
	}
	st.cut(r.ID, ReasonTurnDetected)
}

// nothing is the interrupted item where the answer had not begun.
const nothing = "-"

// cut cancels a response. The work of a lead agent goes on; a model's answer is stopped.
func (st *step) cut(id, reason string) {
	r := st.find(id)
	if r.asked && !r.answered && !r.own && st.config.Lead && !r.OutOfBand {
		st.keepTask(r)
	}
	st.end(id, ResponseCancelled, reason)
}

// end is the only way in which a response ends.
func (st *step) end(id string, status ResponseStatus, reason string) {
	r := st.edit(id)
	void := r.audible()
	if r.model && status == ResponseCancelled {
		st.muted = true
	}
	if r.asked && !r.answered && !r.own && !st.isTask(id) {
		st.do(StopResponding{id})
	}
	if r.said != nil && void {
		st.do(Silence{id})
		st.epoch++
		st.emit(EpochChanged{st.epoch})
	}
	st.closeCalls(r, status == ResponseCompleted)
	st.closeMessage(r, status)
	st.dropped += r.generated - r.sent
	r.Status, r.Reason = status, reason
	st.live = slices.DeleteFunc(slices.Clone(st.live), func(x *response) bool { return x.ID == id })
	st.done++
	if !r.OutOfBand {
		st.confirming = st.confirming && r.turn != st.confirmItem
		if r.TextOnly || r.sent == 0 {
			st.startIdle()
		}
	}
	st.emit(ResponseDone{r.snapshot()})
}

// finishIfDone ends a response of which nothing more is to come.
func (st *step) finishIfDone(r *response) {
	if !r.answered || r.audible() {
		return
	}
	switch {
	case r.Code != "":
		st.end(r.ID, ResponseFailed, "")
	case r.finish == inference.FinishLength:
		st.end(r.ID, ResponseIncomplete, ReasonMaxTokens)
	default:
		st.end(r.ID, ResponseCompleted, "")
	}
}

// snapshot is the response as notices tell it.
func (r *response) snapshot() Response {
	out := r.Response
	out.Samples = r.sent
	out.Items = nil
	for _, it := range r.outs {
		out.Items = append(out.Items, *it)
	}
	return out
}

// openMessage adds the response's message, where there is none yet.
func (st *step) openMessage(r *response) {
	if r.msg >= 0 {
		return
	}
	kind := OutputAudio
	if r.TextOnly {
		kind = OutputText
	}
	it := &Item{ID: st.newID("item"), Kind: Message, Role: Assistant, Status: InProgress}
	r.msg = st.addOut(r, it)
	full := *it
	full.Parts = []Part{{Kind: kind}}
	st.setOut(r, r.msg, &full)
	st.emit(PartAdded{r.at(), Part{Kind: kind}})
}

// addOut adds an item to what the response puts out, and to the conversation.
func (st *step) addOut(r *response, it *Item) int {
	r.outs = append(r.outs, it)
	at := len(r.outs) - 1
	st.emit(OutputItemAdded{r.ID, at, *it})
	if !r.OutOfBand {
		st.items = append(slices.Clone(st.items), it)
		st.emit(ItemAdded{st.previous(len(st.items) - 1), *it})
	}
	return at
}

func (st *step) setOut(r *response, at int, it *Item) {
	r.outs[at] = it
	if !r.OutOfBand {
		st.setItem(it)
	}
}

func (r *response) at() At {
	return At{Response: r.ID, Item: r.outs[r.msg].ID, Output: r.msg}
}

// doneOut tells that an item of the response is complete.
func (st *step) doneOut(r *response, at int) {
	it := r.outs[at]
	if !r.OutOfBand {
		if i, known := st.item(it.ID); known != nil {
			st.emit(ItemDone{st.previous(i), *it})
		}
	}
	st.emit(OutputItemDone{r.ID, at, *it})
}

func (st *step) closeMessage(r *response, status ResponseStatus) {
	if r.msg < 0 {
		return
	}
	it := *r.outs[r.msg]
	part := Part{Kind: it.Parts[0].Kind, Text: r.text}
	it.Unverified = r.claimed
	it.Status, it.Unverified = Completed, r.claims
	if status != ResponseCompleted {
		it.Status = Incomplete
	}
	if part.Kind == OutputAudio {
		it.said, it.sent = r.said, r.sent
		part.Samples = r.sent
		if status == ResponseCancelled {
			part = it.cutTo(part, r.heard(st.rules.Ahead))
		}
	}
	it.Parts = []Part{part}
	at := r.at()
	if part.Kind == OutputAudio {
		st.emit(AudioDone{at})
		st.emit(AudioTranscriptDone{at, part.Text})
	} else {
		st.emit(TextDone{at, part.Text})
	}
	st.setOut(r, r.msg, &it)
	st.emit(PartDone{at, part})
	st.doneOut(r, r.msg)
	if part.Cut && !r.OutOfBand && st.config.Duplex {
		st.emit(ItemTruncated{it.ID, 0, part.Samples.Milliseconds()})
	}
}
