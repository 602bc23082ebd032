package postgres

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	lookEvery = 5 * time.Millisecond
	// How long a process is not looked at: most statements are done by then.
	heapAfter = 10 * time.Millisecond
	// A cancel that shows no effect is sent again, and then the connection is cut: the
	// caller has its answer, and the server finds out when its step is done.
	cancelAgain = 50 * time.Millisecond
	cutAfter    = 150 * time.Millisecond
	// How long a cancel may take to be delivered.
	cancelLimit = 5 * time.Second
)

// A cause is why a statement was broken off.
type cause int32

const (
	none    cause = iota
	time_         // Limits.Time
	heap          // Limits.Heap
	gone          // the caller's ctx
	moment        // it is slow, and goes on elsewhere
	stopped       // the gateway has seen enough
)

// An overseer looks at the statements that run, and breaks off those that must end.
// Looking, where a timer each would do for the time alone, serves clocks of tests and
// the memory of processes too.
type overseer struct {
	now  func() time.Time
	heap int64

	mu      sync.Mutex
	watches map[*watch]bool
	wake    chan struct{} // capacity 1
	closing chan struct{}
	ended   chan struct{}
}

// A watch is one statement that runs.
type watch struct {
	over    *overseer
	session *session
	ctx     context.Context              // the caller's
	until   time.Time                    // of the overseer's clock
	begun   time.Time                    // of the system's
	moment  time.Duration                // 0: it may take its time here
	move    func(ran time.Duration) bool // whether it goes on elsewhere, asked after the moment

	cause atomic.Int32
	base  int64          // bytes of the process before
	sent  time.Time      // the first cancel was seen to be under way
	again time.Time      // the last one was sent
	calls sync.WaitGroup // cancels on their way
}

func newOverseer(now func() time.Time, heap int64) *overseer {
	o := &overseer{now: now, heap: heap, watches: make(map[*watch]bool), wake: make(chan struct{}, 1),
		closing: make(chan struct{}), ended: make(chan struct{})}
	go o.loop()
	return o
}

func (o *overseer) close() {
	close(o.closing)
	<-o.ended
}

// begin watches a statement until end.
func (o *overseer) begin(w *watch) {
	w.over, w.begun = o, time.Now()
	if w.session.seen {
		w.base = private(w.session.pid)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watches[w] = true
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// end says why the statement was broken off, if it was. No cancel is on its way to
// the session after it.
func (w *watch) end() cause {
	w.over.mu.Lock()
	delete(w.over.watches, w)
	w.over.mu.Unlock()
	w.calls.Wait()
	return cause(w.cause.Load())
}

// stop breaks a statement off.
func (w *watch) stop(why cause) {
	if !w.cause.CompareAndSwap(int32(none), int32(why)) {
		return
	}
	w.cancel()
}

func (w *watch) cancel() {
	w.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cancelLimit)
		defer cancel()
		_ = w.session.conn.CancelRequest(ctx) // the overseer sees whether it helped
	})
}

func (o *overseer) loop() {
	defer close(o.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-o.closing:
			return
		case <-tick.C:
		}
		if o.look() {
			continue
		}
		tick.Stop() // nothing runs
		select {
		case <-o.closing:
			return
		case <-o.wake:
			tick.Reset(lookEvery)
		}
	}
}

// look looks at every statement, and reports whether there are any.
func (o *overseer) look() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	for w := range o.watches {
		w.look(now)
	}
	return len(o.watches) > 0
}

func (w *watch) look(now time.Time) {
	ran := time.Since(w.begun)
	switch {
	case cause(w.cause.Load()) != none:
		w.insist()
	case w.ctx.Err() != nil:
		w.stop(gone)
	case !now.Before(w.until):
		w.stop(time_)
	case w.moment > 0 && ran > w.moment && w.move(ran):
		w.stop(moment)
	case w.session.seen && ran > heapAfter && private(w.session.pid)-w.base > w.over.heap:
		w.stop(heap)
	}
}

// insist looks whether a cancel has helped.
func (w *watch) insist() {
	switch {
	case w.sent.IsZero():
		w.sent, w.again = time.Now(), time.Now()
	case time.Since(w.sent) > cutAfter:
		_ = w.session.conn.Conn().Close() // whoever reads from it is told
	case time.Since(w.again) > cancelAgain:
		w.again = time.Now()
		w.cancel()
	}
}

// private is the bytes of a process's memory that it shares with nobody.
func private(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(data), &size, &resident, &shared); err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}
