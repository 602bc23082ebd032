package turn

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"dure/audio"
	"dure/inference"
)

var update = flag.Bool("update", false, "write testdata/table.txt anew; read the difference before you keep it")

// world drives a State by hand.
type world struct {
	t   *testing.T
	s   State
	m   *monitor
	now time.Duration
	log []string // effects since the last call of took
	eff []Effect
}

func begin(t *testing.T, change func(*Config)) *world {
	c := Config{Input: audio.PCM16, Output: audio.PCM16, Detection: DefaultDetection(), Transcription: &Transcription{}}
	if change != nil {
		change(&c)
	}
	w := &world{t: t, s: New(DefaultRules()), m: newMonitor()}
	w.do(Open{c})
	w.took()
	return w
}

func (w *world) do(evs ...Event) {
	w.t.Helper()
	for _, ev := range evs {
		var effects []Effect
		w.s, effects = Next(w.s, w.now, ev)
		if err := w.s.Check(); err != nil {
			w.t.Fatalf("after %#v: %v", ev, err)
		}
		for _, e := range effects {
			if n, ok := e.(Emit); ok {
				if err := w.m.see(n.Notice); err != nil {
					w.t.Fatalf("after %#v: %v", ev, err)
				}
			}
			w.log, w.eff = append(w.log, name(e)), append(w.eff, e)
		}
	}
}

// name is an effect in few words: a notice by its name, an effect in brackets.
func name(e Effect) string {
	n, ok := e.(Emit)
	if !ok {
		return "[" + strings.TrimPrefix(fmt.Sprintf("%T", e), "turn.") + "]"
	}
	out := strings.TrimPrefix(fmt.Sprintf("%T", n.Notice), "turn.")
	switch n := n.Notice.(type) {
	case Failed:
		out += "(" + n.Code + ")"
	case ResponseDone:
		out += "(" + string(n.Response.Status)
		if n.Response.Reason != "" {
			out += " " + n.Response.Reason
		}
		out += ")"
	case OverlapDecided:
		out += "(" + n.Decision + " " + n.Why + ")"
	case Warning:
		out += "(" + n.Code + ")"
	}
	return out
}

func (w *world) took() string {
	out := strings.Join(w.log, " ")
	w.log, w.eff = nil, nil
	return out
}

func (w *world) wait(d time.Duration) { w.now += d }

// hear appends and detects d milliseconds of speech or silence in hops of 32 ms; the
// wall clock goes along.
func (w *world) hear(ms int64, speech bool) {
	w.t.Helper()
	p := float32(0.01)
	if speech {
		p = 0.99
	}
	for range ms / 32 {
		w.do(Append{"", 768})
		w.do(Heard{To: w.s.in.end, Prob: p})
		w.now += 32 * time.Millisecond
	}
}

// says is a whole turn of the person, to the end of their pause.
func (w *world) says(text string) (item string) {
	w.t.Helper()
	w.hear(960, true)
	item = w.s.in.speech
	w.hear(608, false)
	w.do(Transcribed{Item: item, Text: text})
	return item
}

// voice synthesises and sends ms milliseconds for the next utterance of a response.
func (w *world) voice(response string, utterance int, ms int64, send bool) {
	w.t.Helper()
	n := audio.FromMilliseconds(ms)
	w.do(Synthesised{response, utterance, n})
	if send {
		w.do(Due{response, n})
	}
}

// phases brings a conversation into every phase.
var phases = []struct {
	phase Phase
	enter func(w *world)
}{
	{PhaseIdle, func(w *world) { w.hear(960, false) }},
	{PhaseListening, func(w *world) { w.hear(960, true) }},
	{PhaseEndpointing, func(w *world) { w.hear(960, true); w.hear(320, false) }},
	{PhaseThinking, func(w *world) { w.says("hello") }},
	{PhaseSpeaking, func(w *world) {
		w.says("hello")
		w.do(Said{"resp_02", "It is done. "})
		w.voice("resp_02", 0, 1000, false)
		w.do(Due{"resp_02", 9600})
	}},
	{PhaseOverlap, func(w *world) {
		w.says("hello")
		w.do(Said{"resp_02", "It is done. "})
		w.voice("resp_02", 0, 1000, false)
		w.do(Due{"resp_02", 9600})
		c := w.s.config
		c.Duplex = true
		w.do(Update{"", c})
		w.hear(160, true)
	}},
	{PhasePaused, func(w *world) { w.hear(960, false); w.do(Detach{}) }},
	{PhaseClosed, func(w *world) { w.do(Close{"bye"}) }},
}

// every is one event of each type, with what it is about taken from the conversation.
func every(w *world) []Event {
	speech, user, answer := w.s.in.speech, "item_none", "item_none"
	for _, it := range w.s.items {
		if it.Role == User {
			user = it.ID
		} else if it.Role == Assistant {
			answer = it.ID
		}
	}
	response := "resp_none"
	if r := w.s.active(); r != nil {
		response = r.ID
	}
	text := Item{Kind: Message, Role: User, Parts: []Part{{Kind: InputText, Text: "hi"}}}
	return []Event{
		Open{}, Update{"e", w.s.config}, Append{"e", 768}, Commit{"e"}, Clear{"e"}, CreateItem{ID: "e", Item: text},
		RetrieveItem{"e", user}, DeleteItem{"e", user}, TruncateItem{"e", answer, 0, 200}, CreateResponse{ID: "e"},
		CreateResponse{"e", ResponseParams{OutOfBand: true}}, CancelResponse{"e", ""}, Acknowledge{"e", answer, 100},
		Attach{}, Detach{}, Close{"bye"},
		Heard{w.s.in.end, 0.9}, Heard{w.s.in.end, 0}, Partial{Item: speech, Text: "how are you"}, Transcribed{Item: user, Text: "hello"},
		TranscriptionFailed{user, "stt_failed", "no"},
		Said{response, "Yes, it is so. "}, Called{response, 0, "call_1", "look", "{}"}, Progressed{response, "half", "Half is done."}, Shown{response, "code"},
		Answered{response, inference.FinishStop, inference.Usage{}}, AnswerFailed{response, "runner_lost", "no"}, CancelConfirmed{true},
		Synthesised{response, 0, 2400}, Uttered{response, 0}, SpeechFailed{response, 0, "no"}, Due{response, 2400}, Native{"so", 3200, true}, Played{},
		EngineLost{"tts", "no"}, EngineBack{"tts"}, Tick{},
	}
}

// Every event in every phase: what it leads to is written in testdata/table.txt.
func TestTable(t *testing.T) {
	var out strings.Builder
	types := map[reflect.Type]bool{}
	for _, p := range phases {
		for i := range every(begin(t, nil)) {
			w := begin(t, nil)
			p.enter(w)
			if w.s.Phase() != p.phase {
				t.Fatalf("%s, want %s", w.s.Phase(), p.phase)
			}
			if w.s.Phase() != PhaseClosed {
				w.do(Append{"", 768}) // so that there is something to detect and to commit
			}
			w.took()
			ev := every(w)[i]
			types[reflect.TypeOf(ev)] = true
			w.do(ev)
			what := strings.TrimPrefix(fmt.Sprintf("%T", ev), "turn.")
			switch e := ev.(type) {
			case Heard:
				what += map[bool]string{true: " speech", false: " silence"}[e.Prob > 0.5]
			case CreateResponse:
				if e.Params.OutOfBand {
					what += " out of band"
				}
			}
			fmt.Fprintf(&out, "%-14s %-27s -> %-14s %s\n", p.phase, what, w.s.Phase(), w.took())
		}
	}
	if len(types) != 35 {
		t.Errorf("%d types of events of 35", len(types))
	}
	const file = "testdata/table.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(out.String())) {
		got, old := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(got), len(old)) {
			if got[i] != old[i] {
				t.Errorf("line %d\n got %s\nwant %s", i+1, got[i], old[i])
			}
		}
		t.Error("the table has changed; go test ./audio/turn -run TestTable -args -update writes it anew")
	}
}
