package device

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Fault is a line of the kernel's log that says a card failed.
type Fault struct {
	PCI  string
	Xid  int    // NVIDIA's number; 0 for amdgpu
	Text string // the line without its time
}

// lostXids are the numbers after which a card answers nobody any more until it
// is reset or the machine restarted (NVIDIA's Xid catalogue): fallen off the bus,
// its system processor in time-out or failed, recovery action demanded.
var lostXids = map[int]bool{79: true, 119: true, 120: true, 154: true}

const amdPrefix = `amdgpu ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): (?:amdgpu: )?`

var (
	xidRE   = regexp.MustCompile(`NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): (\d+)\b.*`)
	resetRE = regexp.MustCompile(amdPrefix + `GPU reset\(\d+\) succeeded`)
	amdRE   = regexp.MustCompile(amdPrefix + `(?:device lost from bus|GPU reset end with ret = -\d+).*`)
)

// ParseFaults finds in a kernel log what took a card away, in the log's order.
// Errors that a card survives, such as those of one program, are left out, and so
// are those of a card of AMD's that was reset afterwards. NVIDIA's driver does not
// log that a card is back: its faults count only for one that does not answer.
func ParseFaults(log string) []Fault {
	var all []Fault
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "NVRM: Xid") && !strings.Contains(line, "amdgpu ") {
			continue // nearly all lines; the expressions are slow
		}
		if m := xidRE.FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[2])
			if pci := normalPCI(m[1]); err == nil && pci != "" && lostXids[n] {
				all = append(all, Fault{PCI: pci, Xid: n, Text: strings.TrimSuffix(m[0], ".")})
			}
		} else if m := resetRE.FindStringSubmatch(line); m != nil {
			all = slices.DeleteFunc(all, func(f Fault) bool { return f.PCI == normalPCI(m[1]) })
		} else if m := amdRE.FindStringSubmatch(line); m != nil {
			all = append(all, Fault{PCI: normalPCI(m[1]), Text: strings.TrimSuffix(m[0], ".")})
		}
	}
	return all
}

// readKernelLog returns the kernel's ring buffer; "" where this user may not read
// it, which many systems forbid: the log only explains what is seen elsewhere.
func readKernelLog() string {
	const readAll, size = 3, 10 // SYSLOG_ACTION_READ_ALL, SYSLOG_ACTION_SIZE_BUFFER
	n, err := unix.Klogctl(size, nil)
	if err != nil || n <= 0 {
		return ""
	}
	buf := make([]byte, n)
	if n, err = unix.Klogctl(readAll, buf); err != nil {
		return ""
	}
	return string(buf[:n])
}

// normalPCI writes an address as sysfs does: "0000:01:00.0"; what is none comes
// back empty. A missing function, as in an Xid, is 0, and so is a missing domain.
func normalPCI(s string) string {
	rest, function, found := strings.Cut(s, ".")
	if !found {
		function = "0"
	}
	parts := strings.Split(rest, ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != 3 {
		return ""
	}
	var n [4]uint64
	for i, part := range append(parts, function) {
		v, err := strconv.ParseUint(part, 16, 32)
		if err != nil {
			return ""
		}
		n[i] = v
	}
	return pciAddress(n[0], n[1], n[2], n[3])
}
