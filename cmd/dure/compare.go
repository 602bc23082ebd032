package main

import (
	"slices"
	"strings"

	"dure/inference/llm"
	"dure/inference/plan"
)

// deviation is an item that took another size than planned.
type deviation struct {
	Device, Item      string
	Planned, Measured uint64
}

// What may differ before it is said: weights and cells are known to the byte,
// but for what buffers are rounded to; scratch space is not, and what a driver
// takes beside the engine is only assumed before the first load.
const (
	exactSlack   = 1 << 20
	computeSlack = 4 << 20
	driverSlack  = 256 << 20
)

// Items of a comparison that are no plan's.
const (
	// repacked is a second copy of weights in the layout that a CPU computes with.
	repacked = "weights in the CPU's own layout"
	inAll    = "in all"
)

// verify compares a plan with what the engine, and the card's driver, say that it
// holds, and returns what really differs.
func (p placement) verify(memory []llm.Memory) []deviation {
	if p.plan == nil || memory == nil {
		return nil
	}
	var all []deviation
	for _, row := range p.compare(memory) {
		slack := uint64(exactSlack)
		switch item, _ := splitItem(row.Item); item {
		case plan.Weights:
			if row.Measured > row.Planned && mapped(memory, row.Device) {
				continue // of a file whose layers are not all here the range between them is mapped too, and never read
			}
			if _, copied := held(memory, row.Device, ""); row.Measured < row.Planned && copied > 0 {
				continue // the ends of the file that the CPU has in its own layout are not mapped
			}
		case repacked:
			continue // counted once: the file's own pages can be dropped for it
		case plan.Driver:
			continue // the sum says it
		case plan.Compute, plan.DraftComp:
			slack = max(computeSlack, row.Measured/20)
		case inAll:
			slack = driverSlack
		}
		if row.Planned > row.Measured+slack || row.Measured > row.Planned+slack {
			all = append(all, row)
		}
	}
	return all
}

// held is what the engine holds on a device for a part of the model; copied are
// weights that it holds twice.
func held(memory []llm.Memory, device, part string) (sum llm.Memory, copied uint64) {
	for _, b := range memory {
		if b.Device != device || b.Part != part {
			continue
		}
		if isCopy(b.Buffer) {
			copied += b.Weights
		} else {
			sum.Weights += b.Weights
		}
		sum.Cache, sum.Compute = sum.Cache+b.Cache, sum.Compute+b.Compute
	}
	return sum, copied
}

// mapped says that weights on the device are pages of the model's file.
func mapped(memory []llm.Memory, device string) bool {
	return slices.ContainsFunc(memory, func(b llm.Memory) bool {
		return b.Device == device && strings.HasSuffix(b.Buffer, "_Mapped") && b.Weights > 0
	})
}

func isCopy(buffer string) bool {
	return strings.Contains(buffer, "REPACK") || strings.Contains(buffer, "AMX") || strings.Contains(buffer, "KLEIDIAI")
}

// compare puts plan, engine and driver side by side: weights, cache and scratch
// space of each device; what the driver takes beside them, and the sum.
func (p placement) compare(memory []llm.Memory) []deviation {
	var all []deviation
	for i := range p.plan.Devices {
		a := &p.plan.Devices[i]
		has, copied := held(memory, a.Device.Name, "")
		all = append(all,
			deviation{a.Device.Name, plan.Weights, a.Bytes(plan.Weights), has.Weights},
			deviation{a.Device.Name, plan.KV + " and " + plan.Recurrent, a.Bytes(plan.KV) + a.Bytes(plan.Recurrent), has.Cache},
			deviation{a.Device.Name, plan.Compute, a.Bytes(plan.Compute), has.Compute})
		if p.plan.MTP > 0 {
			mtp, _ := held(memory, a.Device.Name, llm.PartMTP)
			all = append(all,
				deviation{a.Device.Name, plan.DraftKV, a.Bytes(plan.DraftKV), mtp.Cache},
				deviation{a.Device.Name, plan.DraftComp, a.Bytes(plan.DraftComp), mtp.Compute})
			has.Cache, has.Compute = has.Cache+mtp.Cache, has.Compute+mtp.Compute
		}
		if copied > 0 {
			all = append(all, deviation{Device: a.Device.Name, Item: repacked, Measured: copied})
		}
		r, known := p.driver[a.Device.Name]
		if !known || r.why != "" {
			continue
		}
		all = append(all,
			deviation{a.Device.Name, joinItem(plan.Driver, r.by), a.Bytes(plan.Driver), r.beyond(has, copied)},
			deviation{a.Device.Name, joinItem(inAll, r.by), ofProcess(a), r.bytes})
	}
	return all
}

// ofProcess is what a plan's device gives to the model's process: all but what
// stays free or is others'.
func ofProcess(a *plan.Allocation) (sum uint64) {
	for _, it := range a.Items {
		switch it.Kind {
		case plan.ReserveFor, plan.Companion, plan.Parked:
		default:
			sum += it.Bytes
		}
	}
	return sum
}

// measurements are what the next plan of these shapes should know: of the main context
// and that of the layers for further tokens. A card's change is no measurement: other
// programs may be in it.
func (p placement) measurements(memory []llm.Memory) []plan.Measurement {
	all := []plan.Measurement{p.measurement(memory)}
	if p.plan.MTP > 0 {
		all = append(all, plan.Measurement{Shape: p.plan.DraftShape(), Compute: scratch(memory, llm.PartMTP)})
	}
	return all
}

// scratch is what a part of a model computes in, by device.
func scratch(memory []llm.Memory, part string) map[string]uint64 {
	all := map[string]uint64{}
	for _, b := range memory {
		if b.Part == part {
			all[b.Device] += b.Compute
		}
	}
	return all
}

func (p placement) measurement(memory []llm.Memory) plan.Measurement {
	m := plan.Measurement{Shape: p.plan.Shape(), Compute: scratch(memory, "")}
	for name, r := range p.driver {
		if r.why != "" || r.by != byProcess {
			continue
		}
		if m.Driver == nil {
			m.Driver = map[string]uint64{}
		}
		has, copied := held(memory, name, "")
		mtp, _ := held(memory, name, llm.PartMTP)
		has.Cache, has.Compute = has.Cache+mtp.Cache, has.Compute+mtp.Compute
		m.Driver[name] = r.beyond(has, copied)
	}
	return m
}
