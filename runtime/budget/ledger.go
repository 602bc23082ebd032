package budget

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"

	"dure/inference"
	"dure/runtime/event"
)

// Asker is asked for more when a cap stops a call.
type Asker interface {
	// Ask tells a person, and returns without waiting for an answer: the answer is
	// Ledger.Set. It is called once for each cap until then. An error is the call's.
	Ask(ctx context.Context, stops []Stop) error
}

// Ledger keeps the accounts of a team that runs. Open makes one.
type Ledger struct {
	log event.Log
	ask Asker

	// writing orders terms, so that they are applied as they lie in the log.
	writing sync.Mutex

	mu      sync.Mutex
	state   *State
	broken  int64
	waiting map[string]Waiting // by agent and number
	number  int
	asked   map[string]bool // caps that a person was asked about
	changed chan struct{}   // closed at each change
}

// Waiting is a call that is not made for now.
type Waiting struct {
	Call
	Stops []Stop `json:"stops"`
	// Asked says that a person has to decide; otherwise other calls have to end.
	Asked bool `json:"asked"`
}

// Open folds the log. What is recorded later by agents whose models are behind this
// ledger is counted when they answer.
func Open(ctx context.Context, log event.Log, ask Asker) (*Ledger, error) {
	s, err := Fold(ctx, log)
	if err != nil {
		return nil, err
	}
	return &Ledger{log: log, ask: ask, state: s, waiting: map[string]Waiting{}, asked: map[string]bool{}, changed: make(chan struct{})}, nil
}

// Set records terms and puts them in force; calls that wait are looked at again. Terms
// that are in force already are not recorded again.
func (l *Ledger) Set(ctx context.Context, t Terms) error {
	if err := t.Check(); err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if !reflect.DeepEqual(t, l.Report().Terms) {
		e, err := Events.Set.New(t)
		if err == nil {
			_, err = l.log.Append(ctx, Stream, event.Any, e)
		}
		if err != nil {
			return fmt.Errorf("budget: set: %w", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.state.Set(t); err != nil {
		return err
	}
	clear(l.asked)
	l.notify()
	return nil
}

// Report is what was used until now.
func (l *Ledger) Report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Report()
}

// Broken is how many calls since Open ended without their usage: an endpoint may charge
// for them, and no account has them.
func (l *Ledger) Broken() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Waiting are the calls that are not made for now, by agent.
func (l *Ledger) Waiting() []Waiting {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Waiting
	for _, w := range l.waiting {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Waiting) int { return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Role, b.Role)) })
	return all
}

// notify wakes all who wait. The caller holds mu.
func (l *Ledger) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Model is m for the agents of a role, asked only for what the caps allow. The agent is
// the request's (Caller.Agent).
func (l *Ledger) Model(m inference.Model, role string) inference.Model { return capped{m, l, role} }

type capped struct {
	inference.Model
	ledger *Ledger
	role   string
}

// Generate implements inference.Model.
func (c capped) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		hold, err := c.ledger.enter(ctx, req, c.role)
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		var usage *inference.Usage
		settled := false
		settle := func() {
			if !settled {
				settled = true
				c.ledger.leave(hold, usage)
			}
		}
		defer settle()
		for ev, err := range c.Model.Generate(ctx, req) {
			if err == nil && ev.Kind == inference.EventDone {
				if usage = ev.Usage; usage == nil {
					usage = &inference.Usage{}
				}
				settle() // who reads the end finds it in the accounts
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// enter waits until the call may be made, and holds room for it. Errors: ctx's and the
// asker's.
func (l *Ledger) enter(ctx context.Context, req *inference.Request, role string) (Hold, error) {
	prompt := promptOf(req)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	place := fmt.Sprint(req.Caller.Agent, " ", l.number)
	defer delete(l.waiting, place)
	for {
		if err := ctx.Err(); err != nil {
			return Hold{}, err
		}
		rate := l.state.Terms().Rates[role]
		call := Call{req.Caller.Agent, role, rate.estimate(prompt, answerOf(req, rate))}
		d := l.state.Allow(call)
		if d.Allowed {
			return l.state.Hold(call), nil
		}
		l.waiting[place] = Waiting{call, d.Stops, !d.Wait}
		changed := l.changed
		stops := l.fresh(d)
		l.mu.Unlock()
		err := l.pause(ctx, changed, stops)
		l.mu.Lock()
		if err != nil {
			return Hold{}, err
		}
	}
}

// fresh are the stops that a person was not asked about. The caller holds mu.
func (l *Ledger) fresh(d Decision) (stops []Stop) {
	if d.Wait {
		return nil
	}
	for _, s := range d.Stops {
		if key := s.Cap + " " + string(s.Unit); !l.asked[key] {
			l.asked[key] = true
			stops = append(stops, s)
		}
	}
	return stops
}

func (l *Ledger) pause(ctx context.Context, changed <-chan struct{}, stops []Stop) error {
	if len(stops) > 0 {
		if err := l.ask.Ask(ctx, stops); err != nil {
			l.forget(stops)
			return fmt.Errorf("budget: ask: %w", err)
		}
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
	return nil
}

// forget has the next call ask again.
func (l *Ledger) forget(stops []Stop) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range stops {
		delete(l.asked, s.Cap+" "+string(s.Unit))
	}
	l.notify()
}

// leave gives back what a call held, and counts its usage; nil is that it ended without.
func (l *Ledger) leave(h Hold, u *inference.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Release(h)
	if u == nil {
		l.broken++
	} else {
		l.state.Count(h.agent, h.role, *u)
	}
	l.notify()
}
