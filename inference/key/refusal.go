package key

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"dure/inference"
)

// Reason is why a request is refused.
type Reason string

// Reasons. The limits are [Limit]s.
const (
	ReasonMissing  Reason = "missing_key"
	ReasonUnknown  Reason = "unknown_key"
	ReasonDisabled Reason = "disabled_key"
	ReasonExpired  Reason = "expired_key"
	ReasonModel    Reason = "model_not_allowed"
	ReasonPriority Reason = "priority_not_allowed"
	ReasonTooLarge Reason = "request_above_limit" // it expects more tokens than Limit has
	ReasonLimit    Reason = "limit_reached"       // Limit says which one
)

// Refusal is a request that is turned away. Message is for whoever sent it: it
// holds no secret, and names the key only to its holder.
type Refusal struct {
	Reason  Reason
	Limit   Limit // with ReasonLimit and ReasonTooLarge
	Message string
	// RetryAfter is when it would be admitted; 0 where waiting does not help, or
	// with Concurrency, where nobody knows.
	RetryAfter time.Duration
}

func (r *Refusal) Error() string { return r.Message }

// Status is the HTTP status that fits.
func (r *Refusal) Status() int {
	switch r.Reason {
	case ReasonModel, ReasonPriority, ReasonTooLarge:
		return http.StatusForbidden
	case ReasonLimit:
		return http.StatusTooManyRequests
	}
	return http.StatusUnauthorized
}

func refused(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// inactive is the refusal of a key that does not work now; nil if it does.
func (k Key) inactive(now time.Time) *Refusal {
	switch k.State(now) {
	case "disabled":
		return refused(ReasonDisabled, "the key %q is disabled", k.Name)
	case "expired":
		return refused(ReasonExpired, "the key %q expired on %s", k.Name, k.Expires.Format(time.RFC3339))
	}
	return nil
}

// shownModels is how many patterns a refusal names.
const shownModels = 10

func (k Key) wrongModel(model string) *Refusal {
	may := strings.Join(k.Models[:min(len(k.Models), shownModels)], ", ")
	if more := len(k.Models) - shownModels; more > 0 {
		may += fmt.Sprintf(" and %d more", more)
	}
	return refused(ReasonModel, "the key %q may not use the model %.100q; it may use %s", k.Name, model, may)
}

func (k Key) wrongPriority(asked inference.Priority) *Refusal {
	return refused(ReasonPriority, "the key %q may ask for the priority %q at most, and the request asks for %.20q: ask for less, or leave the priority out",
		k.Name, k.Priority, asked)
}

// limitWords say what a limit counts.
var limitWords = map[Limit]string{
	RequestsPerMinute: "requests a minute", RequestsPerDay: "requests in 24 hours",
	TokensPerMinute: "tokens a minute", TokensPerDay: "tokens in 24 hours", Concurrency: "requests at once",
}

func (k Key) overLimit(d Decision, expected int64) *Refusal {
	what := fmt.Sprintf("%d %s", d.Most, limitWords[d.Limit])
	if d.Most == 1 {
		what = strings.Replace(what, "s ", " ", 1)
	}
	var r *Refusal
	switch {
	case d.Never:
		r = refused(ReasonTooLarge, "the key %q has %s, and the request alone may take %d: shorten the prompt, or ask for a shorter answer (max_tokens)", k.Name, what, expected)
	case d.Limit == Concurrency:
		r = refused(ReasonLimit, "the key %q has %s: try again when one has ended", k.Name, what)
	default:
		r = refused(ReasonLimit, "the key %q has %s, and has no room for this one: try again in %s", k.Name, what, roundUp(d.RetryAfter))
	}
	r.Limit, r.RetryAfter = d.Limit, d.RetryAfter
	return r
}

// roundUp is a time in whole seconds that is not too short.
func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
