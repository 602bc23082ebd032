package main

import (
	"context"
	"slices"
	"strings"

	"dure/inference/device"
	"dure/inference/llm"
	"dure/inference/plan"
)

// Who measured an item.
const (
	byEngine  = "engine"  // its own account of its buffers
	byProcess = "process" // the card's driver, for the model's process
	byCard    = "card"    // the card's use after the load less that before: others' changes are in it
)

// howRead says in an item's name how it was measured where that is not the engine.
var howRead = map[string]string{
	byProcess: " (the driver's figure for the process)",
	byCard:    " (the card's use after the load less before)",
}

func joinItem(item, by string) string { return item + howRead[by] }

// splitItem undoes joinItem.
func splitItem(text string) (item, by string) {
	for by, how := range howRead {
		if item, ok := strings.CutSuffix(text, how); ok {
			return item, by
		}
	}
	return text, byEngine
}

// driverReading is what a card's driver says that a model's process holds there.
type driverReading struct {
	bytes uint64
	by    string
	why   string // it is not known
}

// beyond is what the driver counts on top of the engine's buffers.
func (r driverReading) beyond(has llm.Memory, copied uint64) uint64 {
	engine := has.Weights + has.Cache + has.Compute + copied
	return r.bytes - min(r.bytes, engine)
}

// lookAtCards are the devices as they are now; nil where the plan uses no card,
// or there is none.
func (h *host) lookAtCards(ctx context.Context, p placement) []device.Device {
	if p.plan == nil || !slices.ContainsFunc(p.plan.Devices, usedCard) {
		return nil
	}
	return h.devices(ctx)
}

func usedCard(a plan.Allocation) bool { return a.Device.Kind != plan.CPU && a.Used > 0 }

// readDriver reads what the drivers count for the model's process, by the engine's
// name of the device.
func readDriver(p placement, after []device.Device) map[string]driverReading {
	if p.plan == nil {
		return nil
	}
	all := map[string]driverReading{}
	for i := range p.plan.Devices {
		if a := &p.plan.Devices[i]; usedCard(*a) {
			all[a.Device.Name] = readCard(a.Device.Name, p.pid, p.before, after)
		}
	}
	return all
}

// readCard prefers the driver's figure for the process. Where it has none the card
// is compared with what it was before the load.
func readCard(name string, pid int, before, after []device.Device) driverReading {
	now, ok := seenAs(name, after)
	if !ok {
		return driverReading{why: "the card is not among the machine's devices"}
	}
	if n, ok := ofPID(now, pid); ok {
		return driverReading{bytes: n, by: byProcess}
	}
	was, ok := seenAs(name, before)
	switch {
	case !now.Used.Known:
		return driverReading{why: now.Used.Why}
	case !ok:
		return driverReading{why: "the card was not among the machine's devices before the load"}
	case !was.Used.Known:
		return driverReading{why: was.Used.Why}
	case was.ID != now.ID:
		return driverReading{why: "the engine's device is another card than before the load"}
	}
	return driverReading{bytes: now.Used.Value - min(now.Used.Value, was.Used.Value), by: byCard}
}

// seenAs is the device that the engine calls so.
func seenAs(name string, all []device.Device) (device.Device, bool) {
	i := slices.IndexFunc(all, func(d device.Device) bool {
		return slices.ContainsFunc(d.Seen, func(s device.Sight) bool { return s.Name == name })
	})
	if i < 0 {
		return device.Device{}, false
	}
	return all[i], true
}

// ofPID is what the driver counts for a process; false where it does not tell.
func ofPID(d device.Device, pid int) (sum uint64, ok bool) {
	for _, p := range d.Processes.Value {
		if p.PID == pid && p.Bytes.Known {
			sum, ok = sum+p.Bytes.Value, true
		}
	}
	return sum, ok
}
