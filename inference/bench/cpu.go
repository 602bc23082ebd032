package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPUTime is how long a process has computed so far, from the scheduler's own
// account of its threads: to the nanosecond, where /proc/PID/stat counts in
// hundredths of a second. Threads that have ended are not in it.
func CPUTime(pid int, counts func(threadName string) bool) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d has no threads that can be read", pid)
	}
	var sum time.Duration
	for _, t := range tasks {
		name, err := os.ReadFile(filepath.Join(t, "comm"))
		if err != nil || !counts(strings.TrimSpace(string(name))) {
			continue // it ended meanwhile, or is not wanted
		}
		stat, err := os.ReadFile(filepath.Join(t, "schedstat"))
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(stat), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s/schedstat: %w", t, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}
