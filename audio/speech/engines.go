package speech

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Engines are the speech engines of a process that keeps time itself: children that are
// started when they are first needed and again after they died. Safe for concurrent use.
type Engines struct {
	cfg    Config
	log    *slog.Logger
	ctx    context.Context // of everything under way
	cancel context.CancelFunc
	quick  *slot // the voice detector, at the parent's priority
	slow   *slot // recognition and voices, below it
}

// workNice keeps recognition from taking a core from whoever keeps time.
const workNice = 5

// New prepares engines; it starts nothing yet. A nil log drops it.
func New(c Command, cfg Config, log *slog.Logger) (*Engines, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if cfg.Nice == 0 {
		cfg.Nice = workNice
	}
	e := &Engines{cfg: cfg, log: log}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.quick = &slot{e: e, command: c, cfg: Config{Runtime: cfg.Runtime, VAD: cfg.VAD}, one: make(chan struct{}, 1)}
	work := cfg
	work.VAD = ""
	e.slow = &slot{e: e, command: c, cfg: work, one: make(chan struct{}, 1)}
	return e, nil
}

// Warm starts what is not running, so that the first word need not wait for it.
func (e *Engines) Warm(ctx context.Context) error {
	errs := make(chan error, 2)
	for _, s := range []*slot{e.quick, e.slow} {
		go func() {
			_, err := s.get(ctx)
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	if first != nil {
		return first
	}
	return second
}

// Voices are the names of the voices, the usual one first.
func (e *Engines) Voices() []string {
	var names []string
	for _, v := range e.cfg.Voices {
		names = append(names, v.Name)
	}
	return names
}

// Close ends the children and everything under way.
func (e *Engines) Close() {
	e.cancel()
	for _, s := range []*slot{e.quick, e.slow} {
		s.close()
	}
}

// slot holds one child.
type slot struct {
	e       *Engines
	command Command
	cfg     Config
	one     chan struct{} // held by whoever starts a child

	mu     sync.Mutex // guards what follows
	child  *Child
	starts []time.Time // of the last starts
	closed bool
}

// A child that dies at once again and again is not started for ever.
const (
	mostStarts = 6
	startsIn   = time.Minute
)

// loadWithin is far more than the largest engines need on a slow disk.
const loadWithin = 3 * time.Minute

// get is the running child; it starts one where there is none. Ending ctx ends the wait,
// not the start: others wait for it too.
func (s *slot) get(ctx context.Context) (*Child, error) {
	if c := s.alive(); c != nil {
		return c, nil
	}
	select {
	case s.one <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c := s.alive(); c != nil {
		<-s.one
		return c, nil
	}
	type result struct {
		c   *Child
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-s.one }()
		c, err := s.start()
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		return r.c, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *slot) alive() *Child {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil || !s.child.usable() {
		return nil
	}
	return s.child
}

// start makes a child; the caller holds one.
func (s *slot) start() (*Child, error) {
	if err := s.mayStart(time.Now()); err != nil {
		return nil, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(s.e.ctx, loadWithin, fmt.Errorf("speech: the engines did not load within %s", loadWithin))
	defer cancel()
	c, err := Start(ctx, s.command, s.cfg)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return nil, fmt.Errorf("speech: the engines were closed")
	}
	if s.child != nil {
		s.child.Close() // it is of no use, but may not have ended
	}
	s.child = c
	s.e.log.Info("speech engines loaded", "pid", c.PID(), "ms", time.Since(began).Milliseconds())
	return c, nil
}

// mayStart counts the starts of the last minute.
func (s *slot) mayStart(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("speech: the engines were closed")
	}
	for len(s.starts) > 0 && now.Sub(s.starts[0]) > startsIn {
		s.starts = s.starts[1:]
	}
	if len(s.starts) >= mostStarts {
		return fmt.Errorf("%w %d times within %s: it is not started again before %s", ErrLost, mostStarts, startsIn,
			s.starts[0].Add(startsIn).Format(time.TimeOnly))
	}
	if len(s.starts) > 0 {
		s.e.log.Warn("starting the speech engines again", "expected", "running", "got", "ended")
	}
	s.starts = append(s.starts, now)
	return nil
}

func (s *slot) close() {
	s.mu.Lock()
	s.closed = true
	c := s.child
	s.mu.Unlock()
	if c != nil {
		c.Close()
	}
}
