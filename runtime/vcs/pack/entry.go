package pack

import (
	"bufio"
	"fmt"
	"io"
	"sync"

	"dure/runtime/vcs/object"
)

// The types that entries have beside those of objects: deltas against an entry
// before them in the pack, or against an object by its ID.
const (
	typeOffsetDelta object.Type = 6
	typeRefDelta    object.Type = 7
)

// A Header is the beginning of an entry.
type Header struct {
	Type object.Type // of the entry: for a delta 6 or 7
	Size uint64      // of the object, or of the delta's instructions
	// Base of a delta: how far before the entry it lies, or its ID.
	BaseDistance int64
	BaseID       object.ID
	// Len is the header's length; the deflated bytes follow.
	Len int
}

// IsDelta reports whether the entry is one.
func (h Header) IsDelta() bool { return h.Type == typeOffsetDelta || h.Type == typeRefDelta }

// maxHeader is the longest header: a size of ten bytes and an ID.
const maxHeader = 10 + object.Size

// ParseHeader reads the header at the beginning of b.
func ParseHeader(b []byte) (Header, error) {
	var h Header
	short := fmt.Errorf("%w: it ends within an entry's header", ErrFormat)
	if len(b) == 0 {
		return h, short
	}
	h.Type = object.Type(b[0] >> 4 & 7)
	h.Size = uint64(b[0] & 0x0f)
	n := 1
	for shift := uint(4); b[n-1]&0x80 != 0; shift += 7 {
		if n == len(b) {
			return h, short
		}
		if shift > 57 {
			return h, fmt.Errorf("%w: an entry's size has too many digits", ErrFormat)
		}
		h.Size |= uint64(b[n]&0x7f) << shift
		n++
	}
	switch h.Type {
	case object.TypeCommit, object.TypeTree, object.TypeBlob, object.TypeTag:
	case typeOffsetDelta:
		distance, used, err := parseDistance(b[n:])
		if err != nil {
			return h, err
		}
		h.BaseDistance, n = distance, n+used
	case typeRefDelta:
		if len(b) < n+object.Size {
			return h, short
		}
		h.BaseID = object.ID(b[n : n+object.Size])
		n += object.Size
	default:
		return h, fmt.Errorf("%w: an entry of type %d", ErrFormat, h.Type)
	}
	h.Len = n
	return h, nil
}

func parseDistance(b []byte) (distance int64, used int, err error) {
	for i, c := range b {
		if i > 8 {
			break
		}
		if i > 0 {
			distance++
		}
		distance = distance<<7 | int64(c&0x7f)
		if c&0x80 == 0 {
			return distance, i + 1, nil
		}
	}
	return 0, 0, fmt.Errorf("%w: no end to the distance of a delta's base", ErrFormat)
}

// ReadHeader reads the header of the entry at an offset.
func ReadHeader(r io.ReaderAt, offset int64) (Header, error) {
	var b [maxHeader]byte
	n, err := r.ReadAt(b[:], offset)
	if n == 0 {
		return Header{}, fmt.Errorf("read a pack at %d: %w", offset, err)
	}
	return ParseHeader(b[:n])
}

// TooLargeError is an object beyond what the caller would take.
type TooLargeError struct{ Size, Limit uint64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("an object of %d bytes; the limit is %d", e.Size, e.Limit)
}

var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4096) }}

// ReadBody inflates what follows the header of the entry at an offset.
func ReadBody(r io.ReaderAt, offset int64, h Header, limit uint64) ([]byte, error) {
	if h.Size > limit {
		return nil, &TooLargeError{Size: h.Size, Limit: limit}
	}
	buf := buffers.Get().(*bufio.Reader)
	buf.Reset(&reading{r: r, at: offset + int64(h.Len)})
	data, err := inflate(buf, int(h.Size))
	buf.Reset(nil)
	buffers.Put(buf)
	if err != nil {
		return nil, fmt.Errorf("entry at %d: %w", offset, err)
	}
	return data, nil
}

// reading reads on from a place.
type reading struct {
	r  io.ReaderAt
	at int64
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 {
		return n, nil
	}
	return 0, err
}
