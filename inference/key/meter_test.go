package key

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// admitted is what a model of the meter remembers of a request.
type admitted struct {
	at      time.Time
	hold    hold
	tokens  int64 // what it took, or as long as it runs what it may take
	running bool
}

// within sums what a gauge would count of requests in the window that ends now.
func within(all []admitted, g gauge, length time.Duration, now time.Time) (sum int64) {
	for _, a := range all {
		switch {
		case !a.at.After(now.Add(-length)):
		case g.tokens:
			sum += a.tokens
		default:
			sum++
		}
	}
	return sum
}

func (s scale) length() time.Duration { return s.slot * time.Duration(s.slots) }

func drawLimits(t *rapid.T) Limits {
	some := func(name string, most int64) int64 {
		return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, most)).Draw(t, name)
	}
	return Limits{some("rpm", 6), some("rpd", 20), some("tpm", 300), some("tpd", 1000), some("concurrency", 4)}
}

// pause is from nothing to more than a day.
func pause(t *rapid.T) time.Duration {
	return rapid.OneOf(
		rapid.Just(time.Duration(0)),
		rapid.Map(rapid.Int64Range(0, int64(2*time.Second)), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.Map(rapid.Int64Range(0, 130), func(n int64) time.Duration { return time.Duration(n) * time.Second }),
		rapid.Map(rapid.Int64Range(0, 150), func(n int64) time.Duration { return time.Duration(n) * 10 * time.Minute }),
	).Draw(t, "pause")
}

// Requests that take no more than they expect never pass a limit in any window;
// none is refused that there is room for, but for one slot; a refused one takes
// nothing; and at RetryAfter, no earlier, it is admitted.
func TestLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimits(t)
		m, now, all := &meter{}, start, []admitted(nil)
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) { now = now.Add(pause(t)) },
			"settle": func(t *rapid.T) {
				for i := range all {
					if a := &all[i]; a.running {
						a.tokens, a.running = rapid.Int64Range(0, a.tokens).Draw(t, "took"), false
						m.settle(a.hold, now, a.tokens)
						return
					}
				}
				t.Skip("none runs")
			},
			"admit": func(t *rapid.T) {
				expected := rapid.Int64Range(1, 350).Draw(t, "expected")
				before := *m
				before.live = m.live.clone()
				h, d := m.admit(l, now, expected)
				if d.OK {
					all = append(all, admitted{now, h, expected, true})
					checkBelow(t, l, all, now)
					return
				}
				checkRefused(t, l, all, now, expected, m.running, d)
				checkUntouched(t, before, *m, now)
				checkRetry(t, l, *m, now, expected, d)
			},
			"": func(t *rapid.T) {
				running := int64(0)
				for _, a := range all {
					if a.running {
						running++
					}
				}
				if running != m.running {
					t.Fatalf("%d run, the meter says %d", running, m.running)
				}
			},
		})
	})
}

func checkBelow(t *rapid.T, l Limits, all []admitted, now time.Time) {
	for _, g := range gauges {
		if n, most := within(all, g, g.scale.length(), now), g.of(l); most > 0 && n > most {
			t.Fatalf("%s: %d in a window that may have %d", g.limit, n, most)
		}
	}
}

// checkRefused looks for a limit that has no room, seen over a window that is
// longer by a slot.
func checkRefused(t *rapid.T, l Limits, all []admitted, now time.Time, expected, running int64, d Decision) {
	if d.Limit == Concurrency {
		if running < l.Concurrency {
			t.Fatalf("%d of %d run, and it is refused", running, l.Concurrency)
		}
		return
	}
	for _, g := range gauges {
		if g.limit != d.Limit {
			continue
		}
		need := int64(1)
		if g.tokens {
			need = expected
		}
		if most := g.of(l); d.Most != most || d.Never != (need > most) || !d.Never && within(all, g, g.scale.length()+g.scale.slot, now)+need <= most {
			t.Fatalf("%s: refused without a reason: %+v", g.limit, d)
		}
	}
}

func checkUntouched(t *rapid.T, before, after meter, now time.Time) {
	before.live.prune(now)
	after.live = after.live.clone() // to forget what is past works in place
	after.live.prune(now)
	if before.running != after.running || !reflect.DeepEqual(counts(before.live), counts(after.live)) || !reflect.DeepEqual(before.fresh, after.fresh) {
		t.Fatalf("a refused request changed\n%+v\nto\n%+v", before, after)
	}
}

// counts are the windows as plain pairs, without those of nothing.
func counts(a account) (all [len(gauges)][]mark) {
	for i := range a.windows {
		all[i] = a.windows[i].positive().marks
	}
	return all
}

func checkRetry(t *rapid.T, l Limits, m meter, now time.Time, expected int64, d Decision) {
	if d.Limit == Concurrency || d.Never {
		if d.RetryAfter != 0 {
			t.Fatalf("%+v", d)
		}
		return
	}
	try := func(wait time.Duration) Decision {
		again := meter{live: m.live.clone(), fresh: m.fresh.clone()} // what ran has ended
		_, d := again.admit(l, now.Add(wait), expected)
		return d
	}
	if early := try(d.RetryAfter - 1); early.OK {
		t.Fatalf("%+v, but there is room before that", d)
	}
	if then := try(d.RetryAfter); !then.OK {
		t.Fatalf("%+v, and then %+v", d, then)
	}
}

// What was counted survives the file, and a meter that continues from it decides
// the same.
func TestMeterThroughTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimits(t)
		m, now := &meter{}, start
		for range rapid.IntRange(0, 30).Draw(t, "requests") {
			now = now.Add(pause(t))
			h, d := m.admit(l, now, rapid.Int64Range(0, 300).Draw(t, "expected"))
			if d.OK {
				now = now.Add(pause(t))
				m.settle(h, now, rapid.Int64Range(0, 500).Draw(t, "took"))
				m.note(now, Counts{1, 2, 1, 3, 0})
			}
		}
		all := map[string]account{"id": m.live.clone()}
		trim(all, map[string]bool{"id": true}, now)
		data, err := json.Marshal(all["id"].form())
		if err != nil {
			t.Fatal(err)
		}
		var form accountForm
		if err := json.Unmarshal(data, &form); err != nil {
			t.Fatal(err)
		}
		copied := &meter{live: form.account()}
		now = now.Add(pause(t))
		expected := rapid.Int64Range(0, 350).Draw(t, "next")
		_, want := m.admit(l, now, expected)
		if _, got := copied.admit(l, now, expected); got != want {
			t.Fatalf("%+v, from the file %+v", want, got)
		}
		if copied.live.total != m.live.total || !copied.live.last.Equal(m.live.last) {
			t.Fatalf("%+v, from the file %+v", m.live, copied.live)
		}
	})
}

func TestDecisions(t *testing.T) {
	minuteEnd := start.Truncate(time.Second).Add(61 * time.Second).Sub(start)
	for _, tc := range []struct {
		name   string
		limits Limits
		before func(m *meter, l Limits)
		expect int64
		want   Decision
	}{
		{"no limits", Limits{}, nil, 1 << 60, Decision{OK: true}},
		{"first", Limits{1, 1, 1, 1, 1}, nil, 0, Decision{OK: true}},
		{"second in a minute", Limits{RequestsPerMinute: 1}, one, 0,
			Decision{Limit: RequestsPerMinute, Most: 1, RetryAfter: minuteEnd}},
		{"the longer wait counts", Limits{RequestsPerMinute: 1, RequestsPerDay: 1}, one, 0,
			Decision{Limit: RequestsPerDay, Most: 1, RetryAfter: 24*time.Hour + 10*time.Minute - start.Sub(start.Truncate(10*time.Minute))}},
		{"a rate outweighs concurrency, whose end is not known", Limits{RequestsPerMinute: 1, Concurrency: 1}, one, 0,
			Decision{Limit: RequestsPerMinute, Most: 1, RetryAfter: minuteEnd}},
		{"concurrency", Limits{Concurrency: 1}, one, 0, Decision{Limit: Concurrency, Most: 1}},
		{"concurrency, after the end", Limits{Concurrency: 1}, func(m *meter, l Limits) {
			h, _ := m.admit(l, start, 1)
			m.settle(h, start, 1)
		}, 0, Decision{OK: true}},
		{"larger than the limit", Limits{TokensPerMinute: 10}, nil, 11, Decision{Limit: TokensPerMinute, Most: 10, Never: true}},
		{"unknown size, full window", Limits{TokensPerMinute: 10}, func(m *meter, l Limits) { m.admit(l, start, 10) }, 0,
			Decision{Limit: TokensPerMinute, Most: 10, RetryAfter: minuteEnd}},
		{"more than expected", Limits{TokensPerMinute: 10}, func(m *meter, l Limits) {
			h, _ := m.admit(l, start, 1)
			m.settle(h, start, 25)
		}, 1, Decision{Limit: TokensPerMinute, Most: 10, RetryAfter: minuteEnd}},
		{"less than expected", Limits{TokensPerMinute: 10}, func(m *meter, l Limits) {
			h, _ := m.admit(l, start, 10)
			m.settle(h, start, 3)
		}, 7, Decision{OK: true}},
		{"less than expected, in the last moment that it counts", Limits{TokensPerMinute: 10}, func(m *meter, l Limits) {
			h, _ := m.admit(l, start.Add(-60*time.Second), 10)
			m.settle(h, start, 3)
		}, 7, Decision{OK: true}},
		{"less than expected, when it no longer counts", Limits{TokensPerMinute: 10}, func(m *meter, l Limits) {
			h, _ := m.admit(l, start.Add(-61*time.Second), 10)
			m.admit(l, start, 8)
			m.settle(h, start, 3)
		}, 3, Decision{Limit: TokensPerMinute, Most: 10, RetryAfter: minuteEnd}},
		{"the longer wait counts, whichever comes first", Limits{RequestsPerDay: 1, TokensPerMinute: 1}, one, 0,
			Decision{Limit: RequestsPerDay, Most: 1, RetryAfter: 24*time.Hour + 10*time.Minute - start.Sub(start.Truncate(10*time.Minute))}},
		{"a clock that was set back", Limits{RequestsPerMinute: 1}, func(m *meter, l Limits) { m.admit(l, start.Add(time.Hour), 1) }, 1,
			Decision{Limit: RequestsPerMinute, Most: 1, RetryAfter: minuteEnd}},
		{"negative figures", Limits{TokensPerMinute: 10}, func(m *meter, l Limits) {
			h, _ := m.admit(l, start, -5)
			m.settle(h, start, -1000)
		}, 10, Decision{OK: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &meter{}
			if tc.before != nil {
				tc.before(m, tc.limits)
			}
			if _, got := m.admit(tc.limits, start, tc.expect); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

func one(m *meter, l Limits) { m.admit(l, start, 1) }

// However long a key is used, what is kept of it stays small.
func TestMeterStaysSmall(t *testing.T) {
	m, now := &meter{}, start
	for range 5000 {
		h, _ := m.admit(Limits{}, now, 100)
		now = now.Add(17 * time.Second)
		m.settle(h, now, 250)
		m.note(now, Counts{Requests: 1})
	}
	for range 60 {
		now = now.Add(24 * time.Hour)
		m.note(now, Counts{Requests: 1})
	}
	m.live.prune(now)
	if len(m.live.days) > KeepDays {
		t.Errorf("%d days", len(m.live.days))
	}
	h, _ := m.admit(Limits{}, now, 1)
	m.settle(h, now, 1)
	for i, g := range gauges {
		if n := len(m.live.windows[i].marks); int64(n) > g.scale.slots+1 {
			t.Errorf("%s: %d slots", g.limit, n)
		}
	}
	if m.live.total.Requests != 5060 {
		t.Errorf("%+v", m.live.total)
	}
}
