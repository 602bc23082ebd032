package engine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ComputeThread is the name, in /proc and in top, of the threads that compute.
const ComputeThread = "dure-compute"

// NameThread names the calling thread, which must be locked to its goroutine.
// Threads that a context starts inherit the name: made on a named thread, its
// compute threads can be told from those of the Go runtime.
func NameThread() {
	name := append([]byte(ComputeThread), 0)
	// A name is a convenience: a kernel that refuses it takes nothing away.
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
}
