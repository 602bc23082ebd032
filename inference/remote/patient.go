package remote

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"dure/inference"
)

// Patience says how a failing endpoint is asked again.
type Patience struct {
	// Attempts is the most requests for one answer; 0 is 5.
	Attempts int
	// First is the wait before the second request, doubled each time up to Longest: 0 is
	// one second, and a minute. An endpoint that asks to wait longer than Longest is not
	// asked again: its error, with RetryAfter, is the caller's.
	First, Longest time.Duration
	// Told hears of each wait before it begins; may be nil.
	Told func(Retry)
	// Wait sleeps, but for ctx; nil is the clock's. Random is from 0 to below 1.
	Wait   func(ctx context.Context, d time.Duration) error
	Random func() float64
}

// Retry is a request that failed and will be made again.
type Retry struct {
	Attempt int // the one that failed, from 1
	Wait    time.Duration
	Err     *Error
}

// Patient is m, asked again where it fails with what passes (Error.Passes). It asks
// again only as long as nothing of an answer has come: what was told is never told
// twice. This is the only place in front of an endpoint where anything is tried again.
func Patient(m inference.Model, p Patience) inference.Model {
	if p.Attempts == 0 {
		p.Attempts = 5
	}
	if p.First == 0 {
		p.First = time.Second
	}
	if p.Longest == 0 {
		p.Longest = time.Minute
	}
	if p.Wait == nil {
		p.Wait = wait
	}
	if p.Random == nil {
		p.Random = rand.Float64
	}
	return patient{m, p}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type patient struct {
	inference.Model
	Patience
}

// Generate implements inference.Model. EventStarted comes once, however often the
// endpoint began.
func (p patient) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		started := false
		for attempt := 1; ; attempt++ {
			failed, goes := p.attempt(ctx, req, &started, yield)
			if !goes {
				return
			}
			d, again := p.delay(attempt, failed)
			if !again {
				yield(inference.Event{}, failed)
				return
			}
			if p.Told != nil {
				p.Told(Retry{attempt, d, failed})
			}
			if err := p.Wait(ctx, d); err != nil {
				yield(inference.Event{}, err)
				return
			}
		}
	}
}

// attempt asks once. It returns the error that the request may be made again for; goes
// is false where all that is to be said was said.
func (p patient) attempt(ctx context.Context, req *inference.Request, started *bool, yield func(inference.Event, error) bool) (failed *Error, goes bool) {
	told := false
	for ev, err := range p.Model.Generate(ctx, req) {
		if err != nil {
			if !told && ctx.Err() == nil && errors.As(err, &failed) && failed.Passes() {
				return failed, true
			}
			yield(ev, err)
			return nil, false
		}
		if ev.Kind == inference.EventStarted {
			if *started {
				continue
			}
			*started = true
		} else {
			told = true
		}
		if !yield(ev, nil) {
			return nil, false
		}
	}
	return nil, false
}

// delay is how long to wait after the attempt that failed, and whether to go on. It is
// never less than the endpoint asks for; the chance in it keeps many who failed
// together from coming back together.
func (p Patience) delay(attempt int, failed *Error) (time.Duration, bool) {
	asked := failed.Cause.RetryAfter
	if attempt >= p.Attempts || asked > p.Longest {
		return 0, false
	}
	d := min(p.First, p.Longest)
	for i := 1; i < attempt && d < p.Longest; i++ {
		d = min(p.Longest, d+min(d, p.Longest-d))
	}
	spread := d / 2
	return max(d-spread, asked) + time.Duration(p.Random()*float64(spread)), true
}
