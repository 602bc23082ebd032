package pool

import (
	"slices"
	"time"
)

// ask: somebody wants a model. It is granted or rejected by an effect.
func (p *policy) ask(now tick, name string, id askID, keep time.Duration) {
	p.tick(now)
	m := p.by[name]
	m.waiting = append(m.waiting, wanter{id, now, keep})
	p.asked[id] = m
}

// done: it is given back, or not wanted any more.
func (p *policy) done(now tick, id askID) {
	p.tick(now)
	m := p.asked[id]
	if m == nil {
		return
	}
	delete(p.asked, id)
	if m.users[id] {
		delete(m.users, id)
		m.lastUse = p.now
		if m.phase == ready {
			m.trouble.served(p.now)
		}
		return
	}
	m.waiting = slices.DeleteFunc(m.waiting, func(w wanter) bool { return w.id == id })
}

// loaded: a load ended well.
func (p *policy) loaded(now tick, name string, bytes int64, took time.Duration) {
	p.tick(now)
	m := p.by[name]
	m.phase, m.bytes, m.took = ready, bytes, int64(took)
	m.loadedAt, m.lastUse, m.keep = p.now, p.now, 0
	m.wanted, m.refusal, m.missing = false, nil, 0
	m.loads++
	m.remembered = false
	m.doomed = m.doomed || p.paused
	for _, x := range p.models {
		if x != m && x.phase == absent && !p.paused && meet(x.Together, m.Together) && !meet(x.Turns, m.Turns) {
			x.wanted = true
		}
	}
}

// refused: a load did not fit beside what else is loaded, so many bytes (0 = not
// known) were missing.
func (p *policy) refused(now tick, name string, missing int64, why error) {
	p.tick(now)
	m := p.by[name]
	m.phase, m.refusal, m.missing, m.doomed = absent, why, missing, false
}

// failed: a load failed for another reason. Those who waited are told.
func (p *policy) failed(now tick, name string, why error) {
	p.tick(now)
	m := p.by[name]
	m.phase, m.doomed = absent, false
	m.trouble.failed(p.now, why)
	p.giveUp(m, why)
}

// giveUp tells all who wait for a model why they do not get it.
func (p *policy) giveUp(m *model, why error) {
	for _, w := range m.waiting {
		delete(p.asked, w.id)
		p.do(effect{kind: reject, name: m.Name, id: w.id, err: why})
	}
	m.waiting, m.wanted, m.shrink, m.refusal, m.missing = nil, false, 0, nil, 0
}

// lost: a loaded model's process ended by itself.
func (p *policy) lost(now tick, name string, why error) {
	p.tick(now)
	if m := p.by[name]; m.phase == ready {
		m.phase = leaving // until what is left of it has been cleared away
		m.trouble.failed(p.now, why)
	}
}

// gone: an unload ended, or what was left of a lost process is cleared away.
func (p *policy) gone(now tick, name string) {
	p.tick(now)
	m := p.by[name]
	for _, x := range p.models {
		if x.refusal == nil {
			continue
		}
		if x.missing -= m.bytes; x.missing <= 0 {
			x.refusal, x.missing = nil, 0 // worth another attempt
		}
	}
	m.phase, m.bytes, m.draining, m.doomed, m.shrink = absent, 0, false, false, 0
	m.unloads++
}

// claim: somebody at the server's controls wants a model now, whatever was said
// before.
func (p *policy) claim(now tick, name string) {
	p.tick(now)
	p.paused = false
	p.by[name].doomed = false
}

// want: a model is to be loaded though nobody asks for it.
func (p *policy) want(now tick, name string) {
	p.tick(now)
	m := p.by[name]
	m.wanted, m.doomed = true, false
	if m.phase == ready {
		m.wanted, m.lastUse, m.keep = false, p.now, 0
	}
}

// unload: a model is to leave, with now at once, else when nobody uses it.
func (p *policy) unload(now tick, name string, atOnce bool) {
	p.tick(now)
	m := p.by[name]
	m.wanted = false
	switch {
	case m.phase == ready && atOnce:
		p.leave(m, true)
	case m.phase == ready || m.phase == loading:
		m.doomed = true
	}
}

// pause: all models are to leave, and none comes back before resume.
func (p *policy) pause(now tick, atOnce bool) {
	p.tick(now)
	p.paused = true
	for _, m := range p.models {
		if m.phase == ready || m.phase == loading {
			m.remembered = true
		}
		p.unload(now, m.Name, atOnce)
	}
}

// resume: what was loaded when the pool was paused is loaded again.
func (p *policy) resume(now tick) (names []string) {
	p.tick(now)
	p.paused = false
	for _, m := range p.models {
		if m.remembered {
			m.remembered = false
			p.want(now, m.Name)
			names = append(names, m.Name)
		}
	}
	return names
}
