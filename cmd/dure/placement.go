package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/device"
	"dure/inference/embed"
	"dure/inference/llm"
	"dure/inference/plan"
)

// placement is how a model is loaded.
type placement struct {
	layers int // on graphics cards; negative is all
	// memory that the KV cache may take where there is no plan.
	memory uint64
	llm    llm.Config
	bytes  int64 // of the model's files
	pid    int   // of the process that has it; 0 before
	shrink int   // how often it was made smaller to fit
	// plan and model are empty for an architecture whose memory cannot be told.
	plan  *plan.Plan
	model plan.Model
	// gate decides about the types of its cache; loss is what they lose, in words.
	gate kvGate
	loss string
	// learnt is what is said of steps that were measured before, of just this load.
	learnt []string
	draft  draft
	// embed is how it makes vectors; nil for a model that makes text.
	embed *embed.Config
	// before are the devices before the load, driver what theirs count of it, by
	// the engine's name of the device.
	before []device.Device
	driver map[string]driverReading
}

// What a model gets that nobody asked more for: contexts cost memory that a
// first try should not take.
const (
	usualAgents     = 8
	usualContext    = 8192
	usualContextGPU = 32768
)

// place plans the load of a model's file. What was asked for is kept or refused;
// what was not is chosen, and made smaller where it does not fit.
//
// Shrink is how often it is to be made smaller than usual, because it did not fit.
func (h *host) place(ctx context.Context, e catalog.Entry, path string, shrink int) (placement, error) {
	p := placement{llm: h.llmConfig(e)}
	m, err := gguf.Open(path)
	if err != nil {
		return p, loadError("model %s: %v", e.Name, err)
	}
	defer m.Close()
	for _, f := range m.Files {
		p.bytes += int64(f.Size)
	}
	usable := h.report.Memory.Usable()
	if err := h.opt.cache.apply(&p.llm, h.home, usable-min(usable, uint64(p.bytes))); err != nil {
		return p, loadError("%v", err)
	}
	if p.draft, err = h.draftOf(e); err != nil {
		return p, loadError("model %s: %v", e.Name, err)
	}
	p.embed = h.embedConfig(e, m, p.llm)
	model, err := plan.FromFile(m)
	p.gate = newKVGate(h.home, h.engine.key(), e.Name, m, model.Geometry, h.opt.load.force)
	var unknown *gguf.UnknownArchitectureError
	switch {
	case errors.As(err, &unknown):
		return p, h.placeUnplanned(e, &p, unknown)
	case err != nil:
		return p, loadError("model %s: %v", e.Name, err)
	}
	if p.embed != nil {
		err := h.placeEmbedding(ctx, e, model, cmp.Or(poolingOf(m), e.Embedding.Pooling), &p, shrink)
		return p, err
	}
	err = p.gate.admitClass(h.home, &p.llm.CacheDisk, m)
	if err == nil {
		err = p.gate.admitSmaller(h.home, &p.llm.CacheDisk, m)
	}
	if err != nil {
		return p, err
	}
	made, err := h.plan(ctx, model, p, shrink)
	var refused *plan.RefusedError
	switch {
	case errors.As(err, &refused):
		return p, &refusedLoad{loadError("model %s: %v", e.Name, err), refused}
	case err != nil:
		return p, loadError("model %s: %v", e.Name, err)
	}
	p.shrink = shrink
	p.made(model, &made)
	h.seed(&p)
	return p, p.gate.admit(&p, made.Cache)
}

// made takes over what was planned.
func (p *placement) made(m plan.Model, made *plan.Plan) {
	p.plan, p.model = made, m
	if p.layers = made.Layers; made.Layers == made.All {
		p.layers = -1
	}
	shape(&p.llm, m, made)
	p.draft.layers = -min(made.DraftLayers, 1)
}

// plan asks for what the configuration asks for, and otherwise for the usual.
func (h *host) plan(ctx context.Context, m plan.Model, asked placement, shrink int) (plan.Plan, error) {
	cfg := asked.llm
	devices, err := h.engine.planDevices(ctx, h.residentWeights())
	if err != nil {
		return plan.Plan{}, err
	}
	w, err := h.opt.load.wish()
	if err != nil {
		return plan.Plan{}, err
	}
	w.Context, w.Agents, w.Active, w.NoFlash = cfg.Context, cfg.Sequences, cfg.Sequences, h.opt.flash == "off"
	if w.Agents == 0 {
		w.Agents = max(1, usualAgents>>max(0, shrink-2))
	}
	w.Draft = asked.draft.model
	w.Outputs = h.opt.load.spec.outputs(m.Geometry, w.ShortWindow, w.Draft != nil)
	w.Pool = autoPool(w.Pool, measuredPool(h.home, h.engine.key(), m), w.Active)
	w.Refused = asked.gate.refused()
	in := plan.Input{Model: m, Devices: devices, Wish: w, Measured: h.measured.shapes(m), Loss: asked.gate.losses()}
	return h.opt.load.spec.planGuesses(in, func(in plan.Input) (plan.Plan, error) { return planContext(in, len(devices) > 1, shrink) })
}

// planContext plans the context that was asked for, or else the usual, made smaller as
// often as shrink says.
func planContext(in plan.Input, card bool, shrink int) (plan.Plan, error) {
	if in.Wish.Context > 0 {
		return plan.Make(in)
	}
	usual := usualFor(in.Model.Geometry.TrainContext, card)
	if shrink == 0 {
		in.Wish.Context = usual
		return plan.Make(in)
	}
	p, err := plan.Make(in) // as much as fits
	if want := min(usual, p.Context) >> (shrink - 1); err == nil && want < p.Context {
		in.Wish.Context = max(want, leastContext)
		return plan.Make(in)
	}
	return p, err
}

// leastContext is the smallest that a load is made smaller to.
const leastContext = 512

// refusedLoad is a load that does not fit, in words and as the plan says it.
type refusedLoad struct {
	error
	refused *plan.RefusedError
}

// Unwrap is for errors.As, to both.
func (r *refusedLoad) Unwrap() []error { return []error{r.error, r.refused} }

// residentWeights are the bytes of weights that loaded models hold in the machine's
// memory: the system counts them as free, since it could read them again.
func (h *host) residentWeights() (bytes uint64) {
	loaded := h.pool.Loaded()
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range loaded {
		if p := h.placed[name]; p.plan != nil {
			for i := range p.plan.Devices {
				if a := &p.plan.Devices[i]; a.Device.Kind == plan.CPU {
					bytes += a.Bytes(plan.Weights) + a.Bytes(plan.DraftWeights)
				}
			}
		}
	}
	return bytes
}

// devices are those that the model computes on.
func (p placement) devices() (names []string) {
	if p.plan != nil {
		for i := range p.plan.Devices {
			if a := &p.plan.Devices[i]; a.Used > 0 {
				names = append(names, a.Device.Name)
			}
		}
	}
	if len(names) == 0 {
		names = []string{"CPU"}
	}
	return names
}

// takes is how much memory the load takes on all devices.
func (p placement) takes() (bytes int64) {
	if p.plan == nil {
		return p.bytes
	}
	for i := range p.plan.Devices {
		bytes += int64(p.plan.Devices[i].Used)
	}
	return bytes
}

// notes say what was planned.
func (p placement) notes() []string {
	if p.plan == nil {
		return nil
	}
	var smaller string
	if p.shrink > 0 {
		smaller = " (made smaller to fit beside what else is loaded)"
	}
	if p.embed != nil {
		return slices.Concat(p.memoryNotes(), p.plan.Notes, p.learnt)
	}
	pool := ", a pool for each"
	if p.llm.Unified {
		pool = ", one pool for all"
	}
	notes := []string{fmt.Sprintf("%d sequences x %d tokens, cache %s/%s%s%s", p.plan.Active, p.plan.Context, p.llm.KeyType, p.llm.ValueType, pool, smaller)}
	for _, w := range p.llm.Warnings {
		notes = append(notes, w.Message)
	}
	return slices.Concat(notes, p.memoryNotes(), p.draft.notes(), []string{cacheNote(p.llm)}, p.plan.Notes, p.learnt)
}

// memoryNotes say what was planned for each device.
func (p placement) memoryNotes() (notes []string) {
	for i := range p.plan.Devices {
		if a := &p.plan.Devices[i]; a.Used > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s planned, %s left free (`dure ps --memory` compares)", a.Device.Name, size(int64(a.Used)), size(int64(a.Free))))
			if r := p.driver[a.Device.Name]; r.why != "" {
				notes = append(notes, fmt.Sprintf("%s: its driver does not tell what it holds: %s", a.Device.Name, r.why))
			}
		}
	}
	return notes
}

// usualFor is the context of a model that nobody asked one for.
func usualFor(trained int, card bool) int {
	usual := usualContext
	if card {
		usual = usualContextGPU
	}
	if trained > 0 {
		return min(usual, trained)
	}
	return usual
}

// placeUnplanned is for architectures that are not known: all layers go to the
// first card if the weights fit, and the cache is bounded in the runner.
func (h *host) placeUnplanned(e catalog.Entry, p *placement, why error) error {
	h.log.Warn("memory cannot be planned", "model", e.Name, "error", why)
	var note string
	p.layers, p.memory, note = h.engine.roughly(p.bytes, device.Here(libraryDirs()).Memory)
	if note != "" {
		h.log.Warn("placement", "model", e.Name, "note", note)
	}
	if err := h.opt.load.unplanned(&p.llm, p); err != nil {
		return loadError("model %s: %v", e.Name, err)
	}
	if p.layers != 0 {
		p.draft.layers = -1
	}
	if c, err := parseCache(p.llm.KeyType + "/" + p.llm.ValueType); err != nil {
		return loadError("model %s: %v", e.Name, err)
	} else if err := p.gate.admit(p, *c); err != nil {
		return err
	}
	if p.memory == 0 {
		return loadError("model %s needs %s and room to work in, but only %s of memory are free; close other programs or take a smaller model",
			e.Name, size(p.bytes), size(int64(h.report.Memory.Usable())))
	}
	return nil
}

// planDevices are what the engine computes on, as free as they are now, and the
// machine's own memory.
// Resident bytes of the machine's memory count as free and are not.
func (e startedEngine) planDevices(ctx context.Context, resident uint64) ([]plan.Device, error) {
	seen := e.Devices
	if e.gpu() != nil { // what is free there changes all the time
		now, err := probe(ctx, e.Set.Lib())
		if err != nil {
			return nil, fmt.Errorf("ask engine %s for its devices: %w", e.Variant, err)
		}
		seen = now.Devices
	}
	var all []plan.Device
	for _, d := range seen {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			all = append(all, plan.Device{Name: d.Name, Kind: d.Kind, Backend: d.Backend, TotalBytes: d.TotalBytes, FreeBytes: min(d.FreeBytes, d.TotalBytes)})
		}
	}
	memory := device.Here(libraryDirs()).Memory
	free := memory.Usable() - min(memory.Usable(), resident)
	return append(all, plan.Device{Name: "CPU", Kind: plan.CPU, Backend: "CPU", TotalBytes: max(memory.Total, free), FreeBytes: free}), nil
}
