package plan

import (
	"fmt"
	"strings"

	"dure/gguf"
)

// Step is a choice that is larger than the plan in one point.
type Step struct {
	// Change is that point: "one more layer".
	Change string `json:"change"`
	// Device that it would bring nearest to its limit, with what that would need
	// in all and what it has free, in bytes. It fits where Need is Free at most.
	// Known is false where the size of the device is not known, Free then 0.
	Device string `json:"device"`
	Need   uint64 `json:"need"`
	Free   uint64 `json:"free"`
	Known  bool   `json:"known"`
	// Binds says that this is what the automatic choice ran into.
	Binds bool `json:"binds"`
}

// Short is the bytes that are missing for it.
func (s Step) Short() uint64 {
	if !s.Known {
		return 0
	}
	return s.Need - min(s.Need, s.Free)
}

// larger is a step before it is laid out. asked says that it is beyond what was
// asked for, and so cannot bind.
type larger struct {
	change string
	to     choice
	asked  bool
}

// bind says what the choice ran into, and what each larger one would have needed.
func (p *planner) bind(plan *Plan) {
	var bound *larger
	steps := p.steps(plan)
	for i := range steps {
		if bound == nil && !steps[i].asked {
			bound = &steps[i]
		}
	}
	for i := range steps {
		s := p.step(steps[i])
		if s.Binds = bound == &steps[i]; s.Binds {
			plan.Larger = append([]Step{s}, plan.Larger...)
			continue
		}
		plan.Larger = append(plan.Larger, s)
	}
	switch {
	case bound != nil:
		plan.Binding = plan.Larger[0].short()
	case p.Wish.Context == 0 && p.most == 0:
		plan.Binding = fmt.Sprintf("the model takes at most %d tokens", p.mostContext())
	default:
		plan.Binding = "nothing, all that was asked for fits"
	}
}

// steps are the larger choices, in the order in which the search gives way.
func (p *planner) steps(plan *Plan) (all []larger) {
	at := choice{plan.Context, plan.Active, plan.Layers, plan.Cache}
	add := func(change string, asked bool, to choice) { all = append(all, larger{change, to, asked}) }
	if plan.Layers < plan.All && len(p.gpus) > 0 {
		to := at
		to.layers++
		add("one more layer", p.Wish.Layers != LayersAuto, to)
	}
	if to := at; plan.Active < maxSequences-p.Wish.Pool.spare() {
		to.active++
		add("one more active agent", plan.Active >= p.mostActive(), to)
	}
	top := p.mostContext()
	if p.Wish.Context > 0 || p.most > 0 {
		top = p.limit
	}
	free := p.Wish.Context == 0 && plan.Context < p.mostContext()
	last := plan.Context
	for _, context := range []int{plan.Context + cellPad, 2 * plan.Context, top} {
		if to := at; context <= top && context > last {
			last = context
			change := fmt.Sprintf("a context of %d tokens", context)
			if free {
				change = "a longer context"
			}
			to.context = context
			add(change, !free, to)
			free = false
		}
	}
	for _, c := range p.largerCaches(plan.Cache) {
		to := at
		to.cache = c
		add(fmt.Sprintf("a cache of %v", c), c != p.caches[0], to)
	}
	return all
}

// largerCaches are the usual types that take more than this one, the largest first.
func (p *planner) largerCaches(than Cache) (all []Cache) {
	g := p.Model.Geometry
	now, err := g.KV(than.Keys, than.Values)
	if err != nil {
		return nil
	}
	for _, t := range []gguf.TensorType{gguf.F16, gguf.Q8_0, gguf.Q4_0} {
		if p.Wish.NoFlash && t != gguf.F16 {
			continue
		}
		if kv, err := g.KV(t, t); err == nil && kv.Total() > now.Total() {
			all = append(all, Cache{t, t})
		}
	}
	return all
}

// step lays a larger choice out and looks for the device that it is hardest on.
func (p *planner) step(l larger) Step {
	q := p.lay(l.to)
	worst := q.short()
	if worst == nil {
		worst = q.tightest()
	}
	s := Step{Change: l.change, Device: worst.Device.Name, Need: worst.Used}
	if worst.Device.known() {
		s.Free, s.Known = worst.Device.FreeBytes, true
	}
	return s
}

// tightest is the device in use that has least left, one of a known size before
// others.
func (p *Plan) tightest() *Allocation {
	worst := &p.Devices[0]
	for i := range p.Devices {
		a := &p.Devices[i]
		if a.Used > 0 && a.Device.known() && (!worst.Device.known() || worst.Used == 0 || a.Free < worst.Free) {
			worst = a
		}
	}
	return worst
}

// short is the step in a line.
func (s Step) short() string {
	if n := s.Short(); n > 0 {
		return fmt.Sprintf("%s: %s needs %s more than it has free", s.Device, s.Change, size(n))
	}
	return "the order of choices: " + s.Change + " would fit"
}

// ExplainLarger is a table of what each larger choice would have needed.
func (p *Plan) ExplainLarger() string {
	if len(p.Larger) == 0 {
		return "there is no larger choice\n"
	}
	var b strings.Builder
	b.WriteString("what a larger choice would have needed, each in this one point:\n")
	for _, s := range p.Larger {
		verdict := fmt.Sprintf("of %s free: %s short", size(s.Free), size(s.Short()))
		switch {
		case !s.Known:
			verdict = "(what is free is not known)"
		case s.Short() == 0:
			verdict = fmt.Sprintf("of %s free: would fit", size(s.Free))
		}
		if s.Binds {
			verdict += ", this binds"
		}
		fmt.Fprintf(&b, "  %-34s %s %12s %s\n", s.Change, s.Device, size(s.Need), verdict)
	}
	return b.String()
}
