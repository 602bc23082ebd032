package land

import (
	"errors"
	"fmt"
	"time"
)

// wait keeps a landing back that has to wait for its turn or for a split.
func (l *Lander) wait(now time.Time, w *work) bool {
	paths := w.paths()
	if err := l.opt.Gate.Allow(w.ctx, w.Agent, paths); err != nil {
		if !w.Wait {
			w.answer <- answer{err: err}
			return true
		}
		l.held = append(l.held, w)
		return true
	}
	if _, wait := l.turns.Ask(now, w.claim, paths); wait {
		l.totals.Waited++
		l.held = append(l.held, w)
		return true
	}
	return false
}

// settles checks the claim to settle a conflict.
func (l *Lander) settles(w *work) error {
	if w.Resolves == "" {
		return nil
	}
	c, ok := l.open[w.Resolves]
	if !ok {
		return fmt.Errorf("conflict %q: %w", w.Resolves, ErrUnknown)
	}
	if !c.Neutral(w.Agent) {
		return fmt.Errorf("conflict %q: %w", w.Resolves, ErrPartial)
	}
	w.claim, w.root = "conflict "+c.Root, c.Root
	return nil
}

// outcome turns what a landing came to into an event, and changes turns by it.
func (l *Lander) outcome(now time.Time, o outcome) (Event, bool) {
	if o.landed != nil {
		l.past.add(o.landed.Commit, o.w.descent.news, o.w.descent.seen)
		l.turns.Landed(now, o.w.claim, o.w.paths())
		l.totals.Landed[o.landed.Tier]++
		return Event{At: now, Landed: o.landed}, true
	}
	var conflict *ConflictError
	if errors.As(o.err, &conflict) {
		conflict.RetryAfter = l.turns.Lost(now, o.w.claim, conflict.Conflict.paths())
		l.totals.Conflicts++
		return Event{At: now, Conflict: conflict.Conflict}, true
	}
	return Event{}, false
}

// happened is for events that are not landings.
func (l *Lander) happened(e Event) {
	e.At = l.opt.Clock()
	l.record([]Event{e})
}

// record counts events, closes what is found to be in the way, and passes them on.
func (l *Lander) record(events []Event) {
	if len(events) == 0 {
		return
	}
	for i := 0; i < len(events); i++ {
		for _, f := range l.apply(events[i]) {
			if b := l.opt.Found(f); b != nil {
				events = append(events, Event{At: events[i].At, Block: b})
			}
		}
	}
	l.opt.Gate.set(l.hot.Blocked())
	l.opt.Record(events)
}

// apply folds an event into all that is made of events.
func (l *Lander) apply(e Event) []Finding {
	l.breaker.Apply(e)
	if e.Conflict != nil {
		l.opened(e.Conflict)
	}
	if e.Landed != nil {
		if _, ok := l.open[e.Landed.Resolves]; ok {
			l.totals.Resolved++
			delete(l.open, e.Landed.Resolves)
		}
		if s := e.Landed.Split; s != nil {
			at, _ := l.past.find(e.Landed.Commit)
			l.splits[s.Path] = splitPlace{*s, at.number}
		}
	}
	return l.hot.Apply(e)
}

// mostOpen bounds the conflicts that can be settled by name. Agents give up more
// of them than they settle, and begin again at main.
const mostOpen = 10_000

func (l *Lander) opened(c *Conflict) {
	if _, again := l.open[c.ID]; !again {
		l.order = append(l.order, c.ID)
	}
	l.open[c.ID] = c
	if len(l.order) > mostOpen {
		delete(l.open, l.order[0])
		l.order = l.order[1:]
	}
}
