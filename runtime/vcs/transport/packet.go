package transport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// A packet is a line of the protocol: four hexadecimal digits of length, which
// count themselves, and the bytes. Length 0 ends a list.
const flushPacket = "0000"

const maxPacket = 65520

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// errFlush ends a list of packets.
var errFlush = errors.New("end of the list")

// readPacket reads one packet; errFlush is the end of a list.
func readPacket(r *bufio.Reader) (string, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", err
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil:
		return "", fmt.Errorf("a packet of length %q", head)
	case n == 0:
		return "", errFlush
	case n < 4 || n > maxPacket:
		return "", fmt.Errorf("a packet of length %d", n)
	}
	text := make([]byte, n-4)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", err
	}
	return string(text), nil
}
