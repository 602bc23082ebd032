package gguf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
)

// Data streams the bytes of one tensor to w. It must write exactly the bytes
// that the tensor's type and shape need.
type Data func(w io.Writer) error

// Writer collects metadata and tensors and emits them as one GGUF file of
// version 3. The zero value is ready to use. Keys and tensors come out in the
// order in which they were added, so equal calls give equal bytes.
//
// Errors stick: the first one is returned by every later WriteTo or WriteFile,
// so that a caller may add everything first and check once.
type Writer struct {
	entries   []entry
	keys      map[string]bool
	tensors   []pending
	names     map[string]bool
	alignment uint64
	dataBytes uint64
	err       error
}

type entry struct {
	key   string
	value any
}

type pending struct {
	name   string
	typ    TensorType
	shape  []uint64
	offset uint64 // from the start of the data section
	bytes  uint64
	data   Data
}

// Set adds a metadata value. The Go type decides the stored type: uint8, int8,
// uint16, int16, uint32, int32, float32, bool, string, uint64, int64, float64
// and slices of these.
func (w *Writer) Set(key string, value any) {
	if w.err != nil {
		return
	}
	if key == "" {
		w.err = errors.New("gguf: set metadata: empty key")
		return
	}
	if w.keys[key] {
		w.err = fmt.Errorf("gguf: set metadata: duplicate key %q", key)
		return
	}
	if _, _, err := typeOf(value); err != nil {
		w.err = fmt.Errorf("gguf: set metadata %q: %w", key, err)
		return
	}
	if key == KeyAlignment && !w.setAlignment(value) {
		return
	}
	if w.keys == nil {
		w.keys = make(map[string]bool)
	}
	w.keys[key] = true
	w.entries = append(w.entries, entry{key, value})
}

// setAlignment takes the alignment over for the layout of the data.
func (w *Writer) setAlignment(value any) bool {
	a, ok := value.(uint32)
	switch {
	case !ok || bits.OnesCount32(a) != 1:
		w.err = fmt.Errorf("gguf: set metadata %q: %v is not a uint32 power of two", KeyAlignment, value)
	case len(w.tensors) > 0:
		w.err = fmt.Errorf("gguf: set metadata %q: must come before the first tensor", KeyAlignment)
	default:
		w.alignment = uint64(a)
	}
	return w.err == nil
}

// Tensor adds a tensor. shape is in ggml order: the first dimension is the row
// that is contiguous in memory. data is called once per write; nil stands for
// zeros, which WriteFile leaves as a hole in the file.
func (w *Writer) Tensor(name string, t TensorType, shape []uint64, data Data) {
	if w.err != nil {
		return
	}
	var size uint64
	switch {
	case !t.Known():
		w.err = fmt.Errorf("gguf: add tensor %q: unknown %v", name, t)
	case len(shape) == 0 || len(shape) > MaxDims:
		w.err = fmt.Errorf("gguf: add tensor %q: %d dimensions, must be 1 to %d", name, len(shape), MaxDims)
	case name == "" || len(name) > MaxTensorName:
		w.err = fmt.Errorf("gguf: add tensor %q: name must have 1 to %d bytes", name, MaxTensorName)
	case w.names[name]:
		w.err = fmt.Errorf("gguf: add tensor %q: duplicate name", name)
	default:
		var err error
		if _, size, err = tensorBytes(t, shape); err != nil {
			w.err = fmt.Errorf("gguf: add tensor %q: %w", name, err)
		}
	}
	if w.err != nil {
		return
	}
	if w.names == nil {
		w.names = make(map[string]bool)
	}
	w.names[name] = true
	w.tensors = append(w.tensors, pending{
		name: name, typ: t, shape: append([]uint64(nil), shape...),
		offset: w.dataBytes, bytes: size, data: data,
	})
	w.dataBytes += pad(size, w.align())
}

func (w *Writer) align() uint64 {
	if w.alignment == 0 {
		return DefaultAlignment
	}
	return w.alignment
}

// WriteTo emits the file. Tensors without data are written as zeros.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	return w.write(out, func(c *counter, n uint64) error { return c.zeros(n) })
}

// WriteFile emits the file to path, replacing what is there. Tensors without
// data become holes: they take address space in the file, but no disk.
func (w *Writer) WriteFile(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("gguf: write file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := w.write(f, func(c *counter, n uint64) error { return c.skip(f, n) })
	if err != nil {
		return fmt.Errorf("gguf: write %s: %w", path, err)
	}
	// A hole at the end exists only once the size says so.
	if err := f.Truncate(n); err != nil {
		return fmt.Errorf("gguf: write file: %w", err)
	}
	return nil
}

// write emits header and data; gap advances over bytes that are zero.
func (w *Writer) write(out io.Writer, gap func(*counter, uint64) error) (int64, error) {
	if w.err != nil {
		return 0, w.err
	}
	c := &counter{w: bufio.NewWriterSize(out, 1<<16)}
	if err := w.header(c); err != nil {
		return int64(c.n), err
	}
	if len(w.tensors) > 0 {
		if err := c.zeros(pad(c.n, w.align()) - c.n); err != nil {
			return int64(c.n), err
		}
	}
	for i := range w.tensors {
		if err := w.tensorData(c, &w.tensors[i], gap); err != nil {
			return int64(c.n), fmt.Errorf("gguf: write tensor %q: %w", w.tensors[i].name, err)
		}
	}
	return int64(c.n), c.w.Flush()
}

func (w *Writer) tensorData(c *counter, t *pending, gap func(*counter, uint64) error) error {
	padding := pad(t.bytes, w.align()) - t.bytes
	if t.data == nil {
		return gap(c, t.bytes+padding)
	}
	start := c.n
	if err := t.data(c); err != nil {
		return err
	}
	if c.n-start != t.bytes {
		return fmt.Errorf("data has %d bytes, %v with shape %v needs %d", c.n-start, t.typ, t.shape, t.bytes)
	}
	return c.zeros(padding)
}

// header emits everything before the data section.
func (w *Writer) header(c *counter) error {
	b := append([]byte(nil), Magic...)
	b = le.AppendUint32(b, MaxVersion)
	b = le.AppendUint64(b, uint64(len(w.tensors)))
	b = le.AppendUint64(b, uint64(len(w.entries)))
	for _, e := range w.entries {
		b = appendString(b, e.key)
		b = appendValue(b, e.value)
	}
	for _, t := range w.tensors {
		b = appendString(b, t.name)
		b = le.AppendUint32(b, uint32(len(t.shape)))
		for _, d := range t.shape {
			b = le.AppendUint64(b, d)
		}
		b = le.AppendUint32(b, uint32(t.typ))
		b = le.AppendUint64(b, t.offset)
	}
	_, err := c.Write(b)
	return err
}

// counter counts what is written and can leave holes.
type counter struct {
	w *bufio.Writer
	n uint64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += uint64(n)
	return n, err
}

func (c *counter) zeros(n uint64) error {
	_, err := io.CopyN(c, zeroReader{}, int64(n))
	return err
}

func (c *counter) skip(f *os.File, n uint64) error {
	if err := c.w.Flush(); err != nil {
		return err
	}
	if _, err := f.Seek(int64(n), io.SeekCurrent); err != nil {
		return err
	}
	c.n += n
	return nil
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
