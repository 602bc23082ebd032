package turn

import (
	"strings"
	"testing"
	"time"

	"dure/audio"
	"dure/inference"
)

// expect compares the effects since the last look.
func (w *world) expect(want string) {
	w.t.Helper()
	if got := strings.TrimSuffix(w.took(), " [Forget]"); got != want {
		w.t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// last gives the last effect of a kind since the last look.
func last[E Effect](w *world) (out E) {
	for _, e := range w.eff {
		if x, ok := e.(E); ok {
			out = x
		}
	}
	return out
}

func lastNotice[N Notice](w *world) (out N, n int) {
	for _, e := range w.eff {
		if x, ok := e.(Emit); ok {
			if y, ok := x.Notice.(N); ok {
				out, n = y, n+1
			}
		}
	}
	return out, n
}

// A turn by server_vad: start with its prefix after three hops, end after 500 ms.
func TestServerVAD(t *testing.T) {
	w := begin(t, nil)
	w.hear(992, false)
	w.hear(64, true)
	w.expect(strings.TrimSpace(strings.Repeat("[Take] ", 33)))
	w.hear(32, true)
	n, _ := lastNotice[SpeechStarted](w)
	// Speech from 992 ms, less 300 ms of prefix.
	if n.AudioStartMS != 692 || last[Listen](w).From != audio.FromMilliseconds(692) {
		t.Errorf("%+v, listen from %d", n, last[Listen](w).From)
	}
	w.hear(480, true)
	w.hear(480, false)
	w.hear(64, true) // a pause of 480 ms is none
	w.took()
	w.hear(480, false)
	if w.s.Phase() != PhaseEndpointing {
		t.Errorf("%s after 480 ms", w.s.Phase())
	}
	w.hear(32, false)
	stop, _ := lastNotice[SpeechStopped](w)
	if stop.AudioEndMS != 992+96+480+480+64+512 {
		t.Errorf("%+v", stop)
	}
	if got := strings.ReplaceAll(w.took(), "[Take] ", ""); got != "SpeechStopped Committed ItemAdded ItemDone [FinishListening] ResponseCreated" {
		t.Error(got)
	}
	w.do(Transcribed{Item: n.Item, Text: "how is it going"})
	if q := last[Respond](w).Request; q.Said != "how is it going" || len(q.History) != 1 || q.Interrupted {
		t.Errorf("%+v", q)
	}
	w.expect("TranscriptDelta TranscriptCompleted [Respond]")
}

// A cough is no turn, and a sound without words gets no answer.
func TestNoWords(t *testing.T) {
	w := begin(t, nil)
	w.hear(64, true)
	w.hear(960, false)
	if _, n := lastNotice[SpeechStarted](w); n != 0 {
		t.Error("64 ms are taken for speech")
	}
	w.took()
	w.says("")
	done, _ := lastNotice[ResponseDone](w)
	if done.Response.Status != ResponseCompleted || len(done.Response.Items) != 0 || last[Respond](w).Request.Response != "" {
		t.Errorf("%+v", done)
	}
}

// speakingWorld has an answer of two clauses under way, of which 1.4 s were sent.
func speakingWorld(t *testing.T, change func(*Config)) (w *world, response, item string) {
	w = begin(t, change)
	w.says("what is the state")
	w.do(Said{"resp_02", "The build is green now. Two tasks are left to do. "})
	response = "resp_02"
	w.voice(response, 0, 1000, true)
	w.do(Uttered{response, 0})
	w.voice(response, 1, 1000, false)
	w.do(Uttered{response, 1})
	w.do(Due{response, audio.FromMilliseconds(400)})
	item = w.s.items[1].ID
	w.took()
	return w, response, item
}

func TestInterruptAtOnce(t *testing.T) {
	w, _, item := speakingWorld(t, nil)
	w.hear(96, true)
	w.expect("[Take] [Take] [Take] SpeechStarted [Listen] [StopResponding] [Silence] EpochChanged AudioDone AudioTranscriptDone PartDone ItemDone OutputItemDone ResponseDone(cancelled turn_detected)")
	// 1.4 s were sent, a frame less was heard: the first clause, and a quarter of the
	// second (266 of 1,000 ms; 26 characters).
	_, it := w.s.item(item)
	if got := it.Parts[0]; got.Text != "The build is green now. Two" || !got.Cut || got.Samples != audio.FromMilliseconds(1400)-audio.FrameSamples {
		t.Errorf("%+v", got)
	}
	w.hear(480, true)
	w.hear(512, false)
	w.do(Transcribed{Item: w.s.items[2].ID, Text: "which ones"})
	q := last[Respond](w).Request
	if !q.Interrupted || q.Heard != "The build is green now. Two" || q.History[1].Parts[0].Text != q.Heard {
		t.Errorf("%+v", q)
	}
}

// The client knows better what it played: its truncation decides, up or down.
func TestTruncateDecides(t *testing.T) {
	for _, c := range []struct {
		ms   int64
		want string
		end  int64
	}{
		{0, "", 0}, {600, "The build is", 600}, {1000, "The build is green now.", 1000}, {1390, "The build is green now. Two tasks", 1390},
		{99999, "The build is green now. Two tasks", 1400},
	} {
		w, _, item := speakingWorld(t, nil)
		w.hear(96, true)
		w.took()
		w.do(TruncateItem{"e", item, 0, c.ms})
		n, _ := lastNotice[ItemTruncated](w)
		if _, it := w.s.item(item); it.Parts[0].Text != c.want || n.AudioEndMS != c.end {
			t.Errorf("at %d ms: %q, %+v", c.ms, it.Parts[0].Text, n)
		}
	}
	w, _, item := speakingWorld(t, nil)
	for _, ev := range []Event{TruncateItem{"e", item, 1, 0}, TruncateItem{"e", item, 0, -1}, TruncateItem{"e", w.s.items[0].ID, 0, 1}} {
		w.do(ev)
		w.expect("Failed(invalid_value)")
	}
}

func TestPlaybackAcknowledged(t *testing.T) {
	w, response, item := speakingWorld(t, func(c *Config) { c.Duplex = true })
	w.do(Acknowledge{"e", item, 1000})
	n, _ := lastNotice[Acknowledged](w)
	if n != (Acknowledged{item, 2000, 1400, 1000, 1000}) {
		t.Errorf("%+v", n)
	}
	w.do(CancelResponse{"e", response})
	if _, it := w.s.item(item); it.Parts[0].Text != "The build is green now." || it.Parts[0].Samples != audio.Rate {
		t.Errorf("%+v", it.Parts[0])
	}
	w.do(Acknowledge{"e", item, 1 << 60}, Acknowledge{"e", "item_none", 1})
	if got := w.took(); !strings.HasSuffix(got, "ItemTruncated ResponseDone(cancelled client_cancelled) Acknowledged Failed(item_not_found)") {
		t.Error(got)
	}
}

// In duplex a listener's word does not stop the answer; a real interruption does.
func TestOverlap(t *testing.T) {
	duplex := func(c *Config) { c.Duplex = true }
	for _, c := range []struct {
		name    string
		ms      int64
		partial string // after 320 ms
		text    string
		want    string // the decision
		when    int64  // ms of speech after which it must have been made; 0 = by the end
		answers bool
	}{
		{"backchannel by the partial", 416, "uh-huh", "uh-huh", "keep backchannel", 0, false},
		{"Korean backchannel by the transcript", 416, "", "네", "keep backchannel", 0, false},
		{"a cough", 224, "", "", "keep backchannel", 0, false},
		{"a short order", 416, "", "stop it", "barge_in words", 0, true},
		{"two words", 1600, "wait a", "wait a moment please", "barge_in words", 352, true},
		{"one word, and on", 1600, "but", "but why is that so", "barge_in length", 1200, true},
		{"nothing known", 1600, "", "but why is that so", "barge_in length", 1200, true},
		{"between", 960, "", "but why", "barge_in length", 0, true},
		{"a long chain of backchannels", 1600, "네 네", "네 네", "keep backchannel", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, response, _ := speakingWorld(t, duplex)
			item, decided := "", int64(0)
			for ms := int64(0); ms < c.ms; ms += 32 {
				w.hear(32, true)
				if w.s.in.speech != "" {
					item = w.s.in.speech
				}
				if ms == 320 && c.partial != "" {
					w.do(Partial{Item: item, Text: c.partial})
				}
				if _, n := lastNotice[OverlapDecided](w); n > 0 && decided == 0 {
					decided = ms + 32
				}
			}
			w.hear(608, false)
			w.do(Transcribed{Item: item, Text: c.text})
			n, count := lastNotice[OverlapDecided](w)
			if got := n.Decision + " " + n.Why; got != c.want || count != 1 {
				t.Errorf("%q, %d decisions", got, count)
			}
			if c.when > 0 && (decided == 0 || decided > c.when+32) {
				t.Errorf("decided after %d ms, want %d", decided, c.when)
			}
			if w.s.Live(response) == c.answers {
				t.Errorf("the answer goes on: %t", w.s.Live(response))
			}
			if q := last[Respond](w).Request; (q.Response != "") != c.answers || c.answers && q.Said != c.text {
				t.Errorf("asked %+v", q)
			}
		})
	}
}

// Without interrupt_response the answer is finished, and the turn answered after it.
func TestNoInterrupt(t *testing.T) {
	w, response, _ := speakingWorld(t, func(c *Config) { c.Detection.InterruptResponse = false })
	w.says("and what else")
	if !w.s.Live(response) || last[Respond](w).Request.Response != "" {
		t.Error("the answer was interrupted")
	}
	w.took()
	w.do(Answered{Response: response}, Due{response, audio.FromMilliseconds(600)})
	if q := last[Respond](w).Request; q.Said != "and what else" || q.Interrupted {
		t.Errorf("%+v", q)
	}
}

func TestManual(t *testing.T) {
	w := begin(t, func(c *Config) { c.Detection = Detection{} })
	w.hear(64, true)
	w.took()
	w.do(Commit{"e"})
	w.expect("Failed(input_audio_buffer_commit_empty)")
	w.hear(960, true)
	w.took()
	w.do(Commit{"e"})
	w.expect("Committed ItemAdded ItemDone [Listen] [FinishListening] [ResetHearing]")
	w.do(CreateResponse{ID: "e"})
	w.expect("ResponseCreated") // the words are not known yet
	w.do(CreateResponse{ID: "e2"})
	w.expect("Failed(conversation_already_has_active_response)")
	w.do(Transcribed{Item: w.s.items[0].ID, Text: "hello"})
	w.expect("TranscriptDelta TranscriptCompleted [Respond]")
}

func TestIdleTimeout(t *testing.T) {
	w := begin(t, func(c *Config) { c.Detection.IdleTimeout = 5 * time.Second })
	w.says("hello")
	w.do(Said{"resp_02", "Yes, I am here. "}, Answered{Response: "resp_02"})
	w.voice("resp_02", 0, 1000, true)
	w.do(Uttered{"resp_02", 0})
	w.wait(time.Second)
	w.do(Played{})
	w.took()
	at, ok := w.s.Deadline()
	if !ok || at != w.now+5*time.Second {
		t.Fatalf("%v, %t", at-w.now, ok)
	}
	w.now = at
	w.do(Tick{})
	w.expect("TimedOut Committed ItemAdded ItemDone ResponseCreated [Respond]")
	// Speech stops the clock.
	w = begin(t, func(c *Config) { c.Detection.IdleTimeout = 5 * time.Second })
	w.do(Played{})
	w.hear(96, true)
	if _, ok := w.s.Deadline(); ok {
		t.Error("the timeout runs while the person speaks")
	}
}

func TestFunctionCall(t *testing.T) {
	w := begin(t, nil)
	w.says("what is the weather")
	w.took()
	w.do(Said{"resp_02", "Let me look at that. "}, Called{"resp_02", 0, "call_9", "weather", `{"city":`}, Called{Response: "resp_02", Index: 0, Arguments: `"Seoul"}`},
		Called{"resp_02", 1, "call_10", "time", ""}, Answered{Response: "resp_02", Finish: inference.FinishToolCalls})
	w.expect("OutputItemAdded ItemAdded PartAdded AudioTranscript [Speak] OutputItemAdded ItemAdded ArgumentsDelta ArgumentsDelta " +
		"ArgumentsDone ItemDone OutputItemDone OutputItemAdded ItemAdded ArgumentsDone ItemDone OutputItemDone")
	w.voice("resp_02", 0, 500, true)
	w.do(Uttered{"resp_02", 0})
	done, _ := lastNotice[ResponseDone](w)
	if r := done.Response; len(r.Items) != 3 || r.Items[1].Arguments != `{"city":"Seoul"}` || r.Items[2].Arguments != "{}" || r.Items[1].CallID != "call_9" {
		t.Errorf("%+v", r)
	}
	w.took()
	w.do(CreateItem{ID: "e", Item: Item{Kind: FunctionOutput, CallID: "call_9", Output: "rain"}}, CreateResponse{ID: "e2"})
	q := last[Respond](w).Request
	if len(q.History) != 5 || q.History[4].Output != "rain" || q.History[2].Kind != FunctionCall {
		t.Errorf("%+v", q.History)
	}
}

func TestOutOfBand(t *testing.T) {
	w, response, _ := speakingWorld(t, nil)
	text := true
	w.do(CreateResponse{"e", ResponseParams{OutOfBand: true, TextOnly: &text, HasInput: true, Input: []Item{{ID: w.s.items[0].ID}}, Metadata: map[string]string{"topic": "class"}}})
	q := last[Respond](w).Request
	if len(q.History) != 1 || q.History[0].Text() != "what is the state" || !q.OutOfBand {
		t.Errorf("%+v", q)
	}
	items := len(w.s.items)
	w.took()
	w.do(Said{q.Response, "question"}, Answered{Response: q.Response})
	w.expect("OutputItemAdded PartAdded TextDelta TextDone PartDone OutputItemDone ResponseDone(completed)")
	if len(w.s.items) != items || !w.s.Live(response) {
		t.Error("the conversation has changed")
	}
	w.do(CreateResponse{"e", ResponseParams{HasInput: true, OutOfBand: true, Input: []Item{{ID: "item_none"}}}})
	w.expect("Failed(item_not_found)")
}

func TestVoiceIsFixed(t *testing.T) {
	w := begin(t, nil)
	c := w.s.Config()
	c.Voice = "a"
	w.do(Update{"e", c})
	w.expect("SessionUpdated")
	w.says("hello")
	w.do(Said{"resp_02", "Yes, I am here. "})
	w.voice("resp_02", 0, 1000, true)
	w.took()
	c.Voice = "b"
	w.do(Update{"e", c})
	w.expect("Failed(cannot_update_voice)")
	c.Voice, c.Input = "a", "audio/opus"
	w.do(Update{"e", c})
	w.expect("Failed(invalid_value)")
}

// A long answer is spoken to its limit; the rest goes to the screen, and that is said.
func TestLongAnswer(t *testing.T) {
	w := begin(t, nil)
	w.s.rules.LongAnswer = 60
	w.says("tell me all")
	w.took()
	w.do(Said{"resp_02", "This is the first sentence. This is the second sentence. This is the third sentence. And a fourth sentence."}, Answered{Response: "resp_02"})
	screen, n := lastNotice[Screen](w)
	if n != 1 || screen.Text != "This is the third sentence. And a fourth sentence." {
		t.Errorf("%+v", screen)
	}
	if s := last[Speak](w); s.Text != "The rest is on your screen." || !s.Filler || s.Utterance != 2 {
		t.Errorf("%+v", s)
	}
}

func TestTooManyItems(t *testing.T) {
	w := begin(t, nil)
	w.s.rules.MostItems = 3
	for range 5 {
		w.do(CreateItem{ID: "e", Item: Item{Kind: Message, Role: User, Parts: []Part{{Kind: InputText, Text: "x"}}}})
	}
	if _, n := lastNotice[ItemDeleted](w); n != 2 || len(w.s.items) != 3 {
		t.Errorf("%d deleted, %d left", n, len(w.s.items))
	}
}

// The recogniser fails: the session says so and lives.
func TestTranscriptionFails(t *testing.T) {
	w := begin(t, nil)
	w.hear(960, true)
	item := w.s.in.speech
	w.hear(608, false)
	w.took()
	w.do(TranscriptionFailed{item, "stt_failed", "no engine"})
	w.expect("TranscriptFailed OutputItemAdded ItemAdded PartAdded AudioTranscript [Speak]")
	w.do(SpeechFailed{"resp_02", 0, "no voice either"})
	done, _ := lastNotice[ResponseDone](w)
	if r := done.Response; r.Status != ResponseFailed || r.Code != "stt_failed" {
		t.Errorf("%+v", r)
	}
	w.says("again")
	if last[Respond](w).Request.Said != "again" {
		t.Error("the session is dead")
	}
}
