package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/engine"
	"dure/inference/llm"
	"dure/inference/plan"
)

// What `plan` and the commands that load say of the same choices.
const (
	layersHelp  = "layers on the card, the output counting as one; 0 chooses, -1 puts none there"
	reserveHelp = "memory that stays free on each device, for example 1GiB (512MiB)"
	poolHelp    = "how sequences share the cells of the cache: split, unified, or auto: what dure bench pool found faster, else split"
	windowHelp  = "keep only the window in layers that have one; branches then need checkpoints"
	forceHelp   = "take types of the cache, and classes of stored states, whose loss, as dure bench kv measured it, is over the bound; every answer then says so"
	yarnHelp    = "load with YaRN, for a context beyond the trained one; changes the answers to short prompts too"
)

// loadOptions say how a model is put into memory.
type loadOptions struct {
	layers      int    // on cards, as in plan.Wish
	reserve     string // an amount of memory, "" is the usual
	pool        string // "" or "auto", or as in plan.Pool
	kv          string // types of the KV cache, "auto" chooses, "" is the usual
	yarn        bool
	shortWindow bool
	microBatch  int // 0 is the usual
	gap         time.Duration
	spec        specOptions
	quiet       quietOptions
	// force takes types of the cache that lose more than they may.
	force bool
}

// usualCache are the types of keys and values that nobody asked for.
const usualCache = "f16"

// shaping are the flags that make one load differ from another: whoever gives one
// wants a load of their own.
var shaping = []string{"engine", "context", "sequences", "queue", "threads", "flash-attention",
	"layers", "reserve", "pool", "kv", "yarn", "short-window", "micro-batch", "gap", "spec", "draft", "spec-depth", "rollback", "quiet-hours", "quiet-threads", "quiet-priority", "cache-ram", "cache-disk", "cache-class", "cache-smaller", "force"}

// register declares the flags.
func (o *loadOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.layers, "layers", plan.LayersAuto, layersHelp)
	f.StringVar(&o.reserve, "reserve", "", reserveHelp)
	f.StringVar(&o.pool, "pool", poolAuto, poolHelp)
	f.StringVar(&o.kv, "kv", usualCache, "types of keys and values: f16, q8_0, q4_0, a pair like q8_0/q4_0, or auto for the largest that fits")
	f.BoolVar(&o.force, "force", false, forceHelp)
	f.BoolVar(&o.yarn, "yarn", false, yarnHelp)
	f.BoolVar(&o.shortWindow, "short-window", false, windowHelp)
	f.DurationVar(&o.gap, "gap", 0, "how long running answers may stand still while a prompt is read, for example 250ms (three steps, or what 64 tokens take)")
	o.spec.register(cmd)
	o.quiet.register(cmd)
	f.IntVar(&o.microBatch, "micro-batch", 0, fmt.Sprintf("tokens of a prompt computed at once, %d at most (%d)", llm.MostMicroBatch, llm.MostMicroBatch))
}

// wish is what they ask of a plan.
func (o *loadOptions) wish() (w plan.Wish, err error) {
	switch {
	case o.layers < plan.LayersNone:
		return w, fmt.Errorf("--layers %d: must be a number of layers, 0 to choose, or -1 for none on a card", o.layers)
	case o.gap < 0:
		return w, fmt.Errorf("--gap %v: must not be negative", o.gap)
	case o.microBatch < 0 || o.microBatch > llm.MostMicroBatch:
		return w, fmt.Errorf("--micro-batch %d: must be 1 to %d, or 0 for the usual", o.microBatch, llm.MostMicroBatch)
	}
	if err := o.spec.validate(); err != nil {
		return w, err
	}
	if _, err := o.quiet.rule(); err != nil {
		return w, err
	}
	w = plan.Wish{Layers: o.layers, MicroBatch: o.microBatch, ShortWindow: o.shortWindow, LongContext: o.yarn}
	if w.Reserve, err = parseReserve(o.reserve); err != nil {
		return w, fmt.Errorf("--reserve: %w", err)
	}
	if w.Pool, err = parsePool(o.pool); err != nil {
		return w, fmt.Errorf("--pool: %w", err)
	}
	if w.Cache, err = parseCache(cmp.Or(o.kv, usualCache)); err != nil {
		return w, fmt.Errorf("--kv: %w", err)
	}
	return w, nil
}

// unplanned is for models whose memory cannot be told before: what only a plan
// can keep is refused, the rest goes to the engine as it is.
func (o *loadOptions) unplanned(cfg *llm.Config, p *placement) error {
	for flag, given := range map[string]bool{"--yarn": o.yarn, "--reserve": o.reserve != "", "--kv auto": o.kv == "auto", "--spec mtp": o.spec.mode == string(llm.SpeculationMTP)} {
		if given {
			return fmt.Errorf("%s needs a plan of the memory, which cannot be made for this model; leave it out", flag)
		}
	}
	w, err := o.wish()
	if err != nil {
		return err
	}
	cfg.KeyType, cfg.ValueType = typeName(w.Cache.Keys), typeName(w.Cache.Values)
	cfg.Unified, cfg.ShortWindow, cfg.MicroBatch = autoPool(w.Pool, "", cfg.Sequences) == plan.Unified, w.ShortWindow, w.MicroBatch
	cfg.Rollback = o.spec.back
	if o.layers != plan.LayersAuto {
		p.layers = max(o.layers, 0)
	}
	return nil
}

// shape makes a model's configuration load what was planned.
func shape(cfg *llm.Config, m plan.Model, p *plan.Plan) {
	cfg.Context, cfg.Sequences, cfg.Planned = p.Context, p.Active, true
	cfg.KeyType, cfg.ValueType = typeName(p.Cache.Keys), typeName(p.Cache.Values)
	cfg.Unified, cfg.ShortWindow, cfg.MicroBatch, cfg.Outputs = p.Pool == plan.Unified, p.ShortWindow, p.MicroBatch, p.Outputs
	cfg.MTP, cfg.Rollback = p.MTP, max(p.MTP, p.Rollback)
	if p.YarnFactor > 1 {
		cfg.Yarn = engine.Yarn{Factor: p.YarnFactor, Original: m.Geometry.TrainContext}
	}
}

// typeName is a storage type as the engine names it.
func typeName(t gguf.TensorType) string { return strings.ToLower(t.String()) }

// poolAuto leaves the choice to autoPool.
const poolAuto = "auto"

// autoPool takes the pool that was measured to be faster, else split, where every
// request has cells of its own; but for a single sequence: it saves and restores
// through a second one, and in one pool that one costs no cells.
func autoPool(asked, faster plan.Pool, active int) plan.Pool {
	switch {
	case asked != "":
		return asked
	case active == 1:
		return plan.Unified
	case faster != "":
		return faster
	}
	return plan.Split
}

func parsePool(text string) (plan.Pool, error) {
	switch p := plan.Pool(text); {
	case text == "" || text == poolAuto:
		return "", nil
	case p == plan.Split || p == plan.Unified:
		return p, nil
	}
	return "", fmt.Errorf("%q must be auto, split or unified%s", text, catalog.DidYouMean(text, []string{poolAuto, string(plan.Split), string(plan.Unified)}))
}

// parseReserve reads the memory that stays free: nil for the usual, "0" for none.
func parseReserve(text string) (*uint64, error) {
	switch text {
	case "":
		return nil, nil
	case "0":
		return new(uint64), nil
	}
	n, err := memoryBytes(text)
	return &n, err
}

// parseCache reads "auto" (nil), a type, or a pair of types.
func parseCache(text string) (*plan.Cache, error) {
	if text == "auto" {
		return nil, nil
	}
	keys, values, pair := strings.Cut(text, "/")
	if !pair {
		values = keys
	}
	var c plan.Cache
	for _, part := range []struct {
		text string
		to   *gguf.TensorType
	}{{keys, &c.Keys}, {values, &c.Values}} {
		if err := part.to.UnmarshalText([]byte(strings.ToUpper(part.text))); err != nil {
			return nil, fmt.Errorf("%q is not a type of the cache; write for example f16, q8_0, or q8_0/q4_0", part.text)
		}
	}
	return &c, nil
}
