package key

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scale is how a sliding window is cut: so many slots of so long.
type scale struct {
	slot  time.Duration
	slots int64
}

var (
	perMinute = scale{time.Second, 60}
	perDay    = scale{10 * time.Minute, 144}
)

// at is the slot that a time lies in.
func (s scale) at(t time.Time) int64 { return t.UnixNano() / int64(s.slot) }

// forgotten is when the last of a slot has left the window.
func (s scale) forgotten(slot int64) time.Time {
	return time.Unix(0, (slot+1+s.slots)*int64(s.slot))
}

// window counts what happened in the slots that may still lie in it.
type window struct {
	marks []mark // by rising slot, one for each
	sum   int64  // of all marks
}

// mark is what happened in one slot.
type mark struct{ slot, n int64 }

// add counts n in a slot.
func (w *window) add(slot, n int64) {
	if n == 0 {
		return
	}
	i := len(w.marks)
	for i > 0 && w.marks[i-1].slot > slot {
		i--
	}
	if i > 0 && w.marks[i-1].slot == slot {
		w.marks[i-1].n += n
	} else {
		w.marks = slices.Insert(w.marks, i, mark{slot, n})
	}
	w.sum += n
}

// advance forgets what has left the window. What lies in the future was counted
// before the clock was set back; it counts as of now, so that it is forgotten
// within one window.
func (w *window) advance(s scale, now time.Time) {
	current := s.at(now)
	first := 0
	for first < len(w.marks) && w.marks[first].slot < current-s.slots {
		w.sum -= w.marks[first].n
		first++
	}
	w.marks = slices.Delete(w.marks, 0, first)
	for len(w.marks) > 0 && w.marks[len(w.marks)-1].slot > current {
		late := w.marks[len(w.marks)-1]
		w.marks = w.marks[:len(w.marks)-1]
		w.sum -= late.n
		w.add(current, late.n)
	}
}

// wait is how long it takes until need more fit below most; 0 if they do now.
// The window has been advanced to now, and need is not above most.
func (w *window) wait(s scale, now time.Time, need, most int64) time.Duration {
	var wait time.Duration
	left := w.sum
	for _, m := range w.marks {
		if left <= most-need {
			break
		}
		left -= m.n
		wait = s.forgotten(m.slot).Sub(now)
	}
	return wait
}

// plus adds what another one counted.
func (w *window) plus(o window) {
	for _, m := range o.marks {
		w.add(m.slot, m.n)
	}
}

// positive is the window without slots of nothing, which is left where all was
// given back, and of less, which needs a clock that was set back between.
func (w window) positive() (p window) {
	for _, m := range w.marks {
		if m.n > 0 {
			p.add(m.slot, m.n)
		}
	}
	return p
}

// MarshalText writes "slot:count" for each slot.
func (w window) MarshalText() (text []byte, _ error) {
	for i, m := range w.marks {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, m.slot, 10)
		text = strconv.AppendInt(append(text, ':'), m.n, 10)
	}
	return text, nil
}

// UnmarshalText reads what MarshalText wrote, in any order.
func (w *window) UnmarshalText(text []byte) error {
	*w = window{}
	for pair := range strings.FieldsSeq(string(text)) {
		slot, n, _ := strings.Cut(pair, ":")
		m := mark{}
		var err error
		if m.slot, err = strconv.ParseInt(slot, 10, 64); err == nil {
			m.n, err = strconv.ParseInt(n, 10, 64)
		}
		if err != nil || m.slot < 0 || m.n < 0 || m.n > maxCount || w.sum > maxCount {
			return fmt.Errorf("%q is no pair of slot and count", pair)
		}
		w.add(m.slot, m.n)
	}
	return nil
}
