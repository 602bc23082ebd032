package arbiter

import (
	"cmp"
	"slices"
)

// grant gives free devices to those that wait, the first in rank first. One that
// waits for a device in use lets nobody behind it have its others: else one on many
// devices would never find them all free.
func (p *policy) grant(now tick, out []effect) []effect {
	var granted []*member
	for {
		m := p.first(now)
		if m == nil {
			break
		}
		p.give(now, m)
		granted = append(granted, m)
	}
	for _, m := range granted {
		l := m.lease
		if l.keep = !p.wanted(m); !l.keep {
			l.over = now + int64(p.rules.Silent)
		}
		out = append(out, effect{kind: grant, to: m.id, serial: l.serial, keep: l.keep})
	}
	return out
}

// first is the first in rank that can have a turn, nil if nobody can.
func (p *policy) first(now tick) *member {
	var waiting []*member
	for _, m := range p.members {
		if m.ask != nil {
			waiting = append(waiting, m)
		}
	}
	slices.SortFunc(waiting, func(a, b *member) int { return p.compare(now, a, b) })
	var reserved []string
	for _, m := range waiting {
		if m.lease != nil { // it is on its way back
			continue
		}
		if p.free(m, reserved) {
			return m
		}
		reserved = append(reserved, m.devices...)
	}
	return nil
}

// compare ranks two that wait.
func (p *policy) compare(now tick, a, b *member) int {
	rank := p.rank(now, a.ask)
	if c := cmp.Compare(rank, p.rank(now, b.ask)); c != 0 {
		return c
	}
	switch rank {
	case rankPassed, rankOf(Voice):
		return cmp.Or(cmp.Compare(a.ask.due, b.ask.due), cmp.Compare(a.ask.since, b.ask.since), cmp.Compare(a.id, b.id))
	case rankAged:
		return cmp.Or(cmp.Compare(a.ask.since, b.ask.since), cmp.Compare(a.id, b.id))
	}
	c := a.ask.class
	return cmp.Or(cmp.Compare(a.used[c], b.used[c]), cmp.Compare(a.ask.since, b.ask.since), cmp.Compare(a.id, b.id))
}

// Ranks before those of the classes.
const (
	rankPassed = iota // a frame that has let an aged one pass
	rankAged
	ranks
)

func rankOf(c Class) int { return ranks + int(c) }

func (p *policy) rank(now tick, a *ask) int {
	switch {
	case a.passed:
		return rankPassed
	case a.class != Voice && now-a.since >= int64(p.rules.Age):
		return rankAged
	}
	return rankOf(a.class)
}

// free reports whether all devices of a member have room.
func (p *policy) free(m *member, reserved []string) bool {
	return !slices.ContainsFunc(m.devices, func(d string) bool {
		return slices.Contains(reserved, d) || p.holders(d) >= p.rules.Holders
	})
}

// holders is how many have a lease on a device, those that are stuck aside.
func (p *policy) holders(device string) (n int) {
	for _, m := range p.members {
		if m.lease != nil && !m.lease.stuck && slices.Contains(m.devices, device) {
			n++
		}
	}
	return n
}

// give makes an ask a lease.
func (p *policy) give(now tick, m *member) {
	a := m.ask
	if p.rank(now, a) == rankAged {
		for _, o := range p.members {
			if o.ask != nil && o.ask.class == Voice && meet(o, m) {
				o.ask.passed = true
			}
		}
	}
	for _, d := range m.devices {
		f := &p.floors[d][a.class]
		*f = max(*f, m.used[a.class])
	}
	p.stats.Waits[a.class].add(now - a.since)
	if a.class == Voice && now > a.due {
		p.stats.Late++
	}
	m.ask, m.lease = nil, &lease{serial: a.serial, begun: now, over: never}
}

// recall asks back what is kept and wanted.
func (p *policy) recall(now tick, out []effect) []effect {
	for _, m := range p.members {
		if l := m.lease; l != nil && l.keep && !l.recalled && p.wanted(m) {
			l.recalled, l.over = true, now+int64(p.rules.Silent)
			out = append(out, effect{kind: recall, to: m.id, serial: l.serial})
		}
	}
	return out
}

// wanted reports whether another one waits for a device that a member has.
func (p *policy) wanted(m *member) bool {
	return slices.ContainsFunc(p.members, func(o *member) bool { return o != m && o.ask != nil && meet(o, m) })
}

// meet reports whether two members have a device in common.
func meet(a, b *member) bool {
	return slices.ContainsFunc(a.devices, func(d string) bool { return slices.Contains(b.devices, d) })
}
