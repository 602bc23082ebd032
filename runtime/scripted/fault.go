package scripted

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"dure/inference"
)

// errCut ends an answer in the middle.
var errCut = inference.Errorf(inference.CodeRunnerLost, "the stream was cut, as the script says")

// status is that of a fault without an answer.
func (f *Fault) status() int {
	switch {
	case f.Kind == Busy:
		return http.StatusTooManyRequests
	case f.Status != 0:
		return f.Status
	}
	return http.StatusInternalServerError
}

// failure is a refusal with the status that HTTP tells.
type failure struct {
	error
	status int
}

func (f failure) Unwrap() error { return f.error }

// fault says whether one is due, and counts it.
func (m *Model) fault(request string, f *Fault) *Fault {
	if f == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed[request] >= max(f.Times, 1) {
		return nil
	}
	m.failed[request]++
	return f
}

// refused is the error of a fault that gives no answer.
func refused(f *Fault) error {
	if f == nil || f.Kind != Error && f.Kind != Busy {
		return nil
	}
	e := &inference.Error{Code: inference.CodeInternal, RetryAfter: or(f.RetryAfter, 0)}
	switch status := f.status(); status {
	case http.StatusTooManyRequests:
		e.Code = inference.CodeQueueFull
	case http.StatusServiceUnavailable:
		e.Code = inference.CodeRunnerLost
	}
	e.Message = fmt.Sprintf("status %d, as the script says", f.status())
	return failure{e, f.status()}
}

// pause is the time before an answer.
func (m *Model) pause(ctx context.Context, latency time.Duration, f *Fault) error {
	if f != nil && f.Kind == Stall {
		if f.For == nil {
			<-ctx.Done()
			return ctx.Err()
		}
		latency += time.Duration(*f.For)
	}
	if latency == 0 {
		return ctx.Err()
	}
	return m.options.Wait(ctx, latency)
}
