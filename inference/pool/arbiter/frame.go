package arbiter

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A frame has frameSize bytes, little-endian:
//
//	0  kind
//	1  class (ask, done), keep 0 or 1 (grant), else 0
//	2  six zeros
//	8  serial: names an ask, and the lease that follows from it; 0 in a share
//	16 ns: until it is due, 0 = it is not (ask); of the call that ended the lease,
//	   0 = none (done); the slice, 0 = none (share); else 0
//
// The child sends ask and done, the parent share, grant and recall. A child asks
// once at a time; it asks again at once where its lease is recalled, so that the done
// of one may come after the ask of the next.
const frameSize = 24

// maxDuration is the longest that a frame may tell.
const maxDuration = time.Hour

type frameKind byte

const (
	frameAsk frameKind = 1 + iota
	frameDone
	frameShare
	frameGrant
	frameRecall
)

type frame struct {
	kind   frameKind
	flag   byte
	serial uint64
	ns     int64
}

func (f frame) encode() (b [frameSize]byte) {
	b[0], b[1] = byte(f.kind), f.flag
	binary.LittleEndian.PutUint64(b[8:], f.serial)
	binary.LittleEndian.PutUint64(b[16:], uint64(f.ns))
	return b
}

// decodeFrame refuses whatever encode would not have written.
func decodeFrame(b [frameSize]byte) (frame, error) {
	f := frame{
		kind: frameKind(b[0]), flag: b[1],
		serial: binary.LittleEndian.Uint64(b[8:]), ns: int64(binary.LittleEndian.Uint64(b[16:])),
	}
	flags, serial, ns := byte(1), true, false
	switch f.kind {
	case frameAsk, frameDone:
		flags, ns = classes, true
	case frameShare:
		serial, ns = false, true
	case frameGrant:
		flags = 2
	case frameRecall:
	default:
		return f, fmt.Errorf("arbiter: frame %x: no such kind", b)
	}
	switch {
	case f.flag >= flags:
		return f, fmt.Errorf("arbiter: frame %x: flag %d, must be below %d", b, f.flag, flags)
	case [6]byte(b[2:8]) != [6]byte{}:
		return f, fmt.Errorf("arbiter: frame %x: no room for more than zeros", b)
	case serial != (f.serial > 0):
		return f, fmt.Errorf("arbiter: frame %x: serial %d", b, f.serial)
	case f.ns < 0 || f.ns > int64(maxDuration) || !ns && f.ns != 0:
		return f, fmt.Errorf("arbiter: frame %x: a duration of %d ns", b, f.ns)
	}
	return f, nil
}
