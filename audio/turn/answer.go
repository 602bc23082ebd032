package turn

import (
	"slices"
	"strings"

	"dure/audio/clause"
	"dure/inference"
)

// mostTaskText bounds what is kept of an answer whose speech was stopped, in bytes.
const mostTaskText = 64 << 10

func (st *step) said(e Said) {
	r := st.edit(e.Response)
	if r == nil {
		st.taskSaid(e)
		return
	}
	if r.answered || e.Text == "" {
		return
	}
	st.firstWord(r)
	if r.TextOnly {
		st.openMessage(r)
		r.text += e.Text
		st.emit(TextDelta{r.at(), e.Text})
		return
	}
	var pieces []clause.Piece
	r.split, pieces = r.split.Feed(e.Text)
	st.speakAll(r, pieces)
}

// firstWord notes how long the responder took.
func (st *step) firstWord(r *response) {
	if r.first {
		return
	}
	r.first, r.ackAt = true, 0
	if st.config.Lead && r.turn != "" {
		st.slow = st.slow.note(st.now - r.begun)
	}
}

// speakAll speaks clauses; code, and what is beyond a long answer's limit, is shown.
func (st *step) speakAll(r *response, pieces []clause.Piece) {
	for _, p := range pieces {
		switch {
		case p.Screen && !st.config.NoScreen:
			st.emit(Screen{r.ID, p.Text})
		case r.rest != "" || st.rules.LongAnswer > 0 && !st.config.NoScreen && r.weight+clause.Weight(p.Text) > st.rules.LongAnswer && r.weight > 0:
			if r.rest != "" {
				r.rest += " "
			}
			r.rest += p.Text
		default:
			r.weight += clause.Weight(p.Text)
			st.speak(r, p.Text, false)
		}
	}
}

func (st *step) called(e Called) {
	r := st.edit(e.Response)
	if r == nil {
		st.taskCalled(e)
		return
	}
	if r.answered {
		return
	}
	st.firstWord(r)
	at := slices.IndexFunc(r.calls, func(c call) bool { return c.index == e.Index })
	if at < 0 {
		st.closeCalls(r, true)
		it := &Item{ID: st.newID("item"), Kind: FunctionCall, Status: InProgress, CallID: e.CallID, Name: e.Name}
		if it.CallID == "" {
			it.CallID = st.newID("call")
		}
		r.calls = append(r.calls, call{index: e.Index, out: st.addOut(r, it)})
		at = len(r.calls) - 1
	}
	c := &r.calls[at]
	if e.Arguments == "" || c.closed {
		return
	}
	c.args += e.Arguments
	it := r.outs[c.out]
	st.emit(ArgumentsDelta{At{Response: r.ID, Item: it.ID, Output: c.out}, it.CallID, e.Arguments})
}

// closeCalls ends the calls that are being written: whole, or cut off.
func (st *step) closeCalls(r *response, whole bool) {
	for i := range r.calls {
		c := &r.calls[i]
		if c.closed {
			continue
		}
		c.closed = true
		it := *r.outs[c.out]
		it.Arguments, it.Status = c.args, Completed
		if !whole {
			it.Status = Incomplete
		} else if strings.TrimSpace(it.Arguments) == "" {
			it.Arguments = "{}"
		}
		st.setOut(r, c.out, &it)
		if whole {
			st.emit(ArgumentsDone{At{Response: r.ID, Item: it.ID, Output: c.out}, it.CallID, it.Name, it.Arguments})
		}
		st.doneOut(r, c.out)
	}
}

func (st *step) shown(e Shown) {
	if e.Text != "" && (st.find(e.Response) != nil || st.isTask(e.Response)) {
		st.emit(Screen{e.Response, e.Text})
	}
}

func (st *step) answered(e Answered) {
	r := st.edit(e.Response)
	if r == nil {
		st.taskAnswered(e.Response)
		return
	}
	if r.answered {
		return
	}
	st.closeAnswer(r)
	r.finish, r.Usage = e.Finish, e.Usage
	st.closeCalls(r, e.Finish != inference.FinishLength)
	st.finishIfDone(r)
}

// closeAnswer speaks what is left of the text, and shows what was too long for that.
func (st *step) closeAnswer(r *response) {
	r.answered, r.ackAt = true, 0
	var pieces []clause.Piece
	r.split, pieces = r.split.Flush()
	st.speakAll(r, pieces)
	if r.rest != "" {
		st.emit(Screen{r.ID, r.rest})
		st.speak(r, phrase(phraseScreen, st.speakLanguage()), true)
	}
}

func (st *step) answerFailed(e AnswerFailed) {
	r := st.edit(e.Response)
	if r == nil {
		st.taskFailed(e)
		return
	}
	if r.answered {
		return
	}
	st.fail(r, e.Code, e.Message)
}

// fail ends a response without success, with a word to the person where it can be spoken.
func (st *step) fail(r *response, code, message string) {
	if code == "" {
		code = "internal_error"
	}
	st.closeAnswer(r)
	r.asked, r.Code, r.Message = true, code, message
	if !r.TextOnly && !st.lost["tts"] && !r.OutOfBand {
		st.speak(r, phrase(phraseSorry, st.speakLanguage()), true)
	}
	st.finishIfDone(r)
}

// The words of transcripts.

func (st *step) transcribed(e Transcribed) {
	l := st.listenOf(e.Item)
	if l == nil || l.open {
		return
	}
	judge := l.judge
	st.stopListen(e.Item)
	if e.Language != "" {
		st.language = e.Language
	} else if g := clause.Language(e.Text, ""); g != "" {
		st.language = g
	}
	if i, it := st.item(e.Item); i >= 0 {
		st.writeTranscript(it, e.Text)
	}
	if judge {
		st.judgeWords(e.Item, e.Text)
	}
	st.ask()
}

// writeTranscript sets the words of an item's sound, and tells the client where it asked
// for transcripts.
func (st *step) writeTranscript(it *Item, text string) {
	next := *it
	next.Parts = slices.Clone(it.Parts)
	for i := range next.Parts {
		p := &next.Parts[i]
		if p.Kind != InputAudio || p.Transcribed {
			continue
		}
		p.Text, p.Transcribed = text, true
		if st.config.Transcription != nil {
			if text != "" {
				st.emit(TranscriptDelta{it.ID, i, text})
			}
			st.emit(TranscriptCompleted{it.ID, i, text, p.Samples})
		}
		break
	}
	st.setItem(&next)
}

// judgeWords decides on short speech during an answer, now that its words are known.
func (st *step) judgeWords(item, text string) {
	if text == "" || Backchannel(text) {
		if st.active() != nil {
			st.decide("keep", "backchannel")
		}
		return
	}
	st.interrupt("words")
	if st.config.Detection.CreateResponse {
		st.answerTurn(item, false)
	}
}

func (st *step) transcriptionFailed(e TranscriptionFailed) {
	l := st.listenOf(e.Item)
	if l == nil {
		return
	}
	open := l.open
	if open {
		return // the next end of the turn will say it again
	}
	st.stopListen(e.Item)
	if st.config.Transcription != nil {
		st.emit(TranscriptFailed{e.Item, 0, e.Code, e.Message})
	} else {
		st.emit(Warning{"transcription_failed", e.Message})
	}
	for _, r := range st.live {
		if !r.asked && r.turn == e.Item {
			r = st.edit(r.ID)
			st.fail(r, e.Code, "the person's words could not be recognised: "+e.Message)
			break
		}
	}
	st.ask()
}
