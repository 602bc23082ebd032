package swarm

import (
	"fmt"
	"time"

	"dure/inference"
)

// Ask is one request to an endpoint.
type Ask struct {
	Messages []inference.Message
	Output   int // tokens that are asked for
	// Caller is sent to dure servers only.
	Caller inference.Caller
}

// Delivery is text that arrived in one piece: a server may hand over several
// tokens at once, and a reader waits once for them.
type Delivery struct {
	At     time.Time
	Events int
}

// notTold stands for a number of tokens that the server does not tell.
const notTold = -1

// Turn is one request as its client saw it.
type Turn struct {
	Agent, Number int // the first is 0
	Messages      []inference.Message
	Sent, Ended   time.Time
	Deliveries    []Delivery
	Text          string
	// Prompt and Completion tokens, and Read, those of the prompt that were not
	// reused; -1 where the server does not tell.
	Prompt, Completion, Read int
	RestoreMS                float64 // as dure tells it
	Reason                   string  // why no more of its prompt was reused, as dure tells it
	Refusals                 int     // answers "busy, come again", each of which was followed
	Err                      *Failure
}

// Failure of a turn.
type Failure struct {
	Kind string // few and short: they are counted by it
	Text string
}

// Error implements error.
func (f *Failure) Error() string { return f.Kind + ": " + f.Text }

// Kinds of failures. A refusal's and a stream's error carry the server's code
// behind a colon.
const (
	KindInterrupted = "interrupted" // the run was stopped: no fault of the server
	KindUnreachable = "unreachable"
	KindStatus      = "http"
	KindEvent       = "error event"
	KindMalformed   = "malformed event"
	KindDropped     = "dropped" // the stream ended before it was done
	KindStalled     = "stalled"
	KindEndless     = "endless" // more than was asked for
	KindEmpty       = "no text"
)

func fail(kind, format string, args ...any) *Failure {
	return &Failure{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// OK reports whether the turn was answered.
func (t *Turn) OK() bool { return t.Err == nil }

// wait is the time to the first text in milliseconds. There is one.
func (t *Turn) wait() float64 { return milliseconds(t.Deliveries[0].At.Sub(t.Sent)) }

// gaps are the milliseconds between deliveries for which keep holds.
func (t *Turn) gaps(keep func(from, to time.Time) bool) []float64 {
	var gaps []float64
	for i := 1; i < len(t.Deliveries); i++ {
		from, to := t.Deliveries[i-1].At, t.Deliveries[i].At
		if keep(from, to) {
			gaps = append(gaps, milliseconds(to.Sub(from)))
		}
	}
	return gaps
}

// steps are the milliseconds between deliveries, shared among the tokens of each.
func (t *Turn) steps(keep func(from, to time.Time) bool) []float64 {
	var steps []float64
	for i := 1; i < len(t.Deliveries); i++ {
		from, to := t.Deliveries[i-1].At, t.Deliveries[i]
		if keep(from, to.At) {
			steps = append(steps, milliseconds(to.At.Sub(from))/float64(to.Events))
		}
	}
	return steps
}

func always(_, _ time.Time) bool { return true }

// Rate is the tokens a second after the first; 0 where it cannot be told.
func (t *Turn) Rate() float64 {
	if !t.OK() || t.Completion < 2 || len(t.Deliveries) < 2 {
		return 0
	}
	first, last := t.Deliveries[0], t.Deliveries[len(t.Deliveries)-1]
	// The first delivery may hold several tokens: the time starts after them.
	return ratio(float64(t.Completion-first.Events), last.At.Sub(first.At).Seconds())
}
