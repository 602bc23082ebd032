package voice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dure/audio"
	"dure/audio/turn"
	"dure/inference"
)

// seqs proves that nothing was lost or doubled.
func (c *call) seqs() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range c.got {
		if o.Seq != int64(i+1) {
			c.t.Fatalf("place %d has number %d", i, o.Seq)
		}
	}
}

func (c *call) lastSeq() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got[len(c.got)-1].Seq
}

// The connection breaks in the middle of an answer; the client comes back after 30 s and
// hears the rest, all of it, once.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.r.answer = says(100*time.Millisecond, longText)
		c.stt.texts = []string{"tell me a lot"}
		c.speak(time.Second)
		c.quiet(4 * time.Second)
		c.a.Close()
		<-c.end
		before := c.lastSeq()
		time.Sleep(30 * time.Second)
		if st, _ := c.s.Status(t.Context()); st.Phase != turn.PhasePaused {
			t.Errorf("%s while nobody is there", st.Phase)
		}
		s, a, err := c.sessions.Resume(c.s.Token(), before)
		if err != nil || s != c.s {
			t.Fatal(err)
		}
		a.Close()
		c.attach(before)
		c.quiet(20 * time.Second)
		c.seqs()
		done, _ := find[turn.ResponseDone](c)
		st, _ := c.s.Status(t.Context())
		if len(done) != 1 || done[0].Response.Status != turn.ResponseCompleted || int(st.Ledger.Sent)*2 != c.sound() {
			t.Errorf("%+v, %+v, %d bytes", done, st.Ledger, c.sound())
		}
		if _, _, err := c.sessions.Resume("guess", 0); !errors.Is(err, ErrExpired) {
			t.Errorf("a wrong token: %v", err)
		}
		c.hangUp()
	})
}

func TestExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.a.Close()
		time.Sleep(31 * time.Second)
		select {
		case <-c.s.Ended():
			t.Fatal("too soon")
		default:
		}
		time.Sleep(2 * time.Second)
		<-c.s.Ended()
		<-c.end
		synctest.Wait()
		if _, _, err := c.sessions.Resume(c.s.Token(), 1); !errors.Is(err, ErrExpired) {
			t.Errorf("%v", err)
		}
		if n := c.sessions.Count(); n != 0 {
			t.Errorf("%d sessions", n)
		}
		if err := c.s.Append(context.Background(), "", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

func TestReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		synctest.Wait()
		first := c.end
		c.attach(c.lastSeq())
		if err := <-first; !errors.Is(err, ErrReplaced) {
			t.Errorf("the old connection ends with %v", err)
		}
		if _, err := c.s.Attach(99); !errors.Is(err, ErrExpired) {
			t.Errorf("a number that was not told: %v", err)
		}
		c.quiet(time.Second)
		c.hangUp()
	})
}

// A client that does not read holds up nobody, loses sound first, and then its connection.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.r.answer = says(100*time.Millisecond, longText)
		c.stt.texts = []string{"tell me a lot"}
		synctest.Wait()
		a, err := c.s.Attach(c.lastSeq()) // replaces the reader that keeps up
		if err != nil {
			t.Fatal(err)
		}
		<-c.end
		c.speak(time.Second)
		c.quiet(4 * time.Second)
		var sound, other int
		read := func() error {
			for {
				ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
				o, err := a.Next(ctx)
				cancel()
				if err != nil {
					return err
				}
				if _, ok := o.Notice.(turn.AudioDelta); ok {
					sound++
				} else {
					other++
				}
			}
		}
		if err := read(); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
		st, _ := c.s.Status(t.Context())
		if sound > 4 || other < 15 || st.Ledger.Skipped == 0 {
			t.Errorf("%d pieces of sound, %d others, %d samples skipped", sound, other, st.Ledger.Skipped)
		}
		if st.Phase != turn.PhaseSpeaking {
			t.Errorf("the session is %s", st.Phase)
		}
		c.quiet(6 * time.Second)
		if err := read(); !errors.Is(err, ErrSlow) {
			t.Errorf("6 s behind: %v", err)
		}
		a.Close()
		c.attach(c.lastSeq())
		c.quiet(time.Second)
		c.hangUp()
	})
}

func TestEnginesDie(t *testing.T) {
	boom := errors.New("the engine's process died")
	for _, e := range []struct {
		name   string
		break_ func(c *call)
		status turn.ResponseStatus
		want   string // notice
	}{
		{"stt", func(c *call) { c.stt.err = boom }, turn.ResponseFailed, "TranscriptFailed"},
		{"tts", func(c *call) { c.tts.err = boom }, turn.ResponseCompleted, "Warning"},
		{"responder", func(c *call) {
			c.r.answer = func(context.Context, turn.Request, func(Delta) bool) {}
		}, turn.ResponseCompleted, ""},
		{"vad", func(c *call) { c.vad.fail = true }, turn.ResponseCompleted, "Warning"},
	} {
		t.Run(e.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := dial(t, func(o *Options, c *call) { e.break_(c) })
				c.stt.texts = []string{"one", "two"}
				c.quiet(time.Second)
				c.speak(time.Second)
				c.quiet(5 * time.Second)
				done, _ := find[turn.ResponseDone](c)
				if len(done) != 1 || done[0].Response.Status != e.status || !strings.Contains(c.names(), e.want) {
					t.Fatalf("%+v\n%s", done, c.names())
				}
				// The session lives, and works again when the engine does.
				c.stt.mu.Lock()
				c.stt.err = nil
				c.stt.texts = []string{"two"}
				c.stt.mu.Unlock()
				c.tts.mu.Lock()
				c.tts.err = nil
				c.tts.mu.Unlock()
				c.r.answer = says(100*time.Millisecond, "Here I am again.")
				c.speak(time.Second)
				c.quiet(5 * time.Second)
				done, _ = find[turn.ResponseDone](c)
				if len(done) != 2 || done[1].Response.Status != turn.ResponseCompleted || done[1].Response.Samples == 0 {
					t.Errorf("%+v", done)
				}
				c.hangUp()
			})
		})
	}
}

// The lead agent behind the microphone: acknowledged, interrupted while it works, its
// answer offered later, its work called off only when it says so.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, func(o *Options, _ *call) { o.Config.Lead = true })
		c.r.confirm = true
		c.r.answer = func(ctx context.Context, r turn.Request, say func(Delta) bool) {
			if !strings.Contains(r.Said, "bugs") {
				says(300*time.Millisecond, "It is raining.")(ctx, r, say)
				return
			}
			time.Sleep(4 * time.Second)
			say(Delta{Progress: &Progress{Key: "a", Text: "I have read the parser."}})
			time.Sleep(8 * time.Second)
			says(0, "There are two bugs.")(ctx, r, say)
		}
		c.stt.texts = []string{"find the bugs", "how is the weather", "find the bugs", "stop it please"}
		c.speak(time.Second)
		c.quiet(3 * time.Second)
		commits, at := find[turn.Committed](c)
		_, sound := find[turn.AudioDelta](c)
		if len(commits) != 1 || len(sound) == 0 || sound[0]-at[0] > 300*time.Millisecond {
			t.Fatalf("acknowledged %v after the turn", sound[0]-at[0])
		}
		c.speak(time.Second)
		c.quiet(14 * time.Second)
		var text []string
		done, _ := find[turn.ResponseDone](c)
		for _, d := range done {
			for _, it := range d.Response.Items {
				text = append(text, it.Text())
			}
		}
		all := strings.Join(text, " | ")
		for _, want := range []string{"One moment.", "It is raining.", "I have read the parser.", "About what you asked before: There are two bugs."} {
			if !strings.Contains(all, want) {
				t.Errorf("%q was not said: %s", want, all)
			}
		}
		if c.r.stopped != 0 {
			t.Error("the lead agent was stopped")
		}
		c.speak(time.Second)
		c.quiet(time.Second)
		c.speak(time.Second)
		c.quiet(3 * time.Second)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if fmt.Sprint(c.r.words) != "[stop it please]" || c.r.stopped != 1 {
			t.Errorf("asked %v, stopped %d", c.r.words, c.r.stopped)
		}
		c.hangUp()
	})
}

func TestFunctionCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.stt.texts = []string{"what is the weather"}
		c.r.answer = func(ctx context.Context, r turn.Request, say func(Delta) bool) {
			if len(r.History) > 2 {
				says(0, "It rains.")(ctx, r, say)
				return
			}
			say(Delta{Call: &inference.ToolCallDelta{ID: "call_1", Name: "weather"}})
			say(Delta{Call: &inference.ToolCallDelta{Arguments: `{"city":"Seoul"}`}})
			say(Delta{Done: &Done{Finish: inference.FinishToolCalls}})
		}
		c.speak(time.Second)
		c.quiet(2 * time.Second)
		calls, _ := find[turn.ArgumentsDone](c)
		if len(calls) != 1 || calls[0].Arguments != `{"city":"Seoul"}` {
			t.Fatalf("%+v", calls)
		}
		for _, ev := range []turn.Event{turn.CreateItem{Item: turn.Item{Kind: turn.FunctionOutput, CallID: "call_1", Output: "rain"}}, turn.CreateResponse{}} {
			if err := c.s.Do(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
		c.quiet(3 * time.Second)
		done, _ := find[turn.ResponseDone](c)
		if len(done) != 2 || done[1].Response.Items[0].Text() != "It rains." {
			t.Errorf("%+v", done)
		}
		c.hangUp()
	})
}

// Sound in an item of the client's, and sound that is none.
func TestItemAudio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, func(o *Options, _ *call) { o.Config.Input = audio.ULaw })
		c.stt.texts = []string{"from a file"}
		item := turn.CreateItem{ID: "e", Item: turn.Item{Kind: turn.Message, Role: turn.User, Parts: []turn.Part{{Kind: turn.InputAudio}}}}
		if err := c.s.CreateItemAudio(t.Context(), item, make([]byte, 8000)); err != nil {
			t.Fatal(err)
		}
		if err := c.s.Do(t.Context(), turn.CreateResponse{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(c.r.asked) != 1 || c.r.asked[0].History[0].Text() != "from a file" || c.stt.heard[0] != 16000 {
			t.Errorf("%+v, heard %v", c.r.asked, c.stt.heard)
		}
		if err := c.s.Do(t.Context(), turn.Update{Config: turn.Config{Input: audio.PCM16, Output: audio.PCM16}}); err != nil {
			t.Fatal(err)
		}
		if err := c.s.Append(t.Context(), "half", []byte{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if fails, _ := find[turn.Failed](c); len(fails) != 1 || fails[0].Event != "half" || fails[0].Code != "invalid_audio" {
			t.Errorf("%+v", fails)
		}
		c.hangUp()
	})
}

func TestAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.sessions.Most = 1
		_, err := c.sessions.Open(t.Context(), Options{})
		var busy *Busy
		if !errors.As(err, &busy) || busy.RetryAfter <= 0 {
			t.Errorf("%v", err)
		}
		c.sessions.Most = 0
		for range 1000 {
			c.sessions.Metrics.Compute.Observe(60 * time.Millisecond)
		}
		if _, err = c.sessions.Open(t.Context(), Options{}); !errors.As(err, &busy) || busy.P99 != 60*time.Millisecond {
			t.Errorf("frames of 60 ms: %v", err)
		}
		// What was slow long ago counts no more.
		time.Sleep(2 * time.Minute)
		for range 2 {
			_, _ = c.sessions.Open(t.Context(), Options{})
			time.Sleep(time.Minute)
		}
		if _, err = c.sessions.Open(t.Context(), Options{}); err != nil {
			t.Errorf("after two quiet minutes: %v", err)
		}
		c.hangUp()
	})
}

// Late frames: relief is asked for, and at last the person is told.
func TestLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relieved := 0
		c := dial(t, func(o *Options, c *call) {
			c.vad.delay = 150 * time.Millisecond
			o.Relieve = func() { relieved++ }
		})
		c.quiet(3 * time.Second)
		m := &c.sessions.Metrics
		if relieved == 0 || m.Missed.Load() < 8 || m.Degraded.Load() == 0 || !strings.Contains(c.names(), "Warning") {
			t.Errorf("%d times relieved, %d missed, %d degraded", relieved, m.Missed.Load(), m.Degraded.Load())
		}
		c.hangUp()
	})
}

func TestClosedAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s, err := (&Sessions{}).Open(ctx, Options{Config: turn.Config{Input: audio.PCM16, Output: audio.PCM16}})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := s.Attach(0)
		stop()
		<-s.Ended()
		var last Out
		for {
			o, err := a.Next(context.Background())
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				break
			}
			last = o
		}
		if n, ok := last.Notice.(turn.Closed); !ok || n.Reason == "" {
			t.Errorf("%+v", last)
		}
	})
}

// Sound that was not read when the answer was stopped is not sent any more.
func TestVoidSoundIsNotSent(t *testing.T) {
	var at time.Duration
	j := newJournal(func() time.Duration { return at })
	a, err := j.attach(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	j.put(Out{Notice: turn.AudioDelta{Samples: 3200}})
	j.put(Out{Epoch: 1, Notice: turn.EpochChanged{Epoch: 1}})
	j.put(Out{Epoch: 1, Notice: turn.AudioDelta{Samples: 100, Epoch: 1}})
	for _, want := range []int64{2, 3} {
		if o, err := a.Next(t.Context()); err != nil || o.Seq != want {
			t.Errorf("%+v, %v", o, err)
		}
	}
	if j.skips() != 3200 {
		t.Errorf("%d samples skipped", j.skips())
	}
}
