package pack

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"dure/runtime/vcs/object"
)

// A Place is where an object is in a pack.
type Place struct {
	ID     object.ID
	Offset uint64
	CRC    uint32 // of the entry's bytes, IEEE
}

// The parts of an index of version 2, in bytes.
const (
	indexHead   = 8
	indexFanout = 256 * 4
	indexNames  = indexHead + indexFanout
	indexTail   = 2 * sha1.Size
	largeOffset = 1 << 31
)

var indexMagic = []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}

// FormatIndex is the index of a pack whose trailing checksum is given. It sorts
// places in place. No ID may be there twice.
func FormatIndex(places []Place, packSum [sha1.Size]byte) []byte {
	slices.SortFunc(places, func(a, b Place) int { return a.ID.Compare(b.ID) })
	b := make([]byte, 0, indexNames+len(places)*(object.Size+8)+indexTail)
	b = append(b, indexMagic...)
	n := 0
	for first := range 256 {
		for n < len(places) && int(places[n].ID[0]) <= first {
			n++
		}
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, p := range places {
		b = append(b, p.ID[:]...)
	}
	for _, p := range places {
		b = binary.BigEndian.AppendUint32(b, p.CRC)
	}
	var large []uint64
	for _, p := range places {
		if p.Offset < largeOffset {
			b = binary.BigEndian.AppendUint32(b, uint32(p.Offset))
			continue
		}
		b = binary.BigEndian.AppendUint32(b, largeOffset|uint32(len(large)))
		large = append(large, p.Offset)
	}
	for _, offset := range large {
		b = binary.BigEndian.AppendUint64(b, offset)
	}
	b = append(b, packSum[:]...)
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// An Index finds objects in a pack. It keeps the bytes that it was made of.
type Index struct {
	data []byte
	n    int
}

// ParseIndex checks an index's form, not its checksum, which would read all of it.
func ParseIndex(data []byte) (*Index, error) {
	if len(data) < indexNames+indexTail || !bytes.Equal(data[:indexHead], indexMagic) {
		return nil, fmt.Errorf("%w: no index of version 2", ErrFormat)
	}
	x := &Index{data: data}
	last := 0
	for first := range 256 {
		n := x.fanout(first)
		if n < last {
			return nil, fmt.Errorf("%w: an index whose counts fall", ErrFormat)
		}
		last = n
	}
	x.n = last
	if len(data) < indexNames+x.n*(object.Size+8)+indexTail {
		return nil, fmt.Errorf("%w: an index of %d objects in %d bytes", ErrFormat, x.n, len(data))
	}
	return x, nil
}

// Len is how many objects there are.
func (x *Index) Len() int { return x.n }

// PackSum is the checksum of the pack that the index belongs to.
func (x *Index) PackSum() [sha1.Size]byte {
	return [sha1.Size]byte(x.data[len(x.data)-indexTail:])
}

func (x *Index) fanout(first int) int {
	return int(binary.BigEndian.Uint32(x.data[indexHead+4*first:]))
}

func (x *Index) id(i int) object.ID {
	return object.ID(x.data[indexNames+i*object.Size:])
}

// Find is where an object is in the pack.
func (x *Index) Find(id object.ID) (offset uint64, found bool) {
	low, high := 0, x.fanout(int(id[0]))
	if id[0] > 0 {
		low = x.fanout(int(id[0]) - 1)
	}
	i := low + sort.Search(high-low, func(i int) bool {
		at := indexNames + (low+i)*object.Size
		return bytes.Compare(x.data[at:at+object.Size], id[:]) >= 0
	})
	if i >= high || x.id(i) != id {
		return 0, false
	}
	return x.offset(i)
}

// offset is false where the index points out of itself.
func (x *Index) offset(i int) (uint64, bool) {
	at := indexNames + x.n*(object.Size+4) + 4*i
	offset := binary.BigEndian.Uint32(x.data[at:])
	if offset < largeOffset {
		return uint64(offset), true
	}
	at = indexNames + x.n*(object.Size+8) + 8*int(offset-largeOffset)
	if at+8 > len(x.data)-indexTail {
		return 0, false
	}
	return binary.BigEndian.Uint64(x.data[at:]), true
}

// Places lists all objects in the order of their IDs.
func (x *Index) Places() ([]Place, error) {
	places := make([]Place, x.n)
	for i := range places {
		offset, ok := x.offset(i)
		if !ok {
			return nil, fmt.Errorf("%w: an index points out of itself", ErrFormat)
		}
		crc := binary.BigEndian.Uint32(x.data[indexNames+x.n*object.Size+4*i:])
		places[i] = Place{ID: x.id(i), Offset: offset, CRC: crc}
	}
	return places, nil
}
