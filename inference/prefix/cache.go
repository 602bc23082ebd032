package prefix

import (
	"errors"
	"fmt"
	"log/slog"

	"dure/gguf"
	"dure/inference/engine"
	"dure/kvcache"
	"dure/kvcache/blob"
	"dure/kvcache/codec"
	"dure/kvcache/store"
)

// Options of a Cache.
type Options struct {
	// Slots is how many sequences requests may use: 0..Slots-1. A unified context
	// has one more, Slots, that saving and restoring go through.
	Slots int
	// Cells of the context that requests may fill.
	Cells int
	// Facts of the model, and Geometry of its file; without the latter states are
	// kept whole.
	Facts    engine.Facts
	Geometry *gguf.Geometry
	// RAMBytes is the budget of states that wait outside of the context.
	RAMBytes int64
	// Disk is the tier below.
	Disk Disk
	// Cost of reading and fetching, as far as it is known; zeroes are guessed.
	Cost kvcache.Cost
}

// What is assumed of costs until they are measured, in nanoseconds for each
// token and MiB, and of how long a copy that nobody uses keeps its worth.
const (
	guessPrefill  = 500_000
	guessRAM      = 250_000
	guessDisk     = 1_000_000
	guessHalfLife = 10 * 60 * 1e9
	// sessions that are remembered: the tree of a large team.
	sessions = 4096
	// writes to disk under way ahead of need.
	writes = 2
)

// Cache is the prefix cache of one context.
type Cache struct {
	*kvcache.Tree
	ctx     *engine.Context
	log     *slog.Logger
	layout  blob.Layout
	kept    blob.Layout // of saved bytes: one stream, however many the context has
	opaque  error       // why states cannot be cut, nil if they can
	unified bool
	// checkpoints: the model has state that cannot be cut by position.
	checkpoints bool
	spare       int // the sequence beyond those of requests, unified pools only
	ram         map[kvcache.ObjectID]object
	disk        *store.Store
	class       codec.Class   // of what it writes
	offered     []codec.Class // that it may write in too, or code anew
	folder      string        // of it
	diskless    error         // why there is no disk, if there was to be one
	prices      prices
	cost        kvcache.Cost
	jobs        map[kvcache.ActionID]*fetching
	reads       []store.Job         // that the store has no place for yet, and
	changes     []store.Job         // the same of writes and drops
	buffer      [2][]byte           // what was read of the engine last, by part
	joined      []byte              // what it is given
	losses      map[int]codec.Class // of sequences that are not exact
	lost        error               // the context is to be given up
}

// Open makes the cache of an empty context. It decodes a few tokens to prove
// how the engine writes states; where that fails they are kept whole, which
// costs sharing but is as right (Opaque).
func Open(ctx *engine.Context, batch *engine.Batch, opt Options, log *slog.Logger) (*Cache, error) {
	o := ctx.Options()
	c := &Cache{ctx: ctx, log: log, unified: o.Unified, spare: opt.Slots,
		losses: map[int]codec.Class{}, ram: map[kvcache.ObjectID]object{}, jobs: map[kvcache.ActionID]*fetching{}}
	if want := opt.Slots + Spares(o.Unified); o.Sequences < want {
		return nil, fmt.Errorf("prefix cache of %d sequences in a context of %d: needs %d", opt.Slots, o.Sequences, want)
	}
	cfg, err := c.prove(batch, opt)
	if err != nil {
		return nil, fmt.Errorf("prefix cache: %w", err)
	}
	cfg.Slots, cfg.Cells, cfg.Unified, cfg.RAMBytes = opt.Slots, opt.Cells, o.Unified, opt.RAMBytes
	c.checkpoints = cfg.Checkpoints
	cfg.Cost, cfg.Sessions, cfg.Writes = costs(opt.Cost), sessions, writes
	c.cost = cfg.Cost
	found := c.openDisk(opt.Disk, opt.Geometry, &cfg)
	if c.Tree, err = kvcache.New(cfg); err == nil && c.disk != nil {
		err = c.disk.Start(c.Adopt(found))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Spares is how many sequences a context needs beyond those of requests.
func Spares(unified bool) int {
	if unified {
		return 1
	}
	return 0
}

func costs(c kvcache.Cost) kvcache.Cost {
	for _, f := range []struct {
		value *int64
		guess int64
	}{{&c.Prefill, guessPrefill}, {&c.RAM, guessRAM}, {&c.Disk, guessDisk}, {&c.HalfLife, guessHalfLife}} {
		if *f.value == 0 {
			*f.value = f.guess
		}
	}
	if c.Hot == 0 {
		c.Hot = c.RAM
	}
	return c
}

// Checkpoints reports whether the model has state that cannot be cut by position,
// so that a prefix is resumed only where one was kept.
func (c *Cache) Checkpoints() bool { return c.checkpoints }

// Folder is where the states of this kind lie, for what else goes with them until
// Close; empty where nothing is kept on disk. Names that end in .tmp are removed by
// the next Open.
func (c *Cache) Folder() string { return c.folder }

// Close frees what is kept in memory. The context stays the caller's.
func (c *Cache) Close() error {
	var errs []error
	if c.disk != nil { // first: it may be reading what is freed next
		errs = append(errs, c.disk.Close())
	}
	for id := range c.ram {
		errs = append(errs, c.drop(id))
	}
	return errors.Join(errs...)
}
