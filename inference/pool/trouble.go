package pool

import (
	"errors"
	"time"

	"dure/inference"
)

// trouble is what a model's process did wrong lately.
type trouble struct {
	failures int  // until it worked for goodWhile
	last     tick // the latest
	why      error
}

const (
	// firstPause is between the second failure and the next attempt; it doubles with
	// each further one, up to longestPause. After the first there is none.
	firstPause, longestPause = tick(time.Second), tick(time.Minute)
	// breakAt failures lately open the breaker: for brokenFor, requests are refused
	// at once. Then one attempt is made.
	breakAt   = 5
	brokenFor = tick(2 * time.Minute)
	// goodWhile is how long nothing must have failed before what did is forgotten. A
	// process that ends with every other request is as broken as one that never starts.
	goodWhile = tick(5 * time.Minute)
)

// served: it answered somebody.
func (t *trouble) served(now tick) {
	if now-t.last >= goodWhile {
		*t = trouble{}
	}
}

func (t *trouble) failed(now tick, why error) {
	t.failures++
	t.last, t.why = now, why
}

// until is when the next attempt may be made.
func (t *trouble) until(now tick) tick {
	switch {
	case t.failures < 2:
		return now
	case t.failures >= breakAt:
		return t.last + brokenFor
	}
	return t.last + min(firstPause<<(t.failures-2), longestPause)
}

// open is the error for those who ask while the breaker is open.
func (t *trouble) open(now tick, name string) error {
	at := t.until(now)
	if t.failures < breakAt || now >= at {
		return nil
	}
	err := inference.Errorf(inference.CodeLoadFailed, "model %s failed %d times lately and is not started for the next %s; the last time: %v",
		name, t.failures, time.Duration(at-now).Round(time.Second), plain(t.why))
	err.RetryAfter = time.Duration(at - now)
	return err
}

// plain is an error's text without its code.
func plain(err error) string {
	var e *inference.Error
	switch {
	case err == nil:
		return "unknown"
	case errors.As(err, &e):
		return e.Message
	}
	return err.Error()
}
