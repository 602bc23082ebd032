package turn

import (
	"strings"
	"testing"
	"time"
)

func lead(c *Config) { c.Lead = true }

// spoken are the texts that were given to the synthesiser since the last look.
func (w *world) spoken() (out []string) {
	for _, e := range w.eff {
		if s, ok := e.(Speak); ok {
			out = append(out, s.Text)
		}
	}
	return out
}

// utter synthesises and sends everything that a response still has to say.
func (w *world) utter(response string) {
	w.t.Helper()
	for range 20 {
		r := w.s.find(response)
		if r == nil {
			return
		}
		for _, u := range r.said {
			if !u.done {
				w.voice(response, u.n, 500, false)
				w.do(Uttered{response, u.n})
				break
			}
		}
		if r = w.s.find(response); r != nil && r.generated > r.sent {
			w.do(Due{response, r.generated - r.sent})
		} else {
			return
		}
	}
}

// A lead agent that is slow, as far as is known, is acknowledged within 300 ms of the end
// of the turn, before the words are known; one that was quick is given its time.
func TestAcknowledge(t *testing.T) {
	w := begin(t, lead)
	w.hear(960, true)
	item := w.s.in.speech
	w.hear(512, false)
	committed := w.now - 32*time.Millisecond
	at, ok := w.s.Deadline()
	if !ok || at-committed > 300*time.Millisecond {
		t.Fatalf("acknowledged %v after the turn, %t", at-committed, ok)
	}
	w.now = at
	w.took()
	w.do(Tick{})
	if got := w.spoken(); len(got) != 1 || got[0] != "One moment." {
		t.Fatalf("%q", got)
	}
	w.do(Transcribed{Item: item, Text: "how is it"})
	w.now += 3 * time.Second
	w.took()
	w.do(Said{"resp_02", "It is going well. "}, Answered{Response: "resp_02"})
	w.utter("resp_02")
	done, _ := lastNotice[ResponseDone](w)
	if r := done.Response; !r.Acknowledged || r.Items[0].Parts[0].Text != "One moment. It is going well." {
		t.Errorf("%+v", r)
	}
	// The lead agent is not told that it said "One moment".
	w.says("and the tests")
	if h := last[Respond](w).Request.History; h[1].Parts[0].Text != "It is going well." {
		t.Errorf("%+v", h[1])
	}
	// It was slow: the next is acknowledged as soon. Quick answers change that.
	for range 8 {
		r := w.s.active().ID
		w.do(Said{r, "Good, all done. "}, Answered{Response: r})
		w.utter(r)
		w.says("next one")
	}
	at, _ = w.s.Deadline()
	if d := at - w.now; d < time.Second {
		t.Errorf("a quick lead agent is acknowledged after %v", d)
	}
	if n := w.s.slow.mean; n > time.Second {
		t.Errorf("mean %v", n)
	}
}

func TestAcknowledgeInTheirLanguage(t *testing.T) {
	w := begin(t, lead)
	w.do(Transcribed{Item: "x"})
	w.says("빌드 어때요")
	w.do(Said{"resp_02", "좋습니다. "}, Answered{Response: "resp_02"})
	w.utter("resp_02")
	w.hear(960, true)
	w.hear(512, false)
	w.took()
	w.now, _ = w.s.Deadline()
	w.do(Tick{})
	if got := w.spoken(); len(got) != 1 || got[0] != "잠시만요." {
		t.Errorf("%q", got)
	}
}

// Progress is spoken when there is some, at most every 8 s, each once.
func TestProgress(t *testing.T) {
	w := begin(t, lead)
	w.says("fix the parser")
	w.took()
	tell := func(key, text string) []string {
		w.do(Progressed{"resp_02", key, text})
		out := w.spoken()
		w.took()
		w.utter("resp_02")
		w.took()
		return out
	}
	if got := tell("found", "I found the place."); len(got) != 1 {
		t.Errorf("%q", got)
	}
	w.wait(time.Second)
	if got := tell("found", "I found the place."); got != nil {
		t.Errorf("told twice: %q", got)
	}
	if got := tell("fixed", "It is fixed."); got != nil {
		t.Errorf("too soon: %q", got)
	}
	w.wait(time.Second)
	if got := tell("tested", "The tests pass."); got != nil {
		t.Errorf("too soon: %q", got)
	}
	at, ok := w.s.Deadline()
	if !ok || at != w.now+6*time.Second {
		t.Errorf("next in %v, %t", at-w.now, ok)
	}
	w.now = at
	w.do(Tick{})
	// Only the newest: what was between is past.
	if got := w.spoken(); len(got) != 1 || got[0] != "The tests pass." {
		t.Errorf("%q", got)
	}
	if n, _ := lastNotice[Progress](w); n.Text != "The tests pass." {
		t.Errorf("%+v", n)
	}
	// Nothing new: nothing said, however long it takes.
	w.utter("resp_02")
	w.took()
	w.wait(time.Minute)
	w.do(Tick{})
	if _, ok := w.s.Deadline(); ok || w.took() != "" {
		t.Error("something is to be said about nothing")
	}
}

// The person interrupts: speech stops, the work does not, and its answer is offered when
// there is a place for it.
func TestLateAnswer(t *testing.T) {
	w := begin(t, lead)
	w.says("find all bugs in the parser")
	w.took()
	w.hear(480, true) // while the lead agent thinks
	if got := w.took(); strings.Contains(got, "[StopResponding]") || !strings.Contains(got, "ResponseDone(cancelled turn_detected)") {
		t.Error(got)
	}
	item := w.s.in.speech
	w.hear(512, false)
	w.do(Transcribed{Item: item, Text: "and how is the weather"})
	second := last[Respond](w).Request.Response
	w.do(Said{"resp_02", "There are two bugs. "}, Answered{Response: "resp_02"})
	if _, n := lastNotice[AnswerWaiting](w); n != 1 || w.s.active().ID != second {
		t.Errorf("%s", w.took())
	}
	w.took()
	w.do(Said{second, "It is raining. "}, Answered{Response: second})
	w.utter(second)
	if got := w.spoken(); len(got) != 3 || got[0] != "It is raining." || got[1] != "About what you asked before:" || got[2] != "There are two bugs." {
		t.Errorf("%q", got)
	}
	// The person speaks over it; nothing is lost that the lead agent must know.
	r := w.s.active()
	w.utter(r.ID)
	w.says("thanks")
	h := last[Respond](w).Request.History
	if got := h[len(h)-2].Parts[0].Text; got != "There are two bugs." {
		t.Errorf("%q", got)
	}
}

func TestCancelAfterConfirmation(t *testing.T) {
	for _, confirmed := range []bool{true, false} {
		w := begin(t, lead)
		w.says("rewrite everything")
		w.hear(480, true)
		item := w.s.in.speech
		w.took()
		w.hear(512, false)
		w.do(Transcribed{Item: item, Text: "취소해줘"})
		if last[ConfirmCancel](w).Words != "취소해줘" || last[Respond](w).Request.Response != "" || strings.Contains(w.took(), "[StopResponding]") {
			t.Fatal("the work was stopped, or the lead agent was not asked")
		}
		w.do(CancelConfirmed{confirmed})
		got := w.took()
		if confirmed && (!strings.Contains(got, "[StopResponding]") || !strings.Contains(got, "[Speak]") || len(w.s.tasks) != 0) {
			t.Errorf("confirmed: %s", got)
		}
		if !confirmed && (got != "[Respond]" || len(w.s.tasks) != 1) {
			t.Errorf("not confirmed: %s", got)
		}
	}
	// Without work under way the words are a turn like any other.
	w := begin(t, lead)
	w.says("stop")
	if last[Respond](w).Request.Said != "stop" {
		t.Error("nobody is asked")
	}
}

// A plain model's answer is worth nothing once it is interrupted.
func TestModelIsStopped(t *testing.T) {
	w := begin(t, nil)
	w.says("tell me a story")
	w.took()
	w.hear(96, true)
	if last[StopResponding](w).Response != "resp_02" || len(w.s.tasks) != 0 {
		t.Error("the model goes on")
	}
}

func TestTasksAreBounded(t *testing.T) {
	w := begin(t, lead)
	for range mostTasks + 3 {
		w.says("one more thing")
	}
	w.says("and another")
	if len(w.s.tasks) > mostTasks {
		t.Errorf("%d tasks", len(w.s.tasks))
	}
	if n, count := lastNotice[Warning](w); count == 0 || n.Code != "task_dropped" {
		t.Errorf("%+v", n)
	}
	task := w.s.tasks[0].response
	for range 3 {
		w.do(Said{task, strings.Repeat("x", mostTaskText/2)})
	}
	if n := len(w.s.tasks[0].text); n > mostTaskText {
		t.Errorf("%d bytes are kept", n)
	}
}

// A speech model that talks while the lead agent is at work claims nothing as a fact; and
// it is quiet after it was interrupted, until it pauses by itself.
func TestNativeSpeech(t *testing.T) {
	frame := func(w *world, text string) string {
		w.took()
		w.do(Native{text, 3200, text != ""})
		return w.took()
	}
	w := begin(t, func(c *Config) { c.Lead, c.Duplex, c.Detection.CreateResponse = true, true, true })
	if got := frame(w, "hi "); got != "ResponseCreated OutputItemAdded ItemAdded PartAdded AudioTranscript [TakeVoice]" {
		t.Error(got)
	}
	r := w.s.active().ID
	frame(w, "")
	frame(w, "")
	frame(w, "")
	w.do(Due{r, 4 * 3200})
	done, _ := lastNotice[ResponseDone](w)
	if it := done.Response.Items[0]; done.Response.Status != ResponseCompleted || it.Text() != "hi " || it.Unverified {
		t.Errorf("%+v", done)
	}
	w.says("fix the parser")
	if got := frame(w, "it is fixed "); got != "" {
		t.Errorf("over the lead agent's turn: %s", got)
	}
	w.do(CancelResponse{"e", ""}) // its work goes on
	frame(w, "it is fixed ")
	r = w.s.active().ID
	w.hear(1400, true)
	if done, _ = lastNotice[ResponseDone](w); done.Response.ID != r || done.Response.Status != ResponseCancelled || !done.Response.Items[0].Unverified {
		t.Errorf("%+v", done)
	}
	if got := frame(w, "I said "); got != "" {
		t.Errorf("after it was interrupted: %s", got)
	}
	frame(w, "")
	if got := frame(w, "yes "); !strings.HasPrefix(got, "ResponseCreated") {
		t.Errorf("after its pause: %s", got)
	}
	// In a session that is not a duplex one a model's frames mean nothing.
	w = begin(t, lead)
	if got := frame(w, "hi "); got != "" {
		t.Error(got)
	}
}
