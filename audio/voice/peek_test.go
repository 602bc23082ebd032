package voice

import (
	"testing"
	"testing/synctest"
	"time"

	"dure/audio/turn"
)

// The words that the recogniser tells in a pause end the turn, or keep it open.
func TestWordsOfAPauseDecide(t *testing.T) {
	for words, ends := range map[string]bool{"it is green.": true, "it is green and": false} {
		synctest.Test(t, func(t *testing.T) {
			c := dial(t, func(o *Options, _ *call) { o.Config.Detection.Mode = turn.SemanticVAD })
			c.stt.peek = words
			c.r.answer = says(100*time.Millisecond, "Good.")
			c.speak(time.Second)
			c.quiet(520 * time.Millisecond)
			if committed, _ := find[turn.Committed](c); (len(committed) == 1) != ends {
				t.Errorf("%q: %d turns ended after 520 ms", words, len(committed))
			}
			c.stt.mu.Lock()
			if c.stt.peeked != 1 {
				t.Errorf("%q: asked %d times in one pause", words, c.stt.peeked)
			}
			c.stt.mu.Unlock()
			c.hangUp()
		})
	}
}
