package main

import (
	"strings"
	"testing"

	"dure/inference/device"
	"dure/inference/engine"
	"dure/inference/llm"
	"dure/inference/plan"
)

const mib = 1 << 20

// card is a device as a driver tells of it.
func card(id, engine string, used device.Reading[uint64], processes ...device.Process) device.Device {
	return device.Device{ID: id, Used: used, Processes: device.Is(processes), Seen: []device.Sight{{Name: engine}}}
}

func TestReadCard(t *testing.T) {
	before := []device.Device{card("a", "CUDA0", device.Is[uint64](1000)), card("b", "CUDA1", device.Unknown[uint64]("not told"))}
	ours := device.Process{PID: 7, Bytes: device.Is[uint64](6000)}
	silent := device.Process{PID: 7, Bytes: device.Unknown[uint64]("not on this system")}
	for name, c := range map[string]struct {
		engine string
		after  device.Device
		want   driverReading
	}{
		"the process":        {"CUDA0", card("a", "CUDA0", device.Is[uint64](9000), device.Process{PID: 8, Bytes: device.Is[uint64](1)}, ours), driverReading{6000, byProcess, ""}},
		"no figure for it":   {"CUDA0", card("a", "CUDA0", device.Is[uint64](9000), silent), driverReading{8000, byCard, ""}},
		"not listed":         {"CUDA0", card("a", "CUDA0", device.Is[uint64](9000)), driverReading{8000, byCard, ""}},
		"others gave back":   {"CUDA0", card("a", "CUDA0", device.Is[uint64](900)), driverReading{0, byCard, ""}},
		"nothing is told":    {"CUDA0", card("a", "CUDA0", device.Unknown[uint64]("asleep")), driverReading{why: "asleep"}},
		"nothing was told":   {"CUDA1", card("b", "CUDA1", device.Is[uint64](900)), driverReading{why: "not told"}},
		"the numbers moved":  {"CUDA0", card("c", "CUDA0", device.Is[uint64](900)), driverReading{why: "the engine's device is another card than before the load"}},
		"not there any more": {"CUDA0", card("a", "CUDA9", device.Is[uint64](900)), driverReading{why: "the card is not among the machine's devices"}},
	} {
		if got := readCard(c.engine, 7, before, []device.Device{c.after}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The driver's figure is put beside the plan item by item: what it takes beside
// the engine, and the sum without what stays free or is others'.
func TestDriverBesidePlan(t *testing.T) {
	a := plan.Allocation{Device: plan.Device{Name: "CUDA0", Kind: plan.GPU}, Used: 1, Items: []plan.Item{
		{Kind: plan.Weights, Bytes: 1000 * mib}, {Kind: plan.KV, Bytes: 200 * mib}, {Kind: plan.Compute, Bytes: 100 * mib},
		{Kind: plan.Driver, Bytes: 520 * mib}, {Kind: plan.ReserveFor, Bytes: 512 * mib}, {Kind: plan.Companion, Bytes: 9000 * mib}}}
	p := placement{plan: &plan.Plan{Devices: []plan.Allocation{a}}, driver: map[string]driverReading{"CUDA0": {bytes: 1700 * mib, by: byProcess}}}
	held := []llm.Memory{{Buffer: "CUDA0", Device: "CUDA0", Weights: 1000 * mib, Cache: 200 * mib, Compute: 100 * mib}}
	rows := p.compare(held)
	last := rows[len(rows)-2:]
	if last[0] != (deviation{"CUDA0", "driver context (the driver's figure for the process)", 520 * mib, 400 * mib}) ||
		last[1] != (deviation{"CUDA0", "in all (the driver's figure for the process)", 1820 * mib, 1700 * mib}) {
		t.Errorf("%+v", last)
	}
	if d := p.verify(held); len(d) != 0 {
		t.Errorf("within the slack: %+v", d)
	}
	p.driver["CUDA0"] = driverReading{bytes: 2100 * mib, by: byCard}
	if d := p.verify(held); len(d) != 1 || !strings.Contains(d[0].Item, "before") || d[0].Measured != 2100*mib {
		t.Errorf("off by more: %+v", d)
	}
	p.driver["CUDA0"] = driverReading{why: "it does not tell"}
	if n := len(p.compare(held)); n != len(rows)-2 || !strings.Contains(strings.Join(p.notes(), "\n"), "its driver does not tell what it holds: it does not tell") {
		t.Errorf("%d rows, notes %q", n, p.notes())
	}
}

// Names of items carry who measured through the metrics and back.
func TestItemNames(t *testing.T) {
	for _, by := range []string{byEngine, byProcess, byCard} {
		if item, got := splitItem(joinItem(inAll, by)); item != inAll || got != by || measuredBy[by] == "" {
			t.Errorf("%q by %q became %q by %q", inAll, by, item, got)
		}
	}
}

// Two cards alike are told apart by the addresses that the engine tells.
func TestEngineDevicesKeepTheirAddress(t *testing.T) {
	seen := []engine.Device{{Name: "Vulkan0", Kind: "gpu", PCI: "0000:41:00.0", TotalBytes: 1}, {Name: "CPU", Kind: "cpu"}}
	if got := engineDevices(seen); got[0].PCI != "0000:41:00.0" || got[1].PCI != "" {
		t.Errorf("%+v", got)
	}
}
