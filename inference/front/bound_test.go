package front

import (
	"testing"
	"time"
)

// The model is told what is left of a deadline.
func TestTimeLeft(t *testing.T) {
	x := &Exchange{start: time.Now().Add(-time.Hour)}
	x.progress.caller.DeadlineMS = 5
	if x.timeLeft() != 1 {
		t.Errorf("%d ms are left", x.timeLeft())
	}
	if x.progress.caller.DeadlineMS = 0; x.timeLeft() != 0 {
		t.Error("a deadline came from nothing")
	}
}
