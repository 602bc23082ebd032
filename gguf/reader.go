package gguf

import (
	"errors"
	"math"
)

// File is one GGUF file: its header in full, and where its tensors lie.
// Methods may be called from several goroutines, except Close.
type File struct {
	// Path as given to Open; empty after Parse.
	Path string
	// Size of the file in bytes.
	Size uint64
	// Version of the container.
	Version uint32
	// Alignment of tensor data in bytes, a power of two.
	Alignment uint64
	// DataOffset is where the data section starts, in bytes.
	DataOffset uint64
	Metadata   Metadata
	// Tensors in the order of the file, which is also the order of their data.
	Tensors []Tensor

	src *source
}

var (
	errClosed  = errors.New("gguf: file is closed")
	errNoValue = errors.New("gguf: no such value")
)

// OpenFile maps one file and reads its header. Use Open for models, which may
// consist of several files. The caller closes it; values of Metadata can be
// read until then.
func OpenFile(path string) (*File, error) {
	src, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parse(src, uint64(len(src.mem)))
	if err != nil {
		var at *FormatError
		if errors.As(err, &at) {
			at.Path = path
		}
		return nil, errors.Join(err, src.close())
	}
	f.Path = path
	return f, nil
}

// Parse reads a header from the first bytes of a file of size bytes, so that a
// model can be judged before all of it is there. It fails with
// ErrHeaderIncomplete where head is too short. head must not change while the
// File is used.
func Parse(head []byte, size uint64) (*File, error) {
	head = head[:min(uint64(len(head)), size)]
	return parse(&source{mem: head}, size)
}

// Close unmaps the file. Calling it again does nothing.
func (f *File) Close() error { return f.src.close() }

func parse(src *source, size uint64) (*File, error) {
	f := &File{Size: size, src: src}
	c := &cursor{src: src, b: src.mem, size: size}
	if size > math.MaxInt64 { // so that sums of offsets cannot overflow
		return nil, c.fail(ErrMalformed, field{part: "file size"}, "%d bytes", size)
	}
	err := src.guard(func() error { return f.header(c) })
	if errors.Is(err, ErrChanged) {
		err = c.fail(ErrChanged, field{part: "header"}, "")
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// header reads everything before the data section. The smallest entry of the
// metadata has 14 bytes (a key of one byte and a value of one), the smallest
// entry of the tensor directory 33.
func (f *File) header(c *cursor) error {
	if err := f.preamble(c); err != nil {
		return err
	}
	tensors, err := c.count(33, field{part: "tensor count"})
	if err != nil {
		return err
	}
	entries, err := c.count(14, field{part: "metadata count"})
	if err != nil {
		return err
	}
	if err := f.Metadata.read(c, entries); err != nil {
		return err
	}
	if err := f.alignment(); err != nil {
		return err
	}
	return f.directory(c, tensors)
}

// preamble reads magic and version.
func (f *File) preamble(c *cursor) error {
	if magic := c.b[:min(4, len(c.b))]; len(magic) > 0 && string(magic) != Magic[:len(magic)] {
		return c.fail(ErrNotGGUF, field{part: "magic"}, "%s", notGGUF(c.b[:min(64, len(c.b))]))
	}
	if _, err := c.take(4, field{part: "magic"}); err != nil {
		return err
	}
	at, version := c.off, field{part: "version"}
	v, err := c.u32(version)
	switch {
	case err != nil:
		return err
	case v&0xffff == 0 && v != 0:
		return c.failAt(at, ErrBigEndian, version, "")
	case v < MinVersion || v > MaxVersion:
		return c.failAt(at, ErrVersion, version, "%d, can read %d to %d", v, MinVersion, MaxVersion)
	}
	f.Version = v
	return nil
}

// alignment takes the alignment from the metadata.
func (f *File) alignment() error {
	f.Alignment = DefaultAlignment
	v, ok := f.Metadata.Get(KeyAlignment)
	if !ok {
		return nil
	}
	field := "metadata " + KeyAlignment
	if v.Type() != Uint32 {
		return &FormatError{Offset: v.offset, Field: field, Kind: ErrMalformed, Detail: "is " + v.Type().String() + ", must be uint32"}
	}
	a := uint64(le.Uint32(v.raw))
	if a == 0 || a&(a-1) != 0 {
		return &FormatError{Offset: v.offset, Field: field, Kind: ErrMalformed, Detail: v.String() + " is not a power of two"}
	}
	f.Alignment = a
	return nil
}
