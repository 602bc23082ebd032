package plan

import (
	"fmt"
	"strings"
)

// change says in which points a plan for the wish w differs from what was asked
// for, and then what the plan chose where nothing was asked for.
func (p *planner) change(w *Wish, plan *Plan) string {
	asked := &p.Wish
	var parts, chosen []string
	differs := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	choose := func(format string, args ...any) { chosen = append(chosen, fmt.Sprintf(format, args...)) }
	if layers := p.layers(plan); layers != "" {
		differs("%s", layers)
	}
	if w.MTP != asked.MTP {
		differs("without MTP")
	}
	if w.Rollback != asked.Rollback {
		differs("without guesses")
	} else if w.Draft != asked.Draft {
		differs("without the draft model")
	}
	switch {
	case asked.Active > 0 && plan.Active != asked.Active:
		differs("%s active at once instead of %d, the others parked", count(plan.Active, "agent"), asked.Active)
	case asked.Active == 0 && plan.Active < plan.Agents:
		choose("%d of %d agents active at once", plan.Active, plan.Agents)
	}
	switch asked.Context {
	case plan.Context:
	case 0:
		choose("a context of %s", count(plan.Context, "token"))
	default:
		differs("a context of %s instead of %d", count(plan.Context, "token"), asked.Context)
	}
	switch {
	case asked.Cache == nil:
		choose("cache %v", plan.Cache)
	case *asked.Cache != plan.Cache:
		differs("cache %v instead of %v", plan.Cache, *asked.Cache)
	}
	parts = append(parts, p.rarely(w, plan)...)
	text := strings.Join(append(parts, chosen...), ", ")
	if host := &plan.Devices[len(plan.Devices)-1]; !host.Device.known() && (plan.Layers < p.askedLayers() || p.moved(w)) {
		text += fmt.Sprintf(", if the machine has %s for them", size(host.Used))
	}
	return text
}

// rarely are the changes that are made where little else is left.
func (p *planner) rarely(w *Wish, plan *Plan) (parts []string) {
	asked := &p.Wish
	if w.MicroBatch != asked.MicroBatch {
		parts = append(parts, fmt.Sprintf("micro batch %d instead of %d", plan.MicroBatch, asked.MicroBatch))
	}
	if w.Outputs != asked.Outputs {
		parts = append(parts, fmt.Sprintf("%s instead of %d", count(plan.Outputs, "output row"), asked.Outputs))
	}
	if w.NoFlash != asked.NoFlash {
		parts = append(parts, "with flash attention")
	}
	if w.ShortWindow != asked.ShortWindow {
		parts = append(parts, "only the window kept in layers that have one")
	}
	for i, c := range w.Beside {
		if c.Turns != asked.Beside[i].Turns {
			parts = append(parts, c.Name+" by turns with this model")
		}
		if c.Device != asked.Beside[i].Device {
			parts = append(parts, c.Name+" on the CPU")
		}
	}
	return parts
}

// moved says that a companion went to the machine's memory.
func (p *planner) moved(w *Wish) bool {
	for i, c := range w.Beside {
		if c.Device != p.Wish.Beside[i].Device {
			return true
		}
	}
	return false
}

// askedLayers on GPUs: all of them where it was left open.
func (p *planner) askedLayers() int {
	all := len(p.Model.Geometry.Layers) + 1
	switch n := p.Wish.Layers; {
	case n == LayersNone || len(p.gpus) == 0:
		return 0
	case n > 0:
		return min(n, all)
	}
	return all
}

// layers says where the layers are if that is not where they were asked to be.
func (p *planner) layers(plan *Plan) string {
	asked := p.askedLayers()
	if plan.Layers == asked {
		return ""
	}
	where := "the GPU"
	if len(p.gpus) > 1 {
		where = "the GPUs"
	}
	text := fmt.Sprintf("%d of %d layers on %s", plan.Layers, plan.All, where)
	if plan.Layers == 0 {
		text = fmt.Sprintf("all %d layers on the CPU", plan.All)
	}
	if asked < plan.All {
		text += fmt.Sprintf(" instead of %d on %s", asked, where)
	}
	if plan.Slowdown > 1 {
		text += fmt.Sprintf(", about %s times slower", times(plan.Slowdown))
	}
	return text
}
