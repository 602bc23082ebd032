package pool

import (
	"cmp"
	"math"
	"slices"
)

// halfLife is how fast past requests stop counting for a model's value.
const halfLife = 10 * 60 * float64(1e9)

// count a request.
func (m *model) count(now tick) { m.uses = m.recent(now) + 1 }

// recent is how many requests there were, older ones counting less.
func (m *model) recent(now tick) float64 {
	return m.uses * math.Exp2(-float64(now-m.lastUse)/halfLife)
}

// value is the time that it would take to load a model again, times how much it is
// asked for, for its bytes: what goes first is worth least.
func (m *model) value(now tick) float64 {
	return float64(max(m.took, 1)) * (0.01 + m.recent(now)) / float64(max(m.bytes, 1))
}

// victims are the models that must leave before m can be loaded, and whether there
// are enough of them. Those that are leaving already count.
func (p *policy) victims(m *model) (victims []*model, ok bool) {
	var rest []*model // that may give way, and need not
	present := 0
	for _, v := range p.models {
		if v == m || v.phase == absent {
			continue
		}
		present++
		switch {
		case v.phase == leaving || meet(v.Turns, m.Turns):
			victims = append(victims, v)
		case v.phase == ready && !v.Pinned && !meet(v.Together, m.Together):
			rest = append(rest, v)
		}
	}
	p.sortByValue(rest)
	if most := p.rules.Most; most > 0 {
		over := present - len(victims) + 1 - most
		if over > len(rest) { // whatever is tried
			m.refusal, m.shrink = errFull(most), mostShrink
			return victims, false
		}
		victims = append(victims, rest[:max(over, 0)]...)
		rest = rest[max(over, 0):]
	}
	if m.refusal == nil {
		return victims, true
	}
	return p.enough(m, victims, rest)
}

// enough adds those of rest that free the bytes which were missing; where it is not
// known how many were, or the first are too small, one at least.
func (p *policy) enough(m *model, victims, rest []*model) ([]*model, bool) {
	missing := m.missing
	for _, v := range victims {
		missing -= v.bytes
	}
	chosen := 0
	for chosen < len(rest) && (missing > 0 || chosen == 0 && len(victims) == 0) {
		missing -= rest[chosen].bytes
		chosen++
	}
	picked := rest[:chosen]
	// The last may free so much that earlier ones can stay.
	for i := 0; i < len(picked)-1; {
		if missing+picked[i].bytes > 0 {
			i++
			continue
		}
		missing += picked[i].bytes
		picked = slices.Delete(slices.Clone(picked), i, i+1)
	}
	victims = append(victims, picked...)
	return victims, len(victims) > 0
}

// sortByValue puts first who gives way first: those nobody uses, then those worth
// least.
func (p *policy) sortByValue(models []*model) {
	slices.SortStableFunc(models, func(a, b *model) int {
		return cmp.Or(cmp.Compare(min(len(a.users), 1), min(len(b.users), 1)), cmp.Compare(a.value(p.now), b.value(p.now)))
	})
}

// meet reports whether two models have a group in common.
func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(g string) bool { return slices.Contains(b, g) })
}
