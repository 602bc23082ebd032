package postgres

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"dure/runtime/board"
)

const (
	// Changes up to so many bytes of JSON are in their event; others beside it.
	inline = 256 << 10
	piece  = 1 << 20 // bytes of a row of dure_board.away
)

// changes gathers what one statement changes: in memory, or in a file without a name
// until it is known whether they stay.
type changes struct {
	bytes int64    // of all values
	held  [][]byte // lines of JSON
	json  int      // bytes of them

	file *os.File
	out  *bufio.Writer
	sum  hash.Hash
	size int64
	n    int64
}

func (c *changes) add(ch board.Change, bytes int64) error {
	line, err := json.Marshal(ch)
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	c.bytes += bytes
	c.n++
	if c.file == nil {
		c.held = append(c.held, line)
		if c.json += len(line); c.json <= inline {
			return nil
		}
		return c.spill()
	}
	return c.write(line)
}

// spill begins the file with what is held.
func (c *changes) spill() error {
	f, err := os.CreateTemp("", "dure-changes-")
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return errors.Join(fmt.Errorf("changes: %w", err), f.Close())
	}
	c.file, c.sum = f, sha256.New()
	c.out = bufio.NewWriterSize(io.MultiWriter(f, c.sum), 1<<18)
	for _, line := range c.held {
		if err := c.write(line); err != nil {
			return err
		}
	}
	c.held = nil
	return nil
}

func (c *changes) write(line []byte) error {
	n, err := c.out.Write(line)
	if err == nil {
		err = c.out.WriteByte('\n')
	}
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	c.size += int64(n) + 1
	return nil
}

// drop lets go of the file.
func (c *changes) drop() {
	if c.file != nil {
		_ = c.file.Close() // it has no name and is gone
		c.file = nil
	}
}

// away says where the changes will be, nil if they are in the event.
func (c *changes) away(name string) (*board.Away, error) {
	if c.file == nil {
		return nil, nil
	}
	if err := c.out.Flush(); err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	return &board.Away{Name: name, Bytes: c.size, SHA256: hex.EncodeToString(c.sum.Sum(nil)), Lines: c.n}, nil
}

// payload is a write as its event says it: a board.Written.
func (c *changes) payload(agent string, uses []board.Use, away *board.Away) ([]byte, error) {
	head, err := json.Marshal(board.Written{Agent: agent, Uses: uses, Away: away})
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	if len(c.held) == 0 {
		return head, nil
	}
	out := append(head[:len(head)-1], `,"changes":[`...)
	return append(append(out, bytes.Join(c.held, []byte{','})...), "]}"...), nil
}

// keepPieces puts the file's pieces into the transaction that is open, several in a
// message.
func (c *changes) keepPieces(s *session, key []byte, name string) error {
	const atOnce = 8
	for i, more := 0, true; more; {
		var steps []step
		for range atOnce {
			data := make([]byte, piece)
			n, err := io.ReadFull(c.file, data)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				more, err = false, nil
			}
			if err != nil {
				return fmt.Errorf("changes: %w", err)
			}
			if n > 0 {
				steps = append(steps, step{sql: "select dure_board.keep($1, $2, $3, $4)"}.with(oidBytes, key).
					with(oidText, []byte(name)).with(oidInt4, []byte(fmt.Sprint(i))).with(oidBytes, data[:n]))
				i++
			}
			if !more {
				break
			}
		}
		if len(steps) > 0 {
			if err := s.exchange(steps)[0]; err != nil {
				return err
			}
		}
	}
	return nil
}
