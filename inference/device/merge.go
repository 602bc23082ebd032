package device

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dure/inference/device/nvml"
)

// Sources are what Merge joins.
type Sources struct {
	Report Report
	AMD    []AMDCard
	// Memory is what processes hold on AMD's cards.
	Memory []ProcessMemory
	NVML   nvml.Snapshot
	// NVMLErr is why NVML is empty; nil also where there is no NVIDIA driver.
	NVMLErr error
	// Names are the names of the processes that this system shows.
	Names  map[int]string
	Faults []Fault // from the kernel's log
	Engine []EngineDevice
	// Own are the caller's processes that hold memory on a card: those of its
	// runners that do, and no others.
	Own []int
}

// card is a device while its sources are gathered.
type card struct {
	Device
	amd *AMDCard
	nv  *nvml.Card
	// label is for a card that nobody knows a name of.
	label string
}

// Merge makes one list without doubles: the cards in the order of their PCI
// addresses, then those without one, then software, then the CPU.
//
// What the bus, amdgpu and NVIDIA's library say is joined by PCI address. A card
// that NVIDIA's library lists without an address (it is lost) is the one of the
// bus that the library does not list otherwise, if there is just one. An
// engine's device is joined by its address where the engine tells it. Else, among
// the maker's cards that the same backend does not see yet: the one with the same
// name (without maker, brackets and "Graphics"); else the one whose target the
// description gives away (gfx1201, NAVI31); of several alike the one with the
// same memory, within a tenth, else the next in the order of the bus, which for
// cards alike is the engines' own order; else, where the card or the description
// has no proper name, the maker's only card of that kind. A Sight says which of these it was.
// An engine's device that is none of these stands for itself: nothing is dropped.
//
// Display chips that no engine can use are left out.
func Merge(s Sources) []Device {
	m := merger{Sources: s}
	m.addBus()
	m.addNVIDIA()
	m.sortCards()
	cpu := m.processor()
	for _, e := range s.Engine {
		m.addEngine(e, cpu)
	}
	m.sortCards()
	var devices []Device
	for _, c := range append(m.cards, cpu) {
		m.finish(c)
		devices = append(devices, c.Device)
	}
	return devices
}

type merger struct {
	Sources
	cards []*card
}

func (m *merger) addBus() {
	for _, g := range m.Report.GPUs {
		known := m.engineHas(g.PCI) || slices.ContainsFunc(m.NVML.Cards, func(c nvml.Card) bool { return c.PCI.V == g.PCI })
		if g.Vendor == VendorOther && !known {
			continue
		}
		c := &card{label: g.numbers(), Device: Device{ID: g.PCI, Kind: UnknownKind, Vendor: g.Vendor, Name: g.Name, PCI: g.PCI, Driver: g.Driver}}
		switch {
		case g.Vendor == VendorNVIDIA:
			c.Kind = Discrete
		case g.Vendor == VendorIntel && strings.HasPrefix(g.PCI, "0000:00:"):
			c.Kind = Integrated // on the bus inside of the processor
		case g.Vendor == VendorIntel:
			c.Kind = Discrete
		}
		if i := slices.IndexFunc(m.AMD, func(a AMDCard) bool { return a.PCI == g.PCI }); i >= 0 {
			c.amd = &m.AMD[i]
			c.addAMD()
		}
		m.cards = append(m.cards, c)
	}
}

func (m *merger) engineHas(pci string) bool {
	return slices.ContainsFunc(m.Engine, func(e EngineDevice) bool { return normalPCI(e.PCI) == pci })
}

func (c *card) addAMD() {
	a := c.amd
	c.UUID, c.Compute = a.UniqueID, a.Target.Value
	c.Temperature, c.Power, c.PowerLimit = a.Temperature, a.Power, a.PowerLimit
	c.PowerRange = a.PowerRange
	c.Utilisation, c.Clock, c.MemoryClock = a.Busy, a.Clock, a.MemoryClock
	c.Link, c.MaxLink = a.Link, a.MaxLink
	c.MIG = Is(false)
	if a.Integrated.Known {
		c.Kind = Discrete
		if a.Integrated.Value {
			c.Kind = Integrated
		}
	}
}

// addNVIDIA gives each of the library's cards its place on the bus, or one of its
// own: under WSL2 the bus does not show the card.
func (m *merger) addNVIDIA() {
	var homeless []*nvml.Card
	for i := range m.NVML.Cards {
		n := &m.NVML.Cards[i]
		at := slices.IndexFunc(m.cards, func(c *card) bool { return n.PCI.Known && c.PCI == n.PCI.V })
		switch {
		case at >= 0:
			m.cards[at].nv = n
		case n.PCI.Known:
			m.cards = append(m.cards, &card{nv: n, Device: Device{ID: n.PCI.V, PCI: n.PCI.V, Vendor: VendorNVIDIA, Kind: Discrete, Driver: "nvidia"}})
		default:
			homeless = append(homeless, n)
		}
	}
	var vacant []*card
	for _, c := range m.cards {
		if c.Vendor == VendorNVIDIA && c.nv == nil {
			vacant = append(vacant, c)
		}
	}
	for _, n := range homeless {
		if len(homeless) == 1 && len(vacant) == 1 {
			vacant[0].nv = n
			continue
		}
		m.cards = append(m.cards, &card{nv: n, Device: Device{ID: fmt.Sprintf("nvidia%d", n.Index), Vendor: VendorNVIDIA, Kind: Discrete, Driver: "nvidia"}})
	}
	for _, c := range m.cards {
		if c.nv != nil {
			m.readNVIDIA(c)
		}
	}
}

func (m *merger) readNVIDIA(c *card) {
	n := c.nv
	if n.Name.Known {
		c.Name = n.Name.V
	}
	if n.Capability.Known {
		c.Compute = n.Capability.V.String()
	}
	c.UUID = n.UUID.V
	c.Temperature = from(n.Temperature, func(t int) float64 { return float64(t) })
	c.Power, c.PowerLimit = from(n.Power, watts), from(n.PowerLimit, watts)
	c.PowerRange = from(n.PowerRange, func(r nvml.PowerRange) PowerRange { return PowerRange{watts(r.Min), watts(r.Max), watts(r.Default)} })
	c.Utilisation = from(n.Utilisation, func(u nvml.Utilisation) int { return u.GPU })
	c.Clock, c.MemoryClock = from(n.Clock, same[int]), from(n.MemoryClock, same[int])
	c.Link, c.MaxLink = from(n.Link, link), from(n.MaxLink, link)
	c.MIG = from(n.MIG, func(m nvml.MIG) bool { return m.On })
	if err := n.Lost(); err != nil {
		c.Lost = err.Error()
	}
}

func same[T any](v T) T          { return v }
func watts(milli uint64) float64 { return float64(milli) / 1000 }
func link(l nvml.Link) Link      { return Link{l.Generation, l.Width} }

// addEngine adds what the engine sees to the device that it is.
func (m *merger) addEngine(e EngineDevice, cpu *card) {
	sight := Sight{Backend: e.Backend, Name: e.Name, Free: e.FreeBytes, Total: e.TotalBytes}
	if e.Kind != "gpu" && e.Kind != "igpu" { // "cpu", and "accel": arithmetic libraries of the CPU
		sight.Match = ByKind
		cpu.Seen = append(cpu.Seen, sight)
		return
	}
	if name := softwareName(e.Description); name != "" {
		sight.Match = ByKind
		m.cards = append(m.cards, &card{Device: Device{
			ID: m.freeID("software-" + name), Kind: Software, Vendor: VendorOther, Name: e.Description, Seen: []Sight{sight},
		}})
		return
	}
	at, by := match(e, m.cards)
	sight.Match = by
	var c *card
	if at < 0 {
		c = &card{Device: Device{ID: m.freeID(strings.ToLower(e.Name)), Kind: Discrete, Vendor: vendorOf(e), Name: e.Description}}
		if pci := normalPCI(e.PCI); pci != "" {
			c.PCI, c.ID = pci, pci
		}
		m.cards = append(m.cards, c)
	} else {
		c = m.cards[at]
	}
	if c.Name == "" {
		c.Name = e.Description
	}
	if e.Kind == "igpu" {
		c.Kind = Integrated
	} else if c.Kind == UnknownKind {
		c.Kind = Discrete
	}
	c.Seen = append(c.Seen, sight)
}

// freeID appends a number where a name is taken.
func (m *merger) freeID(id string) string {
	free := id
	taken := func(c *card) bool { return c.ID == free }
	for n := 2; free == "cpu" || slices.ContainsFunc(m.cards, taken); n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return free
}

func (m *merger) sortCards() {
	rank := func(c *card) int {
		switch {
		case c.Kind == Software:
			return 2
		case c.PCI == "":
			return 1
		}
		return 0
	}
	slices.SortStableFunc(m.cards, func(a, b *card) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a.PCI), len(b.PCI)), cmp.Compare(a.PCI, b.PCI), cmp.Compare(a.ID, b.ID))
	})
}

func (m *merger) processor() *card {
	name := m.Report.CPU.Model
	if name == "" {
		name = "CPU"
	}
	return &card{Device: Device{ID: "cpu", Kind: Processor, Vendor: VendorOther, Name: name}}
}
