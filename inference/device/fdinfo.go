package device

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ProcessMemory is what a process holds on a card.
type ProcessMemory struct {
	PID       int
	PCI       string
	VRAM, GTT uint64 // bytes
}

// fdClient is one open file of a card: a driver's client. Copies of the file, also
// in child processes, are the same client and count once.
type fdClient struct{ pci, id string }

// readProcessMemory sums what the processes hold on amdgpu's cards, by the
// kernel's accounting for each open file (/proc/PID/fdinfo) and the compute
// driver's for each process, whichever knows more. Files of other users' processes
// cannot be read: those processes are missing.
func readProcessMemory(root fs.FS) []ProcessMemory {
	type place struct {
		pid int
		pci string
	}
	sums := map[place]ProcessMemory{}
	seen := map[fdClient]bool{}
	for _, pid := range processIDs(root) {
		for _, info := range readClients(root, pid) {
			if seen[info.client] {
				continue
			}
			seen[info.client] = true
			p := sums[place{pid, info.client.pci}]
			p.VRAM, p.GTT = p.VRAM+info.vram, p.GTT+info.gtt
			sums[place{pid, info.client.pci}] = p
		}
	}
	for _, k := range readKFDProcesses(root) {
		at := place{k.PID, k.PCI}
		p := sums[at]
		p.VRAM = max(p.VRAM, k.VRAM)
		sums[at] = p
	}
	var all []ProcessMemory
	for at, p := range sums {
		if p.VRAM+p.GTT > 0 {
			p.PID, p.PCI = at.pid, at.pci
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b ProcessMemory) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.PCI, b.PCI))
	})
	return all
}

func processIDs(root fs.FS) []int {
	var pids []int
	for _, name := range names(root, "/proc") {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids) // parents mostly before the children that inherit a file
	return pids
}

type fdInfo struct {
	client    fdClient
	vram, gtt uint64
}

func readClients(root fs.FS, pid int) []fdInfo {
	dir := path.Join("proc", strconv.Itoa(pid))
	var all []fdInfo
	for _, fd := range names(root, dir+"/fdinfo") {
		// The link says cheaply that most files are none of a card's.
		if target, err := fs.ReadLink(root, path.Join(dir, "fd", fd)); err == nil && !strings.HasPrefix(target, "/dev/dri/") {
			continue
		}
		if info, ok := parseFDInfo(read(root, path.Join(dir, "fdinfo", fd))); ok {
			all = append(all, info)
		}
	}
	return all
}

// parseFDInfo reads the lines of the kernel's DRM accounting; ok is false for a
// file that is not a client of amdgpu. What is resident counts; older kernels
// have it under the name drm-memory-*.
func parseFDInfo(text string) (info fdInfo, ok bool) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(line, ":"); found && strings.HasPrefix(key, "drm-") {
			values[key] = strings.TrimSpace(value)
		}
	}
	info.client = fdClient{pci: values["drm-pdev"], id: values["drm-client-id"]}
	if values["drm-driver"] != "amdgpu" || info.client.pci == "" || info.client.id == "" {
		return fdInfo{}, false
	}
	size := func(region string) uint64 {
		for _, key := range []string{"drm-resident-", "drm-memory-"} {
			if n, ok := parseSize(values[key+region]); ok {
				return n
			}
		}
		return 0
	}
	info.vram, info.gtt = size("vram"), size("gtt")
	return info, true
}

// parseSize reads "512 KiB"; without a unit it is bytes.
func parseSize(s string) (uint64, bool) {
	number, unit, _ := strings.Cut(s, " ")
	n, err := strconv.ParseUint(number, 10, 64)
	shift, known := map[string]int{"": 0, "KiB": 10, "MiB": 20}[unit]
	if err != nil || !known || n > 1<<43 { // no card has that much, and the shift cannot overflow
		return 0, false
	}
	return n << shift, true
}

// readKFDProcesses reads what the compute driver counts: vram_<gpu_id> for each
// process that uses HIP.
func readKFDProcesses(root fs.FS) []ProcessMemory {
	address := map[string]string{}
	for _, node := range names(root, kfdRoot+"/topology/nodes") {
		dir := path.Join(kfdRoot, "topology/nodes", node)
		if id := read(root, dir+"/gpu_id"); id != "" && id != "0" {
			address[id] = kfdAddress(kfdProperties(read(root, dir+"/properties")))
		}
	}
	var all []ProcessMemory
	for _, name := range names(root, kfdRoot+"/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		for id, pci := range address {
			if n := byteFile(root, path.Join(kfdRoot, "proc", name, "vram_"+id)); n.Known {
				all = append(all, ProcessMemory{PID: pid, PCI: pci, VRAM: n.Value})
			}
		}
	}
	return all
}
