package vcs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"dure/runtime/vcs/object"
)

// A log is a header and records. All numbers are little-endian.
//
//	header  "DUREGIT1", the log's number (8 bytes), its mark (8)
//	record  the mark, length of the body (4), CRC-32C of what follows (4),
//	        batch number (8), body
//	body    how many moves, each: length of the name, name, old ID, new ID
//	        how many objects, each: ID, length of its entry
//	        the entries, as they stand in a pack
//
// Counts and lengths in the body are unsigned varints. Batch numbers rise by one
// through all logs of a repository. The mark is drawn at random for each log, so
// that no content of a file can pass for a record.
const (
	logMagic   = "DUREGIT1"
	markLen    = 8
	logHead    = 16 + markLen
	recordHead = markLen + 16
	// maxRecord bounds a body: the writer splits batches before, and a length beyond
	// it is noise.
	maxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A stored object is one that was hashed and deflated.
type stored struct {
	id    object.ID
	typ   object.Type
	entry []byte
}

// A mark begins the records of one log.
type mark [markLen]byte

func appendLogHead(b []byte, number uint64, m mark) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, logMagic...), number)
	return append(b, m[:]...)
}

// parseLogHead checks that a log is the one that its name says. short: it ends
// within its head, as one does whose making was cut off.
func parseLogHead(b []byte, number uint64) (short bool, err error) {
	if len(b) < logHead {
		return true, nil
	}
	if !bytes.HasPrefix(b, []byte(logMagic[:7])) {
		// A head that was never flushed can be zeros.
		return true, nil
	}
	if b[7] != logMagic[7] {
		return false, fmt.Errorf("log %d: %w: its form is %q, this program knows %q", number, ErrNewer, b[:8], logMagic)
	}
	if binary.LittleEndian.Uint64(b[8:]) != number {
		return false, fmt.Errorf("log %d: %w: it says that it is another", number, ErrDamaged)
	}
	return false, nil
}

// appendRecord appends a batch. at is where each object's entry begins in it.
func appendRecord(b []byte, m mark, batch uint64, moves []Move, objects []stored) (out []byte, at []int64) {
	start := len(b)
	b = append(b, m[:]...)
	b = append(b, make([]byte, recordHead-markLen)...)
	b = binary.AppendUvarint(b, uint64(len(moves)))
	for _, m := range moves {
		b = binary.AppendUvarint(b, uint64(len(m.Ref)))
		b = append(b, m.Ref...)
		b = append(b, m.Old[:]...)
		b = append(b, m.New[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(objects)))
	for i := range objects {
		b = append(b, objects[i].id[:]...)
		b = binary.AppendUvarint(b, uint64(len(objects[i].entry)))
	}
	at = make([]int64, len(objects))
	for i := range objects {
		at[i] = int64(len(b) - start)
		b = append(b, objects[i].entry...)
	}
	record := b[start:]
	binary.LittleEndian.PutUint32(record[markLen:], uint32(len(record)-recordHead))
	binary.LittleEndian.PutUint64(record[markLen+8:], batch)
	binary.LittleEndian.PutUint32(record[markLen+4:], crc32.Checksum(record[markLen+8:], castagnoli))
	return b, at
}

// A batch is a record that was read.
type batch struct {
	number  uint64
	moves   []Move
	objects []placed
	size    int // of the record
}

// placed is an object's entry in a record that was read.
type placed struct {
	id     object.ID
	at, n  int // of the entry, in the record
	offset int64
}

// parseRecord reads the record at the beginning of b; ok is false where there is no
// whole one.
func parseRecord(b []byte, m mark) (r batch, ok bool) {
	if len(b) < recordHead || mark(b) != m {
		return r, false
	}
	n := int(binary.LittleEndian.Uint32(b[markLen:]))
	if n > maxRecord || len(b) < recordHead+n {
		return r, false
	}
	b = b[:recordHead+n]
	if crc32.Checksum(b[markLen+8:], castagnoli) != binary.LittleEndian.Uint32(b[markLen+4:]) {
		return r, false
	}
	r.number, r.size = binary.LittleEndian.Uint64(b[markLen+8:]), len(b)
	c := cutter{b: b, at: recordHead}
	for range c.count() {
		name := string(c.bytes(c.count()))
		r.moves = append(r.moves, Move{Ref: name, Old: c.id(), New: c.id()})
	}
	for range c.count() {
		r.objects = append(r.objects, placed{id: c.id(), n: c.count()})
	}
	for i := range r.objects {
		r.objects[i].at = c.at
		c.bytes(r.objects[i].n)
	}
	return r, !c.bad && c.at == len(b)
}

// A cutter reads on in a record; bad says that it ran over its end.
type cutter struct {
	b   []byte
	at  int
	bad bool
}

func (c *cutter) count() int {
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 || v > uint64(len(c.b)) {
		c.bad = true
		return 0
	}
	c.at += n
	return int(v)
}

func (c *cutter) bytes(n int) []byte {
	if c.bad || n > len(c.b)-c.at {
		c.bad = true
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at]
}

func (c *cutter) id() object.ID {
	b := c.bytes(object.Size)
	if c.bad {
		return object.Zero
	}
	return object.ID(b)
}

// readLog reads the batches of a log up to the last whole one. What follows it was
// never acknowledged, for a record is begun when the one before is on the disk: a
// whole record behind a torn one means that the disk has lost what it had, and is
// refused.
func readLog(b []byte, number uint64) ([]batch, error) {
	short, err := parseLogHead(b, number)
	if short || err != nil {
		return nil, err
	}
	var all []batch
	m, at := mark(b[16:]), logHead
	for at < len(b) {
		r, ok := parseRecord(b[at:], m)
		if !ok {
			break
		}
		for i := range r.objects {
			r.objects[i].offset = int64(at + r.objects[i].at)
		}
		if len(all) > 0 && r.number != all[len(all)-1].number+1 {
			return nil, fmt.Errorf("log %d: %w: batch %d follows batch %d", number, ErrDamaged, r.number, all[len(all)-1].number)
		}
		all = append(all, r)
		at += r.size
	}
	for rest := b[min(at+1, len(b)):]; ; rest = rest[1:] {
		i := bytes.Index(rest, m[:])
		if i < 0 {
			return all, nil
		}
		rest = rest[i:]
		if r, ok := parseRecord(rest, m); ok && (len(all) == 0 || r.number > all[len(all)-1].number) {
			return nil, fmt.Errorf("log %d: %w: batch %d stands behind one that is torn", number, ErrDamaged, r.number)
		}
	}
}
