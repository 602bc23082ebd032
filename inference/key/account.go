package key

import (
	"maps"
	"slices"
	"time"
)

// KeepDays is of how many days usage is kept apart; older ones are in the total.
const KeepDays = 40

// Counts are what a key did in a time.
type Counts struct {
	Requests         int64 `json:"requests"` // admitted
	PromptTokens     int64 `json:"prompt_tokens"`
	CachedTokens     int64 `json:"cached_tokens"` // of the prompts
	CompletionTokens int64 `json:"completion_tokens"`
	Refused          int64 `json:"refused"` // requests
}

func (c Counts) plus(o Counts) Counts {
	return Counts{
		c.Requests + o.Requests, c.PromptTokens + o.PromptTokens, c.CachedTokens + o.CachedTokens,
		c.CompletionTokens + o.CompletionTokens, c.Refused + o.Refused,
	}
}

// account is all that is known of what a key did. Accounts can be added, in any
// order: that is how two servers write one file.
type account struct {
	name    string
	last    time.Time // of its latest request
	total   Counts
	days    map[string]Counts // by date, in the time zone of the server
	windows [len(gauges)]window
}

// dateOf is the day that usage of a time belongs to.
func dateOf(now time.Time) string { return now.Format(time.DateOnly) }

// note adds to the total and to the day.
func (a *account) note(now time.Time, c Counts) {
	a.total = a.total.plus(c)
	if a.days == nil {
		a.days = map[string]Counts{}
	}
	a.days[dateOf(now)] = a.days[dateOf(now)].plus(c)
	if now.After(a.last) {
		a.last = now
	}
}

// plus adds what another one counted.
func (a *account) plus(o account) {
	if o.name != "" {
		a.name = o.name
	}
	if o.last.After(a.last) {
		a.last = o.last
	}
	a.total = a.total.plus(o.total)
	for date, c := range o.days {
		if a.days == nil {
			a.days = map[string]Counts{}
		}
		a.days[date] = a.days[date].plus(c)
	}
	for i := range a.windows {
		a.windows[i].plus(o.windows[i])
	}
}

// prune forgets days and slots that are past.
func (a *account) prune(now time.Time) {
	dates := slices.Sorted(maps.Keys(a.days))
	for _, date := range dates[:max(0, len(dates)-KeepDays)] {
		delete(a.days, date)
	}
	for i, g := range gauges {
		a.windows[i].advance(g.scale, now)
	}
}

// clone shares nothing with a.
func (a account) clone() account {
	a.days = maps.Clone(a.days)
	for i := range a.windows {
		a.windows[i].marks = slices.Clone(a.windows[i].marks)
	}
	return a
}

// isZero reports whether nothing was counted.
func (a account) isZero() bool {
	if a.total != (Counts{}) {
		return false
	}
	return !slices.ContainsFunc(a.windows[:], func(w window) bool { return len(w.marks) > 0 })
}
