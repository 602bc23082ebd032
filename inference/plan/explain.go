package plan

import (
	"fmt"
	"slices"
	"strings"
)

// order of the items in a table.
var order = []string{Weights, KV, Recurrent, DraftKV, Compute, DraftComp, Output, Vision, Companion, Parked, Driver, ReserveFor}

// size prints bytes for people.
func size(n uint64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}

// Explain is the plan as a text: what was chosen, why not more, and a table of
// each device.
func (p *Plan) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d agents alive, %d active, %d tokens each; cache %v, %s pool of %d cells (%d a sequence)\n",
		p.Agents, p.Active, p.Context, p.Cache, p.Pool, p.PoolCells, p.SequenceCells)
	fmt.Fprintf(&b, "%d of %d layers on GPUs, batch %d, micro batch %d, %d output rows, MTP depth %d\n", p.Layers, p.All, p.Batch, p.MicroBatch, p.Outputs, p.MTP)
	if p.Binding != "" {
		fmt.Fprintf(&b, "bound by %s\n", p.Binding)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for i := range p.Devices {
		p.Devices[i].explain(&b)
	}
	return b.String()
}

func (a *Allocation) explain(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %d layers", a.Device.Name, a.Layers)
	if a.Output {
		b.WriteString(" and the output")
	}
	b.WriteString("\n")
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
