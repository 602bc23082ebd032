package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"dure/runtime/sandbox/cell"
)

// helperEnv is the helper's whole environment: little memory, one processor, nothing
// that tells of this program. In tests, the race detector is not to hold it for a second
// when it ends.
var helperEnv = []string{"GOMAXPROCS=1", "GOGC=50", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}

// pair is a line to a helper: this side and the helper's.
func pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a line to the helper: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "line"), os.NewFile(uintptr(fds[1]), "line"), nil
}

// line is this program's end.
type line struct{ conn *net.UnixConn }

func newLine(f *os.File) (line, error) {
	conn, err := net.FileConn(f) // a copy of the descriptor
	_ = f.Close()
	if err != nil {
		return line{}, fmt.Errorf("use the line to the helper: %w", err)
	}
	return line{conn.(*net.UnixConn)}, nil
}

// send writes one message with descriptors.
func (l line) send(v any, files ...*os.File) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("tell the helper: %w", err)
	}
	if len(data) > cell.MaxMessage {
		return fmt.Errorf("%w (%d bytes, at most %d)", ErrTooLong, len(data), cell.MaxMessage)
	}
	if len(files) > cell.MaxDescriptors {
		return fmt.Errorf("tell the helper: %d mounts, at most %d", len(files), cell.MaxDescriptors)
	}
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	if _, _, err := l.conn.WriteMsgUnix(data, oob, nil); err != nil {
		return fmt.Errorf("tell the helper: %w", err)
	}
	return nil
}

// receive reads one message; io.EOF says that the helper is gone.
func (l line) receive(buf []byte) (cell.Notice, error) {
	var n cell.Notice
	size, _, _, _, err := l.conn.ReadMsgUnix(buf, nil)
	if err == nil && size == 0 || errors.Is(err, unix.ECONNRESET) {
		return n, io.EOF
	}
	if err != nil {
		return n, fmt.Errorf("hear the helper: %w", err)
	}
	if err := json.Unmarshal(buf[:size], &n); err != nil {
		return n, fmt.Errorf("hear the helper: %w", err)
	}
	return n, nil
}
