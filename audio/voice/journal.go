package voice

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"dure/audio"
	"dure/audio/turn"
)

// Errors of an Attachment.
var (
	// ErrReplaced: another connection has taken the session over.
	ErrReplaced = errors.New("the session was taken over by another connection")
	// ErrExpired: there is no such session any more, or it has moved on too far.
	ErrExpired = errors.New("the session has expired; open a new one")
	// ErrSlow: the client reads so slowly that the connection is of no use. It may come
	// back.
	ErrSlow = errors.New("the client reads too slowly; connect again to resume")
	// ErrDetached: this end has let go.
	ErrDetached = errors.New("the connection has let the session go")
	// ErrClosed: the session has ended.
	ErrClosed = errors.New("the session has ended")
)

// Limits of what is kept for a client that was away, and of one that reads slowly.
const (
	// keepFor is 30 seconds, and what connecting again takes.
	keepFor   = 32 * time.Second
	keepBytes = 32 << 20
	slowAfter = 400 * time.Millisecond
	deadAfter = 5 * time.Second
)

// Out is one thing that the client is told.
type Out struct {
	// Seq numbers what a session tells, from 1.
	Seq    int64
	Epoch  int64
	Notice turn.Notice
	// Audio is the sound of a turn.AudioDelta in the session's output format.
	Audio []byte

	at time.Duration // when it was told, since the session began
}

// journal holds what a session told lately, for the connection that reads it and for one
// that comes back. The session's goroutine writes; a connection's reads. The lock is held
// for a few instructions.
type journal struct {
	mu      sync.Mutex
	entries []Out // in order of Seq, without gaps
	next    int64 // Seq of the next entry
	bytes   int
	changed chan struct{} // closed when something comes
	closed  bool
	reader  *Attachment
	now     func() time.Duration
	epoch   int64
	skipped audio.Samples
}

func newJournal(now func() time.Duration) *journal {
	return &journal{next: 1, changed: make(chan struct{}), now: now}
}

// put adds an entry, and lets go of what is too old.
func (j *journal) put(o Out) {
	j.mu.Lock()
	defer j.mu.Unlock()
	o.Seq, o.at = j.next, j.now()
	j.epoch = max(j.epoch, o.Epoch)
	j.next++
	j.entries = append(j.entries, o)
	j.bytes += size(o)
	drop := 0
	for drop < len(j.entries)-1 && (j.entries[drop].at < o.at-keepFor-time.Second || j.bytes > keepBytes) {
		j.bytes -= size(j.entries[drop])
		drop++
	}
	if drop > 0 {
		clear(j.entries[:drop])
		j.entries = j.entries[drop:]
	}
	j.signal()
}

func size(o Out) int { return len(o.Audio) + 256 }

func (j *journal) signal() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// close says that nothing more comes.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.signal()
}

// Attachment is a connection's place in what the session tells. One goroutine uses it.
type Attachment struct {
	j       *journal
	next    int64
	since   time.Duration // what was told before this is not held against its reader
	slow    bool
	replace bool
	left    bool
	detach  func(*Attachment)
	once    sync.Once
}

// attach begins behind the entry numbered last; the one that was attached is replaced.
func (j *journal) attach(last int64, detach func(*Attachment)) (*Attachment, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	first := j.next
	if len(j.entries) > 0 {
		first = j.entries[0].Seq
	}
	if last < 0 || last+1 < first || last >= j.next {
		return nil, ErrExpired
	}
	if j.reader != nil {
		j.reader.replace = true
	}
	a := &Attachment{j: j, next: last + 1, since: j.now(), detach: detach}
	j.reader = a
	j.signal()
	return a, nil
}

// Next waits for the next thing to be told. It is io.EOF after the session's last word.
// While the client reads more than 400 ms behind, sound is left out of what it is told,
// and counted; more than 5 s behind it is ErrSlow.
func (a *Attachment) Next(ctx context.Context) (Out, error) {
	for {
		o, wait, err := a.take()
		if wait == nil {
			return o, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return Out{}, ctx.Err()
		}
	}
}

func (a *Attachment) take() (Out, <-chan struct{}, error) {
	j := a.j
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		if a.replace {
			return Out{}, nil, ErrReplaced
		}
		if a.left {
			return Out{}, nil, ErrDetached
		}
		if a.next >= j.next {
			a.slow = false
			if j.closed {
				return Out{}, nil, io.EOF
			}
			return Out{}, j.changed, nil
		}
		if a.next < j.entries[0].Seq {
			return Out{}, nil, ErrSlow
		}
		o := j.entries[a.next-j.entries[0].Seq]
		lag := j.now() - max(o.at, a.since)
		if o.at < a.since {
			lag = 0 // it comes back, and reads what it missed
		}
		if lag > deadAfter {
			return Out{}, nil, ErrSlow
		}
		a.next++
		a.slow = a.slow && lag > slowAfter/4 || lag > slowAfter
		// Sound of an older epoch became void before it was read: the answer was stopped.
		if d, sound := o.Notice.(turn.AudioDelta); sound && (a.slow || d.Epoch < j.epoch && o.at >= a.since) {
			j.skipped += d.Samples
			continue
		}
		return o, nil, nil
	}
}

// skips is how much sound slow readers were spared.
func (j *journal) skips() audio.Samples {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.skipped
}

// leave lets a go, and reports whether it was the connection that is attached.
func (j *journal) leave(a *Attachment) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	a.left = true
	j.signal()
	if j.reader != a {
		return false
	}
	j.reader = nil
	return true
}

// Close detaches. The session waits 30 s for the client to come back.
func (a *Attachment) Close() {
	a.once.Do(func() {
		if a.j.leave(a) {
			a.detach(a)
		}
	})
}

// busy reports whether a connection is attached.
func (j *journal) busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.reader != nil
}
