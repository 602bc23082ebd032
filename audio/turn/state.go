package turn

import (
	"slices"
	"strconv"
	"time"

	"dure/audio"
)

// Phase is where a conversation stands.
type Phase string

// Phases. Endpointing is a pause of the person that may be the end of their turn; Overlap
// is speech of the person during an answer, not yet judged.
const (
	PhaseOpening     Phase = "opening"
	PhaseIdle        Phase = "idle"
	PhaseListening   Phase = "user_speaking"
	PhaseEndpointing Phase = "endpointing"
	PhaseThinking    Phase = "thinking"
	PhaseSpeaking    Phase = "speaking"
	PhaseOverlap     Phase = "overlap"
	PhasePaused      Phase = "paused"
	PhaseClosed      Phase = "closed"
)

// State is a conversation between two events. It is a value: Next gives a new one and
// changes nothing that the old one shows. The zero State with rules (New) awaits Open.
type State struct {
	rules           Rules
	config          Config
	opened, closed  bool
	attached        bool
	epoch           int64
	ids             int64
	items           []*Item
	in              input
	live            []*response // not ended; the conversation's own one first
	listening       []listen    // transcripts that are awaited
	interrupted     string      // the item that the person's turn interrupted
	tasks           []*task     // of the lead agent, without a response that waits for them
	late            []answer    // answers of those, for which there was no place yet
	confirming      bool        // ConfirmCancel is unanswered
	confirmItem     string      // the item that asked for it
	news            *Progressed // progress to be told
	told            []string    // keys of progress that was told
	toldAt          time.Duration
	idleAt          time.Duration // 0 = no timeout runs
	slow            latency       // of the lead agent
	language        string        // that the person spoke last
	queued          *queuedTurn   // a turn that waits for the active response to end
	muted           bool          // what the speech model says is not wanted until it pauses
	voiced          bool          // sound was sent: the voice is fixed
	lost            map[string]bool
	generated, sent audio.Samples // over all responses, with dropped
	dropped         audio.Samples
	forgotten       audio.Samples
	done            int64 // responses that ended
	created         int64
}

// New is the State before Open.
func New(r Rules) State { return State{rules: r, attached: true} }

// queuedTurn is a turn of the person that came while an answer could not be interrupted.
type queuedTurn struct{ item string }

// listen is an item whose transcript is awaited.
type listen struct {
	item  string
	from  audio.Samples
	judge bool // whether it interrupted or went along is told by its words
	short bool
	open  bool // still being spoken
}

// Config is the session's configuration now.
func (s *State) Config() Config { return s.config }

// Epoch counts how often sound under way became void.
func (s *State) Epoch() int64 { return s.epoch }

// Items are the conversation, in its order. They must not be changed.
func (s *State) Items() []*Item { return s.items }

// Counted says how much sound of answers was synthesised, sent and dropped.
func (s *State) Counted() (generated, sent, dropped audio.Samples) {
	return s.generated, s.sent, s.dropped
}

// Live reports whether a response is in progress.
func (s *State) Live(response string) bool { return s.find(response) != nil }

// Speech tells of the person's speech under way, or else of the last: where its first
// sound was, and its last so far.
func (s *State) Speech() (onset, last audio.Samples) { return s.in.onset, s.in.last }

// Native tells which response a speech model is speaking by itself, and its utterance.
func (s *State) Native() (response string, utterance int, ok bool) {
	if r := s.active(); r != nil && r.model && !r.answered {
		return r.ID, len(r.said) - 1, true
	}
	return "", 0, false
}

// SentOf is how much sound of an answer's item was sent; false where it is none.
func (s *State) SentOf(item string) (audio.Samples, bool) {
	for _, r := range s.live {
		if r.msg >= 0 && r.outs[r.msg].ID == item {
			return r.sent, true
		}
	}
	_, it := s.item(item)
	if it == nil || it.said == nil {
		return 0, false
	}
	return it.sent, true
}

// Speaking reports whether sound of an answer is under way or awaited.
func (s *State) Speaking() bool {
	for _, r := range s.live {
		if r.audible() {
			return true
		}
	}
	return false
}

// Phase tells where the conversation stands.
func (s *State) Phase() Phase {
	r := s.active()
	switch {
	case !s.opened:
		return PhaseOpening
	case s.closed:
		return PhaseClosed
	case !s.attached:
		return PhasePaused
	case s.in.speech != "" && r != nil:
		return PhaseOverlap
	case s.in.speech != "" && s.in.pausing():
		return PhaseEndpointing
	case s.in.speech != "":
		return PhaseListening
	case r != nil && r.sent > 0:
		return PhaseSpeaking
	case r != nil:
		return PhaseThinking
	}
	return PhaseIdle
}

// Deadline is when Next wants to be told Tick, at the latest.
func (s *State) Deadline() (time.Duration, bool) {
	if !s.opened || s.closed || !s.attached {
		return 0, false
	}
	at, some := time.Duration(0), false
	add := func(t time.Duration) {
		if t > 0 && (!some || t < at) {
			at, some = t, true
		}
	}
	add(s.idleAt)
	if r := s.active(); r != nil {
		add(r.ackAt)
	}
	if s.news != nil && s.canTell() {
		add(max(1, s.toldAt+s.rules.ProgressEvery))
	}
	return at, some
}

func (s *State) active() *response {
	if len(s.live) > 0 && !s.live[0].OutOfBand {
		return s.live[0]
	}
	return nil
}

func (s *State) find(id string) *response {
	for _, r := range s.live {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (s *State) item(id string) (int, *Item) {
	for i, it := range s.items {
		if it.ID == id {
			return i, it
		}
	}
	return -1, nil
}

// previous is the id of the item before the one at place i.
func (s *State) previous(i int) string {
	if i <= 0 || i > len(s.items) {
		return ""
	}
	return s.items[i-1].ID
}

func (s *State) newID(kind string) string {
	s.ids++
	return kind + "_" + s.rules.Prefix + strconv.FormatInt(s.ids, 36)
}

func (s *State) setItem(it *Item) {
	if i, _ := s.item(it.ID); i >= 0 {
		s.items = slices.Clone(s.items)
		s.items[i] = it
	}
}

func (s *State) setLive(r *response) {
	s.live = slices.Clone(s.live)
	for i := range s.live {
		if s.live[i].ID == r.ID {
			s.live[i] = r
		}
	}
}

func (s *State) listenOf(item string) *listen {
	for i := range s.listening {
		if s.listening[i].item == item {
			return &s.listening[i]
		}
	}
	return nil
}

// stopListen takes an item out of those whose transcript is awaited.
func (s *State) stopListen(item string) {
	s.listening = slices.DeleteFunc(slices.Clone(s.listening), func(l listen) bool { return l.item == item })
}

// editListen changes an entry of the list.
func (s *State) editListen(item string, change func(*listen)) {
	s.listening = slices.Clone(s.listening)
	if l := s.listenOf(item); l != nil {
		change(l)
	}
}
