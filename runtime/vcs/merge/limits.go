package merge

import (
	"bytes"
	"errors"
	"fmt"
)

// What is refused. Both leave the decision to the caller: git's own merge, or a
// conflict.
var (
	ErrTooLarge = errors.New("too large to be merged by lines")
	ErrBinary   = errors.New("not a text")
)

// Limits bound the memory and the time of one comparison or merge. Zero fields
// mean the default.
type Limits struct {
	Bytes int   // of each text; default and maximum 1023 MiB, which is git's limit
	Steps int64 // comparisons of lines and the like; default 1<<29, about a second or two
}

const (
	maxBytes     = 1023 << 20
	defaultSteps = 1 << 29
)

func (l Limits) bytes() int {
	if l.Bytes <= 0 || l.Bytes > maxBytes {
		return maxBytes
	}
	return l.Bytes
}

// A budget is the work that is left. Its owner asks now and then whether it is
// spent, not at every step.
type budget struct{ left int64 }

func (l Limits) budget() *budget {
	if l.Steps <= 0 {
		return &budget{defaultSteps}
	}
	return &budget{l.Steps}
}

func (b *budget) spend(steps int) { b.left -= int64(steps) }
func (b *budget) spent() bool     { return b.left < 0 }

// sniffed is how much of a text is looked at for NUL bytes: as much as git does,
// so that both call the same files binary.
const sniffed = 8000

// Binary reports whether data is no text: there is a NUL among its first bytes.
func Binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0
}

// check refuses what is not merged by lines.
func (l Limits) check(name string, data []byte) error {
	if Binary(data) {
		return fmt.Errorf("merge of lines: %s: %w", name, ErrBinary)
	}
	if len(data) > l.bytes() {
		return fmt.Errorf("merge of lines: %s has %d bytes of at most %d: %w", name, len(data), l.bytes(), ErrTooLarge)
	}
	return nil
}
