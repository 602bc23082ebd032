//go:build unix

package gguf

import (
	"fmt"
	"os"
	"syscall"
)

// mapFile maps a regular file read-only.
func mapFile(path string) (*source, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives it
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

// openRegular looks before it opens, since to open a device can change it, and
// opens without waiting: a named pipe that was put in the file's place meanwhile
// would wait for a writer for ever.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("gguf: open: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("gguf: open %s: not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("gguf: open: %w", err)
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("gguf: open: %w", err)
	}
	return f, info, nil
}

func unmap(mem []byte) error {
	if err := syscall.Munmap(mem); err != nil {
		return fmt.Errorf("gguf: unmap: %w", err)
	}
	return nil
}
