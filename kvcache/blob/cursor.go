package blob

import (
	"encoding/binary"
	"fmt"
)

// cursor reads fields in order. pool, layer and cell say where it is, -1 for
// none; the first error stays.
type cursor struct {
	data              []byte
	off               int
	pool, layer, cell int
	err               error
}

func (c *cursor) left() int { return len(c.data) - c.off }

// fail enters an error at an offset.
func (c *cursor) fail(offset int, field string, kind error, format string, args ...any) {
	if c.err != nil {
		return
	}
	for _, w := range []struct {
		name string
		i    int
	}{{"cell", c.cell}, {"layer", c.layer}, {"pool", c.pool}} {
		if w.i >= 0 {
			field = fmt.Sprintf("%s %d %s", w.name, w.i, field)
		}
	}
	c.err = &FormatError{offset, field, kind, fmt.Sprintf(format, args...)}
}

// bytes are the next n, or nil after an error.
func (c *cursor) bytes(n int, field string) []byte {
	if c.err != nil {
		return nil
	}
	if n > c.left() {
		c.fail(c.off, field, ErrTruncated, "needs %d bytes, %d are left", n, c.left())
		return nil
	}
	c.off += n
	return c.data[c.off-n : c.off : c.off]
}

func (c *cursor) u32(field string) uint32 {
	if b := c.bytes(4, field); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64(field string) uint64 {
	if b := c.bytes(8, field); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// want32 reads a field that must have a value, and says kind where it does not.
func (c *cursor) want32(field string, want uint32, kind error) {
	at := c.off
	if got := c.u32(field); c.err == nil && got != want {
		c.fail(at, field, kind, "is %d, must be %d", got, want)
	}
}

func (c *cursor) want64(field string, want uint64) {
	at := c.off
	if got := c.u64(field); c.err == nil && got != want {
		c.fail(at, field, ErrLayout, "is %d, must be %d", got, want)
	}
}
