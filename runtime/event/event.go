package event

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"
)

// Limits of what a log takes. An event is a fact, not a container: what is large
// goes elsewhere and its hash into the event.
const (
	MaxPayload = 1 << 20 // bytes of an event's payload
	MaxEvents  = 1000    // events of one Append
	MaxAppend  = 8 << 20 // bytes of all payloads of one Append
	MaxStream  = 256     // bytes of a stream's name
	MaxType    = 64      // bytes of a type's name
)

// A Sequence is the place of an event within its stream. The first is 1; 0 is
// before the first.
type Sequence uint64

// Any as expected sequence appends wherever the stream ends.
const Any Sequence = math.MaxUint64

// A Position is the place of an event among all events of a log. The first is 1;
// 0 is before the first.
type Position uint64

// An Event is one fact. Who appends gives Type, Version and Payload, and may give
// ID and Time; the log fills the others.
type Event struct {
	ID       ID        // unique in the log; made by the log if zero
	Stream   string    // set by the log
	Sequence Sequence  // set by the log
	Position Position  // set by the log
	Type     string    // lower-case words with dots: task.submitted
	Version  int       // of the payload's shape, from 1
	Time     time.Time // UTC, to the nanosecond; the time of Append if zero
	Payload  []byte    // JSON, kept byte by byte
}

// An ID names an event. It is 16 bytes: 6 of milliseconds since 1970, 10 random
// ones, so that IDs made one after the other lie near each other in an index.
type ID [16]byte

// NewID makes an ID. Who may have to repeat an Append makes the IDs itself, so
// that the log can tell that it has them.
func NewID() ID {
	var id ID
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixMilli())<<16)
	// Never fails, as its documentation says.
	_, _ = rand.Read(id[6:])
	return id
}

// DerivedID is the ID of what happens once: the same parts make the same ID, so that
// appending it again is ErrDuplicate.
func DerivedID(parts ...string) ID {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return ID(sum[:len(ID{})])
}

// String is 32 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID reads what String wrote.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return ID{}, fmt.Errorf("event id %q: %w: want 32 hexadecimal digits", s, ErrInvalid)
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, fmt.Errorf("event id %q: %w: %w", s, ErrInvalid, err)
	}
	return id, nil
}
