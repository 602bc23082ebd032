package engine

import (
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
