package cell

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seal gives up every right, for good: capabilities, the gaining of new ones, paths,
// and system calls. It returns the version of Landlock in use.
func seal(p *Plan) (int, error) {
	// Nobody of the same user may look into this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("close the process to others: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil { // the filter brings it to all threads
		return 0, fmt.Errorf("set no_new_privs: %w", err)
	}
	if p.Mode == Bare {
		return 0, nil
	}
	if err := dropCapabilities(); err != nil {
		return 0, err
	}
	version, err := restrictPaths(p)
	if err != nil {
		return 0, err
	}
	return version, loadFilter(p.Filter)
}

// dropCapabilities empties all five sets of this thread, from which all commands are
// started. Go can do it for all threads only in programs without anything of C. The
// others of this process never execute anything and are under the filter as well.
func dropCapabilities() error {
	// Not even uid 0 brings capabilities back, and none may be raised again.
	const bits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7 // NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each locked
	for n := uintptr(0); ; n++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, n, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // beyond the last capability of this kernel
		}
		if errors.Is(err, unix.EPERM) {
			break // an unprivileged process: there is nothing that it could drop or use
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", n, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, bits, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("lock the capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// ascend checks that the set-up has the rights of its namespace.
func ascend() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	if data[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return errors.New("no rights in the own user namespace: the system takes them away (see kernel.apparmor_restrict_unprivileged_userns)")
	}
	return nil
}

// none is the limit of what no command gets at all.
const none = -1

// limit sets what is inherited by every command.
func limit(l Limits) error {
	for _, r := range []struct {
		name     string
		resource int
		value    int64
	}{
		{"core dumps", unix.RLIMIT_CORE, none},
		{"real-time priority", unix.RLIMIT_RTPRIO, none},
		{"message queues", unix.RLIMIT_MSGQUEUE, none},
		{"locked memory", unix.RLIMIT_MEMLOCK, 64 << 10},
		{"pending signals", unix.RLIMIT_SIGPENDING, 1024},
		{"processes", unix.RLIMIT_NPROC, l.Processes},
		{"open files", unix.RLIMIT_NOFILE, l.Files},
		{"size of a file", unix.RLIMIT_FSIZE, l.FileSize},
		{"CPU time", unix.RLIMIT_CPU, int64(l.CPU.Seconds())},
		{"data", unix.RLIMIT_DATA, l.Data},
	} {
		if r.value == 0 {
			continue
		}
		value := uint64(max(r.value, 0))
		var now syscall.Rlimit
		if err := syscall.Getrlimit(r.resource, &now); err != nil {
			return fmt.Errorf("read the limit on %s: %w", r.name, err)
		}
		value = min(value, now.Max)
		if err := syscall.Setrlimit(r.resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("limit %s: %w", r.name, err)
		}
	}
	return nil
}

// loadFilter puts the whole process under the filter.
func loadFilter(program []byte) error {
	const size = 8 // of an instruction
	if len(program) == 0 || len(program)%size != 0 {
		return fmt.Errorf("load the system call filter: the plan has one of %d bytes", len(program))
	}
	code := make([]unix.SockFilter, len(program)/size)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&code[0])), len(program)), program)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	bad, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("load the system call filter: %w", errno)
	}
	if bad != 0 {
		return fmt.Errorf("load the system call filter: thread %d has another one", bad)
	}
	return nil
}
