package arbiter

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// Turn is the child's side: the device for one call after another. One goroutine
// takes and gives; Close comes after its last Give.
type Turn struct {
	conn    net.Conn
	log     *slog.Logger
	state   atomic.Int32  // of the lease, see below
	serial  atomic.Uint64 // of the last ask, and of the lease that follows from it
	told    atomic.Int64  // the slice, ns; 0 = nobody else is on the device
	granted chan struct{} // a lease came
	closing atomic.Bool
	gone    chan struct{} // closed when nobody answers any more

	// The rest belongs to the goroutine that takes and gives.
	taken bool
	class Class
	begun time.Time
	bound tick // what Slice says at most; 0 = nothing was learnt
}

// States of a lease. The reader of the line makes it held or last when it is granted
// and takes it back from kept to none, or from held to last, when it is recalled.
// The taker goes from kept to held and back, and from held or last to none.
const (
	none = iota // or asked for
	kept        // no call runs
	held        // a call runs, and it is kept after
	last        // a call runs, and it goes back after
)

// Connect takes over the process's end of the line.
func Connect(f *os.File, log *slog.Logger) (*Turn, error) {
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("arbiter: take over the line to the parent: %w", err)
	}
	if err := f.Close(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("arbiter: take over the line to the parent: %w", err)
	}
	return connect(conn, log), nil
}

func connect(conn net.Conn, log *slog.Logger) *Turn {
	t := &Turn{conn: conn, log: log, granted: make(chan struct{}, 1), gone: make(chan struct{})}
	go t.listen()
	return t
}

// Take waits until the device may be used for a call, which is due so soon; 0 where
// it is not due. Without an arbiter it does not wait.
func (t *Turn) Take(c Class, due time.Duration) {
	if t.taken {
		panic("arbiter: a turn is taken before the last one was given back")
	}
	t.taken, t.class = true, c
	if !t.state.CompareAndSwap(kept, held) {
		f := frame{kind: frameAsk, flag: byte(c), serial: t.serial.Add(1)}
		if c == Voice || due != 0 {
			f.ns = int64(min(max(due, 1), maxDuration)) // late is due now
		}
		t.send(f)
		select {
		case <-t.granted:
		case <-t.gone:
		}
	}
	t.begun = time.Now()
}

// Give ends the call.
func (t *Turn) Give() {
	t.taken = false
	took, slice := int64(time.Since(t.begun)), t.told.Load()
	if slice > 0 && t.class == Prompt {
		t.bound = adapt(t.limit(slice), slice, took)
	}
	if over := slice > 0 && took > slice; !over && t.state.CompareAndSwap(held, kept) {
		return
	}
	if t.state.Swap(none) != none {
		t.send(frame{kind: frameDone, flag: byte(t.class), serial: t.serial.Load(), ns: min(took, int64(maxDuration))})
	}
}

// Slice is how long the next piece of a prompt should be meant to take at most; 0
// where nobody else is on the device. It is less than the arbiter's slice after calls
// that took longer than they were meant to. The goroutine that takes and gives asks.
func (t *Turn) Slice() time.Duration {
	slice := t.told.Load()
	if slice == 0 {
		return 0
	}
	return time.Duration(t.limit(slice))
}

func (t *Turn) limit(slice tick) tick {
	if t.bound == 0 {
		return slice
	}
	return min(t.bound, slice)
}

// narrowest is the part of a slice that calls are still meant for whatever they take:
// smaller ones would not end a prompt.
const narrowest = 8

// adapt is what the next call is to be meant for, after one that was meant for bound
// took so long: in proportion less where that was more than a slice, a little more
// where it was clearly less.
func adapt(bound, slice, took tick) tick {
	switch {
	case took > slice:
		return max(slice/narrowest, tick(float64(bound)*float64(slice)/float64(took)), 1)
	case took < slice-slice/4:
		return min(slice, bound+bound/8+1)
	}
	return bound
}

// Close leaves the arbiter. A lease that is kept goes back first, so that this does
// not count as an end in the middle of a call.
func (t *Turn) Close() error {
	t.closing.Store(true)
	t.giveBack()
	err := t.conn.Close()
	<-t.gone
	return err
}

// send never reports a failure: the line is then at its end, which listen sees.
func (t *Turn) send(f frame) {
	b := f.encode()
	t.conn.Write(b[:])
}

// listen is the reader of the line.
func (t *Turn) listen() {
	defer close(t.gone)
	for {
		f, err := readFrame(t.conn)
		if err == nil {
			err = t.hear(f)
		}
		if err == nil {
			continue
		}
		if !t.closing.Load() {
			t.log.Warn("nobody hands out turns on the device any more; computing without", "error", err)
			t.conn.Close()
		}
		t.told.Store(0)
		return
	}
}

func (t *Turn) hear(f frame) error {
	switch f.kind {
	case frameShare:
		t.told.Store(f.ns)
	case frameGrant:
		if f.serial != t.serial.Load() || len(t.granted) > 0 {
			return fmt.Errorf("%w: it grants what was not asked for", errProtocol)
		}
		if f.flag == 1 {
			t.state.Store(held)
		} else {
			t.state.Store(last)
		}
		t.granted <- struct{}{}
	case frameRecall:
		if f.serial == t.serial.Load() { // else it went back already
			t.giveBack()
		}
	default:
		return fmt.Errorf("%w: it sends what is for it to receive", errProtocol)
	}
	return nil
}

// giveBack has the lease go back now, or after the call that runs.
func (t *Turn) giveBack() {
	for {
		switch t.state.Load() {
		case kept:
			serial := t.serial.Load() // while it is still this lease's
			if t.state.CompareAndSwap(kept, none) {
				t.send(frame{kind: frameDone, serial: serial})
				return
			}
		case held:
			if t.state.CompareAndSwap(held, last) {
				return
			}
		default:
			return
		}
	}
}
