package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/device"
	"dure/inference/engine"
	"dure/inference/fetch"
	"dure/inference/llm"
	"dure/inference/plan"
)

type planOptions struct {
	cards          []string
	vram           []string
	context        tokenCount
	parked, shared tokenCount
	agents, active int
	kv, pool       string
	mtp, layers    int
	draft          string
	rollback       int
	with           []string
	turns          bool
	reserve        string
	microBatch     int
	noFlash        bool
	shortWindow    bool
	yarn           bool
	force          bool
	explain        bool
	asJSON         bool
}

func planCommand() *cobra.Command {
	var opt planOptions
	cmd := &cobra.Command{
		Use:   "plan MODEL",
		Short: "Say whether a model fits, with how much context, for how many agents",
		Long: `Say what a model will take on each device, item by item, before anything is
loaded or downloaded: on this machine, or on a card that you name. What is not
asked for is chosen as large as fits. Where nothing fits, the nearest
configurations that do are named.`,
		Example: `  dure plan qwen3.8-27b --card rtx-4090 --context 128k
  dure plan qwen3.8-27b --card rtx-5090 --with haru-4b
  dure plan qwen3.8-27b --vram 24GiB --agents 16 --context 32k --explain
  dure plan qwen3.8-27b --card rtx-5090 --agents 32 --parked-context 64k --shared 16k
  dure plan ./model.gguf --kv q8_0 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return errors.New("name one model of the catalogue (`dure list`) or the path of a GGUF file, for example: dure plan qwen3.8-27b --card rtx-4090")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			in, about, err := opt.input(ctx, args)
			if err != nil {
				return err
			}
			p, err := plan.Make(in)
			if err != nil {
				return opt.refused(cmd, err)
			}
			p.Notes = slices.Concat(p.Notes, about.notes, about.learnt(opt, in.Model, &p))
			if opt.asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(p)
			}
			text := p.Explain()
			if opt.explain {
				text += "\n" + p.ExplainLarger()
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	opt.flags(cmd)
	return cmd
}

func (o *planOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.cards, "card", nil, "plan for this card instead of this machine, repeatable: "+strings.Join(plan.Cards(), ", "))
	f.StringArrayVar(&o.vram, "vram", nil, "plan for a card with this much memory, for example 24GiB; repeatable")
	f.Var(&o.context, "context", "tokens an agent can hold, for example 64k; 0 = the most that fits")
	f.IntVar(&o.agents, "agents", 0, "agents alive (1 if left out)")
	f.IntVar(&o.active, "active", 0, "agents active at once, the others parked; as many as fit if left out")
	f.Var(&o.parked, "parked-context", "also tell what all agents take when they wait with so many tokens each, in memory and on disk, by quality class")
	f.Var(&o.shared, "shared", "tokens of --parked-context that all agents begin with: they are kept once")
	f.StringVar(&o.kv, "kv", "auto", "types of keys and values: auto, f16, q8_0, q4_0, or a pair like q8_0/q4_0")
	f.StringVar(&o.pool, "pool", poolAuto, poolHelp)
	f.IntVar(&o.mtp, "mtp", 0, "further tokens that the model's own MTP layers draft")
	f.StringVar(&o.draft, "draft", "", draftHelp)
	f.IntVar(&o.rollback, "rollback", 0, rollbackHelp)
	f.IntVar(&o.layers, "layers", plan.LayersAuto, layersHelp)
	f.StringArrayVar(&o.with, "with", nil, "another model of the catalogue beside it; repeatable")
	f.BoolVar(&o.turns, "turns", false, "that other model is loaded by turns with this one, not at the same time")
	f.StringVar(&o.reserve, "reserve", "", reserveHelp)
	f.IntVar(&o.microBatch, "micro-batch", 0, "tokens computed at once (512)")
	f.BoolVar(&o.noFlash, "no-flash", false, "without flash attention")
	f.BoolVar(&o.shortWindow, "short-window", false, windowHelp)
	f.BoolVar(&o.yarn, "yarn", false, yarnHelp)
	f.BoolVar(&o.force, "force", false, forceHelp)
	f.BoolVar(&o.explain, "explain", false, "also tell what every larger choice would have needed")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
}

// refused prints a refusal as JSON where that was asked for; it stays an error.
func (o *planOptions) refused(cmd *cobra.Command, err error) error {
	var r *plan.RefusedError
	if o.asJSON && errors.As(err, &r) {
		return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"refused": r}))
	}
	return err
}

// planAbout is what is said of a plan beside it.
type planAbout struct {
	home   string
	engine string // its key on this machine, "" where a card is named
	notes  []string
}

// learnt is what was measured here of the load that a plan makes.
func (a planAbout) learnt(o planOptions, m plan.Model, made *plan.Plan) []string {
	p := placement{llm: llm.Config{Threads: device.Here(libraryDirs()).CPU.Threads(), FlashAttention: engine.FlashAuto}}
	if o.noFlash {
		p.llm.FlashAttention = engine.FlashOff
	}
	p.made(m, made)
	c, ok, err := measuredSteps(a.home, a.engine, m, p)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("measured steps are not used: %v", err)}
	case !ok:
		return nil
	}
	return measuredRates(c)
}

// input is what plan.Make wants to know.
func (o *planOptions) input(ctx context.Context, args []string) (in plan.Input, about planAbout, err error) {
	if about.home, err = homeDir(); err != nil {
		return in, about, err
	}
	entry, err := resolve(about.home, args)
	if err != nil {
		return in, about, err
	}
	if in.Model, about.notes, err = planModel(ctx, about.home, entry); err != nil {
		return in, about, err
	}
	if about.engine, err = o.devices(ctx, about.home, &in); err != nil {
		return in, about, err
	}
	gate, err := o.gate(about, entry, in.Model)
	if err != nil {
		return in, about, err
	}
	defer func() { in.Wish.Refused, in.Loss, in.Ratio = gate.refused(), gate.losses(), gate.ratios() }()
	if in.Wish, err = o.wish(about.home, in.Devices); err == nil {
		in.Wish.Pool = autoPool(in.Wish.Pool, measuredPool(about.home, about.engine, in.Model), cmp.Or(o.active, o.agents))
	}
	if name := draftName(entry, o.draft); err == nil && name != "" {
		var more []string
		in.Wish.Draft, more, err = planDraft(ctx, about.home, name)
		if in.Model.Geometry.RecurrentLayers() > 0 {
			in.Wish.Rollback = cmp.Or(in.Wish.Rollback, usualRollback)
		}
		about.notes = append(about.notes, more...)
	}
	return in, about, err
}

// gate knows what types of the cache lose, where this machine has the model and its
// engine.
func (o *planOptions) gate(about planAbout, e catalog.Entry, m plan.Model) (kvGate, error) {
	path, here := catalog.Local(about.home, e)
	if !here {
		return newKVGate(about.home, about.engine, e.Name, nil, m.Geometry, o.force), nil
	}
	file, err := gguf.Open(path)
	if err != nil {
		return kvGate{}, err
	}
	defer file.Close()
	return newKVGate(about.home, about.engine, e.Name, file, m.Geometry, o.force), nil
}

// planModel takes what is known best: the file; what the built-in catalogue says;
// the header of the file where it is offered.
func planModel(ctx context.Context, home string, e catalog.Entry) (m plan.Model, notes []string, err error) {
	if path, ok := catalog.Local(home, e); ok {
		file, err := gguf.Open(path)
		if err != nil {
			return m, nil, err
		}
		defer file.Close()
		m, err = plan.FromFile(file)
		return m, nil, err
	}
	g, err := builtinGeometry(e)
	switch {
	case err != nil:
		return m, nil, err
	case g == nil:
		return remoteModel(ctx, home, e)
	}
	return plan.Model{Geometry: g}, []string{
		fmt.Sprintf("%s is not on this machine: its shape is the catalogue's, its weights are split by the size of the file", e.Name),
	}, nil
}

// remoteModel reads the header of a file that is elsewhere.
func remoteModel(ctx context.Context, home string, e catalog.Entry) (m plan.Model, notes []string, err error) {
	options, err := pullOptions{noReuse: true}.options()
	if err != nil {
		return m, nil, err
	}
	headers, err := catalog.Headers(ctx, &fetch.Fetcher{Home: home, Log: newLogger(os.Stderr, "warn")}, e, options)
	if err != nil {
		return m, nil, fmt.Errorf("the shape of %s is not known before its file is here: %w; %s", e.Name, err, e.HowToGet())
	}
	m, err = plan.FromFile(&gguf.Model{Files: headers})
	return m, []string{e.Name + " is not on this machine: its header was read where it is offered"}, err
}

// devices fills in the cards that were named; or what this machine's engine sees,
// and what it was seen to take for this model. It returns the key of that engine, ""
// for named cards.
func (o *planOptions) devices(ctx context.Context, home string, in *plan.Input) (key string, err error) {
	var all []plan.Device
	for i, name := range o.cards {
		d, err := plan.Card(name, i)
		if err != nil {
			return "", fmt.Errorf("%w%s", err, catalog.DidYouMean(name, plan.Cards()))
		}
		all = append(all, d)
	}
	for i, text := range o.vram {
		n, err := memoryBytes(text)
		if err != nil {
			return "", fmt.Errorf("--vram: %w", err)
		}
		d := plan.Memory(n)
		d.Name = fmt.Sprintf("GPU%d", len(o.cards)+i)
		all = append(all, d)
	}
	if len(all) > 0 {
		in.Devices = all
		return "", nil
	}
	started, err := machineEngine(ctx, home)
	if err != nil {
		return "", err
	}
	seen, err := openMeasured(home, started.key())
	if err != nil {
		newLogger(os.Stderr, "warn").Warn("plan", "error", err)
	}
	in.Measured = seen.shapes(in.Model)
	in.Devices, err = started.planDevices(ctx, 0)
	return started.key(), err
}

func (o *planOptions) wish(home string, devices []plan.Device) (plan.Wish, error) {
	w := plan.Wish{
		Agents: o.agents, Active: o.active, MTP: o.mtp, Rollback: o.rollback, Layers: o.layers,
		MicroBatch: o.microBatch, NoFlash: o.noFlash, ShortWindow: o.shortWindow, LongContext: o.yarn,
	}
	w.Context = int(o.context)
	if o.shared > o.parked {
		return w, fmt.Errorf("--shared %d: an agent has no more tokens than --parked-context (%d)", o.shared, o.parked)
	}
	if o.parked > 0 {
		w.Waiting = &plan.Waiting{Context: int(o.parked), Shared: int(o.shared)}
	}
	if o.turns && len(o.with) == 0 {
		return w, errors.New("--turns is about another model; name it with --with")
	}
	var err error
	if w.Pool, err = parsePool(o.pool); err != nil {
		return w, fmt.Errorf("--pool: %w", err)
	}
	if w.Cache, err = parseCache(o.kv); err != nil {
		return w, fmt.Errorf("--kv: %w", err)
	}
	if w.Reserve, err = parseReserve(o.reserve); err != nil {
		return w, fmt.Errorf("--reserve: %w", err)
	}
	w.Beside, err = o.beside(home, devices)
	return w, err
}

// beside is what the other models take: what their entries say, or else their
// weights and what they need to work.
func (o *planOptions) beside(home string, devices []plan.Device) ([]plan.Claim, error) {
	at := devices[0].Name
	var claims []plan.Claim
	for _, name := range o.with {
		e, err := resolve(home, []string{name})
		if err != nil {
			return nil, err
		}
		if e.Memory > 0 {
			claims = append(claims, plan.Claim{Name: e.Name, Device: at, Bytes: uint64(e.Memory), Turns: o.turns})
			continue
		}
		bytes := uint64(e.Bytes)
		if path, ok := catalog.Local(home, e); ok {
			info, err := os.Stat(path)
			if err != nil {
				return nil, err
			}
			bytes = uint64(info.Size())
		}
		if bytes == 0 {
			return nil, fmt.Errorf("--with %s: its size is not known; %s", name, e.HowToGet())
		}
		claims = append(claims, plan.Claim{Name: e.Name, Device: at, Bytes: bytes + companionRoom, Turns: o.turns})
	}
	return claims, nil
}

// companionRoom is what a second model takes beside its weights: a short cache,
// compute buffers, the driver's context of its process.
const companionRoom = 1 << 30

// machineEngine is the engine of this machine, which knows its devices.
func machineEngine(ctx context.Context, home string) (startedEngine, error) {
	started, err := selectEngine(ctx, home, wish(""), device.Here(libraryDirs()), openSet, newLogger(os.Stderr, "warn"))
	if err != nil {
		return started, fmt.Errorf("%w\nno engine is ready to ask for its devices: run `%s`, or name a card (`dure plan MODEL --card rtx-4090`)", err, installCommand(wish("")))
	}
	return started, nil
}
