package nvml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

type (
	processV1 struct {
		pid  uint32
		_    uint32
		used uint64
	}
	// processV2 is used by the second and the third version of the calls.
	processV2 struct {
		processV1
		gpuInstance, computeInstance uint32
	}
)

const (
	notAvailable = ^uint64(0) // NVML_VALUE_NOT_AVAILABLE
	maxProcesses = 1 << 16    // bounds what a broken library may claim
	listTries    = 8          // a list that grows faster than this is given up
)

// processes joins the lists of compute and of graphics contexts. A process in
// both holds the larger of the two figures: each is all that it uses.
func (r reader) processes() Value[[]Process] {
	compute, err := r.list("nvmlDeviceGetComputeRunningProcesses")
	if err != nil {
		return Missing[[]Process](err)
	}
	// Cards without a display part refuse the second list.
	graphics, err := r.list("nvmlDeviceGetGraphicsRunningProcesses")
	if err != nil && !errors.Is(err, NotSupported) {
		return Missing[[]Process](err)
	}
	all := map[uint32]Process{}
	add := func(list []processV1, mark func(*Process)) {
		for _, p := range list {
			known, ok := all[p.pid]
			if !ok {
				known = Process{PID: int(p.pid), Bytes: Missing[uint64](NotSupported)}
			}
			if p.used != notAvailable {
				known.Bytes = Known(max(known.Bytes.V, p.used))
			}
			mark(&known)
			all[p.pid] = known
		}
	}
	add(compute, func(p *Process) { p.Compute = true })
	add(graphics, func(p *Process) { p.Graphics = true })
	found := make([]Process, 0, len(all))
	for _, p := range all {
		found = append(found, p)
	}
	slices.SortFunc(found, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return Known(found)
}

// list asks with the newest version of a call that the library has.
func (r reader) list(name string) ([]processV1, error) {
	for _, version := range []string{"_v3", "_v2"} {
		list, err := grow[processV2](r, name+version)
		if !errors.Is(err, FunctionNotFound) {
			plain := make([]processV1, len(list))
			for i, p := range list {
				plain[i] = p.processV1
			}
			return plain, err
		}
	}
	return grow[processV1](r, name)
}

// grow repeats a call with more room as long as the library says that there are
// more processes than room.
func grow[T processV1 | processV2](r reader, name string) ([]T, error) {
	room := uint32(16)
	for range listTries {
		list := make([]T, room)
		count := room
		err := r.lib.call(name, r.handle, uintptr(unsafe.Pointer(&count)), uintptr(unsafe.Pointer(&list[0])))
		switch {
		case errors.Is(err, insufficientSize) && count > maxProcesses:
			return nil, fmt.Errorf("%s: the library wants room for %d processes, which cannot be", name, count)
		case errors.Is(err, insufficientSize):
			room = max(2*room, count+8)
		case err != nil:
			return nil, err
		case count > room:
			return nil, fmt.Errorf("%s: the library says it filled %d of %d places", name, count, room)
		default:
			return list[:count], nil
		}
	}
	return nil, fmt.Errorf("%s: the list grew during %d calls", name, listTries)
}
