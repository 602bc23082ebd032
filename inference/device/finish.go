package device

import (
	"cmp"
	"slices"

	"dure/inference/device/nvml"
)

// sizes are a card's memory as its driver tells it.
type sizes struct{ total, free, used Reading[uint64] }

// memory is what a model may use of the card's memory: see Device.Total.
func (c *card) memory() sizes {
	switch {
	case c.nv != nil && c.nv.Memory.Known:
		m := c.nv.Memory.V
		return sizes{Is(m.Total), Is(m.Free), Is(m.Used)}
	case c.nv != nil:
		why := from(c.nv.Memory, func(m nvml.Memory) uint64 { return m.Total })
		return sizes{why, why, why}
	case c.amd != nil && c.Kind == Integrated:
		a := c.amd
		return sizes{
			plus(a.VRAMTotal, a.GTTTotal),
			plus(minus(a.VRAMTotal, a.VRAMUsed), minus(a.GTTTotal, a.GTTUsed)),
			plus(a.VRAMUsed, a.GTTUsed),
		}
	case c.amd != nil:
		a := c.amd
		return sizes{a.VRAMTotal, minus(a.VRAMTotal, a.VRAMUsed), a.VRAMUsed}
	}
	return sizes{}
}

// finish fills in what needs all sources of a card.
func (m *merger) finish(c *card) {
	if c.Seen == nil {
		c.Seen = []Sight{} // a list in JSON too
	}
	if c.Kind == Processor {
		m.finishProcessor(c)
		return
	}
	c.Name = cmp.Or(c.Name, c.label, c.ID)
	if c.Vendor == VendorNVIDIA {
		m.finishNVIDIA(c)
	}
	m.addFault(c)
	mem := c.memory()
	c.Total, c.Free, c.Used = mem.total, mem.free, mem.used
	if c.amd != nil && c.Kind == Integrated {
		c.Free = m.boundByMain(c)
	}
	m.addProcesses(c)
	m.addEngineSizes(c)
	c.explain(m.whyUnknown(c))
}

func (m *merger) finishProcessor(c *card) {
	mem := m.Report.Memory
	if mem.Total > 0 {
		c.Total, c.Free = Is(mem.Total), Is(mem.Usable())
		c.Used = Is(mem.Total - min(mem.Total, mem.Available))
	}
	if mem.Limit > 0 {
		c.Total, c.Used = Is(min(mem.Total, mem.Limit)), Is(mem.Used)
	}
	c.explain("not read for the CPU")
}

func (m *merger) finishNVIDIA(c *card) {
	if m.Report.NVIDIA != nil {
		c.DriverVersion = m.Report.NVIDIA.Version
	}
	if m.NVML.Driver.Known {
		c.DriverVersion = m.NVML.Driver.V
	}
}

// addFault adds what the kernel's log says of the card.
func (m *merger) addFault(c *card) {
	fault := ""
	for _, f := range m.Faults {
		if c.PCI != "" && f.PCI == c.PCI {
			fault = f.Text
		}
	}
	// An old fault of a card that answers is over.
	answers := c.Vendor == VendorNVIDIA && c.Lost == "" && (c.nv != nil || len(c.Seen) > 0)
	if fault == "" || answers {
		return
	}
	if c.Lost != "" {
		c.Lost += "; "
	}
	c.Lost += "the kernel's log says: " + fault
}

// boundByMain is the free memory of integrated graphics, whose mapped part is
// main memory that others use as well.
func (m *merger) boundByMain(c *card) Reading[uint64] {
	mapped := minus(c.amd.GTTTotal, c.amd.GTTUsed)
	if mapped.Known && m.Report.Memory.Total > 0 {
		mapped.Value = min(mapped.Value, m.Report.Memory.Usable())
	}
	return plus(minus(c.amd.VRAMTotal, c.amd.VRAMUsed), mapped)
}

func (m *merger) addProcesses(c *card) {
	switch {
	case c.nv != nil && c.nv.Processes.Known:
		list := []Process{}
		for _, p := range c.nv.Processes.V {
			list = append(list, m.process(p.PID, from(p.Bytes, same[uint64])))
		}
		c.Processes = Is(list)
	case c.nv != nil:
		c.Processes = Unknown[[]Process](errorText(c.nv.Processes.Err))
	case c.amd != nil:
		list := []Process{}
		for _, p := range m.Memory {
			if p.PCI != c.PCI {
				continue
			}
			held := p.VRAM
			if c.Kind == Integrated {
				held += p.GTT
			}
			list = append(list, m.process(p.PID, Is(held)))
		}
		c.Processes = Is(list)
	default:
		return
	}
	slices.SortStableFunc(c.Processes.Value, func(a, b Process) int { return cmp.Compare(b.Bytes.Value, a.Bytes.Value) })
	c.Unlisted = minus(c.Used, sum(c.Processes, func(Process) bool { return true }))
	c.Others = m.others(c)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (m *merger) process(pid int, bytes Reading[uint64]) Process {
	return Process{PID: pid, Name: m.Names[pid], Bytes: bytes, Own: slices.Contains(m.Own, pid)}
}

// sum adds up what the chosen processes hold.
func sum(list Reading[[]Process], chosen func(Process) bool) Reading[uint64] {
	if !list.Known {
		return Unknown[uint64](list.Why)
	}
	total := Is[uint64](0)
	for _, p := range list.Value {
		if chosen(p) {
			total = plus(total, p.Bytes)
		}
	}
	return total
}

// others is what is in use without the caller's own processes. All of it counts,
// named or not. In a container NVIDIA's list may hide the caller itself; then
// nobody can tell.
func (m *merger) others(c *card) Reading[uint64] {
	if len(m.Own) == 0 {
		return c.Used
	}
	if c.nv != nil && !m.listIsOurs() {
		return Unknown[uint64]("the driver's list of processes is not of this container")
	}
	return minus(c.Used, sum(c.Processes, func(p Process) bool { return p.Own }))
}

// listIsOurs says whether NVIDIA's list has the process numbers of this system:
// it has if it names one of ours, or anyone that this system shows too.
func (m *merger) listIsOurs() bool {
	for _, c := range m.NVML.Cards {
		for _, p := range c.Processes.V {
			if _, shown := m.Names[p.PID]; shown || slices.Contains(m.Own, p.PID) {
				return true
			}
		}
	}
	return false
}

// addEngineSizes takes the engine's figures where no driver told any, and on a
// divided card, where the driver's are of the whole.
func (m *merger) addEngineSizes(c *card) {
	divided := c.MIG.Known && c.MIG.Value
	if divided {
		const why = "MIG is on: the card is divided, and the engine sees no instance"
		c.Total, c.Free, c.Used = Unknown[uint64](why), Unknown[uint64](why), Unknown[uint64](why)
		c.Others, c.Unlisted = c.Used, c.Used
	}
	if len(c.Seen) == 0 || c.Total.Known && c.Free.Known {
		return
	}
	s := c.Seen[0]
	if s.Total == 0 {
		return
	}
	c.Total, c.Free = Is(s.Total), Is(s.Free)
	if c.Kind == Software {
		// What it claims is a fixed figure; it takes main memory like any program.
		if m.Report.Memory.Total > 0 {
			c.Free.Value = min(s.Free, m.Report.Memory.Usable())
		}
		return
	}
	c.Used = Is(s.Total - min(s.Total, s.Free))
	if len(m.Own) == 0 {
		c.Others = c.Used
	}
}

// whyUnknown is the reason for what no source spoke of.
func (m *merger) whyUnknown(c *card) string {
	switch {
	case c.Kind == Software:
		return "computed on the CPU, in main memory"
	case c.nv != nil || c.amd != nil:
		return notTold
	case c.Vendor == VendorNVIDIA && m.NVMLErr != nil:
		return m.NVMLErr.Error()
	case c.Vendor == VendorNVIDIA && m.Report.NVIDIA != nil:
		return "NVIDIA's library does not list the card"
	case c.Driver == "":
		return "no driver that tells"
	}
	return "the driver " + c.Driver + " does not tell"
}

func (c *card) explain(why string) {
	for _, r := range []*Reading[uint64]{&c.Total, &c.Free, &c.Used, &c.Others, &c.Unlisted} {
		explain(r, why)
	}
	for _, r := range []*Reading[float64]{&c.Temperature, &c.Power, &c.PowerLimit} {
		explain(r, why)
	}
	for _, r := range []*Reading[int]{&c.Utilisation, &c.Clock, &c.MemoryClock} {
		explain(r, why)
	}
	explain(&c.PowerRange, why)
	explain(&c.Processes, why)
	explain(&c.Link, why)
	explain(&c.MaxLink, why)
	explain(&c.MIG, why)
}

func explain[T any](r *Reading[T], why string) {
	if !r.Known && r.Why == "" {
		r.Why = why
	}
}
