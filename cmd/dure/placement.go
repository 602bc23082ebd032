package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/device"
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
	// plan and model are empty for an architecture whose memory cannot be told.
	plan  *plan.Plan
	model plan.Model
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
func (h *host) place(ctx context.Context, e catalog.Entry, path string) (placement, error) {
	p := placement{llm: h.llmConfig(e)}
	m, err := gguf.Open(path)
	if err != nil {
		return p, loadError("model %s: %v", e.Name, err)
	}
	defer m.Close()
	for _, f := range m.Files {
		p.bytes += int64(f.Size)
	}
	model, err := plan.FromFile(m)
	var unknown *gguf.UnknownArchitectureError
	switch {
	case errors.As(err, &unknown):
		return p, h.placeUnplanned(e, &p, unknown)
	case err != nil:
		return p, loadError("model %s: %v", e.Name, err)
	}
	made, err := h.plan(ctx, model, p.llm)
	if err != nil {
		return p, loadError("model %s: %v", e.Name, err)
	}
	p.plan, p.model = &made, model
	if p.layers = made.Layers; made.Layers == made.All {
		p.layers = -1
	}
	p.llm.Context, p.llm.Sequences, p.llm.Planned = made.Context, made.Active, true
	p.llm.KeyType, p.llm.ValueType = typeName(made.Cache.Keys), typeName(made.Cache.Values)
	return p, nil
}

// typeName is a storage type as the engine names it.
func typeName(t gguf.TensorType) string { return strings.ToLower(t.String()) }

// plan asks for what the configuration asks for, and otherwise for the usual.
func (h *host) plan(ctx context.Context, m plan.Model, cfg llm.Config) (plan.Plan, error) {
	devices, err := h.engine.planDevices(ctx)
	if err != nil {
		return plan.Plan{}, err
	}
	cache, err := parseCache(cmp.Or(h.opt.kv, "f16"))
	if err != nil {
		return plan.Plan{}, fmt.Errorf("--kv: %w", err)
	}
	w := plan.Wish{
		Context: cfg.Context, Agents: cfg.Sequences, Active: cfg.Sequences, Cache: cache,
		NoFlash: h.opt.flash == "off", MicroBatch: llm.MicroBatch(cfg.Sequences),
	}
	if w.Agents == 0 {
		w.Agents = usualAgents
	}
	in := plan.Input{Model: m, Devices: devices, Wish: w, Measured: h.measured.shapes(m)}
	if w.Context > 0 {
		return plan.Make(in)
	}
	in.Wish.Context = usualFor(m.Geometry.TrainContext, len(devices) > 1)
	p, err := plan.Make(in)
	if errors.As(err, new(*plan.RefusedError)) {
		in.Wish.Context = 0 // as much as fits
		return plan.Make(in)
	}
	return p, err
}

// notes say what was planned.
func (p placement) notes() []string {
	if p.plan == nil {
		return nil
	}
	notes := []string{fmt.Sprintf("%d sequences x %d tokens, cache %s/%s", p.plan.Active, p.plan.Context, p.llm.KeyType, p.llm.ValueType)}
	for i := range p.plan.Devices {
		if a := &p.plan.Devices[i]; a.Used > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s planned, %s left free (`dure ps --memory` compares)", a.Device.Name, size(int64(a.Used)), size(int64(a.Free))))
		}
	}
	return append(notes, p.plan.Notes...)
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
	if p.memory == 0 {
		return loadError("model %s needs %s and room to work in, but only %s of memory are free; close other programs or take a smaller model",
			e.Name, size(p.bytes), size(int64(h.report.Memory.Usable())))
	}
	return nil
}

// planDevices are what the engine computes on, as free as they are now, and the
// machine's own memory.
func (e startedEngine) planDevices(ctx context.Context) ([]plan.Device, error) {
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
	free := memory.Usable()
	return append(all, plan.Device{Name: "CPU", Kind: plan.CPU, Backend: "CPU", TotalBytes: max(memory.Total, free), FreeBytes: free}), nil
}

// deviation is an item that took another size than planned.
type deviation struct {
	Device, Item      string
	Planned, Measured uint64
}

// What may differ before it is said: weights and cells are known to the byte,
// but for what buffers are rounded to; scratch space is not.
const (
	exactSlack   = 1 << 20
	computeSlack = 4 << 20
)

// verify compares a plan with what the engine says that it holds.
func (p placement) verify(memory []llm.Memory) []deviation {
	if p.plan == nil || memory == nil {
		return nil
	}
	var all []deviation
	for _, row := range p.compare(memory) {
		if row.Item == repacked {
			continue // counted once: the file's own pages can be dropped for it
		}
		slack := uint64(exactSlack)
		if row.Item == plan.Compute {
			slack = max(computeSlack, row.Measured/20)
		}
		if row.Planned > row.Measured+slack || row.Measured > row.Planned+slack {
			all = append(all, row)
		}
	}
	return all
}

// compare puts plan and engine side by side: weights, cache and scratch space
// of each device.
func (p placement) compare(memory []llm.Memory) []deviation {
	var all []deviation
	for i := range p.plan.Devices {
		a := &p.plan.Devices[i]
		var held llm.Memory
		var copied uint64
		for _, b := range memory {
			switch {
			case b.Device != a.Device.Name:
				continue
			case isCopy(b.Buffer):
				copied += b.Weights
			default:
				held.Weights += b.Weights
			}
			held.Cache, held.Compute = held.Cache+b.Cache, held.Compute+b.Compute
		}
		all = append(all,
			deviation{a.Device.Name, plan.Weights, a.Bytes(plan.Weights), held.Weights},
			deviation{a.Device.Name, plan.KV + " and " + plan.Recurrent, a.Bytes(plan.KV) + a.Bytes(plan.Recurrent), held.Cache},
			deviation{a.Device.Name, plan.Compute, a.Bytes(plan.Compute), held.Compute})
		if copied > 0 {
			all = append(all, deviation{Device: a.Device.Name, Item: repacked, Measured: copied})
		}
	}
	return all
}

// repacked is a second copy of weights in the layout that a CPU computes with.
const repacked = "weights in the CPU's own layout"

func isCopy(buffer string) bool {
	return strings.Contains(buffer, "REPACK") || strings.Contains(buffer, "AMX") || strings.Contains(buffer, "KLEIDIAI")
}
