package codec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"dure/kvcache/blob"
)

const (
	magic = "dkv1"

	// maxGain bounds what coded bytes grow by, and so what they can make Decode
	// allocate. What would be smaller is stored as it is.
	maxGain = 512
	// maxState is the largest state: the lengths of its planes have 32 bits.
	maxState = 1 << 40

	// firstRows and lastRows of a sequence are coded with less loss than others.
	firstRows = 4
	lastRows  = 128
)

// Version goes up when a class codes otherwise than before, so that what was measured of
// its loss counts no longer.
const Version = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head opens coded bytes:
//
//	magic, class, part, stored?, 0, first, last, size of the state, fingerprint of
//	the basis, length of the fixed fields, length of the tables
//
// They end with a CRC-32C of everything before.
type head struct {
	class         Class
	part          blob.Part
	stored        bool
	first, last   int
	size          int
	basis         [8]byte
	fixed, tables int
}

// Info is what coded bytes say of themselves.
type Info struct {
	Class Class
	// Size of the state in bytes.
	Size int
}

// Inspect reads the head of coded bytes.
func Inspect(coded []byte) (Info, error) {
	h, err := parseHead(coded)
	return Info{h.class, h.size}, err
}

func (h head) append(dst []byte) []byte {
	le := binary.LittleEndian
	stored := byte(0)
	if h.stored {
		stored = 1
	}
	dst = append(append(dst, magic...), byte(h.class), byte(h.part), stored, 0)
	dst = le.AppendUint16(le.AppendUint16(dst, uint16(h.first)), uint16(h.last))
	dst = le.AppendUint64(dst, uint64(h.size))
	dst = append(dst, h.basis[:]...)
	return le.AppendUint32(le.AppendUint32(dst, uint32(h.fixed)), uint32(h.tables))
}

const headBytes = 4 + 4 + 4 + 8 + 8 + 8

func parseHead(b []byte) (h head, err error) {
	if len(b) < headBytes+4 || string(b[:4]) != magic {
		return h, fmt.Errorf("%w: no such head in %d bytes", ErrCoded, len(b))
	}
	le := binary.LittleEndian
	h = head{class: Class(b[4]), part: blob.Part(b[5]), stored: b[6] == 1, first: int(le.Uint16(b[8:])), last: int(le.Uint16(b[10:])),
		basis: [8]byte(b[20:28]), fixed: int(le.Uint32(b[28:])), tables: int(le.Uint32(b[32:]))}
	size := le.Uint64(b[12:])
	switch {
	case !h.class.valid() || h.part > blob.Partial || b[6] > 1 || b[7] != 0:
		return head{}, fmt.Errorf("%w: class %d, part %d, flags %d and %d", ErrCoded, b[4], b[5], b[6], b[7])
	case size > maxState || size/maxGain > uint64(len(b)):
		return head{}, fmt.Errorf("%w: %d bytes in %d", ErrCoded, size, len(b))
	}
	h.size = int(size)
	return h, nil
}
