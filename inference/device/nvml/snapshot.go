package nvml

import (
	"errors"
	"fmt"
)

// Value is one reading. The zero value is unknown.
type Value[T any] struct {
	V     T
	Known bool
	Err   error // why it is not known
}

// Known returns a reading.
func Known[T any](v T) Value[T] { return Value[T]{V: v, Known: true} }

// Missing returns a reading that could not be had.
func Missing[T any](err error) Value[T] { return Value[T]{Err: err} }

func value[T any](v T, err error) Value[T] {
	if err != nil {
		return Missing[T](err)
	}
	return Known(v)
}

// Snapshot is one look at all cards.
type Snapshot struct {
	Driver Value[string]  // "580.65.06"
	CUDA   Value[Version] // the newest CUDA this driver runs
	Cards  []Card         // in the library's order, which is that of their PCI addresses
}

// Version is a pair of numbers, of CUDA or of a compute capability.
type Version struct{ Major, Minor int }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Card is one card.
type Card struct {
	Index int
	// Err is why the card could not be asked at all; then nothing of it is known.
	Err         error
	Name        Value[string] // "NVIDIA GeForce RTX 5090"
	UUID        Value[string] // "GPU-..."
	PCI         Value[string] // as in /sys/bus/pci/devices: "0000:01:00.0"
	Memory      Value[Memory]
	Utilisation Value[Utilisation]
	Temperature Value[int]    // of the die, degrees Celsius
	Power       Value[uint64] // milliwatts
	PowerLimit  Value[uint64] // milliwatts, the limit in force
	PowerRange  Value[PowerRange]
	Capability  Value[Version]
	MIG         Value[MIG]
	Link        Value[Link] // now; cards slow down when idle
	MaxLink     Value[Link] // what card and slot can do together
	Clock       Value[int]  // MHz of the multiprocessors
	MemoryClock Value[int]  // MHz
	// Processes hold memory on the card, in the order of their numbers. In a
	// container the driver lists those of the container, or the host's numbers.
	Processes Value[[]Process]
}

// PowerRange is what the limit can be set to, in milliwatts, and what it is where
// nobody set it.
type PowerRange struct{ Min, Max, Default uint64 }

// Memory is the card's memory in bytes.
type Memory struct {
	Total uint64
	// Reserved is what the driver and the firmware keep. Drivers before 510 do
	// not tell it apart: then it is 0 and part of Used.
	Reserved uint64
	Free     uint64
	Used     uint64
}

// Utilisation is the share of the last sample period, in percent, that a kernel
// ran and that memory was read or written.
type Utilisation struct{ GPU, Memory int }

// MIG is the division into instances: now, and after the next reset.
type MIG struct{ On, Pending bool }

// Link is the PCI Express link: generation and lanes.
type Link struct{ Generation, Width int }

// Process is a process with a context on the card.
type Process struct {
	PID   int
	Bytes Value[uint64]
	// Compute and Graphics say which of the library's lists it stands in.
	Compute, Graphics bool
}

// Lost reports whether the card has fallen off the bus or wants a reset, and the
// error that says so.
func (c Card) Lost() error {
	for _, err := range []error{c.Err, c.Name.Err, c.PCI.Err, c.Memory.Err, c.Utilisation.Err, c.Temperature.Err} {
		if errors.Is(err, GPUIsLost) || errors.Is(err, ResetRequired) {
			return err
		}
	}
	return nil
}
