package event

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is the checksum of all that the event holds, its places in the log included: a
// CRC-32C over its numbers as 64 bits, and its texts behind their lengths. Stores keep it
// beside the event and compare it whenever they read one, so that a bit that a disk or a
// memory turned over is noticed before anybody acts on it.
func (e Event) Sum() uint32 {
	b := make([]byte, 0, 8*6+len(e.ID)+len(e.Stream)+len(e.Type))
	for _, n := range []uint64{uint64(e.Position), uint64(e.Sequence), uint64(e.Version), uint64(e.Time.UnixNano()), uint64(len(e.Stream)), uint64(len(e.Type))} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	b = append(b, e.ID[:]...)
	b = append(append(b, e.Stream...), e.Type...)
	return crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, e.Payload)
}

// Damaged is the error of an event that is not as it was written. It is an ErrDamaged.
func (e Event) Damaged() error {
	return fmt.Errorf("%w: the event at position %d (%s, number %d of stream %q) is not as it was written: its checksum differs; take the log from a copy",
		ErrDamaged, e.Position, e.Type, e.Sequence, e.Stream)
}
