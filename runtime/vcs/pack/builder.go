package pack

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"

	"dure/runtime/vcs/object"
)

// HeadLen is the length of a pack before its first entry, SumLen of what follows
// the last.
const (
	HeadLen = 12
	SumLen  = sha1.Size
)

// A Builder writes a pack of entries that are deflated already. How many there
// will be is said first, as the format wants it.
type Builder struct {
	w      io.Writer
	sum    hash.Hash
	at     uint64
	want   int
	places []Place
}

// NewBuilder begins a pack of n entries.
func NewBuilder(w io.Writer, n int) (*Builder, error) {
	if n < 0 || n > math.MaxUint32 {
		return nil, fmt.Errorf("a pack of %d objects", n)
	}
	b := &Builder{w: w, sum: sha1.New(), want: n, places: make([]Place, 0, n)}
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(n))
	return b, b.write(head)
}

func (b *Builder) write(p []byte) error {
	if _, err := b.w.Write(p); err != nil {
		return fmt.Errorf("write a pack: %w", err)
	}
	b.sum.Write(p)
	b.at += uint64(len(p))
	return nil
}

// Checksum is that of an entry's bytes in an index.
func Checksum(entry []byte) uint32 { return crc32.ChecksumIEEE(entry) }

// Add writes an entry. No ID may be added twice.
func (b *Builder) Add(id object.ID, entry []byte) error {
	b.places = append(b.places, Place{ID: id, Offset: b.at, CRC: Checksum(entry)})
	return b.write(entry)
}

// Finish writes the end and returns the index, and the checksum that names the pack.
func (b *Builder) Finish() (index []byte, sum [sha1.Size]byte, err error) {
	if len(b.places) != b.want {
		return nil, sum, fmt.Errorf("a pack of %d objects got %d", b.want, len(b.places))
	}
	b.sum.Sum(sum[:0])
	if _, err := b.w.Write(sum[:]); err != nil {
		return nil, sum, fmt.Errorf("write a pack: %w", err)
	}
	return FormatIndex(b.places, sum), sum, nil
}
