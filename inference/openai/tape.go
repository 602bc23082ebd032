package openai

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"dure/inference/front"
)

// Bounds of what is kept of events, in bytes.
const (
	maxTape = 32 << 20  // of one response
	maxReel = 256 << 20 // of all of them
	// fairTape is what one may have where all of them together are at their bound.
	fairTape = maxReel / (maxJobs + maxOver)
	// maxSend is about how much of a tape is sent at once, so that a slow client gets
	// its time for each such piece.
	maxSend = 256 << 10
)

// CodeEventsGone is the code for events that are not kept any more.
const CodeEventsGone = "events_gone"

// reel counts the bytes of all tapes.
type reel struct {
	used atomic.Int64
	most int64
}

// tape is a growing list of events, numbered from 0. Beyond its bound the oldest go, and
// whoever wants those is told so: a response is never held up, or cut, by its tape.
type tape struct {
	mu     sync.Mutex
	reel   *reel // nil when it is not counted any more
	first  int   // number of events[0]
	events [][]byte
	bytes  int64
	ended  bool
	more   chan struct{} // closed when there is more
}

func newTape(r *reel) tape { return tape{reel: r, more: make(chan struct{})} }

func (t *tape) add(events []byte, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for event := range bytes.SplitAfterSeq(events, []byte("\n\n")) {
		if len(event) > 0 {
			t.events = append(t.events, event)
		}
	}
	t.count(int64(len(events)))
	t.ended = last
	close(t.more)
	t.more = make(chan struct{})
}

// count notes bytes more and keeps the bounds. Some room beyond is made, so that not
// every event moves all others.
func (t *tape) count(n int64) {
	t.bytes += n
	if t.reel == nil {
		return
	}
	most := int64(maxTape)
	if t.reel.used.Add(n) > t.reel.most {
		most = fairTape
	}
	if t.bytes <= most {
		return
	}
	drop, freed := 0, int64(0)
	for t.bytes-freed > most-most/8 && drop < len(t.events)-1 {
		freed += int64(len(t.events[drop]))
		drop++
	}
	t.events = slices.Clone(t.events[drop:])
	t.first += drop
	t.bytes -= freed
	t.reel.used.Add(-freed)
}

// release takes the tape out of the count; who plays it still can.
func (t *tape) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reel != nil {
		t.reel.used.Add(-t.bytes)
	}
	t.reel = nil
}

// from are the events from the i-th on, whether they are the last, and what is closed
// when there are more.
func (t *tape) from(i int) (events [][]byte, ended bool, more <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i < t.first {
		return nil, false, nil, front.Refuse(http.StatusGone, CodeEventsGone,
			"the events before number %d are not kept any more, since they are too many: go on with starting_after=%d, or ask for the response without stream", t.first, t.first-1)
	}
	return t.events[min(i-t.first, len(t.events)):], t.ended, t.more, nil
}

// has reports whether the i-th event can still be played, or is yet to come.
func (t *tape) has(i int) error {
	_, _, _, err := t.from(i)
	return err
}

// play sends the events from the i-th on until the last.
func (t *tape) play(ctx context.Context, out *front.Stream, i int) error {
	for {
		events, ended, more, err := t.from(i)
		if err != nil {
			return err
		}
		n, size := 0, 0
		for n < len(events) && size < maxSend {
			size += len(events[n])
			n++
		}
		if n > 0 {
			if err := out.Send(slices.Concat(events[:n]...)); err != nil {
				return err
			}
		}
		switch i += n; {
		case n < len(events):
			continue
		case ended:
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
