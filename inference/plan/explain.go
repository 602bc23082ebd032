package plan

import (
	"fmt"
	"slices"
	"strings"
)

// order of the items in a table.
var order = []string{Weights, KV, Recurrent, DraftKV, Compute, DraftComp, Output, DraftOut, DraftWeights, DraftCells, DraftScratch, DraftRows, Vision, Companion, Parked, Driver, ReserveFor}

// size prints bytes for people.
func size(n uint64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

// Explain is the plan as a text: what was chosen, why not more in a line, and a
// table of each device. ExplainLarger has the whole of the why.
func (p *Plan) Explain() string {
	var b strings.Builder
	verdict := "FITS"
	if !p.Fits() {
		verdict = "DOES NOT FIT"
	}
	fmt.Fprintf(&b, "%s: %s\n", verdict, p.summary())
	if p.Binding != "" {
		fmt.Fprintf(&b, "bound by: %s\n", p.Binding)
	}
	fmt.Fprintf(&b, "%s; %s pool of %d cells (%d a sequence), batch %d, micro batch %d, %s, MTP depth %d\n", p.placed(), p.Pool, p.PoolCells, p.SequenceCells,
		p.Batch, p.MicroBatch, count(p.Outputs, "output row"), p.MTP)
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for i := range p.Devices {
		p.Devices[i].explain(&b)
	}
	if p.Waiting != nil {
		p.Waiting.explain(&b)
	}
	return b.String()
}

// summary is "16 agents x 32768 tokens, 7 active at once, cache q4_0".
func (p *Plan) summary() string {
	active := ""
	if p.Active < p.Agents {
		active = fmt.Sprintf(", %d active at once", p.Active)
	}
	return fmt.Sprintf("%s x %s%s, cache %v", count(p.Agents, "agent"), count(p.Context, "token"), active, p.Cache)
}

// placed says where the layers are, counted as everywhere: the output is one.
func (p *Plan) placed() string {
	where := fmt.Sprintf("%d of %d layers on GPUs, %d on the CPU", p.Layers, p.All, p.All-p.Layers)
	switch p.Layers {
	case p.All:
		where = fmt.Sprintf("all %d layers on GPUs", p.All)
	case 0:
		where = fmt.Sprintf("all %d layers on the CPU", p.All)
	}
	return where + " (the output counts as one)"
}

// count is a number of things: "1 agent", "2 agents".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// times is a factor for people.
func times(factor float64) string {
	if factor < 2.95 {
		return fmt.Sprintf("%.1f", factor)
	}
	return fmt.Sprintf("%.0f", factor)
}

func (a *Allocation) explain(b *strings.Builder) {
	if a.Output {
		fmt.Fprintf(b, "\n%s: %s, the output among them\n", a.Device.Name, count(a.Layers+1, "layer"))
	} else {
		fmt.Fprintf(b, "\n%s: %s\n", a.Device.Name, count(a.Layers, "layer"))
	}
	for _, it := range a.Items {
		name := it.Kind
		if it.Label != "" {
			name += " (" + it.Label + ")"
		}
		fmt.Fprintf(b, "  %-40s %12s  %s\n", name, size(it.Bytes), it.Source)
	}
	fmt.Fprintf(b, "  %-40s %12s\n", "sum", size(a.Used))
	switch {
	case a.Short > 0:
		fmt.Fprintf(b, "  %-40s %12s\n", "SHORT OF", size(a.Short))
	case a.Device.known():
		fmt.Fprintf(b, "  %-40s %12s\n", "free", size(a.Free))
	default:
		fmt.Fprintf(b, "  %-40s %12s\n", "free", "not known")
	}
}

// sorted puts the items in the order of a table.
func (a *Allocation) sorted() {
	slices.SortStableFunc(a.Items, func(x, y Item) int { return slices.Index(order, x.Kind) - slices.Index(order, y.Kind) })
}
