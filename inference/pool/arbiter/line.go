package arbiter

import (
	"fmt"
	"io"
	"net"
)

// outFrames may wait to be written to a process. It is owed few: a grant, its recall,
// and a slice for each of the others that come or go.
const outFrames = 32

// line is the parent's end of the sockets. The owner puts frames into out and closes
// it; a goroutine each writes and reads.
type line struct {
	name   string
	conn   net.Conn
	out    chan frame
	warned bool // that it is stuck; the owner's
}

// close makes read and write fail. What Close would report is of no use any more.
func (l *line) close() { l.conn.Close() }

// write until out is closed.
func (l *line) write() {
	broken := false
	for f := range l.out {
		if broken {
			continue
		}
		b := f.encode()
		if _, err := l.conn.Write(b[:]); err != nil {
			broken = true
			l.close() // the reader tells the owner
		}
	}
}

// read until the line ends, and say why; io.EOF where the process closed it.
func (l *line) read(each func(frame) bool) error {
	for {
		f, err := readFrame(l.conn)
		if err != nil {
			return err
		}
		if !each(f) {
			return ErrClosed
		}
	}
}

// readFrame returns io.EOF only between frames.
func readFrame(r io.Reader) (frame, error) {
	var b [frameSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		if err == io.EOF {
			return frame{}, err
		}
		return frame{}, fmt.Errorf("arbiter: read frame: %w", err)
	}
	return decodeFrame(b)
}
