package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// planner is one call of Make: the checked input and what was found in it.
type planner struct {
	Input
	gpus []Device
	host Device
	// caches to try, the best first.
	caches []Cache
	// limit of the context in tokens, 0 if the model names none.
	limit           int
	inner, channels int
	tensors         []tensor
	// partial tries layers on a CPU whose size is not known, too.
	partial bool
	// most is the context that was asked for where a shorter one is looked for.
	most int
	// draft is nil where there is no draft model.
	draft *planner
	// notes on the input, for every plan.
	notes []string
}

// choice is one point of the search.
type choice struct {
	context, active, layers int
	cache                   Cache
}

// lay puts a choice onto the devices, whether it fits or not.
func (p *planner) lay(c choice) Plan {
	w, g := p.Wish, p.Model.Geometry
	sequences := c.active + w.Pool.spare()
	rows := max(c.active*(1+max(w.MTP, w.Rollback)), sequences) // the engine wants a row for each sequence
	out := Plan{
		Layers: min(c.layers, len(g.Layers)+1), All: len(g.Layers) + 1, Context: c.context, Agents: max(w.Agents, c.active), Active: c.active, Sequences: sequences,
		Cells: c.context * c.active, Cache: c.cache, Pool: w.Pool, MTP: w.MTP, Rollback: w.Rollback,
		MicroBatch: max(w.MicroBatch, rows), Outputs: max(w.Outputs, rows),
		NoFlash: w.NoFlash, ShortWindow: w.ShortWindow, LongContext: w.LongContext, YarnFactor: p.yarnFactor(c.context), Slowdown: 1,
		Larger: []Step{}, Notes: append([]string{}, p.notes...),
	}
	out.Batch = max(out.MicroBatch, out.Outputs)
	s := out.Shape()
	l := s.layout(g, out.MicroBatch)
	out.PoolCells, out.SequenceCells = l.pool, l.sequence
	at, host := p.spread(&out)
	copied := p.weigh(at, host)
	p.remember(s, KV, at)
	p.scratch(s, Compute, at, host)
	if w.MTP > 0 {
		d := out.DraftShape()
		p.remember(d, DraftKV, at)
		p.scratch(d, DraftComp, at, host)
	}
	p.layDraft(&out)
	p.finish(&out, at, host)
	p.note(&out, copied)
	return out
}

// spread makes the allocations and tells the one of each layer and, last, of
// the output. The engine gives the last layers to the GPUs, in shares of their
// free memory.
func (p *planner) spread(out *Plan) (at []*Allocation, host *Allocation) {
	for _, d := range append(slices.Clone(p.gpus), p.host) {
		out.Devices = append(out.Devices, Allocation{Device: d, Items: []Item{}})
	}
	host = &out.Devices[len(p.gpus)]
	at = make([]*Allocation, out.All)
	var free []float32
	sum := float32(0)
	for _, d := range p.gpus {
		sum += float32(d.FreeBytes)
		free = append(free, sum)
	}
	start := out.All - out.Layers
	for i := range at {
		at[i] = host
		if i >= start && len(p.gpus) > 0 {
			share := float32(i-start) / float32(out.Layers)
			n := slices.IndexFunc(free, func(f float32) bool { return f/sum > share })
			at[i] = &out.Devices[max(n, 0)]
		}
		if i == out.All-1 {
			at[i].Output = true
		} else {
			at[i].Layers++
		}
	}
	return at, host
}

// remember adds cells and recurrent state.
func (p *planner) remember(s Shape, kind string, at []*Allocation) {
	g := p.Model.Geometry
	if g.Encoder {
		return
	}
	l := s.layout(g, s.MicroBatch)
	cells, states := map[*Allocation]uint64{}, map[*Allocation]uint64{}
	for i := range g.Layers {
		if layer := &g.Layers[i]; layer.MTP == s.Draft {
			cells[at[i]] += s.cellBytes(layer, l, at[i].Device)
			states[at[i]] += s.stateOf(layer, at[i].Device)
		}
	}
	for a, n := range cells {
		a.add(kind, s.Cache.String(), n, Exact)
	}
	for a, n := range states {
		a.add(Recurrent, "", n, Exact)
	}
}

// scratch adds the compute buffers of one context.
func (p *planner) scratch(s Shape, kind string, at []*Allocation, host *Allocation) {
	measured := p.measured(s)
	add := func(a *Allocation, bytes uint64) {
		if m, ok := measured[a.Device.Name]; ok {
			a.add(kind, "", m, Measured)
			return
		}
		a.add(kind, "", bytes, Formula)
	}
	b := p.graph(s)
	last := at[len(at)-1]
	if !last.Device.holds(p.outputBytes()) {
		last = host // where the engine leaves the matrix
	}
	used := map[*Allocation]bool{host: true, last: true, at[len(at)-1]: true}
	for i := range p.Model.Geometry.Layers {
		used[at[i]] = true
	}
	for a := range used {
		var n uint64
		switch {
		case a != host:
			n = b.onDevice(a.Device) + p.carried(s, a)
		case len(p.gpus) == 0:
			n = b.onDevice(a.Device)
		case a.Layers > 0:
			n = b.mixed(a.Device)
		default:
			n = b.beside()
		}
		if a == last {
			// The masks are dead by then: it is one or the other.
			n = max(n, b.output(a.Device.Name == at[len(at)-1].Device.Name))
		}
		add(a, n)
	}
}

// carried is the largest weight that the engine copies to a GPU to compute a
// prompt with where layers stay on the CPU.
func (p *planner) carried(s Shape, a *Allocation) uint64 {
	all := len(p.Model.Geometry.Layers) + 1
	if s.Layers >= all || s.MicroBatch < offloadTokens || a.Device.Name != p.gpus[0].Name {
		return 0
	}
	var n uint64
	for _, t := range p.tensors {
		if t.part == partLayer && t.layer < all-s.Layers {
			n = max(n, t.bytes)
		}
	}
	return n
}

// measured is what the engine said of this shape, nil if it was not asked.
func (p *planner) measured(s Shape) map[string]uint64 {
	for _, m := range p.Measured {
		if m.Shape == s {
			return m.Compute
		}
	}
	return nil
}

// finish adds what is not the engine's, and compares with what is free.
func (p *planner) finish(out *Plan, at []*Allocation, host *Allocation) {
	w, g := p.Wish, p.Model.Geometry
	host.add(Output, count(out.Outputs, "row"), uint64(out.Outputs)*uint64(g.Vocabulary)*f32, Exact)
	if w.MTP > 0 {
		host.add(DraftOut, "logits and hidden rows", mtpRows(out, g), Formula)
	}
	first := at[len(at)-1]
	first.add(Vision, "", p.Model.VisionBytes, Assumed)
	reserve := uint64(DefaultReserve)
	if w.Reserve != nil {
		reserve = *w.Reserve
	}
	for i := range out.Devices {
		a := &out.Devices[i]
		if a.Used > 0 && a.Device.known() {
			p.addDriver(a)
			a.add(ReserveFor, "", reserve, Assumed)
		}
		p.settle(a, out, host, reserve)
		a.sorted()
	}
	p.price(out, at, host)
}

// settle adds companions and parked agents and closes the account of a device.
func (p *planner) settle(a *Allocation, out *Plan, host *Allocation, reserve uint64) {
	always := uint64(0)
	for _, c := range p.Wish.Beside {
		if c.Device == a.Device.Name && !c.Turns {
			a.add(Companion, c.Name, c.Bytes, Assumed)
			always += c.Bytes
		}
	}
	if a.Device.known() {
		always += reserve
	}
	for _, c := range p.Wish.Beside {
		if c.Device == a.Device.Name && c.Turns {
			a.takeTurns(c, always)
		}
	}
	if !a.Device.known() {
		return
	}
	if a == host {
		p.park(a, out)
	}
	if a.Used > a.Device.FreeBytes {
		a.Short = a.Used - a.Device.FreeBytes
	} else {
		a.Free = a.Device.FreeBytes - a.Used
	}
}

// takeTurns adds a companion that is there only while the model is not: it takes
// nothing more, except where its own turn, with what is always there, needs more
// than the model's.
func (a *Allocation) takeTurns(c Claim, always uint64) {
	it := Item{Companion, fmt.Sprintf("%s by turns, %s", c.Name, size(c.Bytes)), 0, Assumed}
	if need := c.Bytes + always; need > a.Used {
		it.Label += ", beyond the model"
		it.Bytes = need - a.Used
	}
	a.Items = append(a.Items, it)
	a.Used += it.Bytes
}

// park keeps agents that are not active in the machine's memory, as many as
// there is room for; the others go to the disk.
func (p *planner) park(host *Allocation, out *Plan) {
	n := out.Agents - out.Active
	one, shared := agentBytes(p.Model.Geometry, out.Cache, out.Context), uint64(0)
	if w := p.Wish.Waiting; w != nil {
		one = agentBytes(p.Model.Geometry, out.Cache, w.Context-w.Shared)
		shared = agentBytes(p.Model.Geometry, out.Cache, w.Shared)
	}
	if n == 0 || one == 0 || host.Used+shared > host.Device.FreeBytes {
		return
	}
	room := min(uint64(n), (host.Device.FreeBytes-host.Used-shared)/one)
	host.add(Parked, fmt.Sprintf("%d of %d", room, n), room*one+shared, Formula)
	if int(room) < n {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d parked agents go to disk when their contexts are full", n-int(room), n))
	}
}

// price tells how much slower tokens come with layers on the CPU: each token
// reads all weights once, at the speed of the memory they are in.
func (p *planner) price(out *Plan, at []*Allocation, host *Allocation) {
	onHost := 0
	for _, a := range at {
		if a == host {
			onHost++
		}
	}
	if onHost == 0 || len(p.gpus) == 0 {
		return
	}
	share := float64(onHost) / float64(len(at))
	out.Slowdown = share*float64(p.gpus[0].bandwidth())/float64(host.Device.bandwidth()) + 1 - share
}

// note says what a person should know. copied is the size of the weights that
// the CPU may keep twice.
func (p *planner) note(out *Plan, copied uint64) {
	say := func(format string, args ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, args...)) }
	if out.Cache.Quantised() {
		say("cache stored as %v: %s", out.Cache, cmp.Or(p.Loss[out.Cache.String()], "the loss is not measured for this model"))
	}
	p.noteYarn(out)
	if out.Slowdown > 1 {
		say("%d of %d layers on the CPU: tokens take about %s times as long (from the speed of the memories, not measured)", out.All-out.Layers, out.All, times(out.Slowdown))
	}
	if copied > 0 {
		say("the engine may keep a second copy of weights in the CPU's own layout, up to %s; the system can drop the file's pages for it", size(copied))
	}
	if out.Active < out.Agents {
		say("%s alive, %d active at once; the others wait parked", count(out.Agents, "agent"), out.Active)
	}
}
