package event

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// CheckStream says what is wrong with a stream's name, or nil. A name is 1 to
// MaxStream bytes of UTF-8 without control characters. Two names are the same
// stream if their bytes are equal: no case is folded and nothing normalised.
func CheckStream(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("stream: %w: no name", ErrInvalid)
	case len(name) > MaxStream:
		return fmt.Errorf("stream: %w: a name of %d bytes, at most %d", ErrInvalid, len(name), MaxStream)
	case !utf8.ValidString(name):
		return fmt.Errorf("stream %q: %w: not UTF-8", name, ErrInvalid)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("stream %q: %w: control characters", name, ErrInvalid)
	}
	return nil
}

// CheckType says what is wrong with a type's name, or nil. A name is lower-case
// words of letters, digits and '_' that begin with a letter, joined by dots.
func CheckType(name string) error {
	if len(name) > MaxType {
		return fmt.Errorf("event type: %w: a name of %d bytes, at most %d", ErrInvalid, len(name), MaxType)
	}
	for word := range strings.SplitSeq(name, ".") {
		for i, r := range word {
			letter := r >= 'a' && r <= 'z'
			if !letter && (i == 0 || r != '_' && (r < '0' || r > '9')) {
				return fmt.Errorf("event type %q: %w: want lower-case words joined by dots", name, ErrInvalid)
			}
		}
		if word == "" {
			return fmt.Errorf("event type %q: %w: an empty word", name, ErrInvalid)
		}
	}
	return nil
}

// Times are kept as nanoseconds since 1970 in 64 bits.
var (
	earliest = time.Unix(0, math.MinInt64)
	latest   = time.Unix(0, math.MaxInt64)
)

func checkEvent(e Event) error {
	if err := CheckType(e.Type); err != nil {
		return err
	}
	switch {
	case e.Version < 1 || e.Version > math.MaxInt32:
		return fmt.Errorf("event %s: %w: version %d", e.Type, ErrInvalid, e.Version)
	case len(e.Payload) > MaxPayload:
		return fmt.Errorf("event %s: %w: a payload of %d bytes, at most %d; keep it elsewhere and append its hash",
			e.Type, ErrInvalid, len(e.Payload), MaxPayload)
	// encoding/json takes any bytes in strings; RFC 8259 wants UTF-8.
	case !json.Valid(e.Payload) || !utf8.Valid(e.Payload):
		return fmt.Errorf("event %s: %w: the payload is not JSON in UTF-8", e.Type, ErrInvalid)
	case !e.Time.IsZero() && (e.Time.Before(earliest) || e.Time.After(latest)):
		return fmt.Errorf("event %s: %w: time %v", e.Type, ErrInvalid, e.Time)
	}
	return nil
}

// CheckAppend says what is wrong with the arguments of Append, or nil. Every log
// asks it first, so that all refuse the same.
func CheckAppend(stream string, expected Sequence, events []Event) error {
	if err := CheckStream(stream); err != nil {
		return err
	}
	if expected != Any && expected > math.MaxInt64 {
		return fmt.Errorf("append to %q: %w: expected sequence %d", stream, ErrInvalid, expected)
	}
	if len(events) == 0 || len(events) > MaxEvents {
		return fmt.Errorf("append to %q: %w: %d events, want 1 to %d", stream, ErrInvalid, len(events), MaxEvents)
	}
	bytes, ids := 0, make(map[ID]bool)
	for _, e := range events {
		if err := checkEvent(e); err != nil {
			return fmt.Errorf("append to %q: %w", stream, err)
		}
		if bytes += len(e.Payload); bytes > MaxAppend {
			return fmt.Errorf("append to %q: %w: more than %d bytes of payload", stream, ErrInvalid, MaxAppend)
		}
		if e.ID == (ID{}) {
			continue
		}
		if ids[e.ID] {
			return fmt.Errorf("append to %q: %w: two events with the ID %v", stream, ErrInvalid, e.ID)
		}
		ids[e.ID] = true
	}
	return nil
}
