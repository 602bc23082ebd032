package llm

import (
	"testing"
	"time"
)

// The first token goes at once, none waits for longer than a beat, and slow steps
// deliver each of theirs.
func TestDue(t *testing.T) {
	for _, step := range []time.Duration{time.Microsecond, 3 * time.Millisecond, 6 * time.Millisecond, 16 * time.Millisecond,
		17 * time.Millisecond, 40 * time.Millisecond, time.Second} {
		var delivered time.Time
		first := time.Unix(1, 0)
		held := time.Time{} // since when the oldest waits
		for i := range 200 {
			now := first.Add(time.Duration(i) * step)
			if held.IsZero() {
				held = now
			}
			if !due(delivered, now, step) {
				if i == 0 || step > beat/2 {
					t.Fatalf("steps of %v: token %d is held", step, i)
				}
				continue
			}
			if wait := now.Sub(held); wait > beat {
				t.Fatalf("steps of %v: token %d went after %v", step, i, wait)
			}
			delivered, held = now, time.Time{}
		}
		if delivered.IsZero() || !held.IsZero() && first.Add(199*step).Sub(held) > beat {
			t.Fatalf("steps of %v: held since %v", step, held)
		}
	}
}
