package main

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/url"
	"sync"
	"time"

	"dure/inference"
	"dure/inference/remote"
	"dure/runtime/swarm"
)

// lookEvery is how often the model servers are looked at.
const lookEvery = 5 * time.Second

// watchedModel is a model behind an endpoint of which is counted what says how busy it is:
// requests under way and refused, tokens and the time that they took.
type watchedModel struct {
	inference.Model
	base string // the endpoint's address
	own  bool   // it may be asked for more than answers
	now  func() time.Time

	mu      sync.Mutex
	flying  int // requests that were made and have not ended
	started int // of those, whose answer has begun
	refused int
	hold    time.Duration
	tokens  int64
	busy    time.Duration // with at least one answer begun
	since   time.Time     // when the first of started began
}

func watch(m inference.Model, at remote.Endpoint) *watchedModel {
	return &watchedModel{Model: m, base: at.Base, own: at.Own, now: time.Now}
}

// Generate implements inference.Model.
func (m *watchedModel) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		begun := false
		m.count(func() { m.flying++ })
		defer m.count(func() {
			m.flying--
			if begun {
				m.ends()
			}
		})
		for e, err := range m.Model.Generate(ctx, req) {
			switch {
			case err != nil:
				m.count(func() { m.fails(err) })
			case !begun:
				begun = true
				m.count(m.begins)
			}
			if err == nil && e.Kind == inference.EventDone && e.Usage != nil {
				m.count(func() { m.tokens += int64(e.Usage.CompletionTokens) })
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (m *watchedModel) count(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *watchedModel) begins() {
	if m.started++; m.started == 1 {
		m.since = m.now()
	}
}

func (m *watchedModel) ends() {
	if m.started--; m.started == 0 {
		m.busy += m.now().Sub(m.since)
	}
}

// fails counts what a server refuses because it has no room.
func (m *watchedModel) fails(err error) {
	var failed *remote.Error
	busy := errors.Is(err, inference.ErrQueueFull) || errors.As(err, &failed) && failed.Kind == remote.Busy
	if !busy {
		return
	}
	m.refused++
	var e *inference.Error
	if errors.As(err, &e) {
		m.hold = max(m.hold, e.RetryAfter)
	}
}

// shift is what a model did in a while.
type shift struct {
	flying, started, refused int
	hold                     time.Duration
	tokens                   int64
	busy                     time.Duration
}

// look is what was counted since the last look.
func (m *watchedModel) look() (s shift) {
	m.count(func() {
		now := m.now()
		if m.started > 0 {
			m.busy += now.Sub(m.since)
			m.since = now
		}
		s = shift{m.flying, m.started, m.refused, m.hold, m.tokens, m.busy}
		m.refused, m.hold, m.tokens, m.busy = 0, 0, 0, 0
	})
	return s
}

// paced is the run: a *swarm.Coordinator.
type paced interface {
	Inspect(ctx context.Context, look func(*swarm.State)) error
	SetActive(ctx context.Context, active int, reason string) error
	Measure(ctx context.Context, rate float64) error
}

// pacer has a run follow its model servers.
type pacer struct {
	run    paced
	models []*watchedModel // one for each endpoint and role
	slots  func(ctx context.Context, base string) (slots, waiting int)
	pace   swarm.Pace
	tokens int64
	busy   time.Duration
}

// follow looks at the servers until ctx ends. A script has no server: nothing is looked at.
func (t *swarmTeam) follow(ctx context.Context, c *swarm.Coordinator) {
	p := &pacer{run: c, slots: slotsOf}
	for _, who := range t.models {
		if who.watched != nil {
			p.models = append(p.models, who.watched)
		}
	}
	if len(p.models) == 0 {
		return
	}
	for sleep(ctx, lookEvery) == nil {
		if err := p.look(ctx, time.Now()); err != nil && ctx.Err() == nil && !errors.Is(err, swarm.ErrNotRunning) {
			t.logger.Warn("the pace does not follow the model server", "error", err)
		}
	}
}

// look is one look at all servers: the pace is what the narrowest of them has room for.
func (p *pacer) look(ctx context.Context, now time.Time) error {
	var most, active int
	err := p.run.Inspect(ctx, func(s *swarm.State) { most, active = s.Limits().Active, s.Allowed() })
	if err != nil {
		return err
	}
	l := p.pressure(ctx)
	p.pace.Now = active
	next, why := p.pace.Look(l, most, now)
	p.pace = next
	if why != "" {
		err = p.run.SetActive(ctx, next.Now, why)
	}
	return errors.Join(err, p.measure(ctx))
}

// pressure adds up what is known of the servers.
func (p *pacer) pressure(ctx context.Context) (l swarm.Pressure) {
	known := map[string]bool{}
	for _, m := range p.models {
		s := m.look()
		p.tokens, p.busy = p.tokens+s.tokens, p.busy+s.busy
		l.Refused, l.Hold = l.Refused+s.refused, max(l.Hold, s.hold)
		if !m.own || known[m.base] {
			continue
		}
		known[m.base] = true
		slots, waiting := p.slots(ctx, m.base)
		l.Slots, l.Waiting = l.Slots+slots, l.Waiting+waiting
	}
	for base := range known {
		if l.Slots == 0 { // no server of ours says what it has
			for _, m := range p.models {
				if m.base == base {
					m.count(func() { l.Waiting += m.flying - m.started })
				}
			}
		}
	}
	return l
}

// leastBusy is how long models must have answered for a rate that says something.
const leastBusy = 20 * time.Second

// measure tells the run how fast the models write, all that answer at once together.
func (p *pacer) measure(ctx context.Context) error {
	if p.busy < leastBusy {
		return nil
	}
	rate := float64(p.tokens) / p.busy.Seconds()
	p.tokens, p.busy = 0, 0
	return p.run.Measure(ctx, rate)
}

// slotsOf asks a server on this machine how many requests it computes at once, and how
// many wait. One that is no dure serve, or does not say it to us, tells nothing: 0. Others
// are not asked: the key for our own server is nobody else's.
func slotsOf(ctx context.Context, base string) (slots, waiting int) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return 0, 0
	}
	models, err := loadedModels(ctx, u.Scheme+"://"+u.Host)
	if err != nil {
		return 0, 0
	}
	for _, m := range models {
		slots += m.Sequences
		waiting += int(m.Requests["waiting"])
	}
	return slots, waiting
}
