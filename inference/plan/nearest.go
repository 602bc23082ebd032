package plan

import (
	"reflect"
	"slices"
)

// mostAlternatives are named in a refusal.
const mostAlternatives = 3

// nearest gives way in one point after the other and keeps what then fits. All
// points together come last, where nothing else does.
func (p *planner) nearest() []Alternative {
	w := &p.Wish
	found := []Alternative{}
	try := func(partial bool, change func(*Wish) bool) {
		q := *p
		q.Wish.Beside = slices.Clone(w.Beside)
		if q.partial = partial; len(found) == mostAlternatives || !change(&q.Wish) || q.checkCache() != nil {
			return
		}
		if q.Wish.Context == 0 {
			q.most = w.Context
		}
		plan, ok := q.best()
		if ok && !slices.ContainsFunc(found, func(a Alternative) bool { return same(a.Plan, plan) }) {
			found = append(found, Alternative{p.change(&q.Wish, &plan), plan})
		}
	}
	try(false, func(q *Wish) bool { q.Cache = nil; return w.Cache != nil })
	try(false, func(q *Wish) bool { q.Active = 0; return w.Active > 1 })
	try(false, (*Wish).shorten)
	if len(found) == 0 {
		try(false, func(q *Wish) bool { q.Cache = nil; return q.shorten() })
	}
	try(false, func(q *Wish) bool { q.MTP, q.Cache = 0, nil; return w.MTP > 0 })
	try(false, func(q *Wish) bool { q.Draft, q.Rollback = nil, 0; return w.Draft != nil || w.Rollback > 0 })
	try(false, turns)
	try(false, p.toHost)
	if len(found) == 0 {
		try(false, func(q *Wish) bool { q.Active, q.Cache = 1, nil; return q.shorten() || w.Active > 1 })
	}
	try(true, p.someLayers)
	for _, partial := range []bool{false, true} {
		for _, micro := range []int{w.MicroBatch, 64, 16} {
			for _, beside := range []func(*Wish) bool{func(*Wish) bool { return true }, turns, p.toHost} {
				if len(found) > 0 {
					return found
				}
				try(partial, func(q *Wish) bool {
					p.giveAll(q)
					q.MicroBatch = min(w.MicroBatch, micro)
					if partial && !p.someLayers(q) && p.host.TotalBytes == 0 {
						return false
					}
					return beside(q)
				})
			}
		}
	}
	return found
}

// giveAll gives way in everything that a plan can do without.
func (p *planner) giveAll(w *Wish) {
	w.Active, w.MTP, w.Rollback, w.Draft, w.Outputs, w.Cache, w.NoFlash = 1, 0, 0, nil, 0, nil, false
	w.ShortWindow = w.ShortWindow || p.Model.Geometry.Window() > 0
	w.shorten()
}

// shorten frees the context, unless less was asked for than is offered.
func (w *Wish) shorten() bool {
	if w.Context <= minContext {
		return false
	}
	w.Context = 0
	return true
}

// someLayers leaves it to the choice how many layers go to the GPUs. Where the
// size of the machine's memory is not known, it was not tried before.
func (p *planner) someLayers(w *Wish) bool {
	w.Layers = LayersAuto
	return len(p.gpus) > 0 && (p.Wish.Layers != LayersAuto || p.host.TotalBytes == 0)
}

// turns loads the companions only while the model is not there.
func turns(w *Wish) bool {
	changed := false
	for i := range w.Beside {
		changed = changed || !w.Beside[i].Turns
		w.Beside[i].Turns = true
	}
	return changed
}

// toHost moves the companions off the GPUs.
func (p *planner) toHost(w *Wish) bool {
	changed := false
	for i := range w.Beside {
		changed = changed || w.Beside[i].Device != p.host.Name
		w.Beside[i].Device = p.host.Name
	}
	return changed
}

// same says that two plans differ only in what is said of them.
func same(a, b Plan) bool {
	a.Binding, a.Larger, a.Notes, b.Binding, b.Larger, b.Notes = "", nil, nil, "", nil, nil
	return reflect.DeepEqual(a, b)
}
