package cell

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// stage is where the new root is built before it becomes the root. Every system has
// the folder; what lies in it was opened before it is covered.
const stage = "/tmp"

// boxAt and lowerAt are where sources lie while the root is built.
const (
	boxAt   = "/.box"
	lowerAt = "/.lower"
)

// buildRoot makes the mount tree of the plan and makes it the only one.
func buildRoot(p *Plan, fds []int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	r := &root{fds: fds}
	if err := r.open(p); err != nil {
		return err
	}
	// Trees come after the folders in memory and the workspace: one may lie in them.
	for _, step := range []func(*Plan) error{r.stage, r.kernelFolders, r.workspace, r.plant, r.etc, r.hide, r.enter} {
		if err := step(p); err != nil {
			return err
		}
	}
	return network()
}

type root struct {
	fds    []int
	opened map[*Tree]int
}

// open gets hold of every source before stage covers some of them.
func (r *root) open(p *Plan) error {
	r.opened = map[*Tree]int{}
	all := []*Tree{&p.Box}
	for i := range p.Trees {
		all = append(all, &p.Trees[i])
	}
	if p.Workspace.Lower != nil {
		all = append(all, p.Workspace.Lower)
	}
	if p.Socket != nil {
		all = append(all, p.Socket)
	}
	for _, t := range all {
		if t.Descriptor > 0 {
			if t.Descriptor > len(r.fds) {
				return fmt.Errorf("%s: no descriptor %d came with the plan", t.Inside, t.Descriptor)
			}
			r.opened[t] = r.fds[t.Descriptor-1]
			continue
		}
		fd, err := CloneTree(t.From, t.Writable)
		if err != nil {
			return err
		}
		r.opened[t] = fd
	}
	return nil
}

// CloneTree is a detached copy of the mounts at and below a path: nothing in it is a
// device or gains rights when executed, and unless writable, nothing in it can be
// changed through it.
func CloneTree(from string, writable bool) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, from, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", from, err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if !writable {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("lock %s: %w", from, err)
	}
	return fd, nil
}

// stage mounts the new root and moves into it, so that paths are short.
func (r *root) stage(*Plan) error {
	if err := mountNew("tmpfs", stage, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV,
		"size", "4m", "nr_inodes", "4096", "mode", "0755"); err != nil {
		return err
	}
	if err := unix.Chdir(stage); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	return nil
}

// plant puts trees and links where they belong.
func (r *root) plant(p *Plan) error {
	for _, l := range p.Links {
		if err := os.MkdirAll(in(path.Dir(l.Inside)), 0o755); err != nil {
			return fmt.Errorf("make %s: %w", l.Inside, err)
		}
		if err := os.Symlink(l.Target, in(l.Inside)); err != nil {
			return fmt.Errorf("make %s: %w", l.Inside, err)
		}
	}
	for i := range p.Trees {
		if err := r.attach(&p.Trees[i], p.Trees[i].Inside); err != nil {
			return err
		}
	}
	if p.Socket != nil {
		return r.attach(p.Socket, SocketInside)
	}
	return nil
}

// attach mounts an opened tree at a path of the new root. Where the path lies in a
// tree that was attached before, the place to mount at must be there already.
func (r *root) attach(t *Tree, inside string) error {
	at := in(inside)
	if err := mountpoint(at, t.File); err != nil {
		return fmt.Errorf("make a place for %s: %w", inside, err)
	}
	if err := unix.MoveMount(r.opened[t], "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s at %s: %w", t.From, inside, err)
	}
	delete(r.opened, t)
	return nil
}

func mountpoint(at string, file bool) error {
	if _, err := os.Stat(at); err == nil {
		return nil
	}
	if !file {
		return os.MkdirAll(at, 0o755)
	}
	if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, nil, 0o644)
}

// in is a path inside as a path from the new root, which is the current folder.
func in(inside string) string { return "." + path.Clean("/"+inside) }

// workspace mounts what commands may change: workspace, home, /tmp and /dev/shm.
func (r *root) workspace(p *Plan) error {
	w := p.Workspace
	if w.Memory > 0 {
		err := mountNew("tmpfs", in(boxAt), unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV,
			"size", bytesOption(w.Memory), "nr_inodes", strconv.FormatInt(w.MemoryFiles, 10), "mode", "0755")
		if err != nil {
			return err
		}
		for _, dir := range []string{"upper", "work", "home"} {
			if err := os.Mkdir(in(boxAt+"/"+dir), 0o755); err != nil {
				return fmt.Errorf("make the workspace: %w", err)
			}
		}
	} else if err := r.attach(&p.Box, boxAt); err != nil {
		return err
	}
	if err := r.work(w); err != nil {
		return err
	}
	if err := bind(boxAt+"/home", p.Home); err != nil {
		return err
	}
	for _, dir := range []string{boxAt, lowerAt} {
		if err := unix.Unmount(in(dir), unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("put away %s: %w", dir, err)
		}
		if err := os.Remove(in(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("put away %s: %w", dir, err)
		}
	}
	return nil
}

func (r *root) work(w Workspace) error {
	if w.Plain != "" {
		return bind(boxAt+"/"+w.Plain, w.Inside)
	}
	if err := r.attach(w.Lower, lowerAt); err != nil {
		return err
	}
	if err := os.MkdirAll(in(w.Inside), 0o755); err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	return mountNew("overlay", in(w.Inside), unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV,
		"lowerdir", stage+lowerAt, "upperdir", stage+boxAt+"/upper", "workdir", stage+boxAt+"/work", "userxattr", "")
}

// bind shows a folder of the new root at a second place.
func bind(from, to string) error {
	if err := mountpoint(in(to), false); err != nil {
		return fmt.Errorf("make a place for %s: %w", to, err)
	}
	if err := unix.Mount(in(from), in(to), "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", to, err)
	}
	return nil
}

// mountNew mounts a new file system with options given as key, value, ...; an empty
// value makes a flag.
func mountNew(kind, at string, attributes int, options ...string) error {
	fd, err := newMount(kind, attributes, options...)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := mountpoint(at, false); err != nil {
		return fmt.Errorf("make a place for %s: %w", at, err)
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s at %s: %w", kind, at, err)
	}
	return nil
}

// newMount is a new file system that is mounted nowhere yet.
func newMount(kind string, attributes int, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open a %s: %w", kind, err)
	}
	defer unix.Close(fs)
	for i := 0; i < len(options); i += 2 {
		if options[i+1] == "" {
			err = unix.FsconfigSetFlag(fs, options[i])
		} else {
			err = unix.FsconfigSetString(fs, options[i], options[i+1])
		}
		if err != nil {
			return -1, fmt.Errorf("set %s=%s of a %s: %w", options[i], options[i+1], kind, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("make a %s: %w%s", kind, err, kernelWords(fs))
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return -1, fmt.Errorf("make a mount of %s: %w", kind, err)
	}
	return fd, nil
}

// kernelWords are what the kernel says about a refused mount.
func kernelWords(fs int) string {
	buf := make([]byte, 512)
	n, err := unix.Read(fs, buf)
	if err != nil || n <= 0 {
		return ""
	}
	return " (" + strings.TrimSpace(string(buf[:n])) + ")"
}

func bytesOption(n int64) string { return strconv.FormatInt(n, 10) }
