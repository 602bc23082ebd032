// Package quiet knows the hours of the day in which a machine should be quiet, and what
// a model does less then: it computes with fewer threads, and serves only the more
// urgent requests.
//
// It is pure: the time comes from the caller, in the zone in which the hours are meant.
// Command dure reads the rule from flags, package llm keeps it.
package quiet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dure/inference"
)

// day has so many minutes.
const day = 24 * 60

// Hours of each day, in minutes since midnight; From is within, To is not. Hours that
// end before they begin go over midnight. The zero value has none.
type Hours struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Parse reads "22:00-07:00".
func Parse(text string) (Hours, error) {
	from, to, ok := strings.Cut(text, "-")
	var h Hours
	var err error
	if ok {
		if h.From, err = minute(from); err == nil {
			h.To, err = minute(to)
		}
	}
	switch {
	case !ok || err != nil:
		return Hours{}, fmt.Errorf("quiet hours %q: must be like 22:00-07:00", text)
	case h.From == h.To:
		return Hours{}, fmt.Errorf("quiet hours %q: they end when they begin; leave them out, or take 00:00-24:00 for the whole day", text)
	}
	return h, nil
}

// minute reads "22:00"; the end of the day may be written 24:00.
func minute(text string) (int, error) {
	if text == "24:00" {
		return day, nil
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err
}

// String is what Parse reads; empty for none.
func (h Hours) String() string {
	if h == (Hours{}) {
		return ""
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d", h.From/60, h.From%60, h.To/60, h.To%60)
}

// At reports whether a time is within, by its own clock on the wall.
func (h Hours) At(t time.Time) bool {
	now := t.Hour()*60 + t.Minute()
	switch {
	case h.From < h.To:
		return h.From <= now && now < h.To
	case h.From > h.To:
		return now >= h.From || now < h.To
	}
	return false
}

// End is when the hours that a time is within are over, by the clock on the wall. Where
// that clock is set, for summer or back, it is the next such time.
func (h Hours) End(t time.Time) time.Time {
	end := time.Date(t.Year(), t.Month(), t.Day(), h.To/60, h.To%60, 0, 0, t.Location())
	if !end.After(t) {
		end = time.Date(t.Year(), t.Month(), t.Day()+1, h.To/60, h.To%60, 0, 0, t.Location())
	}
	return end
}

// Rule is what is different in quiet hours. The zero value is nothing.
type Rule struct {
	Hours Hours `json:"hours"`
	// Threads that compute at most; 0 is as many as else.
	Threads int `json:"threads,omitempty"`
	// Least is the least urgent priority that is served; empty is all.
	Least inference.Priority `json:"least,omitempty"`
}

// Priorities from the most urgent on.
var Priorities = []inference.Priority{
	inference.PriorityInteractive, inference.PriorityPlanner, inference.PriorityMerge, inference.PriorityWorker, inference.PriorityBackground,
}

// Validate refuses rules that mean nothing.
func (r Rule) Validate() error {
	none := r.Hours == (Hours{})
	switch {
	case r.Threads < 0:
		return fmt.Errorf("%d threads in quiet hours: must not be negative", r.Threads)
	case r.Least != "" && !slices.Contains(Priorities, r.Least):
		return fmt.Errorf("priority %q in quiet hours: must be one of %v", r.Least, Priorities)
	case none && (r.Threads > 0 || r.Least != ""):
		return fmt.Errorf("it is said what to do in quiet hours, but not when they are")
	case !none && r.Threads == 0 && r.Least == "":
		return fmt.Errorf("quiet hours %v, but nothing is to be different then: say how many threads compute, or which priorities are served", r.Hours)
	}
	return nil
}

// ThreadsAt is how many of so many threads compute at a time.
func (r Rule) ThreadsAt(t time.Time, usual int) int {
	if r.Threads > 0 && r.Hours.At(t) {
		return min(usual, r.Threads)
	}
	return usual
}

// Refuses reports whether a request of a priority is not served at a time, and when it
// is again. The empty priority is the most urgent one.
func (r Rule) Refuses(t time.Time, p inference.Priority) (again time.Time, refused bool) {
	if r.Least == "" || !r.Hours.At(t) || slices.Index(Priorities, p) <= slices.Index(Priorities, r.Least) {
		return time.Time{}, false
	}
	return r.Hours.End(t), true
}
