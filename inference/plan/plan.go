package plan

import "fmt"

// Kinds of items, in the order of a table.
const (
	Weights   = "weights"
	KV        = "kv cells"
	Recurrent = "recurrent state"
	DraftKV   = "mtp kv cells"
	Compute   = "compute buffers"
	DraftComp = "mtp compute buffers"
	DraftOut  = "mtp rows"
	Output    = "output rows"
	// of a draft model
	DraftWeights = "draft weights"
	DraftCells   = "draft kv cells"
	DraftScratch = "draft compute buffers"
	DraftRows    = "draft output rows"
	Vision       = "vision projector"
	Driver       = "driver context"
	Parked       = "parked agents"
	Companion    = "beside"
	ReserveFor   = "reserve"
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
	Kind string `json:"kind"`
	// Label tells items of one kind apart.
	Label string `json:"label,omitempty"`
	// Bytes is 0 only for a companion that comes by turns and needs no more than
	// the model.
	Bytes  uint64 `json:"bytes"`
	Source Source `json:"source"`
}

// Allocation is what one device holds.
type Allocation struct {
	Device Device `json:"device"`
	// Layers of the model on it, MTP layers included; Output says that it also
	// has the output matrix.
	Layers int    `json:"layers"`
	Output bool   `json:"output"`
	Items  []Item `json:"items"`
	// Used is the sum of the items, Free what is left of the device's free
	// memory, Short what is missing; one of the two is 0, and both are where the
	// size of the device is not known.
	Used  uint64 `json:"used"`
	Free  uint64 `json:"free"`
	Short uint64 `json:"short"`
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
	Devices []Allocation `json:"devices"`
	// Layers on GPUs of All, the output counting as one.
	Layers int `json:"layers"`
	All    int `json:"all"`
	// Context of an agent in tokens, Agents alive and Active in the engine.
	Context int `json:"context"`
	Agents  int `json:"agents"`
	Active  int `json:"active"`
	// Sequences of the engine: one for each active agent, and in a unified pool
	// one more to work with.
	Sequences int `json:"sequences"`
	// Cells of the pool as asked of the engine, PoolCells and SequenceCells as
	// it rounds them.
	Cells         int   `json:"cells"`
	PoolCells     int   `json:"pool_cells"`
	SequenceCells int   `json:"sequence_cells"`
	Cache         Cache `json:"cache"`
	Pool          Pool  `json:"pool"`
	MTP           int   `json:"mtp"`
	// Rollback is how many guesses a sequence with recurrent state can take back.
	Rollback int `json:"rollback,omitempty"`
	// DraftLayers are those of the draft model on GPUs, its output counting as one.
	DraftLayers int  `json:"draft_layers,omitempty"`
	Batch       int  `json:"batch"`
	MicroBatch  int  `json:"micro_batch"`
	Outputs     int  `json:"outputs"`
	NoFlash     bool `json:"no_flash"`
	ShortWindow bool `json:"short_window"`
	LongContext bool `json:"long_context"`
	// YarnFactor is how many times YaRN stretches the trained context; 1 is not
	// at all.
	YarnFactor int `json:"yarn_factor"`
	// Slowdown is how many times longer a token takes than with all layers on
	// the GPUs; 1 where they are.
	Slowdown float64 `json:"slowdown"`
	// Binding says what kept an automatic choice from being larger, Larger what
	// every larger choice would have needed, the binding one first.
	Binding string `json:"binding"`
	Larger  []Step `json:"larger"`
	// Waiting is what the agents take that were asked about (Wish.Waiting).
	Waiting *States `json:"waiting,omitempty"`
	// Notes are what a person should know.
	Notes []string `json:"notes"`
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
		Cells: p.Cells, Sequences: p.Sequences, Cache: p.Cache, Pool: p.Pool, MicroBatch: p.MicroBatch, Outputs: p.Outputs,
		Rollback: max(p.MTP, p.Rollback), NoFlash: p.NoFlash, ShortWindow: p.ShortWindow, Layers: p.Layers,
	}
	return s
}

// DraftShape is the shape of the context of the MTP layers.
func (p *Plan) DraftShape() Shape {
	s := p.Shape()
	s.Rollback, s.Draft, s.Outputs = 0, true, p.Sequences
	return s
}

// Make plans. Where nothing fits the error is a *RefusedError; any other error
// says what in the input is wrong.
func Make(in Input) (Plan, error) {
	p, err := newPlanner(in)
	if err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	out, err := p.choose()
	if err == nil {
		err = p.await(&out)
	}
	return out, err
}
