package openai

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"dure/inference"
	"dure/inference/front"
)

const (
	// maxJobs is how many responses are made in the background at once. They wait in
	// the model's queue like all others.
	maxJobs = 256
	// maxOver is how many that came to their end are kept with their events.
	maxOver = 32
)

var errCancelled = errors.New("the response was cancelled")

// job is a response that is made in the background. The goroutine that runs it is the
// only one that encodes.
type job struct {
	*composer
	owner  string // name of the key that asked for it
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it came to its end
	tape   tape

	mu      sync.Mutex
	current []byte // the response as a client gets it now
}

// note takes over events, and how the response looks now.
func (j *job) note(events []byte, last bool) error {
	now, err := front.AppendJSON(nil, j.obj)
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.current = now
	j.mu.Unlock()
	j.tape.add(events, last)
	return nil
}

func (j *job) now() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.current
}

// Start implements front.Answer.
func (j *job) Start(dst []byte, c *front.Choice) ([]byte, error) {
	events, err := j.composer.Start(nil, c)
	if err == nil {
		err = j.note(events, false)
	}
	return dst, err
}

// Event implements front.Answer.
func (j *job) Event(dst []byte, c *front.Choice, ev inference.Event) ([]byte, error) {
	events, err := j.composer.Event(nil, c, ev)
	j.tape.add(events, false)
	return dst, err
}

// End implements front.Answer.
func (j *job) End(dst []byte, c *front.Choice, last bool) ([]byte, error) {
	events, err := j.composer.End(nil, c, last)
	j.tape.add(events, false)
	return dst, err
}

// Done implements front.Answer.
func (j *job) Done(dst []byte, u inference.Usage) ([]byte, error) {
	events, err := j.composer.Done(nil, u)
	if err == nil {
		err = j.note(events, true)
	}
	return dst, err
}

// background starts a response that its request does not wait for.
func (s *Responses) background(x *front.Exchange, r *http.Request, q *question, a *composer, g front.Generation) error {
	own := x.Apart()
	ctx, cancel := context.WithCancelCause(context.Background())
	j := &job{composer: a, owner: x.KeyName(), cancel: cancel, done: make(chan struct{}), tape: newTape(&s.reel)}
	a.x, a.live, a.obj.Status = own, true, statusQueued
	g.Answer = j
	err := j.note(nil, false)
	if err == nil {
		err = s.enter(j)
	}
	if err != nil {
		cancel(nil)
		return err
	}
	err = s.store(&a.obj, q.input, j.owner) // for whoever asks after a restart
	if err == nil {
		err = own.Admit(&g)
	}
	if err != nil {
		s.leave(j)
		s.forget(j)
		return errors.Join(err, s.unkeep(j.obj.ID))
	}
	queued := j.now()
	go s.run(ctx, own, j, g)
	if !q.stream {
		return x.JSON(http.StatusOK, rawJSON(queued))
	}
	return x.Stream(r, front.EventStream(appendRespError), func(ctx context.Context, out *front.Stream) error {
		return j.tape.play(ctx, out, 0)
	})
}

// run runs a job to its end.
func (s *Responses) run(ctx context.Context, x *front.Exchange, j *job, g front.Generation) {
	defer s.leave(j)
	err := x.Run(ctx, g)
	if err == nil {
		return
	}
	status, why := statusFailed, &respError{inference.CodeInternal, "internal error"}
	var f *front.Failure
	switch cause := context.Cause(ctx); {
	case errors.As(err, &f):
		why = &respError{f.Code, f.Message}
	case errors.Is(cause, errCancelled):
		status, why = statusCancelled, nil
	case cause != nil:
		why = &respError{inference.CodeShuttingDown, "the server was shut down"}
	}
	events, err := j.end(nil, status, why)
	if err == nil {
		j.composer.over()
		err = j.note(events, true)
	}
	if err != nil {
		s.log.Error("a response has no end", "error", err)
	}
}

// enter takes a job in.
func (s *Responses) enter(j *job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return inference.Errorf(inference.CodeShuttingDown, "the server is shutting down")
	case len(s.jobs)-len(s.over) >= maxJobs:
		return inference.Errorf(inference.CodeQueueFull, "%d responses are made in the background already", maxJobs)
	}
	s.jobs[j.obj.ID] = j
	s.wg.Add(1)
	return nil
}

// leave notes that a job came to its end. The oldest of these is not held any longer.
func (s *Responses) leave(j *job) {
	j.cancel(nil)
	close(j.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[j.obj.ID] == j {
		s.over = append(s.over, j)
	}
	if len(s.over) > maxOver {
		s.over[0].tape.release()
		delete(s.jobs, s.over[0].obj.ID)
		s.over = s.over[1:]
	}
	s.wg.Done()
}

// job is one that a key may see; nil where there is none.
func (s *Responses) job(owner, id string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[id]; j != nil && j.owner == owner {
		return j
	}
	return nil
}

// forget drops a job that came to its end.
func (s *Responses) forget(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.tape.release()
	delete(s.jobs, j.obj.ID)
	s.over = slices.DeleteFunc(s.over, func(o *job) bool { return o == j })
}

// Close ends all that runs in the background, and waits for that. What ended so is
// stored as failed.
func (s *Responses) Close() {
	s.mu.Lock()
	s.closed = true
	for _, j := range s.jobs {
		j.cancel(nil)
	}
	s.mu.Unlock()
	s.wg.Wait()
}
