//go:build unix

package gguf

import (
	"fmt"
	"os"
	"syscall"
)

// mapFile maps a regular file read-only.
func mapFile(path string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: open: %w", err)
	}
	defer f.Close() // the mapping outlives it
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("gguf: open: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("gguf: open %s: not a regular file", path)
	}
	if info.Size() == 0 {
		return &source{}, nil // nothing can be mapped; parsing says truncated
	}
	if int64(int(info.Size())) != info.Size() {
		return nil, fmt.Errorf("gguf: open %s: %d bytes are too many to map on this machine", path, info.Size())
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("gguf: map %s: %w", path, err)
	}
	return &source{mem: mem, mapped: true}, nil
}

func unmap(mem []byte) error {
	if err := syscall.Munmap(mem); err != nil {
		return fmt.Errorf("gguf: unmap: %w", err)
	}
	return nil
}
