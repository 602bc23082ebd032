package device

// Kind is what a device computes with and whose memory it has.
type Kind string

// The kinds of devices.
const (
	Discrete    Kind = "discrete"   // a card with memory of its own
	Integrated  Kind = "integrated" // graphics in the processor, in main memory
	Software    Kind = "software"   // a graphics interface computed on the CPU
	Processor   Kind = "cpu"
	UnknownKind Kind = "unknown" // a graphics card; which kind nobody says
)

// Device is one thing that a model can run on: what the bus, the driver and the
// engine know of it, joined by Merge. Sizes are bytes.
type Device struct {
	// ID is the PCI address where there is one, else "cpu", "software-llvmpipe",
	// or the engine's or the driver's name for it. It stays the same from one
	// look to the next.
	ID     string `json:"id"`
	Kind   Kind   `json:"kind"`
	Vendor Vendor `json:"vendor"`
	Name   string `json:"name"`
	PCI    string `json:"pci,omitempty"`
	UUID   string `json:"uuid,omitempty"` // NVIDIA's, or amdgpu's unique_id
	// Driver is the kernel's driver, DriverVersion NVIDIA's version.
	Driver        string `json:"driver,omitempty"`
	DriverVersion string `json:"driver_version,omitempty"`
	// Compute is NVIDIA's compute capability ("12.0") or AMD's target
	// ("gfx1201"); empty is not known.
	Compute string `json:"compute,omitempty"`

	// Total, Free and Used are of the memory that a model would go to: a card's
	// own; for integrated graphics the part set aside for it and the main memory
	// that it may map; for the CPU main memory. Total = Free + Used + what the
	// driver reserves. With MIG on the whole card's figures mean nothing to a
	// program: then they are those of the instance that the engine sees.
	Total Reading[uint64] `json:"total_bytes"`
	Free  Reading[uint64] `json:"free_bytes"`
	Used  Reading[uint64] `json:"used_bytes"`
	// Others is the part of Used that is not the caller's own processes'.
	Others Reading[uint64] `json:"others_bytes"`
	// Processes hold memory on the card, as far as the driver tells: those of
	// other users are hidden by amdgpu, those outside of a container by NVIDIA.
	Processes Reading[[]Process] `json:"processes"`
	// Unlisted is the part of Used that no listed process accounts for.
	Unlisted Reading[uint64] `json:"unlisted_bytes"`

	Temperature Reading[float64] `json:"temperature_celsius"`
	Power       Reading[float64] `json:"power_watts"`
	PowerLimit  Reading[float64] `json:"power_limit_watts"`
	// PowerRange is what the limit can be set to.
	PowerRange  Reading[PowerRange] `json:"power_range"`
	Utilisation Reading[int]        `json:"utilisation_percent"`
	Clock       Reading[int]        `json:"clock_mhz"`
	MemoryClock Reading[int]        `json:"memory_clock_mhz"`
	Link        Reading[Link]       `json:"link"`     // now; cards slow down when idle
	MaxLink     Reading[Link]       `json:"max_link"` // what it could be
	MIG         Reading[bool]       `json:"mig"`      // divided into instances

	Seen []Sight `json:"seen"` // by the engine; empty: the engine does not use it
	// Lost says that the card does not answer any more, and how that is known.
	Lost string `json:"lost,omitempty"`
}

// PowerRange is of a power limit, in watts; Default is what it is where nobody set it.
type PowerRange struct {
	Min     float64 `json:"min_watts"`
	Max     float64 `json:"max_watts"`
	Default float64 `json:"default_watts"`
}

// Link is a PCI Express link.
type Link struct {
	Generation int `json:"generation"`
	Lanes      int `json:"lanes"`
}

// Process holds memory on a device.
type Process struct {
	PID   int             `json:"pid"`
	Name  string          `json:"name"` // empty where this system does not show the process
	Bytes Reading[uint64] `json:"bytes"`
	Own   bool            `json:"own"` // the caller named it as its own
}

// EngineDevice is what the engine reports of a device (ggml's figures).
type EngineDevice struct {
	Name        string // "CUDA0", "Vulkan1", "CPU"
	Description string // product name
	Kind        string // "gpu", "igpu", "cpu", "accel"
	Backend     string // "CUDA", "Vulkan", "ROCm", "CPU"
	PCI         string // address; empty where the engine does not tell
	// FreeBytes and TotalBytes of its memory.
	FreeBytes, TotalBytes uint64
}

// Match says how an engine's device was found to be a device of the machine,
// from sure to weak.
type Match string

// The ways to match; Merge's comment has the rule.
const (
	ByPCI    Match = "pci"
	ByName   Match = "name"
	ByChip   Match = "chip"   // its code name in the description
	ByMemory Match = "memory" // one of several of that name, by its size
	ByOrder  Match = "order"  // one of several alike, the next in the order of the bus
	ByVendor Match = "vendor" // the only card of that maker
	ByKind   Match = "kind"   // the CPU, or software
	NoMatch  Match = "none"   // only the engine knows of it
)

// Sight is a device as one backend of the engine sees it.
type Sight struct {
	Backend string `json:"backend"`
	Name    string `json:"name"`
	Match   Match  `json:"match"`
	Free    uint64 `json:"free_bytes"`
	Total   uint64 `json:"total_bytes"`
}
