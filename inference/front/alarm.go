package front

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a stream waits for the model to take the request
	// before it begins all the same, for the sake of clients and proxies that
	// give up on a server that is silent. Until then a failure has a status of
	// its own; after that it is an event.
	patience = 10 * time.Second
	// keepAlive is how long a stream may be silent.
	keepAlive = 15 * time.Second
)

// alarm is the timer that breaks the silences of a stream.
type alarm struct {
	timer   *time.Timer
	closed  atomic.Bool
	pending sync.WaitGroup // 1 while the timer is set or its function runs
	cancel  context.CancelFunc
	err     error // of a write; settled when nothing is pending
}

// watch breaks silences while work runs. Nothing of it is left afterwards. The
// context of work ends early when the client cannot be written to, and that is
// then the error.
func (s *Stream) watch(ctx context.Context, work func(context.Context) error) error {
	a := &s.alarm
	ctx, a.cancel = context.WithCancel(ctx)
	defer a.cancel()
	s.sent = time.Now()
	a.pending.Add(1)
	a.timer = time.AfterFunc(patience, s.beat)
	a.timer.Reset(patience) // orders what is set here before what beat reads
	stop := func() {
		a.closed.Store(true)
		a.disarm()
		a.pending.Wait()
		s.mu.Lock() // what earlier beats wrote is seen from here on
		defer s.mu.Unlock()
	}
	defer stop() // also after a panic
	err := work(ctx)
	stop()
	if err != nil && a.err != nil {
		return a.err // and not merely the cancel that followed
	}
	return err
}

// beat is the timer's function.
func (s *Stream) beat() {
	a := &s.alarm
	if a.closed.Load() {
		a.pending.Done()
		return
	}
	wait, err := s.breakSilence()
	if err != nil {
		a.err = err
		a.cancel()
		a.pending.Done()
		return
	}
	a.timer.Reset(wait)
	if a.closed.Load() {
		a.disarm() // stop may have come before the Reset
	}
}

// disarm stops the timer if it is set. Of two who try, one succeeds.
func (a *alarm) disarm() {
	if a.timer.Stop() {
		a.pending.Done()
	}
}

// breakSilence sends something where that is due and returns when to look again.
// Writes do not move the timer, which would cost more than the rest of an event.
func (s *Stream) breakSilence() (time.Duration, error) {
	if !s.mu.TryLock() {
		return time.Second, nil // something is being written
	}
	defer s.mu.Unlock()
	most := keepAlive
	if !s.opened {
		most = patience
	}
	if left := most - time.Since(s.sent); left > 0 {
		return left, nil
	}
	return keepAlive, s.write([]byte(s.form.Silence))
}
