package pool

import (
	"context"
	"time"

	"dure/inference"
)

// Status of a model that is or was loaded, or that failed to.
type Status struct {
	Name   string `json:"name"`
	State  string `json:"state"` // absent, loading, loaded, unloading
	Users  int    `json:"users"`
	Queued int    `json:"queued"` // that wait for the load
	Bytes  int64  `json:"bytes"`
	Pinned bool   `json:"pinned,omitempty"`
	// Idle is since when nobody used it, Expires in how long it is unloaded if nobody
	// does; 0 = never.
	Idle    time.Duration `json:"idle_ns"`
	Expires time.Duration `json:"expires_ns,omitempty"`
	// Stays is how long it does not give way to others yet.
	Stays time.Duration `json:"stays_ns,omitempty"`
	// Loads are those that ended well since the server started, Took the latest.
	Loads   int           `json:"loads"`
	Unloads int           `json:"unloads"`
	Took    time.Duration `json:"took_ns,omitempty"`
	// Shrunk is how often its load was made smaller to fit.
	Shrunk int `json:"shrunk,omitempty"`
	// Failures lately, the last one's reason, and in how long it is tried again.
	Failures int           `json:"failures,omitempty"`
	Why      string        `json:"why,omitempty"`
	Again    time.Duration `json:"again_ns,omitempty"`
	// Paused: it was unloaded with all others and comes back with them.
	Paused bool `json:"paused,omitempty"`
}

// Status of all models of which there is something to say, in the catalogue's order.
func (p *Pool) Status() []Status {
	all := make(chan []Status, 1)
	if !p.do(func(o *owner) { all <- o.policy.status(o.now()) }) {
		return nil
	}
	return <-all
}

func (p *policy) status(now tick) (all []Status) {
	for _, m := range p.models {
		if m.phase == absent && m.trouble.failures == 0 && len(m.waiting) == 0 && !m.remembered && m.loads == 0 {
			continue
		}
		s := Status{
			Name: m.Name, State: m.phase.String(), Users: len(m.users), Queued: len(m.waiting), Bytes: m.bytes, Pinned: m.Pinned,
			Loads: m.loads, Unloads: m.unloads, Took: time.Duration(m.took), Shrunk: m.shrink, Failures: m.trouble.failures, Paused: m.remembered,
		}
		if m.trouble.failures > 0 {
			s.Why, s.Again = plain(m.trouble.why), time.Duration(max(0, m.trouble.until(now)-now))
		}
		if m.phase == ready {
			s.Stays = time.Duration(max(0, m.stays(p.rules)-now))
		}
		if m.phase == ready && len(m.users) == 0 {
			s.Idle = time.Duration(now - m.lastUse)
			if at := m.expires(p.rules); at != never {
				s.Expires = time.Duration(max(0, at-now))
			}
		}
		all = append(all, s)
	}
	return all
}

// Loaded returns the runners that are alive now, by name.
func (p *Pool) Loaded() map[string]Runner {
	loaded := make(chan map[string]Runner, 1)
	if !p.do(func(o *owner) {
		m := map[string]Runner{}
		for name, r := range o.runners {
			if !isLost(r) {
				m[name] = r
			}
		}
		loaded <- m
	}) {
		return nil
	}
	return <-loaded
}

// Load loads a model, unless it is, and returns when it is ready. Then it stays for
// keep as if it had been used. It ends a pause: who loads one wants the memory for it.
func (p *Pool) Load(ctx context.Context, name string, keep time.Duration) error {
	if err := p.order(name, func(o *owner) { o.policy.claim(o.now(), name) }); err != nil {
		return err
	}
	a, err := p.ask(ctx, name, keep)
	if err == nil {
		p.giveBack(a.id)
	}
	return err
}

// Unload unloads a model when nobody uses it, with atOnce at once, and returns when
// it is gone. Later requests load it again.
func (p *Pool) Unload(ctx context.Context, name string, atOnce bool) error {
	var before int
	if err := p.order(name, func(o *owner) {
		before = o.policy.by[name].unloads
		o.policy.unload(o.now(), name, atOnce)
	}); err != nil {
		return err
	}
	return p.await(ctx, func(s Status) bool { return s.Name == name && s.Unloads == before })
}

// order runs f on the owner and returns when it has run; it fails where the model
// is not known.
func (p *Pool) order(name string, f func(*owner)) error {
	done := make(chan error, 1)
	if !p.do(func(o *owner) {
		if o.policy.by[name] == nil {
			done <- notFound(name, o.names())
			return
		}
		f(o)
		done <- nil
	}) {
		return errClosed
	}
	return <-done
}

// Pause unloads all models and refuses requests until Resume, or until Load loads
// one. It returns when they are gone.
func (p *Pool) Pause(ctx context.Context, atOnce bool) error {
	if !p.do(func(o *owner) { o.policy.pause(o.now(), atOnce) }) {
		return errClosed
	}
	return p.await(ctx, func(Status) bool { return true })
}

// Resume loads what Pause unloaded, and returns the names. It does not wait.
func (p *Pool) Resume() (names []string) {
	resumed := make(chan []string, 1)
	if !p.do(func(o *owner) { resumed <- o.policy.resume(o.now()) }) {
		return nil
	}
	return <-resumed
}

// awaitPeriod is how often it is looked whether models are gone.
const awaitPeriod = 20 * time.Millisecond

// await returns when no model that which names is loaded.
func (p *Pool) await(ctx context.Context, which func(Status) bool) error {
	tick := time.NewTicker(awaitPeriod)
	defer tick.Stop()
	for {
		loaded := false
		for _, s := range p.Status() {
			loaded = loaded || which(s) && s.State != absent.String()
		}
		if !loaded {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Open returns the named model, loading it first if need be. Callers that ask
// while it loads join the same load. The returned model survives the loss of
// its process: a request that had no answer yet is tried once more on a fresh
// one. It is not unloaded before release gives it back; then it stays for keep.
func (p *Pool) Open(ctx context.Context, name string, keep time.Duration) (m inference.Model, release func(), err error) {
	a, err := p.ask(ctx, name, keep)
	if err != nil {
		return nil, nil, err
	}
	h := &handle{pool: p, name: name, keep: keep, use: a, info: a.runner.Info(), embedding: embeddingOf(a.runner)}
	return h, h.release, nil
}
