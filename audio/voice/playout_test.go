package voice

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dure/audio"
	"dure/audio/pace"
	"dure/audio/turn"
)

const longText = "This is a long answer, which goes on for quite some time. It has many sentences. Each of them is spoken in its turn. " +
	"Nobody knows when it ends. It might be interrupted by the person. Then it stops at once."

// ahead proves that never more than two frames were ahead of what a player plays.
func (c *call) ahead() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var end time.Duration
	for i, o := range c.got {
		d, ok := o.Notice.(turn.AudioDelta)
		if !ok {
			continue
		}
		now := c.at[i].Sub(c.began)
		end = max(end, now) + d.Samples.Duration()
		if end-now > audio.Samples(pace.Ahead).Duration()+time.Millisecond {
			c.t.Fatalf("%v ahead at %v", end-now, now)
		}
	}
}

func TestSentInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.r.answer = says(100*time.Millisecond, longText)
		c.stt.texts = []string{"tell me a lot"}
		c.speak(time.Second)
		c.quiet(25 * time.Second)
		c.ahead()
		first, at := find[turn.AudioDelta](c)
		done, doneAt := find[turn.ResponseDone](c)
		if done[0].Response.Status != turn.ResponseCompleted {
			t.Fatalf("%+v", done[0])
		}
		// The last sample was sent two frames before it was played, and no sooner.
		length := done[0].Response.Samples.Duration()
		if took := doneAt[0] - at[0]; took < length-audio.Samples(pace.Ahead).Duration()-200*time.Millisecond || took > length {
			t.Errorf("%v of sound in %v", length, took)
		}
		if n := c.sessions.Metrics.Underruns.Load(); n != 0 {
			t.Errorf("%d underruns", n)
		}
		full := 0
		for _, d := range first {
			if d.Samples == audio.FrameSamples {
				full++
			}
		}
		if full < len(first)/2 {
			t.Errorf("%d of %d deltas are whole frames", full, len(first))
		}
		c.hangUp()
	})
}

func TestBargeIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.r.answer = says(100*time.Millisecond, longText)
		c.stt.texts = []string{"tell me a lot", "wait"}
		c.speak(time.Second)
		c.quiet(5 * time.Second)
		onset := time.Since(c.began)
		c.speak(time.Second)
		c.quiet(time.Second)
		done, doneAt := find[turn.ResponseDone](c)
		r := done[0].Response
		if r.Status != turn.ResponseCancelled || r.Reason != turn.ReasonTurnDetected {
			t.Fatalf("%+v", r)
		}
		var last time.Duration
		deltas, at := find[turn.AudioDelta](c)
		for i, d := range deltas {
			if d.At.Response == r.ID {
				last = at[i]
			}
		}
		if stop := max(last, doneAt[0]) - onset; stop > 200*time.Millisecond {
			t.Errorf("stopped %v after the person began", stop)
		}
		if p99 := c.sessions.Metrics.Stop.Snapshot(); p99.Count != 1 || p99.Max > 200*time.Millisecond {
			t.Errorf("measured %+v", p99.Max)
		}
		// What the lead is told next is what was heard: some of it, but not all that was
		// sent.
		q := c.r.asked[1]
		if !q.Interrupted || q.Heard == "" || !strings.HasPrefix(longText, q.Heard) || len(q.Heard) > len(longText)/2 {
			t.Errorf("heard %q", q.Heard)
		}
		if c.r.stopped != 0 && len(c.r.asked) != 2 {
			t.Errorf("%d asked, %d stopped", len(c.r.asked), c.r.stopped)
		}
		st, _ := c.s.Status(t.Context())
		if err := st.Ledger.Check(); err != nil || st.Ledger.Dropped == 0 || st.Epoch != 1 {
			t.Errorf("%+v, epoch %d, %v", st.Ledger, st.Epoch, err)
		}
		c.ahead()
		c.hangUp()
	})
}

// A synthesiser that is slower than speech: the gap is faded into, counted, and the clock
// is kept.
func TestUnderrun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, func(_ *Options, c *call) { c.tts.piece, c.tts.gap = 22050/4, 400*time.Millisecond })
		c.stt.texts = []string{"hello"}
		c.speak(time.Second)
		c.quiet(12 * time.Second)
		st, _ := c.s.Status(t.Context())
		n := c.sessions.Metrics.Underruns.Load()
		if n == 0 || st.Ledger.Concealed != audio.Samples(n*pace.Fade) {
			t.Errorf("%d underruns, %d samples concealed", n, st.Ledger.Concealed)
		}
		if err := st.Ledger.Check(); err != nil || int(st.Ledger.Sent)*2 != c.sound() {
			t.Errorf("%+v: %v", st.Ledger, err)
		}
		c.ahead()
		c.hangUp()
	})
}

var minutes = flag.Int("minutes", 1, "simulated minutes of TestDrift")

// A long conversation (an hour in the long tests): not a sample of drift.
func TestDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, func(o *Options, _ *call) { o.Config.Input, o.Config.Output = audio.PCM16, audio.ULaw })
		c.r.answer = says(50*time.Millisecond, longText)
		for time.Since(c.began) < time.Duration(*minutes)*time.Minute {
			c.stt.mu.Lock()
			c.stt.texts = []string{"go on"}
			c.stt.mu.Unlock()
			for range 10 {
				if err := c.s.Append(t.Context(), "", tone(2400, 0.3)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			for range 140 {
				if err := c.s.Append(t.Context(), "", tone(2400, 0)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		st, _ := c.s.Status(t.Context())
		if err := st.Ledger.Check(); err != nil || st.Ledger.Received != audio.FromMilliseconds(time.Since(c.began).Milliseconds()) {
			t.Errorf("%+v: %v", st.Ledger, err)
		}
		// What was sent is what the client got: G.711 has a third of the samples.
		if got, want := c.sound(), int(st.Ledger.Sent)/3; got > want || got < want-240*20 {
			t.Errorf("%d bytes of sound, want about %d", got, want)
		}
		if st.Ledger.Processed < st.Ledger.Received-audio.FrameSamples {
			t.Errorf("%d processed of %d", st.Ledger.Processed, st.Ledger.Received)
		}
		if m := &c.sessions.Metrics; m.Frames.Load() < int64(*minutes)*450-10 || m.Missed.Load() != 0 || m.Underruns.Load() != 0 {
			t.Errorf("%d frames, %d missed, %d underruns", m.Frames.Load(), m.Missed.Load(), m.Underruns.Load())
		}
		c.ahead()
		c.hangUp()
	})
}

// A client may send a whole recording at once.
func TestRecordingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.stt.texts = []string{"one", "two"}
		clip := append(tone(48000, 0.3), tone(24000, 0)...)
		clip = append(clip, append(tone(24000, 0.3), tone(24000, 0)...)...)
		if err := c.s.Append(t.Context(), "", clip); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stops, _ := find[turn.SpeechStopped](c)
		if len(stops) != 2 || stops[0].AudioEndMS < 2400 || stops[0].AudioEndMS > 2700 {
			t.Errorf("%+v", stops)
		}
		// The first two seconds with their prefix, to the decision.
		slices.Sort(c.stt.heard)
		slices.Reverse(c.stt.heard)
		if len(c.stt.heard) != 2 || c.stt.heard[0] < 16000*24/10 || c.stt.heard[0] > 16000*28/10 {
			t.Errorf("the recogniser heard %v", c.stt.heard)
		}
		// More than the buffer holds is refused, and the session goes on.
		for range 7 {
			if err := c.s.Append(t.Context(), "big", tone(20*audio.Rate, 0.3)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if fails, _ := find[turn.Failed](c); len(fails) == 0 || fails[0].Code != "input_audio_buffer_overflow" || fails[0].Event != "big" {
			t.Errorf("%+v", fails)
		}
		c.hangUp()
	})
}

// However the same sound is cut into appends, the same is found in it.
func TestAppendSizes(t *testing.T) {
	var want []turn.SpeechStarted
	for _, size := range []int{2, 480, 1333 * 2, 6400, 48000} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, nil)
			sound := append(tone(12000, 0), append(tone(24000, 0.3), tone(24000, 0)...)...)
			if size == 2 {
				sound = sound[:2*15600] // one sample at a time is slow to test
			}
			for rest := sound; len(rest) > 0; {
				n := min(size, len(rest))
				if err := c.s.Append(context.Background(), "", rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			time.Sleep(time.Second)
			synctest.Wait()
			got, _ := find[turn.SpeechStarted](c)
			for i := range got {
				got[i].Item = ""
			}
			if want == nil {
				want = got
			}
			if len(got) != 1 || got[0] != want[0] {
				t.Errorf("in pieces of %d bytes: %+v, want %+v", size, got, want)
			}
			c.hangUp()
		})
	}
}
