package plan

import (
	"fmt"
	"slices"
	"strings"
)

// RefusedError says that what was asked for does not fit, and what would.
type RefusedError struct {
	// Asked is the plan that does not fit: the smallest that the wish allows.
	Asked Plan
	// Device that lacks most, with what it needs in all and has free, in bytes.
	Device     string
	Need, Free uint64
	// Nearest are up to three plans that fit, each giving way in another point.
	Nearest []Alternative
}

// Alternative is a plan that fits and how it differs from what was asked for.
type Alternative struct {
	Change string
	Plan   Plan
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan: does not fit: %s needs %s, %s are free (%s short); %d active agents x %d tokens, cache %v", e.Device, size(e.Need), size(e.Free),
		size(e.Need-e.Free), e.Asked.Active, e.Asked.Context, e.Asked.Cache)
	for i, n := range e.Nearest {
		b.WriteString([]string{"; what fits: ", "; or "}[min(i, 1)])
		b.WriteString(n.Change)
	}
	if len(e.Nearest) == 0 {
		b.WriteString("; no other configuration fits here: take a smaller model or quantisation, or more memory")
	}
	return b.String()
}

// refuse explains why nothing fits.
func (p *planner) refuse() error {
	var asked Plan
	var short *Allocation
	for _, layers := range p.layerSteps() {
		plan := p.least(layers)
		if s := plan.short(); short == nil || s.Short < short.Short {
			asked, short = plan, s
		}
	}
	return &RefusedError{Asked: asked, Device: short.Device.Name, Need: short.Used, Free: short.Device.FreeBytes, Nearest: p.nearest()}
}

// nearest gives way in one point after the other and keeps what then fits.
func (p *planner) nearest() []Alternative {
	w := p.Wish
	var found []Alternative
	try := func(change func(*Wish) bool, say func(Plan) string) {
		q := *p
		q.Wish = w
		q.Wish.Beside = slices.Clone(w.Beside)
		if len(found) == 3 || !change(&q.Wish) {
			return
		}
		if q.checkCache() != nil {
			return
		}
		if plan, ok := q.best(); ok {
			found = append(found, Alternative{say(plan), plan})
		}
	}
	cache := func(plan Plan) string { return fmt.Sprintf("cache %v", plan.Cache) }
	try(func(w *Wish) bool { w.Cache = nil; return p.Wish.Cache != nil }, cache)
	try(func(w *Wish) bool { w.Active = 0; return p.Wish.Active > 1 }, func(plan Plan) string {
		return fmt.Sprintf("%d agents active at once instead of %d, the others parked, with %s", plan.Active, p.Wish.Active, cache(plan))
	})
	try(func(w *Wish) bool { w.Context = 0; w.Cache = nil; return p.Wish.Context > 0 }, func(plan Plan) string {
		return fmt.Sprintf("a context of %d tokens with %s", plan.Context, cache(plan))
	})
	try(func(w *Wish) bool { w.MTP = 0; w.Cache = nil; return p.Wish.MTP > 0 }, func(plan Plan) string {
		return fmt.Sprintf("no MTP, with %s", cache(plan))
	})
	try(turns, func(plan Plan) string { return "the other model by turns, with " + cache(plan) })
	try(func(w *Wish) bool { return p.toHost(w) }, func(plan Plan) string { return "the other model on the CPU, with " + cache(plan) })
	try(func(w *Wish) bool { w.Context, w.Active, w.MTP, w.Cache = 0, 1, 0, nil; return true }, func(plan Plan) string {
		return fmt.Sprintf("one active agent with %d tokens, %s", plan.Context, cache(plan))
	})
	try(func(w *Wish) bool { w.Layers = LayersAuto; return p.Wish.Layers != LayersAuto && p.host.TotalBytes > 0 }, func(plan Plan) string {
		return fmt.Sprintf("%d of %d layers on the GPU, about %.0f times slower", plan.Layers, plan.All, plan.Slowdown)
	})
	return found
}

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
