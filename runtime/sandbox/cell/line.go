package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// MaxMessage bounds one message of the line, in bytes. It lies below what a socket
// of the kernel's usual size takes in one piece.
const MaxMessage = 160 << 10

// MaxDescriptors bounds the descriptors of one message; the kernel's limit is 253.
const MaxDescriptors = 250

// line is the helper's end. Reads block a thread: the helper has nothing else to do.
type line struct{ fd int }

// receive reads one message into v. io.EOF says that the other end is gone.
func (l line) receive(v any) ([]int, error) {
	buf := make([]byte, MaxMessage)
	oob := make([]byte, unix.CmsgSpace(4*MaxDescriptors))
	var n, oobn, flags int
	for {
		var err error
		n, oobn, flags, _, err = unix.Recvmsg(l.fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the line: %w", err)
		}
		break
	}
	if n == 0 {
		return nil, io.EOF
	}
	fds, err := descriptors(oob[:oobn])
	if err != nil {
		return nil, err
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		return nil, errors.New("read the line: a message was cut")
	}
	if err := json.Unmarshal(buf[:n], v); err != nil {
		return nil, fmt.Errorf("read the line: %w", err)
	}
	return fds, nil
}

func descriptors(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("read the line: %w", err)
	}
	var all []int
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, fmt.Errorf("read the line: %w", err)
		}
		all = append(all, fds...)
	}
	return all, nil
}

func (l line) send(n Notice) error {
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("write the line: %w", err)
	}
	for {
		err := unix.Sendmsg(l.fd, data, nil, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("write the line: %w", err)
		}
		return nil
	}
}
