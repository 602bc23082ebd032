package nvml

import (
	"errors"
	"fmt"
	"unsafe"
)

// The structs of the C API, in its layout on 64-bit systems.
type (
	pciInfoV3 struct {
		busIDLegacy                 [16]byte
		domain, bus, device         uint32
		pciDeviceID, pciSubsystemID uint32
		busID                       [32]byte
	}
	memoryV1 struct{ total, free, used uint64 }
	memoryV2 struct {
		version                     uint32
		_                           uint32
		total, reserved, free, used uint64
	}
	utilisation struct{ gpu, memory uint32 }
)

// memoryV2Version is the struct's size with its version in the top byte.
const memoryV2Version = uint32(unsafe.Sizeof(memoryV2{})) | 2<<24

const (
	temperatureOfDie = 0 // NVML_TEMPERATURE_GPU
	clockSM          = 1 // NVML_CLOCK_SM
	clockMemory      = 2 // NVML_CLOCK_MEM
)

// reader asks one card.
type reader struct {
	lib    *Library
	handle uintptr
}

func (l *Library) card(index int) Card {
	r := reader{lib: l}
	if err := l.call("nvmlDeviceGetHandleByIndex_v2", uintptr(index), uintptr(unsafe.Pointer(&r.handle))); err != nil {
		return missingCard(index, err)
	}
	return Card{
		Index:       index,
		Name:        r.text("nvmlDeviceGetName", 96),
		UUID:        r.text("nvmlDeviceGetUUID", 96),
		PCI:         r.pci(),
		Memory:      r.memory(),
		Utilisation: r.utilisation(),
		Temperature: asInt(r.number("nvmlDeviceGetTemperature", temperatureOfDie)),
		Power:       asUint64(r.number("nvmlDeviceGetPowerUsage")),
		PowerLimit:  asUint64(r.number("nvmlDeviceGetEnforcedPowerLimit")),
		PowerRange:  r.powerRange(),
		Capability:  r.capability(),
		MIG:         r.mig(),
		Link:        r.link("nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkWidth"),
		MaxLink:     r.link("nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkWidth"),
		Clock:       asInt(r.number("nvmlDeviceGetClockInfo", clockSM)),
		MemoryClock: asInt(r.number("nvmlDeviceGetClockInfo", clockMemory)),
		Processes:   r.processes(),
	}
}

// powerRange asks what the limit can be set to.
func (r reader) powerRange() Value[PowerRange] {
	var least, most, usual uint32
	err := r.lib.call("nvmlDeviceGetPowerManagementLimitConstraints", r.handle, uintptr(unsafe.Pointer(&least)), uintptr(unsafe.Pointer(&most)))
	if err == nil {
		err = r.lib.call("nvmlDeviceGetPowerManagementDefaultLimit", r.handle, uintptr(unsafe.Pointer(&usual)))
	}
	return value(PowerRange{uint64(least), uint64(most), uint64(usual)}, err)
}

// missingCard is one that could not be asked: every reading has the reason.
func missingCard(index int, err error) Card {
	text, figure, milli, link := Missing[string](err), Missing[int](err), Missing[uint64](err), Missing[Link](err)
	return Card{
		Index: index, Err: err, Name: text, UUID: text, PCI: text,
		Memory: Missing[Memory](err), Utilisation: Missing[Utilisation](err),
		Temperature: figure, Power: milli, PowerLimit: milli, PowerRange: Missing[PowerRange](err), Capability: Missing[Version](err), MIG: Missing[MIG](err),
		Link: link, MaxLink: link, Clock: figure, MemoryClock: figure, Processes: Missing[[]Process](err),
	}
}

func (r reader) text(name string, size int) Value[string] {
	buf := make([]byte, size)
	err := r.lib.call(name, r.handle, uintptr(unsafe.Pointer(&buf[0])), uintptr(size))
	return value(text(buf), err)
}

// number calls a function that gives one unsigned int, after at most one
// argument that selects what.
func (r reader) number(name string, selector ...uintptr) Value[uint32] {
	var n uint32
	var err error
	if len(selector) == 0 {
		err = r.lib.call(name, r.handle, uintptr(unsafe.Pointer(&n)))
	} else {
		err = r.lib.call(name, r.handle, selector[0], uintptr(unsafe.Pointer(&n)))
	}
	return value(n, err)
}

func asInt(v Value[uint32]) Value[int]       { return Value[int]{int(v.V), v.Known, v.Err} }
func asUint64(v Value[uint32]) Value[uint64] { return Value[uint64]{uint64(v.V), v.Known, v.Err} }

// pci writes the address as the kernel does; the library has a wider domain.
func (r reader) pci() Value[string] {
	var p pciInfoV3
	err := r.lib.call("nvmlDeviceGetPciInfo_v3", r.handle, uintptr(unsafe.Pointer(&p)))
	return value(fmt.Sprintf("%04x:%02x:%02x.0", p.domain, p.bus, p.device), err)
}

// memory asks for the reserved part apart, and without where the driver is too
// old for that.
func (r reader) memory() Value[Memory] {
	v2 := memoryV2{version: memoryV2Version}
	err := r.lib.call("nvmlDeviceGetMemoryInfo_v2", r.handle, uintptr(unsafe.Pointer(&v2)))
	if err == nil {
		return Known(Memory{Total: v2.total, Reserved: v2.reserved, Free: v2.free, Used: v2.used})
	}
	if !errors.Is(err, FunctionNotFound) && !errors.Is(err, argumentVersion) {
		return Missing[Memory](err)
	}
	var v1 memoryV1
	err = r.lib.call("nvmlDeviceGetMemoryInfo", r.handle, uintptr(unsafe.Pointer(&v1)))
	return value(Memory{Total: v1.total, Free: v1.free, Used: v1.used}, err)
}

func (r reader) utilisation() Value[Utilisation] {
	var u utilisation
	err := r.lib.call("nvmlDeviceGetUtilizationRates", r.handle, uintptr(unsafe.Pointer(&u)))
	return value(Utilisation{int(u.gpu), int(u.memory)}, err)
}

func (r reader) capability() Value[Version] {
	var major, minor int32
	err := r.lib.call("nvmlDeviceGetCudaComputeCapability", r.handle, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
	return value(Version{int(major), int(minor)}, err)
}

// mig is known to be off where the card knows no instances.
func (r reader) mig() Value[MIG] {
	const on = 1
	var current, pending uint32
	err := r.lib.call("nvmlDeviceGetMigMode", r.handle, uintptr(unsafe.Pointer(&current)), uintptr(unsafe.Pointer(&pending)))
	if errors.Is(err, NotSupported) || errors.Is(err, FunctionNotFound) {
		return Known(MIG{})
	}
	return value(MIG{current == on, pending == on}, err)
}

func (r reader) link(generation, width string) Value[Link] {
	g, w := r.number(generation), r.number(width)
	return value(Link{int(g.V), int(w.V)}, errors.Join(g.Err, w.Err))
}
