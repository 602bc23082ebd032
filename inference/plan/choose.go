package plan

import "sort"

// unknownContext is aimed at where a model does not name what it was trained for.
const unknownContext = 32768

// minContext is the smallest context that an automatic choice offers.
const minContext = 2048

// choose walks down from the best: larger cache types before smaller ones, all
// agents active before some, all layers on GPUs before some on the CPU.
func (p *planner) choose() (Plan, error) {
	if plan, ok := p.best(); ok {
		return plan, nil
	}
	return Plan{}, p.refuse()
}

// best is the first choice that fits, if any does.
func (p *planner) best() (Plan, bool) {
	for _, layers := range p.layerSteps() {
		if plan, ok := p.atLayers(layers); ok {
			return plan, true
		}
	}
	return Plan{}, false
}

// layerSteps are the numbers of layers on GPUs to try.
func (p *planner) layerSteps() []int {
	all := len(p.Model.Geometry.Layers) + 1
	switch n := p.Wish.Layers; {
	case n == LayersNone || len(p.gpus) == 0:
		return []int{0}
	case n > 0:
		return []int{min(n, all)}
	}
	steps := []int{all}
	if p.host.TotalBytes > 0 || p.partial {
		for n := all - 1; n >= 0; n-- {
			steps = append(steps, n)
		}
	}
	return steps
}

// atLayers looks for the best choice with so many layers on GPUs.
func (p *planner) atLayers(layers int) (Plan, bool) {
	if plan := p.least(layers); !plan.Fits() {
		return Plan{}, false // nothing larger will
	}
	for active := p.mostActive(); active >= 1; active-- {
		if p.Wish.Active > 0 && active != p.Wish.Active {
			continue
		}
		c := choice{active: active, layers: layers}
		if plan, ok := p.withAgents(c); ok {
			p.bind(&plan)
			return plan, true
		}
	}
	return Plan{}, false
}

// least is the smallest plan that the wish allows. The smallest cache type is
// not always the smallest plan: on some devices it needs scratch space.
func (p *planner) least(layers int) (best Plan) {
	c := choice{context: p.leastContext(), active: max(p.Wish.Active, 1), layers: layers}
	for i := len(p.caches) - 1; i >= 0; i-- {
		c.cache = p.caches[i]
		plan := p.lay(c)
		if plan.Fits() {
			return plan
		}
		if best.Devices == nil || plan.short().Short < best.short().Short {
			best = plan
		}
	}
	return best
}

func (p *planner) mostActive() int {
	if p.Wish.Active > 0 {
		return p.Wish.Active
	}
	return min(p.Wish.Agents, maxSequences-p.Wish.Pool.spare())
}

func (p *planner) leastContext() int {
	if p.Wish.Context > 0 {
		return p.Wish.Context
	}
	return min(minContext, p.mostContext())
}

// mostContext is the context to aim at where none is asked for.
func (p *planner) mostContext() int {
	switch {
	case p.most > 0:
		return p.most
	case p.limit == 0:
		return unknownContext
	}
	return p.limit
}

// withAgents finds cache types, and the context if that is free too.
func (p *planner) withAgents(c choice) (Plan, bool) {
	if p.Wish.Context > 0 {
		c.context = p.Wish.Context
		for _, c.cache = range p.caches {
			if plan := p.lay(c); plan.Fits() {
				return plan, true
			}
		}
		return Plan{}, false
	}
	var best Plan
	for _, c.cache = range p.caches {
		// The longest context wins; of equal ones the larger types.
		if plan, ok := p.longest(c); ok && plan.Context > best.Context {
			best = plan
		}
		if best.Context == p.mostContext() {
			break
		}
	}
	return best, best.Context > 0
}

// longest is the plan with the longest context that fits.
func (p *planner) longest(c choice) (Plan, bool) {
	most := p.mostContext()
	least := p.leastContext()
	at := func(context int) Plan {
		c.context = context
		return p.lay(c)
	}
	if plan := at(most); plan.Fits() {
		return plan, true
	}
	steps := (most - least + cellPad - 1) / cellPad
	// The first of the steps above the least context that does not fit.
	n := sort.Search(steps, func(i int) bool { plan := at(least + i*cellPad); return !plan.Fits() })
	if n == 0 {
		return Plan{}, false
	}
	return at(least + (n-1)*cellPad), true
}
