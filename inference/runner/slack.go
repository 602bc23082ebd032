package runner

import (
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// slack is how much later than it asked for a thread of a runner may be woken from a
// timed sleep. While the owner is in the engine the Go runtime's monitor sleeps 20
// microseconds at a time, several times for each token, and each time takes a core from
// the engine's threads. Nothing else in a runner waits for times as short.
const slack = 8 * time.Millisecond

// start starts a runner with that slack, which is a property of the thread that
// starts it and is passed on (prctl(2)). Without it the runner is only dearer.
func start(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return cmd.Start()
	}
	set := func(ns int) error { return unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(ns), 0, 0, 0) }
	if set(int(slack)) == nil {
		defer set(before)
	}
	return cmd.Start()
}
