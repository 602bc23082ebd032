package voice

import (
	"testing"
	"testing/synctest"
	"time"

	"dure/audio"
	"dure/audio/turn"
)

// A whole turn: a person speaks, is understood, and hears the answer.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, nil)
		c.stt.texts = []string{"how is the build"}
		c.quiet(500 * time.Millisecond)
		c.speak(time.Second)
		c.quiet(8 * time.Second)
		want := "SessionCreated SpeechStarted SpeechStopped Committed ItemAdded ItemDone ResponseCreated " +
			"TranscriptDelta TranscriptCompleted OutputItemAdded ItemAdded PartAdded AudioTranscript AudioDelta AudioTranscript AudioDelta " +
			"AudioDone AudioTranscriptDone PartDone ItemDone OutputItemDone ResponseDone"
		if got := c.names(); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		if len(c.r.asked) != 1 || c.r.asked[0].Said != "how is the build" {
			t.Errorf("asked %+v", c.r.asked)
		}
		done, _ := find[turn.ResponseDone](c)
		r := done[0].Response
		if r.Status != turn.ResponseCompleted || r.Items[0].Parts[0].Text != "The build is green. All tests passed." {
			t.Errorf("%+v", r)
		}
		st, err := c.s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Ledger.Check(); err != nil {
			t.Error(err)
		}
		// Every sample that was synthesised was sent, as two bytes.
		if l := st.Ledger; l.Sent != r.Samples || l.Sent != l.Synthesised || int(l.Sent)*2 != c.sound() || l.Received != 9500*24 || l.Processed < l.Received-2*audio.FrameSamples {
			t.Errorf("%+v, %d bytes of sound", l, c.sound())
		}
		// 36 characters of 60 ms, within a sample of the resampler's for each clause.
		if want := audio.FromMilliseconds(36 * 60); r.Samples < want || r.Samples > want+2 {
			t.Errorf("%d samples, want %d", r.Samples, want)
		}
		c.hangUp()
	})
}
