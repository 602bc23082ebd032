package turn

import (
	"slices"
	"time"
)

// task is the lead agent's work on a turn whose response has ended: what it says is kept
// until there is a place for it.
type task struct {
	response string
	text     string
	full     bool // more text came than is kept
}

// answer is a finished one that came late.
type answer struct{ response, text string }

// mostTasks bounds how many turns the lead agent works on without a listener.
const mostTasks = 8

// latency is a running mean of how long the lead agent takes to its first words. The zero
// value knows nothing, and is taken for slow.
type latency struct {
	mean  time.Duration
	known bool
}

func (l latency) note(d time.Duration) latency {
	if !l.known {
		return latency{d, true}
	}
	return latency{(3*l.mean + d) / 4, true}
}

func (l latency) slow(limit time.Duration) bool { return !l.known || l.mean >= limit }

// planAck decides when a turn is acknowledged if there is no answer by then: at once if the
// lead agent has been slow, else when it turns out to be.
func (st *step) planAck(r *response) {
	if !st.config.Lead || st.rules.Acknowledge <= 0 || r.TextOnly {
		return
	}
	wait := st.rules.Acknowledge
	if !st.slow.slow(st.rules.SlowAfter) {
		wait = max(wait, st.rules.SlowAfter)
	}
	r.ackAt = st.now + wait
}

func (st *step) tick() {
	if r := st.active(); r != nil && r.ackAt > 0 && st.now >= r.ackAt && st.attached {
		r = st.edit(r.ID)
		r.ackAt = 0
		// Not into the person's speech, and not for a cough without words.
		if _, it := st.item(r.turn); st.in.speech == "" && !r.first && !r.answered && (it == nil || !knownEmpty(it)) {
			r.Acknowledged = true
			st.speak(r, phrase(phraseMoment, st.speakLanguage()), true)
		}
	}
	if st.idleAt > 0 && st.now >= st.idleAt && st.attached {
		st.idleAt = 0
		st.timeout()
	}
}

// knownEmpty reports whether a transcript came and holds no word.
func knownEmpty(it *Item) bool {
	return len(it.Parts) > 0 && it.Parts[0].Transcribed && it.Parts[0].Text == ""
}

// startIdle starts the idle timeout, where there is one.
func (st *step) startIdle() {
	d := st.config.Detection
	if d.Mode == ServerVAD && d.IdleTimeout > 0 && st.in.speech == "" && !st.config.TranscriptionOnly {
		st.idleAt = st.now + d.IdleTimeout
	}
}

func (st *step) played() {
	if st.active() == nil {
		st.startIdle()
	}
}

// timeout makes a turn of the silence, so that the model says something.
func (st *step) timeout() {
	if st.active() != nil || st.in.speech != "" {
		return
	}
	item, from, to := st.newID("item"), st.in.start, st.in.end
	st.in.start, st.in.heardTo, st.in.run = to, max(st.in.heardTo, to), 0
	st.emit(TimedOut{item, from.Milliseconds(), to.Milliseconds()})
	at := len(st.items)
	st.emit(Committed{Previous: st.previous(at), Item: item})
	st.insert(at, &Item{ID: item, Kind: Message, Role: User, Status: Completed,
		Parts: []Part{{Kind: InputAudio, From: from, To: to, Samples: to - from, Transcribed: true}}})
	st.answerTurn(item, true)
}

func (s *State) isTask(response string) bool {
	return slices.ContainsFunc(s.tasks, func(t *task) bool { return t.response == response })
}

func (st *step) editTask(response string) *task {
	i := slices.IndexFunc(st.tasks, func(t *task) bool { return t.response == response })
	if i < 0 {
		return nil
	}
	st.tasks = slices.Clone(st.tasks)
	t := *st.tasks[i]
	st.tasks[i] = &t
	return &t
}

func (st *step) dropTask(response string) {
	st.tasks = slices.DeleteFunc(slices.Clone(st.tasks), func(t *task) bool { return t.response == response })
}

// keepTask lets the lead agent's work on a response go on without it.
func (st *step) keepTask(r *response) {
	if len(st.tasks) >= mostTasks {
		old := st.tasks[0].response
		st.dropTask(old)
		st.do(StopResponding{old})
		st.emit(Warning{"task_dropped", "too many turns wait for the lead agent; the oldest was given up"})
	}
	st.tasks = append(slices.Clone(st.tasks), &task{response: r.ID})
}

func (st *step) taskSaid(e Said) {
	t := st.editTask(e.Response)
	if t == nil || t.full {
		return
	}
	if len(t.text)+len(e.Text) > mostTaskText {
		t.full = true
		st.emit(Warning{"answer_cut", "an answer that waits for its place is too long; its end is not kept"})
		return
	}
	t.text += e.Text
}

func (st *step) taskCalled(e Called) {
	if st.isTask(e.Response) {
		// The client's tool belongs to a response that has ended: nobody would answer.
		st.dropTask(e.Response)
		st.do(StopResponding{e.Response})
		st.emit(Warning{"task_dropped", "the lead agent called the tool " + e.Name + " for a turn that was interrupted"})
	}
}

func (st *step) taskAnswered(response string) {
	t := st.editTask(response)
	if t == nil {
		return
	}
	st.dropTask(response)
	if t.text != "" {
		st.late = append(slices.Clone(st.late), answer{response, t.text})
		st.emit(AnswerWaiting{response})
	}
}

func (st *step) taskFailed(e AnswerFailed) {
	if st.isTask(e.Response) {
		st.dropTask(e.Response)
		st.emit(Warning{"task_failed", e.Message})
	}
}

// free reports whether the session may say something by itself.
func (s *State) free() bool {
	return s.attached && s.in.speech == "" && s.active() == nil && s.queued == nil && !s.awaiting() && !s.config.TranscriptionOnly
}

// offerLate gives the oldest late answer its place.
func (st *step) offerLate() {
	if len(st.late) == 0 || !st.free() {
		return
	}
	a := st.late[0]
	st.late = slices.Clone(st.late[1:])
	r := st.begin(ResponseParams{}, "")
	r.asked, r.own = true, true
	if r.TextOnly {
		st.openMessage(r)
		r.text, r.answered = a.text, true
		st.emit(TextDelta{r.at(), a.text})
		st.finishIfDone(r)
		return
	}
	st.speak(r, phrase(phraseLate, st.speakLanguage()), true)
	s, pieces := r.split.Feed(a.text)
	r.split = s
	st.speakAll(r, pieces)
	st.closeAnswer(r)
	st.finishIfDone(r)
}

// progressed keeps the newest state of the work, to be told in its time.
func (st *step) progressed(e Progressed) {
	if e.Text == "" || st.find(e.Response) == nil && !st.isTask(e.Response) || slices.Contains(st.told, e.Key) {
		return
	}
	if st.news != nil && st.news.Key == e.Key {
		return
	}
	st.news = &e
}

// canTell reports whether progress can be spoken now: nobody speaks, and work is awaited.
func (s *State) canTell() bool {
	if s.in.speech != "" || !s.attached || s.awaiting() {
		return false
	}
	if r := s.active(); r != nil {
		return r.asked && !r.answered && !r.own && !r.audible()
	}
	return len(s.tasks) > 0 && s.free()
}

func (st *step) tellNews() {
	if st.news == nil || !st.canTell() || st.toldAt > 0 && st.now < st.toldAt+st.rules.ProgressEvery {
		return
	}
	e := st.news
	st.news = nil
	st.told = append(slices.Clone(st.told), e.Key)
	if len(st.told) > 64 {
		st.told = st.told[1:]
	}
	st.toldAt = max(1, st.now)
	st.emit(Progress{e.Response, e.Text})
	r := st.active()
	if st.config.TextOnly || r != nil && r.TextOnly {
		return
	}
	if r == nil {
		r = st.begin(ResponseParams{}, "")
		r.asked, r.own, r.answered = true, true, true
		st.speak(r, e.Text, false)
		return
	}
	r = st.edit(r.ID)
	r.ackAt = 0
	st.speak(r, e.Text, false)
}

// cancelConfirmed is the lead agent's answer about calling its work off.
func (st *step) cancelConfirmed(e CancelConfirmed) {
	if !st.confirming {
		return
	}
	st.confirming = false
	r := st.active()
	if !e.Confirmed {
		if r != nil && !r.asked {
			r = st.edit(r.ID)
			r.asked = true
			said := ""
			if _, it := st.item(r.turn); it != nil {
				said = it.Text()
			}
			st.do(Respond{st.request(r, said)})
		}
		return
	}
	for _, t := range st.tasks {
		st.do(StopResponding{t.response})
	}
	st.tasks, st.late, st.news = nil, nil, nil
	if r == nil || r.asked {
		return
	}
	r = st.edit(r.ID)
	r.asked, r.own, r.answered, r.ackAt = true, true, true, 0
	text := phrase(phraseStopped, st.speakLanguage())
	if r.TextOnly {
		st.openMessage(r)
		r.text = text
		st.emit(TextDelta{r.at(), text})
	} else {
		st.speak(r, text, false)
	}
	st.finishIfDone(r)
}
