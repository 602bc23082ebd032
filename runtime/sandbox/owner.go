package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"dure/runtime/sandbox/cell"
)

// When root starts a sandbox, its commands are another user of the machine than root,
// one that nothing else is: root without capabilities would still be the owner of
// settings and devices. users of them are for rung Reduced, where a user of its own is
// what keeps boxes apart.
const (
	firstUser = 2_100_000_000
	users     = 4096
)

// owner is the user that commands are, seen from outside.
type owner struct {
	uid int // 0: the one that this program runs as
	// mapped, if not nil, is a user namespace that shows root's files as owned by
	// uid, for mounts of snapshots.
	mapped *os.File
}

func newOwner(rung Rung, helper []string) (owner, error) {
	if os.Geteuid() != 0 || rung == None {
		return owner{}, nil
	}
	o := owner{uid: firstUser}
	if rung != Full {
		return o, nil
	}
	var err error
	if o.mapped, err = mappedNamespace(helper); err != nil {
		return owner{}, err
	}
	return o, nil
}

func (o *owner) close() {
	if o.mapped != nil {
		_ = o.mapped.Close() // nothing was written to it
		o.mapped = nil
	}
}

// mappedNamespace is a user namespace in which root is firstUser. A helper that is
// told nothing stands in it until it was opened.
func mappedNamespace(helper []string) (*os.File, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(helper[0], helper[1:]...)
	cmd.Env = helperEnv
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: firstUser, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: firstUser, Size: 1}},
	}
	err = cmd.Start()
	_ = theirs.Close() // the helper has its own
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("make a user namespace: %w", err)
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", cmd.Process.Pid))
	_ = ours.Close() // ends the helper
	_ = cmd.Wait()   // it has no result
	if err != nil {
		return nil, fmt.Errorf("open the user namespace: %w", err)
	}
	return ns, nil
}

// sysProcAttr is how the helper of a box is started; user is its own on rung Reduced.
func (o *owner) sysProcAttr(rung Rung, user int) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if rung == Reduced && user != 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)} // and no groups
	}
	if rung != Full {
		return attr
	}
	uid, gid := os.Getuid(), os.Getgid()
	if o.uid != 0 {
		uid, gid = o.uid, o.uid
	}
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: cell.UserInside, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: cell.UserInside, HostID: gid, Size: 1}}
	// Root leaves its groups; another user cannot, and keeps what they may read.
	attr.GidMappingsEnableSetgroups = o.uid != 0
	attr.Credential = &syscall.Credential{Uid: cell.UserInside, Gid: cell.UserInside, NoSetGroups: o.uid == 0}
	// What the set-up needs, and what the overlay works with for ever: over files of
	// this one user. The helper gives all of them up before the first command.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_CHROOT,
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID}
	return attr
}

// tree is a source as a detached mount, where this program may make one. Otherwise the
// helper opens the path, in its own namespace.
func (o *owner) tree(from string, writable, shifted bool) (*os.File, error) {
	if o.mapped == nil {
		return nil, nil
	}
	fd, err := cell.CloneTree(from, writable)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), from)
	if !shifted {
		return f, nil
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(o.mapped.Fd())}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("show %s as the agent's own: %w", from, err)
	}
	return f, nil
}
