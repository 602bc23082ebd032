package kvcache

import (
	"errors"
	"fmt"
)

// Token is a token id as the model's vocabulary numbers them.
type Token = int32

// Tick is the caller's logical time. It never goes backwards.
type Tick = int64

// MaxSlots is the most sequences a context of the engine can have.
const MaxSlots = 256

// Tier says where a copy is, the dearest place to fetch from first.
type Tier uint8

const (
	Gone Tier = iota
	Disk
	RAM
	Hot
	tiers
)

func (t Tier) String() string { return [...]string{"gone", "disk", "ram", "hot"}[t] }

var (
	// ErrFull: no slot or no cells for the request, and nothing idle that could
	// go. The caller waits for a Release or parks a running sequence.
	ErrFull = errors.New("cache is full of states in use")
	// ErrTooLong: the request would not fit an empty cache.
	ErrTooLong = errors.New("request is longer than the cache")
	// ErrUnknown: no such lease.
	ErrUnknown = errors.New("no such lease")
)

// Config describes the context and the budgets.
type Config struct {
	// Slots is how many sequences the tree may use, ids 0..Slots-1.
	Slots int
	// Cells of the context in tokens. In a split pool each slot has an equal
	// part of them.
	Cells int
	// Unified pools share the cells of a forked prefix; others copy them.
	Unified bool
	// Checkpoints: the model has state that cannot be rolled back (recurrent,
	// hybrid, sliding window without a full cache).
	Checkpoints bool
	// Opaque: saved bytes cannot be cut by position, so an object holds a whole
	// path.
	Opaque bool
	// KVBytes of one token; StateBytes of one recurrent state, 0 without.
	KVBytes, StateBytes int64
	// RAMBytes and DiskBytes are the budgets; 0 = no such tier. The way to disk
	// leads through RAM.
	RAMBytes, DiskBytes int64
	// Smaller are codings of what lies on disk, least loss first, for when room there is
	// short: objects are coded anew before any is dropped (see level).
	Smaller []Coding
	Cost    Cost
	// Sessions that are remembered; the longest unused is forgotten first.
	Sessions int
	// Writes to disk that Balance keeps in flight.
	Writes int
}

// Cost holds measured prices: what a copy saves and what fetching it costs.
type Cost struct {
	Prefill int64 // ns per token read
	// Fetching a copy into a sequence, ns per MiB. Hot is what a fork copies in
	// a split pool.
	Hot, RAM, Disk int64
	// HalfLife in ticks: unused that long, a copy counts half.
	HalfLife Tick
}

// New makes an empty tree.
func New(cfg Config) (*Tree, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("prefix tree: %w", err)
	}
	t := &Tree{
		cfg: cfg, root: &node{}, slots: make([]slot, cfg.Slots),
		leases: map[LeaseID]*lease{}, objects: map[ObjectID]*object{}, sessions: map[SessionID]*session{},
		pins: map[PinID]*node{}, remains: map[recoding]float64{}, flight: map[ActionID]*job{},
	}
	t.budget[RAM], t.budget[Disk] = cfg.RAMBytes, cfg.DiskBytes
	return t, nil
}

func (c Config) validate() error {
	switch {
	case c.Slots < 1 || c.Slots > MaxSlots:
		return fmt.Errorf("%d slots: must be 1..%d", c.Slots, MaxSlots)
	case c.Cells < c.Slots:
		return fmt.Errorf("%d cells for %d slots: at least one each", c.Cells, c.Slots)
	case c.KVBytes < 0 || c.StateBytes < 0 || c.KVBytes+c.StateBytes == 0:
		return fmt.Errorf("%d bytes a token and %d a state: one must be above 0, none below", c.KVBytes, c.StateBytes)
	case c.Checkpoints != (c.StateBytes > 0):
		return fmt.Errorf("checkpoints %t with states of %d bytes: states are what checkpoints hold", c.Checkpoints, c.StateBytes)
	case c.RAMBytes < 0 || c.DiskBytes < 0:
		return fmt.Errorf("budgets of %d bytes in RAM and %d on disk: must not be below 0", c.RAMBytes, c.DiskBytes)
	case c.Cost.Prefill < 1 || c.Cost.Hot < 0 || c.Cost.RAM < 0 || c.Cost.Disk < 0 || c.Cost.HalfLife < 1:
		return fmt.Errorf("cost %+v: prefill and half-life must be at least 1, nothing below 0", c.Cost)
	case c.Sessions < 1 || c.Writes < 1:
		return fmt.Errorf("%d sessions and %d writes: must be at least 1", c.Sessions, c.Writes)
	}
	return c.validateSmaller()
}

// longest is how many tokens one sequence can hold.
func (c Config) longest() int {
	if c.Unified {
		return c.Cells
	}
	return c.Cells / c.Slots
}
