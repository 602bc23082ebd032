package world

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"

	"dure/runtime/event"
	"dure/runtime/vcs/land"
)

// LandingStream holds what the landing job did.
const LandingStream = "landing"

// Landing is the type of landing.done: one thing that the landing job did.
var Landing = event.MustRegister[land.Event](registry, "landing.done", 1)

// Record is what a landing job tells of itself (land.Options.Record), for the log. What
// cannot be written down is missing in counters only; it is logged.
func Record(ctx context.Context, log event.Log, logger *slog.Logger) func([]land.Event) {
	return func(done []land.Event) {
		var events []event.Event
		for _, d := range done {
			e, err := Landing.New(bounded(d))
			if err != nil {
				logger.Error("a landing is not in the log", "error", err)
				continue
			}
			e.Time = d.At
			events = append(events, e)
		}
		for len(events) > 0 {
			n := min(len(events), event.MaxEvents)
			if _, err := log.Append(ctx, LandingStream, event.Any, events[:n]...); err != nil {
				logger.Error("landings are not in the log", "landings", n, "error", err)
			}
			events = events[n:]
		}
	}
}

// bounded leaves out the lines of a conflict that has more than an event holds.
func bounded(e land.Event) land.Event {
	if b, err := json.Marshal(e); err != nil || len(b) <= event.MaxPayload || e.Conflict == nil {
		return e
	}
	c := *e.Conflict
	c.Files = append([]land.FileConflict(nil), c.Files[:min(len(c.Files), 100)]...)
	for i := range c.Files {
		c.Files[i].Hunks = nil
	}
	e.Conflict = &c
	return e
}

// Past are the landing job's events as the log has them. The first error ends it, and is
// kept in fail.
func Past(ctx context.Context, log event.Log, fail *error) iter.Seq[land.Event] {
	return func(yield func(land.Event) bool) {
		for e, err := range log.Read(ctx, LandingStream, 0) {
			var d land.Event
			if err == nil {
				d, err = Landing.Decode(e)
			}
			if err != nil {
				*fail = fmt.Errorf("past landings: %w", err)
				return
			}
			if !yield(d) {
				return
			}
		}
	}
}
