package voice

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dure/audio"
	"dure/audio/turn"
)

// stubModel is a speech model of realistic timing: it says its words, one a frame, when it
// has heard a person speak and pause, and is quiet while it hears them.
type stubModel struct {
	took  time.Duration
	words []string

	mu     sync.Mutex
	heard  int // frames with sound
	frames int
	left   []string
	spoke  bool
	fail   bool
	closed int
}

func (m *stubModel) Step(ctx context.Context, in *audio.Frame) (FrameOut, error) {
	time.Sleep(m.took)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.frames++
	if m.fail {
		return FrameOut{}, errors.New("the model's process died")
	}
	if loud(in[:]) {
		m.heard++
		m.spoke, m.left = true, nil
		return FrameOut{}, nil
	}
	if m.spoke {
		m.spoke, m.left = false, m.words
	}
	if len(m.left) == 0 {
		return FrameOut{}, nil
	}
	out := FrameOut{Text: m.left[0], Audio: new(audio.Frame)}
	m.left = m.left[1:]
	for i := range out.Audio {
		out.Audio[i] = 0.2
	}
	return out, nil
}

func (m *stubModel) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed++
	return nil
}

// seen is what happened to the model.
func (m *stubModel) seen() (heard, frames, closed int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard, m.frames, m.closed
}

func dialModel(t *testing.T, m *stubModel, change func(*Options, *call)) *call {
	return dial(t, func(o *Options, c *call) {
		o.Frames = m
		o.Config.Detection.CreateResponse = false // the model answers by itself
		if change != nil {
			change(o, c)
		}
	})
}

// A speech model talks by itself, in its frames.
func TestNative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubModel{took: 40 * time.Millisecond, words: strings.SplitAfter("I am here and I can hear you well", " ")}
		c := dialModel(t, m, nil)
		c.quiet(time.Second)
		c.speak(time.Second)
		c.quiet(4 * time.Second)
		done, _ := find[turn.ResponseDone](c)
		if len(done) != 1 || done[0].Response.Items[0].Text() != "I am here and I can hear you well" || done[0].Response.Status != turn.ResponseCompleted {
			t.Fatalf("%+v", done)
		}
		st, _ := c.s.Status(t.Context())
		if err := st.Ledger.Check(); err != nil || st.Ledger.Sent != 12*audio.FrameSamples || c.sound() != 12*6400 {
			t.Errorf("%+v: %v", st.Ledger, err) // nine words and three silent frames
		}
		heard, frames, _ := m.seen()
		if n := &c.sessions.Metrics; n.Underruns.Load() != 0 || n.Missed.Load() != 0 || heard < 7 || heard > 9 || frames < 44 {
			t.Errorf("%d underruns, %d missed, %d of %d frames heard", n.Underruns.Load(), n.Missed.Load(), heard, frames)
		}
		c.ahead()
		c.hangUp()
		if _, _, closed := m.seen(); closed != 1 {
			t.Errorf("closed %d times", closed)
		}
	})
}

// The lead agent has the floor: the model is stopped when the person's turn has ended, and
// is not heard while the lead agent answers.
func TestNativeAndLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubModel{took: 40 * time.Millisecond, words: strings.SplitAfter("The build is surely green I would say so", " ")}
		c := dialModel(t, m, func(o *Options, c *call) {
			o.Config.Lead, o.Config.Detection.CreateResponse = true, true
			o.Config.Detection.Silence = audio.FromMilliseconds(1500)
			c.stt.delay = 1500 * time.Millisecond
			c.stt.texts = []string{"is the build green"}
		})
		c.r.answer = says(2*time.Second, "No, the build is broken.")
		c.speak(time.Second)
		c.quiet(12 * time.Second)
		var said []string
		done, _ := find[turn.ResponseDone](c)
		for _, d := range done {
			for _, it := range d.Response.Items {
				said = append(said, it.Text())
			}
		}
		all := strings.Join(said, " | ")
		if !strings.HasPrefix(all, "The build | ") || !strings.Contains(all, "No, the build is broken.") {
			t.Errorf("%s", all)
		}
		if done[len(done)-1].Response.Status != turn.ResponseCompleted {
			t.Errorf("%+v", done[len(done)-1])
		}
		c.ahead()
		c.hangUp()
	})
}

// A model that cannot keep up: misses are counted, silence is left out of what it hears
// before speech is, nothing is sent faster to catch up, and the session lives.
func TestNativeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relieved := 0
		m := &stubModel{took: 200 * time.Millisecond, words: []string{"so", "slow"}}
		c := dialModel(t, m, func(o *Options, _ *call) { o.Relieve = func() { relieved++ } })
		c.quiet(6 * time.Second)
		c.speak(2 * time.Second)
		c.quiet(8 * time.Second)
		st, _ := c.s.Status(t.Context())
		n := &c.sessions.Metrics
		if n.Missed.Load() < 20 || relieved == 0 || n.Degraded.Load() == 0 || st.Ledger.LeftOut == 0 {
			t.Errorf("%d missed, %d relieved, %d degraded, %d left out", n.Missed.Load(), relieved, n.Degraded.Load(), st.Ledger.LeftOut)
		}
		if err := st.Ledger.Check(); err != nil {
			t.Error(err)
		}
		if heard, _, _ := m.seen(); heard < 7 {
			t.Errorf("it heard %d frames of speech", heard)
		}
		c.ahead()
		c.hangUp()
	})
}

// The model dies in the middle of a word: the session goes on as a cascade.
func TestNativeDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubModel{took: 40 * time.Millisecond, words: strings.SplitAfter("one two three four five six seven", " ")}
		c := dialModel(t, m, func(o *Options, c *call) {
			o.Config.Detection.CreateResponse = true
			c.stt.texts = []string{"", "are you there"}
		})
		c.speak(time.Second)
		c.quiet(400 * time.Millisecond)
		m.mu.Lock()
		m.fail = true
		m.mu.Unlock()
		c.quiet(3 * time.Second)
		c.speak(time.Second)
		c.quiet(5 * time.Second)
		done, _ := find[turn.ResponseDone](c)
		last := done[len(done)-1].Response
		if last.Status != turn.ResponseCompleted || last.Items[0].Text() != "The build is green. All tests passed." {
			t.Errorf("%+v", done)
		}
		if warned, _ := find[turn.Warning](c); len(warned) == 0 {
			t.Error("nobody is told")
		}
		c.hangUp()
	})
}
