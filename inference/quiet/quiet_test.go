package quiet

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dure/inference"
)

func at(t *testing.T, clock string) time.Time {
	t.Helper()
	when, err := time.Parse("2006-01-02 15:04", "2026-03-14 "+clock)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestHours(t *testing.T) {
	for _, c := range []struct {
		hours, clock string
		quiet        bool
		end          string // hours until
	}{
		{"22:00-07:00", "21:59", false, ""}, {"22:00-07:00", "22:00", true, "9h0m0s"}, {"22:00-07:00", "23:59", true, "7h1m0s"},
		{"22:00-07:00", "00:00", true, "7h0m0s"}, {"22:00-07:00", "06:59", true, "1m0s"}, {"22:00-07:00", "07:00", false, ""},
		{"12:00-14:30", "13:00", true, "1h30m0s"}, {"12:00-14:30", "14:30", false, ""}, {"12:00-14:30", "11:59", false, ""},
		{"00:00-24:00", "00:00", true, "24h0m0s"}, {"00:00-24:00", "23:59", true, "1m0s"}, {"20:00-24:00", "23:00", true, "1h0m0s"},
	} {
		h, err := Parse(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		now := at(t, c.clock)
		if h.At(now) != c.quiet || c.quiet && h.End(now).Sub(now).String() != c.end || h.String() != c.hours {
			t.Errorf("%s at %s: %v, until %v, written %q", c.hours, c.clock, h.At(now), h.End(now).Sub(now), h)
		}
	}
	if (Hours{}).At(at(t, "00:00")) || (Hours{}).String() != "" {
		t.Error("no hours are some")
	}
	for _, bad := range []string{"", "22:00", "22-7", "22:00-25:00", "07:00-07:00", "22:00-07:00-08:00", "24:01-03:00", "a-b"} {
		if h, err := Parse(bad); err == nil {
			t.Errorf("%q is %v", bad, h)
		}
	}
}

// A night in which the clock is set still ends at the time that was said.
func TestQuietHoursOverTheChangeToSummer(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones on this machine")
	}
	h, err := Parse("22:00-07:00")
	if err != nil {
		t.Fatal(err)
	}
	before := time.Date(2026, 3, 28, 23, 0, 0, 0, zone) // the night has an hour less
	if end := h.End(before); end.Sub(before) != 7*time.Hour || end.Hour() != 7 {
		t.Errorf("ends %v, %v later", end, end.Sub(before))
	}
}

// The end is the first time behind a quiet one that is not quiet.
func TestEndIsTheFirstTimeThatIsNotQuiet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Hours{rapid.IntRange(0, day-1).Draw(t, "from"), rapid.IntRange(0, day).Draw(t, "to")}
		now := time.Date(2026, 5, 1, 0, rapid.IntRange(0, 3*day).Draw(t, "minute"), 0, 0, time.UTC)
		if !h.At(now) {
			return
		}
		end := h.End(now)
		whole := h.From%day == h.To%day
		if !end.After(now) || end.Sub(now) > 24*time.Hour || !whole && h.At(end) || !h.At(end.Add(-time.Minute)) {
			t.Fatalf("%v: quiet at %v until %v", h, now, end)
		}
	})
}

func TestRule(t *testing.T) {
	night := Hours{22 * 60, 7 * 60}
	r := Rule{Hours: night, Threads: 2, Least: inference.PriorityPlanner}
	quiet, day := at(t, "23:00"), at(t, "12:00")
	if r.ThreadsAt(quiet, 8) != 2 || r.ThreadsAt(quiet, 1) != 1 || r.ThreadsAt(day, 8) != 8 || (Rule{}).ThreadsAt(quiet, 8) != 8 {
		t.Error("threads")
	}
	for p, refused := range map[inference.Priority]bool{
		"": false, inference.PriorityInteractive: false, inference.PriorityPlanner: false, inference.PriorityMerge: true, inference.PriorityBackground: true,
	} {
		again, got := r.Refuses(quiet, p)
		if _, byDay := r.Refuses(day, p); got != refused || byDay || refused && again != at(t, "07:00").AddDate(0, 0, 1) {
			t.Errorf("%q: refused %v until %v, by day %v", p, got, again, byDay)
		}
	}
	for name, c := range map[string]struct {
		r  Rule
		ok bool
	}{
		"nothing": {Rule{}, true}, "all": {r, true}, "no hours": {Rule{Threads: 1}, false}, "nothing different": {Rule{Hours: night}, false},
		"negative": {Rule{Hours: night, Threads: -1}, false}, "unknown": {Rule{Hours: night, Least: "vip"}, false},
	} {
		if err := c.r.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
