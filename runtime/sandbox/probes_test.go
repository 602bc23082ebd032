package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

type probe struct {
	name    string
	try     func(*lair) error // nil: it came through
	asUser  bool              // outside, an ordinary user must come through
	handed  bool              // outside, it is handed a descriptor
	rare    bool              // not every machine has it
	answers bool              // no probe, but what a program that gives rights says
}

func ptr[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

func cstring(s string) uintptr { return ptr(&append([]byte(s), 0)[0]) }

var dot = [2]byte{'.', 0}

// probes of rights and of the kernel's surface. Others are in probes_reach_test.go.
var probes = append(reachProbes, []probe{
	{name: "become_root", try: func(*lair) error { return call(unix.SYS_SETRESUID, 0, 0, 0) }},
	{name: "become_group_root", try: func(*lair) error { return call(unix.SYS_SETRESGID, 0, 0, 0) }},
	{name: "join_groups", try: func(*lair) error { g := uint32(0); return call(unix.SYS_SETGROUPS, 1, ptr(&g)) }},
	{name: "raise_capabilities", try: func(*lair) error {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
		return unix.Capset(&hdr, &data[0])
	}},
	{name: "ambient_capability", try: func(*lair) error {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&hdr, &data[0]); err != nil {
			return err
		}
		data[0].Inheritable = data[0].Permitted
		if err := unix.Capset(&hdr, &data[0]); err != nil {
			return err
		}
		return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0)
	}},
	{name: "setuid_program", asUser: true, try: func(l *lair) error { return becomes(l.Setuid, "whoami", "root") }},
	{name: "capability_program", asUser: true, try: func(l *lair) error { return becomes(l.Filecap, "whatcan", "some") }},
	{name: "su", try: func(*lair) error { return exec.Command("su", "root", "-c", "true").Run() }},
	{name: "chroot", try: func(*lair) error { return unix.Chroot(".") }},
	{name: "unshare_user", try: func(*lair) error { return reached(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)) }},
	{name: "unshare_mount", try: func(*lair) error { return reached(call(unix.SYS_UNSHARE, unix.CLONE_NEWNS)) }},
	{name: "unshare_net", try: func(*lair) error { return reached(call(unix.SYS_UNSHARE, unix.CLONE_NEWNET)) }},
	{name: "unshare_time", try: func(*lair) error { return reached(call(unix.SYS_UNSHARE, unix.CLONE_NEWTIME)) }},
	{name: "clone_user", try: func(*lair) error { return cloned(unix.CLONE_NEWUSER) }},
	{name: "clone_pid", try: func(*lair) error { return cloned(unix.CLONE_NEWPID) }},
	{name: "clone_high_bits", try: func(*lair) error { return cloned(unix.CLONE_NEWUSER | 1<<40) }},
	{name: "clone3_user", try: func(*lair) error {
		return reached(call(unix.SYS_CLONE3, ptr(&[11]uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWNS, 0, 0, 0, 9999}), 88)) // 9999 is no signal
	}},
	{name: "setns", try: func(*lair) error {
		fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, unix.CLONE_NEWUTS)
	}},
	{name: "pivot_root", try: func(*lair) error { return reached(unix.PivotRoot(".", ".")) }},
	{name: "mount_tmpfs", try: func(l *lair) error { return unix.Mount("none", l.Scratch, "tmpfs", 0, "") }},
	{name: "mount_proc", try: func(l *lair) error { return unix.Mount("none", l.Scratch, "proc", 0, "") }},
	{name: "mount_bind", try: func(l *lair) error { return unix.Mount("/", l.Scratch, "", unix.MS_BIND, "") }},
	{name: "mount_overlay", try: func(l *lair) error {
		return reached(unix.Mount("none", l.Scratch, "overlay", 0, "lowerdir=/:/usr"))
	}},
	{name: "remount_writable", try: func(*lair) error { return reached(unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "")) }},
	{name: "umount", try: func(*lair) error { return reached(unix.Unmount("/dev/shm", unix.MNT_DETACH)) }},
	{name: "fsopen", try: func(*lair) error { _, err := unix.Fsopen("tmpfs", 0); return err }},
	{name: "fspick", try: func(*lair) error { _, err := unix.Fspick(unix.AT_FDCWD, "/", 0); return err }},
	{name: "open_tree", try: func(*lair) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err }},
	{name: "move_mount", try: func(*lair) error { return reached(unix.MoveMount(unix.AT_FDCWD, "/", unix.AT_FDCWD, "/tmp", 0)) }},
	{name: "mount_setattr", try: func(*lair) error {
		return reached(unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}))
	}},
	{name: "kexec", rare: true, try: func(*lair) error { return reached(call(unix.SYS_KEXEC_LOAD, 0, 99, 0, 0)) }},
	{name: "kexec_file", rare: true, try: func(*lair) error { return reached(call(unix.SYS_KEXEC_FILE_LOAD, ^uintptr(0), ^uintptr(0), 0, 0, 0)) }},
	{name: "load_module", rare: true, try: func(*lair) error { return reached(call(unix.SYS_INIT_MODULE, ptr(&dot), 1, ptr(&dot))) }},
	{name: "load_module_file", rare: true, try: func(*lair) error { return reached(call(unix.SYS_FINIT_MODULE, ^uintptr(0), ptr(&dot), 0)) }},
	{name: "unload_module", rare: true, try: func(*lair) error {
		return reached(call(unix.SYS_DELETE_MODULE, cstring("nosuchmodule"), unix.O_NONBLOCK))
	}},
	{name: "bpf_map", rare: true, try: func(*lair) error { return reached(call(unix.SYS_BPF, 0, ptr(&[18]uint32{2, 4, 4, 1}), 72)) }},
	{name: "bpf_program", rare: true, try: func(*lair) error { return reached(call(unix.SYS_BPF, 5, ptr(&[32]uint32{1}), 128)) }},
	{name: "perf_event", rare: true, try: func(*lair) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: unix.PERF_ATTR_SIZE_VER5, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return reached(err)
	}},
	{name: "userfaultfd", rare: true, try: func(*lair) error { return reached(call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC)) }},
	{name: "io_uring", rare: true, try: func(*lair) error { return reached(call(unix.SYS_IO_URING_SETUP, 1, ptr(&[30]uint32{}))) }},
	{name: "io_uring_enter", rare: true, try: func(*lair) error { return reached(call(unix.SYS_IO_URING_ENTER, ^uintptr(0), 0, 0, 0, 0, 0)) }},
	{name: "keyctl", rare: true, try: func(*lair) error { return reached(call(unix.SYS_KEYCTL, 0, ^uintptr(2), 0)) }},
	{name: "add_key", rare: true, try: func(*lair) error {
		return reached(call(unix.SYS_ADD_KEY, cstring("user"), cstring("probe"), ptr(&dot), 1, ^uintptr(1)))
	}},
	{name: "request_key", rare: true, try: func(*lair) error {
		return reached(call(unix.SYS_REQUEST_KEY, cstring("user"), cstring("no such"), 0, 0))
	}},
	{name: "ptrace_attach", try: onChild(func(pid int) error { return unix.PtraceAttach(pid) })},
	{name: "ptrace_seize", try: onChild(func(pid int) error { return unix.PtraceSeize(pid) })},
	{name: "ptrace_traceme", try: func(*lair) error { return call(unix.SYS_PTRACE, unix.PTRACE_TRACEME) }},
	{name: "read_memory", try: onChild(func(pid int) error {
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &dot[0], Len: 1}}, []unix.RemoteIovec{{Base: ptr(&dot), Len: 1}}, 0)
		return reached(err)
	})},
	{name: "write_memory", try: onChild(func(pid int) error {
		_, err := unix.ProcessVMWritev(pid, []unix.Iovec{{Base: &dot[0], Len: 1}}, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
		return reached(err)
	})},
	{name: "steal_descriptor", try: onChild(func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		return call(unix.SYS_PIDFD_GETFD, uintptr(fd), 0, 0)
	})},
	{name: "compare_processes", rare: true, try: onChild(func(pid int) error {
		return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), 1, 0, 0)
	})},
	{name: "others_limits", try: onChild(func(pid int) error {
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, new(unix.Rlimit))
	})},
	{name: "others_madvise", try: onChild(func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		return reached(call(unix.SYS_PROCESS_MADVISE, uintptr(fd), 0, 0, 0, 0))
	})},
	{name: "move_pages", rare: true, try: func(*lair) error { return reached(call(unix.SYS_MOVE_PAGES, 0, 0, 0, 0, 0, 0)) }},
	{name: "file_handle", try: func(*lair) error {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/usr", 0)
		return reached(err)
	}},
	{name: "open_by_handle", try: func(*lair) error {
		_, err := unix.OpenByHandleAt(unix.AT_FDCWD, unix.NewFileHandle(1, make([]byte, 8)), unix.O_RDONLY)
		return reached(err)
	}},
	{name: "fanotify", rare: true, try: func(*lair) error { _, err := unix.FanotifyInit(0, 0); return reached(err) }},
	{name: "quota", rare: true, try: func(*lair) error { return reached(call(unix.SYS_QUOTACTL, 0x800001<<8, 0, 0, 0)) }},
	{name: "swapon", rare: true, try: func(*lair) error { return reached(call(unix.SYS_SWAPON, cstring("/nonexistent"), 0)) }},
	{name: "reboot", try: func(*lair) error { return reached(call(unix.SYS_REBOOT, 0xfee1dead, 672274793, 0x11111111, 0)) }}, // no such command
	{name: "accounting", rare: true, try: func(*lair) error { return reached(call(unix.SYS_ACCT, cstring("/nonexistent"))) }},
	{name: "kernel_log", rare: true, try: func(*lair) error { _, err := unix.Klogctl(10, nil); return err }},
	{name: "clock", try: func(*lair) error { // writes the status that is there
		var t unix.Timex
		if _, err := unix.Adjtimex(&t); err != nil {
			return err
		}
		t.Modes = unix.ADJ_STATUS
		_, err := unix.Adjtimex(&t)
		return err
	}},
	{name: "hostname", try: func(*lair) error { return unix.Sethostname([]byte("probe")) }},
	{name: "domainname", try: func(*lair) error { return unix.Setdomainname([]byte("probe")) }},
	{name: "io_port", rare: true, try: func(*lair) error { return call(sysIoperm, 0x80, 1, 1) }},
	{name: "local_descriptor_table", rare: true, try: func(*lair) error { return reached(call(sysModifyLdt, 0, ptr(&[16]byte{}), 16)) }},
	{name: "personality", try: func(*lair) error { return call(unix.SYS_PERSONALITY, 0x0040000) }},
	{name: "vhangup", try: func(*lair) error { return reached(call(unix.SYS_VHANGUP)) }},
	{name: "type_into_terminal", try: func(*lair) error { return ioctlNull(unix.TIOCSTI) }},
	{name: "type_into_terminal_high_bits", try: func(*lair) error { return ioctlNull(unix.TIOCSTI | 1<<32) }},
	{name: "console_selection", try: func(*lair) error { return ioctlNull(unix.TIOCLINUX) }},
	{name: "line_discipline", try: func(*lair) error { return ioctlNull(unix.TIOCSETD) }},
	{name: "socket_netlink", try: opens(unix.AF_NETLINK, unix.SOCK_RAW, 0)},
	{name: "socket_packet", rare: true, try: opens(unix.AF_PACKET, unix.SOCK_RAW, 0)},
	{name: "socket_vsock", rare: true, try: opens(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
	{name: "socket_alg", rare: true, try: opens(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
	{name: "socket_key", rare: true, try: opens(unix.AF_KEY, unix.SOCK_RAW, 2)},
	{name: "socket_raw", try: opens(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
	{name: "other_architecture", rare: true, try: func(l *lair) error { return int80(l.Scratch) }},
	{name: "device_char", try: func(l *lair) error { return unix.Mknod(filepath.Join(l.Scratch, "c"), unix.S_IFCHR|0o666, 1<<8|3) }},
	{name: "device_block", try: func(l *lair) error { return unix.Mknod(filepath.Join(l.Scratch, "b"), unix.S_IFBLK|0o666, 254<<8) }},
	{name: "device_whiteout", try: func(l *lair) error { return unix.Mknod(filepath.Join(l.Scratch, "w"), unix.S_IFCHR, 0) }},
}...)

func cloned(flags uintptr) error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && errno == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno != 0 {
		return reached(errno)
	}
	return nil
}

func ioctlNull(request uintptr) error {
	f, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return reached(call(unix.SYS_IOCTL, f.Fd(), request, ptr(&dot)))
}

func opens(family, kind, protocol int) func(*lair) error {
	return func(*lair) error { _, err := unix.Socket(family, kind, protocol); return err }
}

// onChild tries something on a living child.
func onChild(try func(pid int) error) func(*lair) error {
	return func(*lair) error {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("BROKEN: %w", err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		return try(cmd.Process.Pid)
	}
}

// becomes runs a program that says who it is.
func becomes(program, question, answer string) error {
	out, err := exec.Command(program, probeArg, question).Output()
	if err != nil && len(out) == 0 {
		return err
	}
	if !strings.Contains(string(out), answer) {
		return fmt.Errorf("the program says %q", out)
	}
	return nil
}

func dialled(network, address string) error {
	c, err := (&net.Dialer{Timeout: 2 * time.Second}).Dial(network, address)
	if err != nil {
		return err
	}
	return c.Close()
}

func reads(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := f.Read(make([]byte, 16))
	if n == 0 {
		return fmt.Errorf("nothing to read: %w", err)
	}
	return nil
}

func readsExactly(path, content string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(data, []byte(content)) {
		return errors.New("something else is there")
	}
	return nil
}

func writable(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func creates(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(path))
}

// seesMark looks for a process by its command line.
func seesMark(mark string) error {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(mark)) && !strings.Contains(path, strconv.Itoa(os.Getpid())) {
			return nil
		}
	}
	return fmt.Errorf("no such process among %d", len(all))
}
