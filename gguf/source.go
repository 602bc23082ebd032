package gguf

import (
	"runtime/debug"
	"unsafe"
)

// source owns the bytes of one file. If they are mapped, reading them faults
// when another process cuts the file short; guard turns that into ErrChanged.
type source struct {
	mem    []byte
	mapped bool
	closed bool
}

// guard runs f, which may read mapped bytes.
func (s *source) guard(f func() error) (err error) {
	switch {
	case s == nil:
		return errNoValue
	case s.closed:
		return errClosed
	case !s.mapped:
		return f()
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			if !s.isFault(r) {
				panic(r)
			}
			err = ErrChanged
		}
	}()
	return f()
}

// isFault says whether a recovered panic is a memory fault within the mapping.
func (s *source) isFault(r any) bool {
	fault, ok := r.(interface{ Addr() uintptr })
	if !ok {
		return false
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(s.mem)))
	return fault.Addr() >= start && fault.Addr()-start < uintptr(len(s.mem))
}

// close releases the bytes. Values must not be read any more; those that are
// get an error.
func (s *source) close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	mem := s.mem
	s.mem = nil
	if !s.mapped {
		return nil
	}
	return unmap(mem)
}
