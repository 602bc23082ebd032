package device

// Report is what this machine has. Sizes are bytes; 0 means not known or not
// there, as each field says.
type Report struct {
	CPU      CPU       `json:"cpu"`
	Memory   Memory    `json:"memory"`
	GPUs     []GPU     `json:"gpus"`   // in the order of their PCI addresses
	NVIDIA   *NVIDIA   `json:"nvidia"` // the proprietary driver; nil where it is not loaded
	Vulkan   Vulkan    `json:"vulkan"`
	Problems []Problem `json:"problems"` // what stands in the way of using all of it
}

// CPU is the processor as this process may use it.
type CPU struct {
	Model string `json:"model"` // as the kernel names it; may be empty
	// Usable is how many logical CPUs this process may run on.
	Usable int `json:"usable"`
	// Physical is how many physical cores these CPUs are part of.
	Physical int `json:"physical"`
	// Quota is the time limit of the control groups, in CPUs; 0 is none.
	Quota float64 `json:"quota_cpus"`
}

// Threads is how many compute threads make sense: one per physical core, as far
// as the quota goes, and at least 1.
func (c CPU) Threads() int {
	n := c.Physical
	if c.Quota > 0 {
		n = min(n, int(c.Quota+0.999))
	}
	return max(n, 1)
}

// Memory is the main memory.
type Memory struct {
	Total     uint64 `json:"total_bytes"`
	Available uint64 `json:"available_bytes"` // without swapping, as the kernel estimates it
	// Limit and Used are the tightest control group's limit and what is charged
	// to that group; Limit 0 is none.
	Limit uint64 `json:"limit_bytes"`
	Used  uint64 `json:"used_bytes"`
}

// Usable is what a program may still take: Available, or what the control group
// leaves if that is less.
func (m Memory) Usable() uint64 {
	if m.Limit == 0 {
		return m.Available
	}
	if m.Used >= m.Limit {
		return 0
	}
	return min(m.Available, m.Limit-m.Used)
}

// Vendor is the maker of a graphics card.
type Vendor string

// The vendors whose cards an engine could use, and the rest: virtual display
// adapters, management chips of servers.
const (
	VendorNVIDIA Vendor = "nvidia"
	VendorAMD    Vendor = "amd"
	VendorIntel  Vendor = "intel"
	VendorOther  Vendor = "other"
)

// GPU is a display or 3D controller on the PCI bus.
type GPU struct {
	Vendor Vendor `json:"vendor"`
	// VendorID and DeviceID are the PCI numbers.
	VendorID uint16 `json:"vendor_id"`
	DeviceID uint16 `json:"device_id"`
	PCI      string `json:"pci"`    // address, for example "0000:01:00.0"
	Driver   string `json:"driver"` // kernel driver bound to it; empty is none
	Name     string `json:"name"`   // as its driver names it; may be empty
	// VRAM is its own memory, GTT the main memory it may map; only amdgpu says.
	VRAM   uint64 `json:"vram_bytes"`
	GTT    uint64 `json:"gtt_bytes"`
	Render bool   `json:"render"` // it has a render node in /dev/dri
	// Refused is its render node where this user may not use it.
	Refused string `json:"refused,omitempty"`
}

// NVIDIA is the proprietary driver.
type NVIDIA struct {
	Version string `json:"version"` // "580.65.06"; empty where it could not be read
	CUDA    string `json:"cuda"`    // path of libcuda.so.1; empty where not found
	NVML    string `json:"nvml"`    // path of libnvidia-ml.so.1; empty where not found
}

// Vulkan is what the Vulkan loader would find.
type Vulkan struct {
	Loader string `json:"loader"` // path of libvulkan.so.1; empty where not found
	ICDs   []ICD  `json:"icds"`   // drivers
}

// ICD is an installable Vulkan driver.
type ICD struct {
	File    string `json:"file"`    // its description, a JSON file
	Library string `json:"library"` // as the description names it
	// Vendor is whose cards it drives; VendorOther where that is not known.
	Vendor   Vendor `json:"vendor"`
	Software bool   `json:"software"` // it computes on the CPU
}

// Serves says whether the loader would find a driver for a vendor's cards.
func (v Vulkan) Serves(vendor Vendor) bool {
	for _, icd := range v.ICDs {
		if icd.Vendor == vendor && !icd.Software {
			return true
		}
	}
	return false
}

// Problem is something that keeps a part of the machine from being used.
type Problem struct {
	What string `json:"what"` // one sentence without a full stop
	Fix  string `json:"fix"`  // what to do, ready to be typed where it is a command
}
