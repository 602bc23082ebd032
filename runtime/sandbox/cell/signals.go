package cell

import (
	"fmt"
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hold keeps this process from ending by a signal of its commands.
func hold(m Mode) error {
	if m == Full {
		return leaveSignals()
	}
	listenToAllSignals()
	return nil
}

// leaveSignals undoes what Go set for signals. This process is the first one of its
// namespace, which the kernel passes no signal from inside that it has no handler for,
// and Go handles most by ending. What is left to Go is how it interrupts itself; a
// command that sends that interrupts nothing.
func leaveSignals() error {
	const signals = 64
	var standard [4]uint64 // the kernel's structure, with no handler, flags or mask
	for n := uintptr(1); n <= signals; n++ {
		switch unix.Signal(n) {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGURG:
			continue
		}
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, n, uintptr(unsafe.Pointer(&standard)), 0, signals/8, 0, 0); errno != 0 {
			return fmt.Errorf("leave signal %d to the kernel: %w", n, errno)
		}
	}
	return nil
}

// listenToAllSignals gives every signal a handler that drops it, where the kernel does
// not hold signals back. To ignore them would be inherited by commands; a handler is not.
func listenToAllSignals() {
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped)
	go func() {
		for range dropped {
		}
	}()
}
