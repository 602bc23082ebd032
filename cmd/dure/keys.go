package main

import (
	"errors"
	"net/http"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/key"
)

// keyed are the keys as the HTTP surfaces want to see them.
type keyed struct{ *key.Ring }

// Identify implements front.Keys.
func (r keyed) Identify(secret string) (front.Holder, error) {
	k, err := r.Ring.Identify(secret)
	if err != nil {
		return nil, keyFailure(err)
	}
	return holder{r.Ring, k}, nil
}

// holder is a key of a ring.
type holder struct {
	ring *key.Ring
	key  key.Key
}

// Name implements front.Holder.
func (h holder) Name() string { return h.key.Name }

// Admin implements front.Holder.
func (h holder) Admin() bool { return h.key.Admin }

// Allows implements front.Holder.
func (h holder) Allows(model string) bool { return h.key.Allows(model) }

// Admit implements front.Holder.
func (h holder) Admit(model string, p inference.Priority, tokens int64) (front.Visit, error) {
	visit, err := h.ring.Admit(h.key, key.Ask{Model: model, Priority: p, Tokens: tokens})
	if err != nil {
		return nil, keyFailure(err)
	}
	return visit, nil
}

// longWait is more than the stock clients wait by themselves: told a longer time they
// ask again far too early.
const longWait = time.Minute

// keyFailure is a refusal as a client gets to know it.
func keyFailure(err error) error {
	var no *key.Refusal
	if !errors.As(err, &no) {
		return err
	}
	code := inference.Code(no.Reason)
	if no.Reason == key.ReasonMissing || no.Reason == key.ReasonUnknown {
		code = front.CodeKey
	}
	f := front.Refuse(no.Status(), code, "%s", no.Message)
	switch no.Status() {
	case http.StatusUnauthorized:
		f.Header("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		f.Header("Retry-After", front.RetryAfter(no.RetryAfter))
		if no.RetryAfter > longWait {
			f.Header("X-Should-Retry", "false")
		}
	}
	return f
}
