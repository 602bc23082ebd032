package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dure/inference"
)

// script answers each request with the next of its handlers, the last one for ever.
func script(handlers ...http.HandlerFunc) (h http.HandlerFunc, asked *int) {
	asked = new(int)
	return func(w http.ResponseWriter, r *http.Request) {
		h := handlers[min(*asked, len(handlers)-1)]
		*asked++
		h(w, r)
	}, asked
}

func TestPatient(t *testing.T) {
	for _, a := range apis {
		busy := status(429, `{"error":{"message":"slow down"}}`, "Retry-After", "3")
		ok := a.writes(a.begin, a.whole)
		for _, tc := range []struct {
			name  string
			h     []http.HandlerFunc
			asked int
			fails Kind
			waits []time.Duration
		}{
			{"at once", []http.HandlerFunc{ok}, 1, "", nil},
			{"busy, then broken, then well", []http.HandlerFunc{busy, status(500, "{}"), ok}, 3, "", []time.Duration{3*time.Second + 250*time.Millisecond, 1500 * time.Millisecond}},
			{"too busy within the stream", []http.HandlerFunc{a.writes(a.failed), ok}, 2, "", []time.Duration{750 * time.Millisecond}},
			{"broken for ever", []http.HandlerFunc{status(500, "{}")}, 4, Failed, []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond, 1500 * time.Millisecond}},
			{"asks for more patience than there is", []http.HandlerFunc{status(429, "{}", "Retry-After", "60"), ok}, 1, Busy, nil},
			{"refused", []http.HandlerFunc{status(400, "{}"), ok}, 1, Refused, nil},
			{"garbage", []http.HandlerFunc{a.writes("x\n"), ok}, 1, Garbled, nil},
			{"cut in an answer", []http.HandlerFunc{a.writes(a.begin), ok}, 1, Cut, nil},
		} {
			t.Run(a.name+"/"+tc.name, func(t *testing.T) {
				h, asked := script(tc.h...)
				base, client := faulty(t, h)
				var waits, told []time.Duration
				m := Patient(a.make(Endpoint{Base: base, MaxTokens: 9}, client), Patience{
					Attempts: 4, First: time.Second, Longest: 2 * time.Second, Random: func() float64 { return 0.5 },
					Wait: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
					Told: func(r Retry) { told = append(told, r.Wait) },
				})
				if tc.asked == 3 {
					p := m.(patient)
					p.Longest = 4 * time.Second
					m = p
				}
				events, err := answered(t.Context(), m)
				var e *Error
				if errors.As(err, &e); (tc.fails == "") != (err == nil) || err != nil && e.Kind != tc.fails {
					t.Fatalf("%v, want %s", err, tc.fails)
				}
				if *asked != tc.asked || !slices.Equal(waits, tc.waits) || !slices.Equal(told, tc.waits) {
					t.Errorf("asked %d times, waited %v, told %v; want %d, %v", *asked, waits, told, tc.asked, tc.waits)
				}
				started := 0
				for _, ev := range events {
					if ev.Kind == inference.EventStarted {
						started++
					}
				}
				if started > 1 || err == nil && started != 1 {
					t.Errorf("started %d times", started)
				}
			})
		}
	}
}

func TestPatientIsCancelled(t *testing.T) {
	h, asked := script(status(500, "{}"))
	base, client := faulty(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	m := Patient(New(base, "", "m", client), Patience{First: time.Hour, Longest: time.Hour, Told: func(Retry) { cancel() }})
	if _, err := answered(ctx, m); !errors.Is(err, context.Canceled) || *asked != 1 {
		t.Errorf("%v after %d requests", err, *asked)
	}
}

// Waits are never shorter than what was asked for, never much longer than the longest,
// and come to an end.
func TestDelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.Float64Range(0, 0.999).Draw(t, "random")
		p := Patience{
			Attempts: rapid.IntRange(1, 100).Draw(t, "attempts"), First: time.Duration(rapid.Int64Range(1, 1<<62).Draw(t, "first")),
			Longest: time.Duration(rapid.Int64Range(1, 1<<60).Draw(t, "longest")), Random: func() float64 { return random },
		}
		asked := time.Duration(rapid.Int64Range(0, 1<<61).Draw(t, "asked"))
		n := rapid.IntRange(1, 120).Draw(t, "n")
		d, again := p.delay(n, &Error{Cause: &inference.Error{RetryAfter: asked}})
		if again != (n < p.Attempts && asked <= p.Longest) {
			t.Fatalf("again: %v", again)
		}
		if again && (d < asked || d > 2*p.Longest || d < 0) {
			t.Fatalf("waits %v of %v, asked for %v", d, p.Longest, asked)
		}
	})
}

func TestAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		headers string
		want    time.Duration
	}{
		{"", 0},
		{"Retry-After: 7", 7 * time.Second},
		{"Retry-After: 0.5", 500 * time.Millisecond},
		{"Retry-After: -3", 0},
		{"Retry-After: soon", 0},
		{"Retry-After: 1e300", maxAfter},
		{"Retry-After: NaN", 0},
		{"Retry-After: Mon, 30 Nov 2026 12:00:09 GMT", 9 * time.Second},
		{"Retry-After: Mon, 30 Nov 2026 11:00:09 GMT", 0},
		{"Retry-After-Ms: 250\nRetry-After: 1", 250 * time.Millisecond},
		{"anthropic-ratelimit-requests-remaining: 0\nanthropic-ratelimit-requests-reset: 2026-11-30T12:00:20Z", 20 * time.Second},
		{"anthropic-ratelimit-requests-remaining: 5\nanthropic-ratelimit-requests-reset: 2026-11-30T12:00:20Z", 0},
		{"anthropic-ratelimit-input-tokens-remaining: 0\nanthropic-ratelimit-input-tokens-reset: 2026-11-30T12:01:00Z\nanthropic-ratelimit-requests-remaining: 0\nanthropic-ratelimit-requests-reset: 2026-11-30T12:00:20Z", time.Minute},
		{"anthropic-ratelimit-tokens-remaining: 0\nanthropic-ratelimit-tokens-reset: 2026-11-30T12:01:00Z\nRetry-After: 2", 2 * time.Second},
		{"x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 6m0s", 6 * time.Minute},
		{"x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 20ms", 20 * time.Millisecond},
		{"x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 1.5", 1500 * time.Millisecond},
		{"x-ratelimit-remaining-requests: 9\nx-ratelimit-reset-requests: 8s", 0},
	} {
		h := http.Header{}
		for _, line := range strings.Split(tc.headers, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				h.Set(name, value)
			}
		}
		if got := after(h, now); got != tc.want {
			t.Errorf("%q: %v, want %v", tc.headers, got, tc.want)
		}
	}
}

// Whatever a server sends, an answer ends in one event or in an error, and nothing is
// finished that was not.
func FuzzAnswer(f *testing.F) {
	for _, a := range apis {
		f.Add([]byte(a.ping + a.begin + a.whole))
		f.Add([]byte(a.begin + a.failed))
		f.Add([]byte(thoughtful))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, a := range apis {
			m := a.make(Endpoint{Base: "http://fuzz.invalid/v1", MaxTokens: 9, Limits: Limits{Line: 4096, Body: 1 << 16}}, &http.Client{Transport: canned(body)})
			events, err := answered(t.Context(), m)
			for i, ev := range events {
				if (ev.Kind == inference.EventDone) != (err == nil && i == len(events)-1) || ev.Kind == inference.EventDone && (ev.Finish == "" || ev.Usage == nil) {
					t.Fatalf("%s: event %d of %d is %+v, %v", a.name, i, len(events), ev, err)
				}
			}
			if err == nil && len(events) < 2 {
				t.Fatalf("%s: ends after %d events", a.name, len(events))
			}
		}
	})
}

// canned answers any request with a stream.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}
