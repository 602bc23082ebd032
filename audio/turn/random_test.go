package turn

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"dure/audio"
	"dure/inference"
	"pgregory.net/rapid"
)

var events = flag.Int("events", 60000, "events of the long replay")

// walk is a random world around a State: a client, a detector, a recogniser, a responder
// and a synthesiser that do what they were told, in any order and at any time, and some
// things that nobody told them.
type walk struct {
	pick func(n int) int // 0 to n-1

	s       State
	m       *monitor
	now     time.Duration
	asked   []string // responses that the responder answers
	calls   map[string]int
	speech  []Speak
	ready   map[string]audio.Samples // synthesised and not sent
	hearing map[string]bool          // item -> its end was told
	order   []string
	confirm bool
	held    audio.Samples
	talking bool
	n       int
}

func newWalk(pick func(int) int) *walk {
	rules := DefaultRules()
	rules.MostItems, rules.MostInput, rules.LongAnswer = 40, 8*audio.Rate, 120
	w := &walk{pick: pick, s: New(rules), m: newMonitor(), calls: map[string]int{}, ready: map[string]audio.Samples{}, hearing: map[string]bool{}}
	return w
}

func (w *walk) config() Config {
	d := DefaultDetection()
	d.Mode = []Mode{ServerVAD, ServerVAD, SemanticVAD, Manual}[w.pick(4)]
	d.CreateResponse, d.InterruptResponse = w.pick(8) > 0, w.pick(6) > 0
	if w.pick(3) == 0 {
		d.IdleTimeout = time.Second
	}
	c := Config{Input: audio.PCM16, Output: audio.PCM16, Detection: d, Lead: w.pick(2) == 0, Duplex: w.pick(2) == 0, TextOnly: w.pick(6) == 0}
	if w.pick(2) == 0 {
		c.Transcription = &Transcription{}
	}
	return c
}

var sayings = []string{"", "uh-huh", "네", "stop", "취소해줘", "what about the build", "and then", "이제 됐어요", "hm"}
var words = []string{"Yes. ", "It works, ", "확인했습니다. ", "a", " longer text that goes on and on, ", "```\ncode\n``` ", "你好。", "\n"}

func (w *walk) item() string {
	if w.pick(8) == 0 || len(w.s.items) == 0 {
		return "item_none"
	}
	return w.s.items[w.pick(len(w.s.items))].ID
}

func (w *walk) event() Event {
	id := fmt.Sprintf("event_%d", w.n)
	switch k := w.pick(64); {
	case k < 10:
		return Append{id, audio.Samples(w.pick(5000))}
	case k < 24:
		if w.pick(12) == 0 {
			w.talking = !w.talking
		}
		p := float32(0)
		if w.talking {
			p = 1
		}
		return Heard{To: w.s.in.heardTo + 768, Prob: p}
	case k < 28:
		return w.recogniser()
	case k < 40:
		return w.responder(id)
	case k < 52:
		return w.speaker()
	case k < 53:
		return Tick{}
	case k < 55:
		return Native{[]string{"", "so "}[w.pick(2)], audio.FrameSamples, w.pick(3) > 0}
	}
	return w.client(id)
}

func (w *walk) recogniser() Event {
	text := sayings[w.pick(len(sayings))]
	if len(w.order) == 0 || w.pick(10) == 0 {
		return Transcribed{Item: w.item(), Text: text}
	}
	item := w.order[w.pick(len(w.order))]
	switch {
	case !w.hearing[item]:
		return Partial{Item: item, Text: text, To: w.s.in.heardTo * audio.Samples(w.pick(2))}
	case w.pick(8) == 0:
		w.order = without(w.order, item)
		return TranscriptionFailed{item, "stt_failed", "no engine"}
	}
	w.order = without(w.order, item)
	return Transcribed{Item: item, Text: text}
}

func (w *walk) responder(id string) Event {
	if w.confirm && w.pick(2) == 0 {
		w.confirm = false
		return CancelConfirmed{w.pick(2) == 0}
	}
	if len(w.asked) == 0 {
		return Said{"resp_none", "nobody asked"}
	}
	r := w.asked[w.pick(len(w.asked))]
	switch k := w.pick(12); {
	case k < 7:
		return Said{r, words[w.pick(len(words))]}
	case k == 7:
		w.calls[r] += w.pick(2)
		return Called{Response: r, Index: w.calls[r], Name: "look", Arguments: []string{"", `{"a":`, `1}`}[w.pick(3)]}
	case k == 8:
		return Progressed{r, fmt.Sprint(w.pick(5)), "The build is done."}
	case k == 9 && w.pick(3) == 0:
		w.asked = without(w.asked, r)
		return AnswerFailed{r, "runner_lost", "gone"}
	}
	w.asked = without(w.asked, r)
	return Answered{Response: r, Finish: []inference.FinishReason{inference.FinishStop, inference.FinishLength}[w.pick(2)]}
}

func (w *walk) speaker() Event {
	if len(w.speech) == 0 || w.pick(3) == 0 {
		for r, n := range w.ready {
			if n > 0 && w.m.live[r] {
				n = min(n, audio.Samples(1+w.pick(audio.FrameSamples)))
				return Due{r, n}
			}
		}
		return Due{"resp_none", 1}
	}
	u := w.speech[0]
	switch w.pick(4) {
	case 0:
		w.speech = w.speech[1:]
		if w.pick(6) == 0 {
			return SpeechFailed{u.Response, u.Utterance, "no voice"}
		}
		return Uttered{u.Response, u.Utterance}
	}
	n := audio.Samples(1 + w.pick(9000))
	if w.s.find(u.Response) != nil {
		w.ready[u.Response] += n
	}
	return Synthesised{u.Response, u.Utterance, n}
}

func (w *walk) client(id string) Event {
	switch w.pick(16) {
	case 0:
		return Commit{id}
	case 1:
		return Clear{id}
	case 2, 3:
		return CreateItem{ID: id, Item: Item{Kind: Message, Role: []string{User, System, "x"}[w.pick(3)], Parts: []Part{{Kind: InputText, Text: "hello"}}},
			After: []string{"", "root", w.item()}[w.pick(3)]}
	case 4:
		return CreateItem{ID: id, Item: Item{ID: w.item(), Kind: FunctionOutput, CallID: "call", Output: "42"}}
	case 5:
		return RetrieveItem{id, w.item()}
	case 6:
		return DeleteItem{id, w.item()}
	case 7:
		return TruncateItem{id, w.item(), w.pick(2), int64(w.pick(3000)) - 100}
	case 8, 9:
		return CreateResponse{id, ResponseParams{OutOfBand: w.pick(3) == 0, HasInput: w.pick(4) == 0, Input: []Item{{ID: w.item()}}}}
	case 10:
		return CancelResponse{id, []string{"", w.m.active, "resp_none"}[w.pick(3)]}
	case 11:
		return Acknowledge{id, w.item(), int64(w.pick(4000)) - 50}
	case 12:
		if w.pick(4) == 0 {
			return Detach{}
		}
		return Attach{}
	case 13:
		c := w.config()
		c.Voice = []string{"", "", "b"}[w.pick(3)]
		return Update{id, c}
	case 14:
		return []Event{EngineLost{"tts", "died"}, EngineBack{"tts"}, Played{}}[w.pick(3)]
	}
	if w.pick(60) == 0 {
		return Close{"bye"}
	}
	return Played{}
}

// step makes one event happen, and checks everything.
func (w *walk) step() error {
	w.n++
	ev := Event(Open{w.config()})
	if w.s.opened {
		ev = w.event()
	}
	w.now += time.Duration(w.pick(200)) * time.Millisecond
	before, epoch := w.s, w.s.epoch
	shown := fmt.Sprintf("%+v", before.items)
	next, effects := Next(w.s, w.now, ev)
	if again := fmt.Sprintf("%+v", before.items); again != shown {
		return fmt.Errorf("%T changed the state that it was given", ev)
	}
	w.s = next
	if err := w.s.Check(); err != nil {
		return fmt.Errorf("after %#v: %w", ev, err)
	}
	if w.s.epoch < epoch {
		return fmt.Errorf("after %#v the epoch fell", ev)
	}
	// Playback that is told to the client silently is an effect, too; so is a commit.
	if clientEvent(ev) != "" && len(effects) == 0 {
		return fmt.Errorf("%#v has no effect and no error", ev)
	}
	if d, ok := ev.(Due); ok {
		w.ready[d.Response] -= d.Samples
	}
	for _, e := range effects {
		if err := w.effect(e); err != nil {
			return fmt.Errorf("after %#v: %w", ev, err)
		}
	}
	if err := w.m.same(&w.s); err != nil {
		return fmt.Errorf("after %#v: %w", ev, err)
	}
	return nil
}

func (w *walk) effect(e Effect) error {
	switch e := e.(type) {
	case Emit:
		return w.m.see(e.Notice)
	case Respond:
		w.asked = append(w.asked, e.Request.Response)
		return w.checkRequest(e.Request)
	case StopResponding:
		w.asked = without(w.asked, e.Response)
	case Speak:
		w.speech = append(w.speech, e)
	case Silence:
		kept := w.speech[:0:0]
		for _, u := range w.speech {
			if u.Response != e.Response {
				kept = append(kept, u)
			}
		}
		w.speech = kept
		delete(w.ready, e.Response)
	case Listen:
		if _, known := w.hearing[e.Item]; known {
			return fmt.Errorf("%s is listened to twice", e.Item)
		}
		w.hearing[e.Item] = false
		w.order = append(w.order, e.Item)
	case FinishListening:
		if done, known := w.hearing[e.Item]; !known || done {
			return fmt.Errorf("the end of %s is told, which nobody listens to", e.Item)
		}
		w.hearing[e.Item] = true
	case StopListening:
		w.order = without(w.order, e.Item)
		delete(w.hearing, e.Item)
	case TakeVoice:
		w.ready[e.Response] += audio.FrameSamples
	case ConfirmCancel:
		w.confirm = true
	}
	return nil
}

// checkRequest proves that the responder is told what was heard, and no more.
func (w *walk) checkRequest(q Request) error {
	for _, it := range q.History {
		_, known := w.s.item(it.ID)
		if known == nil || known.said == nil {
			continue
		}
		p := it.Parts[0]
		if p.Samples > w.m.parts[it.ID] {
			return fmt.Errorf("%s is in the history with %d samples, %d were sent", it.ID, p.Samples, w.m.parts[it.ID])
		}
		if p.Samples == 0 && w.m.parts[it.ID] > 0 && p.Text != "" && p.Cut {
			return fmt.Errorf("%s is in the history as %q, none of it was heard", it.ID, p.Text)
		}
	}
	return nil
}

func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWalk(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") })
		for range rapid.IntRange(1, 120).Draw(t, "events") {
			if err := w.step(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The long replay, by a generator that is faster than rapid's: -events 10000000.
func TestLong(t *testing.T) {
	phases := map[Phase]int{}
	for seed, n := uint64(1), 0; n < *events; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWalk(r.IntN)
		for range 400 {
			if err := w.step(); err != nil {
				t.Fatalf("seed %d, event %d: %v", seed, w.n, err)
			}
			phases[w.s.Phase()]++
			n++
		}
	}
	for _, p := range []Phase{PhaseIdle, PhaseListening, PhaseEndpointing, PhaseThinking, PhaseSpeaking, PhaseOverlap, PhasePaused, PhaseClosed} {
		if phases[p] == 0 {
			t.Errorf("the replay never came to %s: %v", p, phases)
		}
	}
	t.Log(phases)
}
