package pool

import (
	"cmp"

	"dure/inference"
)

func errFull(most int) error {
	return inference.Errorf(inference.CodeLoadFailed, "%d models may be loaded at once and none of those that are may give way; unpin one, or allow more", most)
}

func (p *policy) leave(m *model, atOnce bool) {
	m.phase = leaving
	p.do(effect{kind: stop, name: m.Name, now: atOnce})
}

// settle draws the consequences.
func (p *policy) settle() {
	for _, m := range p.models {
		m.draining = false
		p.turnAway(m)
	}
	if m := p.turn(); m != nil {
		p.makeRoom(m)
	}
	for _, m := range p.models {
		if m.phase == ready {
			p.serve(m)
			p.expire(m)
		}
	}
}

// turnAway rejects who cannot get a model for now.
func (p *policy) turnAway(m *model) {
	switch {
	case len(m.waiting) == 0:
		return
	case p.paused:
		p.giveUp(m, errPaused)
		return
	case m.phase == ready:
		return
	}
	if err := m.trouble.open(p.now, m.Name); err != nil {
		p.giveUp(m, err)
	}
}

// errPaused is for those who ask meanwhile: they should not wait for a person.
var errPaused = inference.Errorf(inference.CodeLoadFailed,
	"the models are unloaded to leave the memory to other programs; `dure load` brings them back")

// turn is the model whose load is next: the one waited for longest, unless one
// loads already.
func (p *policy) turn() (first *model) {
	if p.paused {
		return nil
	}
	since := never
	for _, m := range p.models {
		switch {
		case m.phase == loading:
			return nil
		case m.phase != absent || m.trouble.until(p.now) > p.now:
		case len(m.waiting) > 0 && m.waiting[0].at < since:
			first, since = m, m.waiting[0].at
		case m.wanted && first == nil:
			first = m
		}
	}
	return first
}

// makeRoom starts a load, or unloads what is in its way.
func (p *policy) makeRoom(m *model) {
	victims, ok := p.victims(m)
	switch {
	case !ok && m.shrink < mostShrink:
		m.shrink++
		m.refusal, m.missing = nil, 0
	case !ok:
		p.giveUp(m, m.refusal)
		return
	}
	for _, v := range victims {
		if v.phase != ready || p.now < v.stays(p.rules) {
			continue
		}
		if v.draining = true; len(v.users) == 0 {
			p.leave(v, false)
		}
	}
	if len(victims) > 0 {
		return
	}
	m.phase, m.refusal, m.missing = loading, nil, 0
	p.do(effect{kind: start, name: m.Name, shrink: m.shrink})
}

// mostShrink is how often a load is made smaller before it is given up.
const mostShrink = 5

// stays is until when a model does not give way: as long as two loads take, so that
// models used by turns do not spend their time with loading, but at most a turn; a
// busy one for a turn.
func (m *model) stays(r Rules) tick {
	least := min(2*m.took, int64(r.Turn))
	if len(m.users) > 0 {
		least = int64(r.Turn)
	}
	return m.loadedAt + least
}

// serve grants a loaded model to those who wait.
func (p *policy) serve(m *model) {
	if m.draining || m.doomed {
		return
	}
	for _, w := range m.waiting {
		m.users[w.id] = true
		m.count(p.now)
		m.lastUse, m.keep = p.now, w.keep
		p.do(effect{kind: grant, name: m.Name, id: w.id})
	}
	m.waiting = nil
}

// expire unloads a model that nobody used for long enough.
func (p *policy) expire(m *model) {
	if m.phase == ready && len(m.users) == 0 && (m.doomed || p.now >= m.expires(p.rules)) {
		p.leave(m, false)
	}
}

// expires is when an idle model leaves by itself.
func (m *model) expires(r Rules) tick {
	keep := cmp.Or(m.keep, m.KeepAlive, r.KeepAlive)
	switch {
	case keep <= 0:
		return never
	case int64(keep) > never-m.lastUse:
		return never
	}
	return m.lastUse + int64(keep)
}

// wake is when time alone changes something, never if nothing does.
func (p *policy) wake() tick {
	at := never
	soon := func(t tick) {
		if t > p.now {
			at = min(at, t)
		}
	}
	for _, m := range p.models {
		switch {
		case m.phase == ready:
			soon(m.stays(p.rules))
			if len(m.users) == 0 {
				soon(m.expires(p.rules))
			}
		case len(m.waiting) > 0 || m.wanted:
			soon(m.trouble.until(p.now))
		}
	}
	return at
}
