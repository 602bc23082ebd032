package pack

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"

	"dure/runtime/vcs/object"
)

// ErrFormat: the bytes are no pack, index or delta as git writes them.
var ErrFormat = errors.New("not a proper pack")

// A deflater keeps its window tables between objects: they cost more than most of
// an agent's objects.
type deflater struct {
	out appender
	z   *zlib.Writer
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// Level 1: trees are hashes, which nothing makes smaller, and higher levels take
// twice the time for two percent of the rest.
const level = 1

var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	d.z, _ = zlib.NewWriterLevel(&d.out, level) // fails for unknown levels only
	return d
}}

// AppendEntry appends an object as an entry of a pack: header and deflated bytes.
func AppendEntry(dst []byte, t object.Type, data []byte) []byte {
	d := deflaters.Get().(*deflater)
	d.out.b = appendHeader(dst, t, uint64(len(data)))
	d.z.Reset(&d.out)
	// Neither can fail: the appender takes everything.
	_, _ = d.z.Write(data)
	_ = d.z.Close()
	dst, d.out.b = d.out.b, nil
	deflaters.Put(d)
	return dst
}

func appendHeader(dst []byte, t object.Type, size uint64) []byte {
	b := byte(t)<<4 | byte(size&0x0f)
	size >>= 4
	for size != 0 {
		dst = append(dst, b|0x80)
		b = byte(size & 0x7f)
		size >>= 7
	}
	return append(dst, b)
}

// inflaters keeps readers for the same reason.
var inflaters sync.Pool

// inflate reads exactly size bytes that r holds deflated. A stream that is longer
// or shorter is refused.
func inflate(r io.Reader, size int) ([]byte, error) {
	z, _ := inflaters.Get().(io.ReadCloser)
	var err error
	if z == nil {
		z, err = zlib.NewReader(r)
	} else {
		err = z.(zlib.Resetter).Reset(r, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	out := make([]byte, size)
	if _, err := io.ReadFull(z, out); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	// Reading on to the end also checks the stream's checksum.
	var more [1]byte
	if n, err := z.Read(more[:]); n != 0 || err != io.EOF {
		return nil, fmt.Errorf("%w: a stream that does not end where its header says (%v)", ErrFormat, err)
	}
	inflaters.Put(z)
	return out, nil
}
