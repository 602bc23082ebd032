package plan

import (
	"fmt"

	"dure/gguf"
)

// Kinds of items, in the order of a table.
const (
	Weights    = "weights"
	KV         = "kv cells"
	Recurrent  = "recurrent state"
	DraftKV    = "mtp kv cells"
	Compute    = "compute buffers"
	DraftComp  = "mtp compute buffers"
	Output     = "output rows"
	Vision     = "vision projector"
	Driver     = "driver context"
	Parked     = "parked agents"
	Companion  = "beside"
	ReserveFor = "reserve"
)

// Source says how the size of an item is known.
type Source string

// The sources; see the package comment.
const (
	Exact    Source = "exact"
	Formula  Source = "formula"
	Measured Source = "measured"
	Assumed  Source = "assumed"
)

// Item is one use of a device's memory.
type Item struct {
	Kind string
	// Label tells items of one kind apart.
	Label  string `json:",omitempty"`
	Bytes  uint64
	Source Source
}

// Allocation is what one device holds.
type Allocation struct {
	Device Device
	// Layers of the model on it, MTP layers included; Output says that it also
	// has the output matrix.
	Layers int
	Output bool
	Items  []Item
	// Used is the sum of the items, Free what is left of the device's free
	// memory, Short what is missing; one of the two is 0, and both are where the
	// size of the device is not known.
	Used, Free, Short uint64
}

// Bytes of all items of a kind.
func (a *Allocation) Bytes(kind string) (sum uint64) {
	for _, it := range a.Items {
		if it.Kind == kind {
			sum += it.Bytes
		}
	}
	return sum
}

func (a *Allocation) add(kind, label string, bytes uint64, source Source) {
	if bytes == 0 {
		return
	}
	a.Items = append(a.Items, Item{kind, label, bytes, source})
	a.Used += bytes
}

// Plan is how a model is loaded and what that takes.
type Plan struct {
	Devices []Allocation
	// Layers on GPUs of All, the output counting as one.
	Layers, All int
	// Context of an agent in tokens, Agents alive and Active in the engine.
	Context, Agents, Active int
	// Cells of the pool as asked of the engine, PoolCells and SequenceCells as
	// it rounds them.
	Cells, PoolCells, SequenceCells int
	Cache                           Cache
	Pool                            Pool
	MTP                             int
	Batch, MicroBatch, Outputs      int
	NoFlash, ShortWindow            bool
	LongContext                     bool
	// Slowdown is how many times longer a token takes than with all layers on
	// the GPUs; 1 where they are.
	Slowdown float64
	// Binding says what kept an automatic choice from being larger.
	Binding string
	// Notes are what a person should know.
	Notes []string
}

// Fits says that no device lacks memory.
func (p *Plan) Fits() bool { return p.short() == nil }

// short is the device that lacks most.
func (p *Plan) short() (worst *Allocation) {
	for i := range p.Devices {
		a := &p.Devices[i]
		if a.Short > 0 && (worst == nil || a.Short > worst.Short) {
			worst = a
		}
	}
	return worst
}

// Shape of the main context, for a probe or a measurement.
func (p *Plan) Shape() Shape {
	s := Shape{
		Cells: p.Cells, Sequences: p.Active, Cache: p.Cache, Pool: p.Pool, MicroBatch: p.MicroBatch, Outputs: p.Outputs,
		Rollback: p.MTP, NoFlash: p.NoFlash, ShortWindow: p.ShortWindow, Layers: p.Layers,
	}
	return s
}

// DraftShape is the shape of the context of the MTP layers.
func (p *Plan) DraftShape() Shape {
	s := p.Shape()
	s.Rollback, s.Draft, s.Outputs = 0, true, p.Active
	return s
}

// Make plans. Where nothing fits the error is a *RefusedError; any other error
// says what in the input is wrong.
func Make(in Input) (Plan, error) {
	p, err := newPlanner(in)
	if err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	return p.choose()
}

// maxSequences is the most that the engine holds.
const maxSequences = 256

func newPlanner(in Input) (*planner, error) {
	g, w := in.Model.Geometry, in.Wish
	if g == nil || len(g.Layers) == 0 {
		return nil, fmt.Errorf("the model's layers are not known")
	}
	if w.Agents < 0 || w.Active < 0 || w.Context < 0 || w.MTP < 0 || w.MicroBatch < 0 || w.Outputs < 0 {
		return nil, fmt.Errorf("a count of the wish is negative")
	}
	if w.Agents == 0 {
		w.Agents = max(w.Active, 1)
	}
	if w.Active > w.Agents {
		return nil, fmt.Errorf("%d agents active of %d alive", w.Active, w.Agents)
	}
	if w.Active > maxSequences {
		return nil, fmt.Errorf("%d agents active, the engine holds %d sequences at most", w.Active, maxSequences)
	}
	if w.Pool == "" {
		w.Pool = Split
	}
	if w.MTP > 0 && g.MTPLayers == 0 {
		return nil, fmt.Errorf("MTP depth %d, but the model has no MTP layers", w.MTP)
	}
	if w.MicroBatch == 0 {
		w.MicroBatch = 512
	}
	p := &planner{Input: in, limit: g.TrainContext}
	p.Wish = w
	p.inner, p.channels = deltaShape(in.Model.Files)
	p.tensors = tensorsOf(in.Model.Files, g.Tied)
	if w.LongContext {
		p.limit = max(g.TrainContext, LongContextTokens*max(1, g.TrainContext)/YarnOriginal)
	}
	if p.limit > 0 && w.Context > p.limit {
		return nil, fmt.Errorf("context of %d tokens, the model takes %d%s", w.Context, p.limit, p.longHint())
	}
	if err := p.checkDevices(); err != nil {
		return nil, err
	}
	if err := p.checkCache(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *planner) longHint() string {
	if p.Wish.LongContext || p.Model.Geometry.TrainContext != YarnOriginal {
		return ""
	}
	return fmt.Sprintf("; the YaRN profile reaches %d", LongContextTokens)
}

// checkDevices finds the CPU, or stands one in, and puts it last.
func (p *planner) checkDevices() error {
	names := map[string]bool{}
	host := Device{Name: "CPU", Kind: CPU, Backend: "CPU"}
	for _, d := range p.Devices {
		if names[d.Name] {
			return fmt.Errorf("two devices are named %q", d.Name)
		}
		names[d.Name] = true
		if d.FreeBytes > d.TotalBytes {
			return fmt.Errorf("device %s: %d bytes free of %d", d.Name, d.FreeBytes, d.TotalBytes)
		}
		if d.Kind == CPU {
			host = d
		} else {
			p.gpus = append(p.gpus, d)
		}
	}
	p.host = host
	for _, c := range p.Wish.Beside {
		if !names[c.Device] && c.Device != host.Name {
			return fmt.Errorf("%s is to be put on %q, which is not a device here", c.Name, c.Device)
		}
	}
	if p.Wish.Layers > 0 && p.Wish.Layers != LayersAll && len(p.gpus) == 0 {
		return fmt.Errorf("%d layers are to go to a GPU, there is none", p.Wish.Layers)
	}
	return nil
}

// checkCache collects the cache types to try.
func (p *planner) checkCache() error {
	p.caches = nil
	if c := p.Wish.Cache; c != nil {
		if p.Wish.NoFlash && c.Values.BlockSize() > 1 {
			return fmt.Errorf("values stored as %v need flash attention", c.Values)
		}
		if _, err := p.Model.Geometry.KV(c.Keys, c.Values); err != nil {
			return err
		}
		p.caches = []Cache{*c}
		return nil
	}
	for _, t := range []gguf.TensorType{gguf.F16, gguf.Q8_0, gguf.Q4_0} {
		if t != gguf.F16 && p.Wish.NoFlash {
			continue
		}
		if _, err := p.Model.Geometry.KV(t, t); err == nil {
			p.caches = append(p.caches, Cache{t, t})
		}
	}
	return nil
}
