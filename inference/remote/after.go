package remote

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxAfter is more than any limit of an endpoint lasts; a header that says more is
// not believed.
const maxAfter = 24 * time.Hour

// after is how long an answer's headers ask to wait; 0 where they say nothing. The
// plain headers are believed first. Without them, of the limits of Anthropic and OpenAI
// that are used up the one that is filled last counts.
func after(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	if text := h.Get("Retry-After"); text != "" {
		if s, err := strconv.ParseFloat(text, 64); err == nil {
			return seconds(s)
		}
		if at, err := http.ParseTime(text); err == nil {
			return within(at.Sub(now))
		}
	}
	var longest time.Duration
	for _, l := range limitHeaders {
		if h.Get(l.remaining) == "0" {
			longest = max(longest, within(l.parse(h.Get(l.reset), now)))
		}
	}
	return longest
}

// within is d where it can be meant.
func within(d time.Duration) time.Duration { return min(max(d, 0), maxAfter) }

// seconds is a number of them where it can be meant.
func seconds(s float64) time.Duration {
	if s >= maxAfter.Seconds() {
		return maxAfter
	}
	return within(time.Duration(s * float64(time.Second)))
}

// limitHeader is how an API tells what is left of a limit, and when it is full again.
type limitHeader struct {
	remaining, reset string
	parse            func(string, time.Time) time.Duration
}

var limitHeaders = func() (all []limitHeader) {
	for _, what := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		prefix := "anthropic-ratelimit-" + what
		all = append(all, limitHeader{prefix + "-remaining", prefix + "-reset", untilTime})
	}
	for _, what := range []string{"requests", "tokens"} {
		all = append(all, limitHeader{"x-ratelimit-remaining-" + what, "x-ratelimit-reset-" + what, untilSpan})
	}
	return all
}()

// untilTime reads a moment, 2026-11-30T17:00:00Z.
func untilTime(text string, now time.Time) time.Duration {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return at.Sub(now)
}

// untilSpan reads a span of time, 6m0s, or seconds.
func untilSpan(text string, _ time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return seconds(s)
}
