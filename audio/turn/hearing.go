package turn

import (
	"dure/audio"
)

// input is the buffer of the person's sound and what was found in it.
type input struct {
	end     audio.Samples // of what was appended
	start   audio.Samples // of what is not committed
	heardTo audio.Samples // how far the detector is
	// run counts hops of speech in a row, from runFrom on.
	run     int
	runFrom audio.Samples
	// Of the speech under way: its item, its beginning with the prefix, where the last
	// sound of it was, and the words so far.
	speech string
	from   audio.Samples
	onset  audio.Samples
	last   audio.Samples
	words  string
	// wordsTo is the place that the words go to, and peeked the one at which they were
	// asked for last.
	wordsTo, peeked audio.Samples
	// overlap says that it began during an answer, and is not judged yet.
	overlap bool
}

// pausing reports whether the detector hears no speech now.
func (in *input) pausing() bool { return in.heardTo > in.last }

const (
	// startHops is how many hops in a row make speech (96 ms with hops of 32 ms): one
	// hop may be a cough.
	startHops = 3
	// hysteresis keeps speech going while the probability is a little lower than what
	// began it.
	hysteresis = 0.15
	// peekAfter is the pause that asks for the words: shorter ones are between words.
	peekAfter = audio.Rate * 96 / 1000
	// keepBack is how much silence stays in the buffer beside the prefix while nobody
	// speaks.
	keepBack = audio.Rate
)

// ErrEmpty of the OpenAI API: less than 100 ms cannot be committed.
const leastCommit = audio.Rate / 10

func (st *step) append(e Append) {
	if e.Samples < 0 {
		st.refuse(e.ID, "invalid_value", "a negative length of sound", "audio")
		return
	}
	if held := st.in.end - st.in.start + e.Samples; held > st.rules.MostInput {
		st.refuse(e.ID, "input_audio_buffer_overflow", "the input buffer holds too much sound that was not committed; commit or clear it", "audio")
		return
	}
	st.in.end += e.Samples
	st.do(Take{e.Samples})
}

// heard is the detector's word on the next hop.
func (st *step) heard(e Heard) {
	from := st.in.heardTo
	if e.To <= from || e.To > st.in.end {
		return
	}
	st.in.heardTo = e.To
	d := st.config.Detection
	if d.Mode == Manual {
		st.in.run = 0
		return
	}
	if st.in.speech == "" {
		st.heardWhileQuiet(from, e)
		return
	}
	if e.Prob >= d.Threshold-hysteresis {
		st.in.last = e.To
		st.judgeLength()
		if e.To-st.in.from >= st.rules.MostInput/2 {
			st.endSpeech(e.To) // nobody speaks that long in one turn; the buffer must not overflow
		}
		return
	}
	if e.To-st.in.last >= st.wait() {
		st.endSpeech(e.To)
		return
	}
	st.peek(e.To)
}

func (st *step) heardWhileQuiet(from audio.Samples, e Heard) {
	d := st.config.Detection
	if e.Prob < d.Threshold {
		st.in.run = 0
		st.in.start = max(st.in.start, e.To-d.Prefix-keepBack)
		return
	}
	if st.in.run == 0 {
		st.in.runFrom = from
	}
	if st.in.run++; st.in.run < startHops {
		return
	}
	st.in.run = 0
	st.startSpeech(e.To)
}

func (st *step) startSpeech(to audio.Samples) {
	in := &st.in
	in.speech, in.words, in.overlap = st.newID("item"), "", false
	in.wordsTo, in.peeked = 0, 0
	in.from = max(in.start, in.runFrom-st.config.Detection.Prefix)
	in.onset, in.last = max(in.from, in.runFrom), to
	in.start = in.from
	st.idleAt = 0
	st.emit(SpeechStarted{in.speech, in.from.Milliseconds()})
	st.listen(listen{item: in.speech, from: in.from, open: true})
	switch {
	case st.active() == nil:
	case st.judged():
		in.overlap = true
	case st.config.Detection.InterruptResponse:
		st.interrupt("")
	}
}

// judged says whether speech during an answer is judged before it interrupts.
func (st *step) judged() bool {
	return st.config.Detection.InterruptResponse && (st.config.Duplex || st.config.Detection.Mode == SemanticVAD)
}

// listen has the sound of an item recognised.
func (st *step) listen(l listen) {
	st.listening = append(st.listening[:len(st.listening):len(st.listening)], l)
	language, prompt := "", ""
	if t := st.config.Transcription; t != nil {
		language, prompt = t.Language, t.Prompt
	}
	st.do(Listen{Item: l.item, From: l.from, Language: language, Prompt: prompt})
}

// endSpeech ends the person's turn: what they said becomes an item, and is answered.
func (st *step) endSpeech(to audio.Samples) {
	in := &st.in
	item, overlap := in.speech, in.overlap
	length := in.last - in.onset
	st.emit(SpeechStopped{item, to.Milliseconds()})
	if overlap && st.active() != nil {
		words := in.words
		switch {
		case Backchannel(words):
			st.decide("keep", "backchannel")
			st.commitSpeech(to)
			return
		case words == "" && length <= st.rules.ShortAck:
			// Only the transcript can tell.
			st.commitSpeech(to)
			st.editListen(item, func(l *listen) { l.judge = true })
			return
		}
		st.interrupt("length")
	}
	st.commitSpeech(to)
	if st.config.Detection.CreateResponse {
		st.answerTurn(item, false)
	}
}

func (st *step) commitSpeech(to audio.Samples) {
	item, from := st.in.speech, st.in.from
	st.in.speech, st.in.words, st.in.overlap, st.in.run = "", "", false, 0
	st.commitAs(item, from, to)
}

// commitAs makes a piece of the buffer an item, and waits for its transcript.
func (st *step) commitAs(item string, from, to audio.Samples) {
	st.in.start = to
	at := len(st.items)
	it := &Item{ID: item, Kind: Message, Role: User, Status: Completed,
		Parts: []Part{{Kind: InputAudio, From: from, To: to, Samples: to - from}}}
	st.emit(Committed{Previous: st.previous(at), Item: item})
	st.insert(at, it)
	if st.listenOf(item) == nil {
		st.listen(listen{item: item, from: from})
	}
	st.editListen(item, func(l *listen) { l.open = false })
	st.do(FinishListening{item, to})
}

func (st *step) commit(e Commit) {
	from, to := st.in.start, st.in.end
	if st.in.speech != "" {
		from = st.in.from
	}
	if to-from < leastCommit {
		st.refuse(e.ID, "input_audio_buffer_commit_empty", "the input buffer is too small: a commit needs 100 ms of sound at least", "")
		return
	}
	item := st.in.speech
	if item == "" {
		item = st.newID("item")
	}
	st.in.speech, st.in.words, st.in.overlap, st.in.run = "", "", false, 0
	st.in.heardTo = max(st.in.heardTo, to)
	st.commitAs(item, from, to)
	st.do(ResetHearing{})
}

func (st *step) clear() {
	st.dropSpeech()
	st.in.start, st.in.heardTo = st.in.end, st.in.end
	st.emit(Cleared{})
	st.do(ResetHearing{})
}

// dropSpeech forgets speech under way as if it had not been.
func (st *step) dropSpeech() {
	if st.in.speech != "" {
		st.stopListen(st.in.speech)
		st.do(StopListening{st.in.speech})
	}
	st.in.speech, st.in.words, st.in.overlap, st.in.run = "", "", false, 0
}

// partial is what the recogniser has understood so far.
func (st *step) partial(e Partial) {
	if e.Item != st.in.speech || st.in.speech == "" {
		return
	}
	st.in.words, st.in.wordsTo = e.Text, max(st.in.wordsTo, e.To)
	if st.in.overlap && st.active() != nil && Words(e.Text) >= 2 && !Backchannel(e.Text) {
		st.interrupt("words")
	}
}

// judgeLength stops an answer that is spoken over for long.
func (st *step) judgeLength() {
	if st.in.overlap && st.active() != nil && st.in.last-st.in.onset >= st.rules.BargeIn && !Backchannel(st.in.words) {
		st.interrupt("length")
	}
}

func (st *step) decide(decision, why string) {
	st.in.overlap = false
	st.emit(OverlapDecided{decision, why})
}

// wait is the pause that ends the turn now.
func (st *step) wait() audio.Samples {
	d := st.config.Detection
	if d.Mode == SemanticVAD {
		return SemanticWait(d.Eagerness, st.verdict())
	}
	return d.Silence
}

// verdict is whether the turn sounds finished. Words that do not reach to the pause tell
// nothing about it.
func (st *step) verdict() Verdict {
	if st.in.wordsTo < st.in.last {
		return Unknown
	}
	return Finished(st.in.words)
}

// peek asks for the words once in every pause.
func (st *step) peek(to audio.Samples) {
	if st.config.Detection.Mode == SemanticVAD && st.in.peeked <= st.in.last && to-st.in.last >= peekAfter {
		st.in.peeked = to
		st.do(Peek{st.in.speech})
	}
}
