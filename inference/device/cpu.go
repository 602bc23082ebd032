package device

import (
	"bufio"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

func detectCPU(root fs.FS, allowed []int) CPU {
	info := read(root, "/proc/cpuinfo")
	if len(allowed) == 0 {
		allowed = onlineCPUs(info)
	}
	cpu := CPU{Model: cpuModel(info), Usable: len(allowed), Physical: physicalCores(root, allowed)}
	for _, dir := range groupDirs(root) {
		if quota := parseQuota(read(root, path.Join(dir, "cpu.max"))); quota > 0 && (cpu.Quota == 0 || quota < cpu.Quota) {
			cpu.Quota = quota
		}
	}
	return cpu
}

// physicalCores counts the cores the given CPUs belong to: hardware threads of
// one core share their arithmetic units. A CPU whose core the kernel does not
// tell counts as its own.
func physicalCores(root fs.FS, cpus []int) int {
	cores := map[string]bool{}
	for _, n := range cpus {
		dir := "/sys/devices/system/cpu/cpu" + strconv.Itoa(n) + "/topology"
		pkg, core := read(root, dir+"/physical_package_id"), read(root, dir+"/core_id")
		if core == "" {
			pkg, core = "cpu", strconv.Itoa(n)
		}
		cores[pkg+"/"+core] = true
	}
	return len(cores)
}

// cpuModel is the processor's name; arm64 kernels give none.
func cpuModel(info string) string {
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func onlineCPUs(info string) []int {
	var cpus []int
	for line := range strings.Lines(info) {
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(key) != "processor" {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

// parseQuota reads a cpu.max file ("200000 100000": microseconds of CPU time in
// each period) as CPUs; 0 is no limit.
func parseQuota(s string) float64 {
	fields := strings.Fields(s)
	if len(fields) != 2 {
		return 0
	}
	quota, err := strconv.ParseFloat(fields[0], 64)
	if err != nil { // "max"
		return 0
	}
	period, err := strconv.ParseFloat(fields[1], 64)
	if err != nil || period <= 0 || quota <= 0 {
		return 0
	}
	return quota / period
}

func detectMemory(root fs.FS) Memory {
	var m Memory
	lines := bufio.NewScanner(strings.NewReader(read(root, "/proc/meminfo")))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch key {
		case "MemTotal":
			m.Total = parseKiB(value)
		case "MemAvailable":
			m.Available = parseKiB(value)
		}
	}
	for _, dir := range groupDirs(root) {
		limit, err := strconv.ParseUint(read(root, path.Join(dir, "memory.max")), 10, 64)
		if err != nil { // "max", or not there
			continue
		}
		if m.Limit == 0 || limit < m.Limit {
			m.Limit = limit
			// Not there only in a group that is just being removed.
			m.Used, _ = strconv.ParseUint(read(root, path.Join(dir, "memory.current")), 10, 64)
		}
	}
	return m
}

func parseKiB(s string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(s), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// groupDirs are the folders of this process's control group (version 2) and of
// all above it: a limit may be set at any level.
func groupDirs(root fs.FS) []string {
	for line := range strings.Lines(read(root, "/proc/self/cgroup")) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		var dirs []string
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			dirs = append(dirs, "/sys/fs/cgroup"+strings.TrimSuffix(group, "/"))
			if group == "/" {
				return dirs
			}
		}
	}
	return nil
}
