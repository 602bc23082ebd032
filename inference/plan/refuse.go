package plan

import (
	"fmt"
	"strings"
)

// RefusedError says that what was asked for does not fit, and what would.
type RefusedError struct {
	// Asked is the plan that does not fit: the smallest that the wish allows.
	Asked Plan `json:"asked"`
	// Device that lacks most, with what it needs in all and has free, in bytes.
	Device string `json:"device"`
	Need   uint64 `json:"need"`
	Free   uint64 `json:"free"`
	// Nearest are up to three plans that fit, each giving way in another point.
	Nearest []Alternative `json:"nearest"`
}

// Alternative is a plan that fits and how it differs from what was asked for.
type Alternative struct {
	// Change names every point that differs, and what was left to choose.
	Change string `json:"change"`
	Plan   Plan   `json:"plan"`
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan: does not fit: %s needs %s, %s are free (%s short) for %s x %s, cache %v", e.Device, size(e.Need), size(e.Free),
		size(e.Need-e.Free), count(e.Asked.Active, "active agent"), count(e.Asked.Context, "token"), e.Asked.Cache)
	for i, n := range e.Nearest {
		b.WriteString([]string{"; what fits: ", "; or "}[min(i, 1)])
		b.WriteString(n.Change)
	}
	if len(e.Nearest) == 0 {
		b.WriteString("; no other configuration fits here, with one agent, a short context, the smallest cache, or layers on the CPU: take a smaller model or quantisation, or more memory")
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
