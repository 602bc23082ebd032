package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// card is a graphics card that plans can be made for without having it. The
// sizes are what the drivers report, which is less than what is on the box.
type card struct {
	backend   string
	mib       uint64
	bandwidth uint64 // GB/s as specified
}

var cards = map[string]card{
	"rtx-5090":     {"CUDA", 32607, 1792},
	"rtx-5080":     {"CUDA", 16303, 960},
	"rtx-5070-ti":  {"CUDA", 16303, 896},
	"rtx-5060-ti":  {"CUDA", 16311, 448},
	"rtx-4090":     {"CUDA", 24564, 1008},
	"rtx-4080":     {"CUDA", 16376, 717},
	"rtx-3090":     {"CUDA", 24576, 936},
	"rtx-3060":     {"CUDA", 12288, 360},
	"rtx-pro-6000": {"CUDA", 97887, 1792},
	"r9700":        {"Vulkan", 32624, 640},
	"rx-9070-xt":   {"Vulkan", 16304, 640},
	"rx-7900-xtx":  {"Vulkan", 24560, 960},
	"rx-7900-xt":   {"Vulkan", 20464, 800},
	"b60":          {"Vulkan", 24480, 456},
}

// Cards lists the names that Card knows.
func Cards() []string { return slices.Sorted(maps.Keys(cards)) }

// Card is a device by the name of the product, with all of its memory free.
// number tells several apart.
func Card(name string, number int) (Device, error) {
	c, ok := cards[strings.ToLower(name)]
	if !ok {
		return Device{}, fmt.Errorf("plan: card %q is not known; one of %s, or give the size of its memory", name, strings.Join(Cards(), ", "))
	}
	return Device{
		Name: fmt.Sprintf("%s%d", c.backend, number), Kind: GPU, Backend: c.backend, Assumed: true,
		TotalBytes: c.mib << 20, FreeBytes: c.mib << 20, Bandwidth: c.bandwidth * 1_000_000_000,
	}, nil
}

// Memory is a card of which only the size is known.
func Memory(bytes uint64) Device {
	return Device{Name: "GPU0", Kind: GPU, Backend: "CUDA", Assumed: true, TotalBytes: bytes, FreeBytes: bytes}
}

// alignment of tensors inside the buffers of the device.
func (d Device) alignment() uint64 {
	switch {
	case d.Alignment > 0:
		return d.Alignment
	case d.cuda():
		return 128
	case d.Kind == CPU:
		return 32
	}
	return 16
}

// cuda says that the engine's CUDA code drives it, which AMD's driver shares.
func (d Device) cuda() bool { return d.Backend == "CUDA" || d.Backend == "ROCm" || d.Backend == "HIP" }

// driverContext is what the driver takes for a process beside the engine's
// buffers: code, streams, pools of the matrix library.
func (d Device) driverContext() uint64 {
	switch {
	case d.Kind == CPU:
		return 0
	case d.Backend == "CUDA":
		return 520 << 20
	case d.cuda():
		return 400 << 20
	}
	return 200 << 20
}

// addDriver adds what the driver takes beside the engine: as it was seen on this
// device, the most of all times, or else as is usual.
func (p *planner) addDriver(a *Allocation) {
	seen, most := false, uint64(0)
	for _, m := range p.Measured {
		if n, ok := m.Driver[a.Device.Name]; ok {
			seen, most = true, max(most, n)
		}
	}
	if seen {
		a.add(Driver, "", most, Measured)
		return
	}
	a.add(Driver, "", a.Device.driverContext(), Assumed)
}

func (d Device) bandwidth() uint64 {
	switch {
	case d.Bandwidth > 0:
		return d.Bandwidth
	case d.Kind == GPU:
		return 800_000_000_000
	}
	return 50_000_000_000
}

// known says that the device has a size that a plan must stay within.
func (d Device) known() bool { return d.TotalBytes > 0 || d.Kind != CPU }
