package filter

import (
	"encoding/binary"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// verdict runs the filter in a machine of its own. The kernel's reads the data in its
// own order, this one in the network's.
func verdict(t interface{ Fatal(...any) }, program []bpf.Instruction, audit, number uint32, args ...uint64) uint32 {
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[atNumber:], number)
	binary.BigEndian.PutUint32(data[atArch:], audit)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[atArgument+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[atArgument+8*i+4:], uint32(a>>32))
	}
	v, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(v)
}

func machine(t interface{ Fatal(...any) }, w Walls) ([]bpf.Instruction, *arch.Info) {
	program, err := instructions(w)
	if err != nil {
		t.Fatal(err)
	}
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	return program, info
}

// With an own tree and network, and with neither.
var full, reduced = Walls{Network: true, Files: true}, Walls{}

// Calls that must never come through, whatever their arguments.
var never = []string{
	"mount", "umount2", "pivot_root", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "move_mount", "mount_setattr", "chroot",
	"unshare", "setns", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "bpf", "ptrace",
	"process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "keyctl", "add_key", "request_key", "io_uring_setup",
	"io_uring_enter", "io_uring_register", "perf_event_open", "userfaultfd", "open_by_handle_at", "name_to_handle_at",
	"fanotify_init", "fanotify_mark", "quotactl", "swapon", "swapoff", "reboot", "acct", "syslog", "settimeofday", "clock_settime",
	"clock_adjtime", "adjtimex", "sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt", "vhangup", "move_pages",
	"migrate_pages", "mbind", "set_mempolicy", "process_madvise", "lookup_dcookie", "seccomp", "memfd_secret", "nfsservctl",
}

func TestNeverAllowed(t *testing.T) {
	for _, w := range []Walls{full, reduced, {Files: true}} {
		program, info := machine(t, w)
		for _, name := range never {
			number, ok := info.SyscallNames[name]
			if !ok {
				continue
			}
			if v := verdict(t, program, uint32(info.ID), uint32(number)); v != refuse {
				t.Errorf("%+v: %s gets %#x", w, name, v)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	full, info := machine(t, full)
	reduced, _ := machine(t, reduced)
	for _, c := range []struct {
		program []bpf.Instruction
		name    string
		args    []uint64
		want    uint32
	}{
		{full, "clone", []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND | unix.CLONE_FILES | unix.CLONE_FS}, allow},
		{full, "clone", []uint64{unix.CLONE_NEWUSER}, refuse},
		{full, "clone", []uint64{1<<63 | unix.CLONE_NEWNET | uint64(unix.SIGCHLD)}, refuse},
		{full, "clone3", nil, unknown},
		{full, "socket", []uint64{unix.AF_UNIX}, allow},
		{full, "socket", []uint64{unix.AF_INET6}, allow},
		{full, "socket", []uint64{unix.AF_NETLINK}, refuse},
		{full, "socket", []uint64{1<<32 | unix.AF_VSOCK}, refuse},
		{reduced, "socket", []uint64{unix.AF_UNIX}, refuse},
		{reduced, "socket", []uint64{unix.AF_INET}, refuse},
		{reduced, "socketpair", []uint64{unix.AF_UNIX}, allow},
		{full, "ioctl", []uint64{0, unix.TCGETS}, allow},
		{full, "ioctl", []uint64{0, unix.TIOCSTI}, refuse},
		{full, "ioctl", []uint64{0, 1<<32 | unix.TIOCSTI}, refuse},
		{full, "prlimit64", []uint64{0}, allow},
		{full, "prlimit64", []uint64{1}, refuse},
		{full, "personality", []uint64{0xffffffff}, allow},
		{full, "personality", []uint64{0x0400000}, refuse},
		{full, "mknodat", []uint64{0, 0, unix.S_IFIFO}, allow},
		{full, "mknodat", []uint64{0, 0, unix.S_IFBLK}, refuse},
		{full, "utimensat", []uint64{0, 0x7fff00000000}, allow},
		{reduced, "utimensat", []uint64{3, 0}, allow},
		{reduced, "utimensat", []uint64{3, 0x7fff00000000}, refuse},
		{full, "fchmodat", nil, allow},
		{reduced, "fchmodat", nil, refuse},
		{full, "read", nil, allow},
		{full, "execve", nil, allow},
	} {
		number, ok := info.SyscallNames[c.name]
		if !ok {
			t.Fatalf("no call %s", c.name)
		}
		if v := verdict(t, c.program, uint32(info.ID), uint32(number), c.args...); v != c.want {
			t.Errorf("%s(%#x) gets %#x, want %#x", c.name, c.args, v, c.want)
		}
	}
}

// Whatever the arguments: a call that is on no list is refused, one that is allowed
// without condition is allowed, and no other architecture comes through.
func TestFilterOfAnything(t *testing.T) {
	program, info := machine(t, full)
	free, ruled := map[int]bool{}, map[int]bool{}
	for _, name := range append(append([]string{}, allowed...), byPath...) {
		if n, ok := info.SyscallNames[name]; ok {
			free[n] = true
		}
	}
	for _, r := range rules(full) {
		ruled[info.SyscallNames[r.name]] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Uint32Range(0, 600), rapid.Uint32()).Draw(t, "number")
		audit := rapid.OneOf(rapid.Just(uint32(info.ID)), rapid.Uint32()).Draw(t, "arch")
		args := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, 600), rapid.Uint64()), 6, 6).Draw(t, "args")
		v := verdict(t, program, audit, number, args...)
		switch {
		case audit != uint32(info.ID):
			if v != refuse {
				t.Fatalf("another architecture gets %#x", v)
			}
		case free[int(number)]:
			if v != allow {
				t.Fatalf("call %d gets %#x", number, v)
			}
		case ruled[int(number)]:
		case v == allow:
			t.Fatalf("call %d is on no list and gets through", number)
		}
	})
}

// Every name on a list is a call of some architecture, and on one list only.
func TestLists(t *testing.T) {
	known := map[string]bool{}
	for _, info := range []*arch.Info{arch.X86_64, arch.AARCH64} {
		for name := range info.SyscallNames {
			known[name] = true
		}
	}
	seen := map[string]bool{}
	names := append(append([]string{}, allowed...), byPath...)
	for _, name := range names {
		if !known[name] {
			t.Errorf("%s is no system call", name)
		}
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	for _, name := range never {
		if seen[name] {
			t.Errorf("%s must never be allowed", name)
		}
	}
	for _, r := range rules(reduced) {
		if seen[r.name] && r.name != "utimensat" {
			t.Errorf("%s has a rule and is allowed without", r.name)
		}
	}
}
