package cell

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// devices are all that a command finds in /dev. None of them reaches hardware.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// masked are files of /proc that tell of the machine and that no program needs; most
// belong to root and are closed to others anyway.
var masked = []string{
	"/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/sysrq-trigger", "/proc/keys", "/proc/key-users", "/proc/timer_list",
	"/proc/sched_debug", "/proc/latency_stats", "/proc/config.gz", "/proc/modules", "/proc/iomem", "/proc/ioports",
	"/proc/slabinfo", "/proc/vmallocinfo", "/proc/pagetypeinfo", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup",
	"/proc/mtrr", "/proc/interrupts", "/proc/softirqs", "/proc/diskstats", "/proc/cmdline", "/proc/partitions", "/proc/swaps",
	"/proc/acpi", "/proc/scsi", "/proc/bus", "/proc/irq", "/proc/driver", "/proc/fs", "/proc/tty", "/proc/asound", "/proc/dynamic_debug",
}

// kernelFolders makes /proc, /dev and the folders in memory.
func (r *root) kernelFolders(p *Plan) error {
	// Read-only: nobody inside has a setting of the kernel or of a process to change.
	if err := mountNew("proc", in("/proc"), unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY,
		"hidepid", "invisible"); err != nil {
		return err
	}
	size, files := bytesOption(p.ScratchBytes), bytesOption(p.ScratchFiles)
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		err := mountNew("tmpfs", in(dir), unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "size", size, "nr_inodes", files, "mode", "1777")
		if err != nil {
			return err
		}
	}
	for _, name := range devices {
		at := in("/dev/" + name)
		if err := mountpoint(at, true); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
		if err := unix.Mount("/dev/"+name, at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount /dev/%s: %w", name, err)
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(target, in("/dev/"+name)); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	return nil
}

// etc writes the few files that programs look for. Nothing of the machine's is
// copied: no users, no names, no servers.
func (r *root) etc(*Plan) error {
	for name, content := range map[string]string{
		"/etc/passwd":        "root:x:0:0:root:/nonexistent:/bin/false\nagent:x:1000:1000:agent:" + HomeInside + ":/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
		"/etc/group":         "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
		"/etc/hosts":         "127.0.0.1 localhost agent\n::1 localhost\n",
		"/etc/hostname":      "agent\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
		"/etc/resolv.conf":   "",
	} {
		if err := os.MkdirAll(in("/etc"), 0o755); err != nil {
			return fmt.Errorf("make /etc: %w", err)
		}
		if err := os.WriteFile(in(name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
	}
	return nil
}

// hide covers paths with an empty file or folder.
func (r *root) hide(p *Plan) error {
	const file, dir = "/.empty", "/.void"
	if err := os.WriteFile(in(file), nil, 0o444); err != nil {
		return fmt.Errorf("make %s: %w", file, err)
	}
	if err := os.Mkdir(in(dir), 0o555); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	for _, at := range append(masked, p.Hide...) {
		info, err := os.Lstat(in(at))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", at, err)
		}
		cover := file
		if info.IsDir() {
			cover = dir
		}
		if err := unix.Mount(in(cover), in(at), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("hide %s: %w", at, err)
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC}
		if err := unix.MountSetattr(unix.AT_FDCWD, in(at), 0, &attr); err != nil {
			return fmt.Errorf("hide %s: %w", at, err)
		}
	}
	return nil
}

// enter makes the built tree the root, lets go of the machine's, and lets nobody
// write to the root itself any more.
func (r *root) enter(p *Plan) error {
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &attr); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	if err := unix.Sethostname([]byte("agent")); err != nil {
		return fmt.Errorf("name the machine: %w", err)
	}
	_, err := os.Stat(path.Clean(p.Workspace.Inside))
	if err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	return nil
}

// network brings up the loopback of the empty network, which tests of ordinary
// programs need. It leads nowhere else.
func network() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring up the loopback: %w", err)
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring up the loopback: %w", err)
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bring up the loopback: %w", err)
	}
	return nil
}

// detachedProc is a view of all processes of the namespace that is mounted nowhere,
// so that the sweep sees also those that hide themselves from their equals.
func detachedProc() (int, error) {
	return newMount("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}
