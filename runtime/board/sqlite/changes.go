package sqlite

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
	"path/filepath"

	"dure/runtime/board"
)

// Changes up to so many bytes of JSON are in their event; others in a file.
const inline = 256 << 10

// changes gathers what one statement changes.
type changes struct {
	dir   string   // of files
	name  string   // that a file would have
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
	line, err := board.AppendChange(nil, ch)
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	c.bytes += bytes
	c.n++
	if c.file != nil {
		return c.write(line)
	}
	c.held = append(c.held, line)
	if c.json += len(line); c.json <= inline {
		return nil
	}
	return c.spill()
}

// spill begins the file with what is held.
func (c *changes) spill() error {
	f, err := os.OpenFile(filepath.Join(c.dir, c.name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return explain(fmt.Errorf("changes: %w", err))
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
	c.size += int64(n) + 1
	if err == nil {
		err = c.out.WriteByte('\n')
	}
	if err != nil {
		return explain(fmt.Errorf("changes: %w", err))
	}
	return nil
}

// finish flushes the file, name and all, and says where the changes are.
func (c *changes) finish() (*board.Away, error) {
	if c.file == nil {
		return nil, nil
	}
	err := c.out.Flush()
	if err == nil {
		err = c.file.Sync()
	}
	err = errors.Join(err, c.file.Close())
	c.file = nil
	if err == nil {
		err = syncDir(c.dir)
	}
	if err != nil {
		return nil, explain(fmt.Errorf("changes: %w", errors.Join(err, os.Remove(filepath.Join(c.dir, c.name)))))
	}
	return &board.Away{Name: c.name, Bytes: c.size, SHA256: hex.EncodeToString(c.sum.Sum(nil)), Lines: c.n}, nil
}

// drop leaves nothing.
func (c *changes) drop() error {
	c.held = nil
	if c.sum == nil {
		return nil
	}
	if c.file != nil {
		_ = c.file.Close() // it is removed
		c.file = nil
	}
	c.sum = nil
	return os.Remove(filepath.Join(c.dir, c.name))
}

// readAway calls f for each change of a file, after the whole file was found to be
// what its event says.
func readAway(dir string, a board.Away, f func(board.Change) error) error {
	file, err := os.Open(filepath.Join(dir, filepath.Base(a.Name)))
	if err != nil {
		return fmt.Errorf("%w: changes: %w", board.ErrDamaged, err)
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	if n != a.Bytes || hex.EncodeToString(sum.Sum(nil)) != a.SHA256 {
		return fmt.Errorf("%w: changes %s are not what was written", board.ErrDamaged, a.Name)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	dec := json.NewDecoder(bufio.NewReaderSize(file, 1<<18))
	for range a.Lines {
		var ch board.Change
		if err := dec.Decode(&ch); err != nil {
			return fmt.Errorf("%w: changes %s: %w", board.ErrDamaged, a.Name, err)
		}
		if err := f(ch); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// payload is a write as its event says it: a board.Written.
func payload(agent string, uses []board.Use, ch *changes) ([]byte, error) {
	away, err := ch.finish()
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(board.Written{Agent: agent, Uses: uses, Away: away})
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	if len(ch.held) == 0 {
		return head, nil
	}
	out := append(head[:len(head)-1], `,"changes":[`...)
	return append(append(out, bytes.Join(ch.held, []byte{','})...), "]}"...), nil
}
