package gguf

import "math"

// Tensor is one entry of the tensor directory.
type Tensor struct {
	Name string
	Type TensorType
	// Offset of the data from the start of the file, in bytes.
	Offset uint64
	// Bytes of data.
	Bytes uint64
	// Elements is the product of the dimensions.
	Elements uint64

	dims  [MaxDims]uint64
	nDims int
}

// Shape is the list of dimensions in ggml order: the first is contiguous in
// memory. It is empty for a scalar.
func (t *Tensor) Shape() []uint64 {
	return append([]uint64(nil), t.dims[:t.nDims]...)
}

// directory reads n tensors and checks where their data lies. As in the
// engine, data must follow in the order of the directory without gaps other
// than padding; that excludes overlaps too.
func (f *File) directory(c *cursor, n uint64) error {
	names := make(map[string]int)
	offsets := make([]uint64, 0, min(n, 1024)) // of the offset fields, for errors
	for i := range n {
		var t Tensor
		at, err := t.read(c, i, names)
		if err != nil {
			return err
		}
		names[t.Name] = len(f.Tensors)
		f.Tensors = append(f.Tensors, t)
		offsets = append(offsets, at)
	}
	f.DataOffset = c.off
	if n == 0 {
		return nil
	}
	f.DataOffset = pad(c.off, f.Alignment)
	if f.DataOffset > f.Size {
		return c.fail(ErrTruncated, field{part: "data section"}, "starts at %d, the file has %d bytes", f.DataOffset, f.Size)
	}
	return f.place(c, offsets)
}

// place turns offsets within the data section into offsets within the file.
func (f *File) place(c *cursor, offsets []uint64) error {
	space := f.Size - f.DataOffset
	end := uint64(0) // of the data so far, padded; the last padding may be missing
	for i := range f.Tensors {
		t := &f.Tensors[i]
		at := field{list: "tensor", i: uint64(i), name: []byte(t.Name)}
		switch {
		case t.Offset < end:
			return c.failAt(offsets[i], ErrMalformed, at.of("offset"), "%d lies within the tensor before it, which ends at %d", t.Offset, end)
		case t.Offset > end:
			return c.failAt(offsets[i], ErrMalformed, at.of("offset"), "%d, but data must go on at %d", t.Offset, end)
		case end > space || t.Bytes > space-end:
			return c.failAt(offsets[i], ErrTruncated, at.of("data"), "%d bytes at %d, the file has %d in all", t.Bytes, f.DataOffset+end, f.Size)
		}
		t.Offset = f.DataOffset + end
		end = pad(end+t.Bytes, f.Alignment)
	}
	return nil
}

// read reads one entry and returns the position of its offset field.
func (t *Tensor) read(c *cursor, i uint64, names map[string]int) (uint64, error) {
	at := field{list: "tensor", i: i}
	start := c.off
	name, err := c.text(MaxTensorName, at.of("name"))
	if err != nil {
		return 0, err
	}
	if len(name) == 0 {
		return 0, c.failAt(start, ErrMalformed, at.of("name"), "empty")
	}
	if first, ok := names[string(name)]; ok {
		return 0, c.failAt(start, ErrMalformed, at.of("name"), "%q is also tensor %d", name, first)
	}
	t.Name = string(name)
	at.name = name
	if err := t.readShape(c, at); err != nil {
		return 0, err
	}
	start = c.off
	typ, err := c.u32(at.of("type"))
	if err != nil {
		return 0, err
	}
	t.Type = TensorType(typ)
	if !t.Type.Known() {
		return 0, c.failAt(start, ErrMalformed, at.of("type"), "unknown %v", t.Type)
	}
	if t.Elements, t.Bytes, err = tensorBytes(t.Type, t.dims[:t.nDims]); err != nil {
		return 0, c.failAt(start, ErrMalformed, at.of("shape"), "%v", err)
	}
	start = c.off
	t.Offset, err = c.u64(at.of("offset"))
	return start, err
}

func (t *Tensor) readShape(c *cursor, at field) error {
	start := c.off
	n, err := c.u32(at.of("dimension count"))
	if err != nil {
		return err
	}
	if n > MaxDims {
		return c.failAt(start, ErrMalformed, at.of("dimension count"), "%d, at most %d allowed", n, MaxDims)
	}
	t.nDims = int(n)
	for d := range t.nDims {
		start := c.off
		if t.dims[d], err = c.u64(at.of("shape")); err != nil {
			return err
		}
		if t.dims[d] > math.MaxInt64 {
			return c.failAt(start, ErrMalformed, at.of("shape"), "dimension %d of %d elements", d, t.dims[d])
		}
	}
	return nil
}
