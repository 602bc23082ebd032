package filter

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Walls are what stands beside the filter, and so what the filter may leave to them.
type Walls struct {
	// Network: there is an own, empty one, and sockets reach only what the sandbox
	// itself opened.
	Network bool
	// Files: whatever a path leads to is the sandbox's own, or may not be changed for
	// another reason: its own mount tree, or its own user.
	Files bool
}

const (
	allow   = unix.SECCOMP_RET_ALLOW
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// rule decides a call by one argument. The kernel takes all of these as 32 bits, and
// so does the rule: a comparison of all 64 would be passed by setting an upper bit.
type rule struct {
	name     string
	argument uint32
	values   []uint32 // is it one of these,
	bits     uint32   // or has it one of these bits set,
	null     bool     // or is it, whole, 0: a pointer to nothing
	then     uint32   // then this,
	other    uint32   // otherwise this
}

// rules are the calls that are allowed in some forms only.
func rules(w Walls) []rule {
	all := []rule{
		{name: "clone", argument: 0, bits: newNamespaces, then: refuse, other: allow},
		// Its flags lie in memory, where a filter cannot see them. Libraries fall back
		// to clone when it is not there.
		{name: "clone3", then: unknown, other: unknown},
		{name: "mknod", argument: 1, bits: unix.S_IFCHR, then: refuse, other: allow}, // the bit that devices have
		{name: "mknodat", argument: 2, bits: unix.S_IFCHR, then: refuse, other: allow},
		{name: "ioctl", argument: 1, values: []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.TIOCCONS}, then: refuse, other: allow},
		{name: "personality", argument: 0, values: []uint32{0, 0xffffffff}, then: allow, other: refuse},
		{name: "prlimit64", argument: 0, values: []uint32{0}, then: allow, other: refuse}, // nobody's limits but one's own
		{name: "socketpair", argument: 0, values: []uint32{unix.AF_UNIX}, then: allow, other: refuse},
	}
	if w.Network {
		// The network is empty and the tree holds one socket of the outside, so that
		// these reach what the sandbox itself opened, and that one.
		all = append(all, rule{name: "socket", argument: 0, values: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}, then: allow, other: refuse})
	}
	if w.Files {
		return all
	}
	// Landlock does not rule who may change the times of a file that is named by its
	// path; nor what byPath does.
	return append(all, rule{name: "utimensat", argument: 1, null: true, then: allow, other: refuse})
}

// byPath change what a path names without opening it.
var byPath = []string{
	"chmod", "chown", "fchmodat", "fchmodat2", "fchownat", "futimesat", "lchown", "lremovexattr", "lsetxattr", "removexattr",
	"setxattr", "utime", "utimensat", "utimes",
}

// Places in the kernel's struct seccomp_data.
const (
	atNumber   = 0
	atArch     = 4
	atArgument = 16
	argument   = 8
)

// instructions are the program. Calls that this architecture never had are left out.
func instructions(w Walls) ([]bpf.Instruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("make the system call filter: %w", err)
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: refuse}, // calls of another architecture have other numbers
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: uint32(arch.X32.SeccompMask), SkipFalse: 1},
		bpf.RetConstant{Val: unknown}, // and so have those with the bit of x32
	}
	for _, r := range rules(w) {
		if number, ok := info.SyscallNames[r.name]; ok {
			block := r.block()
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(block))})
			program = append(program, block...)
		}
	}
	names := allowed
	if w.Files {
		names = append(append([]string{}, allowed...), byPath...)
	}
	for _, name := range names {
		if number, ok := info.SyscallNames[name]; ok {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(number), SkipFalse: 1}, bpf.RetConstant{Val: allow})
		}
	}
	return append(program, bpf.RetConstant{Val: refuse}), nil
}

// block decides, and always ends in a verdict.
func (r rule) block() []bpf.Instruction {
	low := uint32(atArgument + argument*r.argument) // both architectures are little-endian
	if r.null {
		return []bpf.Instruction{
			bpf.LoadAbsolute{Off: low, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 3},
			bpf.LoadAbsolute{Off: low + 4, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
			bpf.RetConstant{Val: r.then},
			bpf.RetConstant{Val: r.other},
		}
	}
	block := []bpf.Instruction{bpf.LoadAbsolute{Off: low, Size: 4}}
	for _, v := range r.values {
		block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, bpf.RetConstant{Val: r.then})
	}
	if r.bits != 0 {
		block = append(block, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: r.bits, SkipFalse: 1}, bpf.RetConstant{Val: r.then})
	}
	return append(block, bpf.RetConstant{Val: r.other})
}

// Program is the filter as the kernel takes it: instructions of eight bytes, in this
// machine's order.
func Program(w Walls) ([]byte, error) {
	program, err := instructions(w)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assemble the system call filter: %w", err)
	}
	var b bytes.Buffer
	for _, in := range raw {
		if err := binary.Write(&b, binary.NativeEndian, in); err != nil {
			return nil, fmt.Errorf("assemble the system call filter: %w", err)
		}
	}
	return b.Bytes(), nil
}
