package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ComputeThread is the name, in /proc and in top, of the engine's own threads.
const ComputeThread = "dure-compute"

// nameThread names the calling thread, which must be locked to its goroutine.
// Threads that it starts inherit the name.
func nameThread(name string) {
	b := append([]byte(name), 0)
	// A name is a convenience: a kernel that refuses it takes nothing away.
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&b[0])), 0, 0, 0)
}

// threadName is the calling thread's name.
func threadName() string {
	var b [16]byte
	_ = unix.Prctl(unix.PR_GET_NAME, uintptr(unsafe.Pointer(&b[0])), 0, 0, 0)
	return unix.ByteSliceToString(b[:])
}

// threadCPU is how long the calling thread has computed so far.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// computeThreads are the ids of this process's threads of that name.
func computeThreads() map[int]bool {
	ids := map[int]bool{}
	names, _ := filepath.Glob("/proc/self/task/*/comm") // the pattern is valid
	for _, file := range names {
		name, err := os.ReadFile(file)
		if err != nil || strings.TrimSpace(string(name)) != ComputeThread {
			continue // it ended meanwhile, or is another one
		}
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			ids[id] = true
		}
	}
	return ids
}

// runDelay is how long a thread of this process has waited for a core so far,
// by the scheduler's account; 0 where the kernel keeps none.
func runDelay(thread int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", thread))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat)) // time on a core, time waiting, turns
	if len(fields) < 2 {
		return 0
	}
	ns, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}
