package gguf

import (
	"fmt"
	"math"
)

// maxHeader bounds the header in bytes. The largest vocabularies make headers
// of some 30 MB; a hole in a sparse file could otherwise keep us busy for
// hours.
const maxHeader = 1 << 28

// maxKey is the longest metadata key in bytes, from the specification.
const maxKey = 1<<16 - 1

// cursor reads a header front to back. No read allocates.
type cursor struct {
	src  *source
	b    []byte // what is at hand: the start of the file
	off  uint64
	size uint64 // of the whole file
}

// field names a part of the header in errors, for example the length of the
// 3rd entry of the metadata. It is put into words only when needed: headers
// have a million fields.
type field struct {
	list string // "metadata" or "tensor"; empty for single fields
	i    uint64 // index in the list
	name []byte // key or name of the entry once known
	part string
}

func (f field) of(part string) field {
	f.part = part
	return f
}

func (f field) String() string {
	switch {
	case f.list == "":
		return f.part
	case f.name == nil:
		return fmt.Sprintf("%s %d %s", f.list, f.i, f.part)
	}
	return fmt.Sprintf("%s %d (%.80q) %s", f.list, f.i, f.name, f.part)
}

func (c *cursor) fail(kind error, at field, format string, args ...any) error {
	return c.failAt(c.off, kind, at, format, args...)
}

func (c *cursor) failAt(off uint64, kind error, at field, format string, args ...any) error {
	return &FormatError{Offset: off, Field: at.String(), Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// left is the number of bytes to the end of the file.
func (c *cursor) left() uint64 { return c.size - c.off }

// take returns the next n bytes.
func (c *cursor) take(n uint64, at field) ([]byte, error) {
	switch {
	case n > c.left():
		return nil, c.fail(ErrTruncated, at, "needs %d bytes, the file has %d left", n, c.left())
	case n > maxHeader || c.off+n > maxHeader:
		return nil, c.fail(ErrMalformed, at, "needs %d bytes, but headers over %d bytes are refused", n, uint64(maxHeader))
	case c.off+n > uint64(len(c.b)):
		return nil, c.fail(ErrHeaderIncomplete, at, "needs %d bytes", n)
	}
	b := c.b[c.off : c.off+n : c.off+n]
	c.off += n
	return b, nil
}

func (c *cursor) u32(at field) (uint32, error) {
	b, err := c.take(4, at)
	if err != nil {
		return 0, err
	}
	return le.Uint32(b), nil
}

func (c *cursor) u64(at field) (uint64, error) {
	b, err := c.take(8, at)
	if err != nil {
		return 0, err
	}
	return le.Uint64(b), nil
}

// text returns the bytes of a length-prefixed string of at most limit bytes.
// An error points at the length.
func (c *cursor) text(limit uint64, at field) ([]byte, error) {
	start := c.off
	n, err := c.u64(at)
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, c.failAt(start, ErrMalformed, at, "length %d, at most %d allowed", n, limit)
	}
	b, err := c.take(n, at)
	if err != nil {
		err.(*FormatError).Offset = start
	}
	return b, err
}

// count reads a number of things that take at least least bytes each, and
// refuses what the file cannot hold.
func (c *cursor) count(least uint64, at field) (uint64, error) {
	start := c.off
	n, err := c.u64(at)
	if err != nil {
		return 0, err
	}
	if n > c.left()/least {
		return 0, c.failAt(start, ErrTruncated, at, "%d announced, %d bytes left hold at most %d", n, c.left(), c.left()/least)
	}
	return n, nil
}

// texts returns the bytes of n length-prefixed strings. A vocabulary has some
// hundred thousand, hence the short path.
func (c *cursor) texts(n uint64, at field) ([]byte, error) {
	start := c.off
	b := c.b[:min(len(c.b), maxHeader)]
	for range n {
		if rest := uint64(len(b)) - c.off; rest >= 8 {
			if size := le.Uint64(b[c.off:]); size <= rest-8 {
				c.off += 8 + size
				continue
			}
		}
		if _, err := c.text(math.MaxUint64, at); err != nil {
			return nil, err
		}
	}
	return c.b[start:c.off:c.off], nil
}
