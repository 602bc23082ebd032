package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reachProbes are after things: files, sockets, processes, devices.
var reachProbes = []probe{
	// These answer for the programs that give rights.
	{name: "whoami", answers: true, try: func(*lair) error { return says(os.Geteuid() == 0, "root") }},
	{name: "whatcan", answers: true, try: func(*lair) error {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		return says(!strings.Contains(string(status), "CapEff:\t0000000000000000"), "some")
	}},
	{name: "net_tcp", try: func(l *lair) error { return dialled("tcp", l.TCP) }},
	{name: "net_tcp6", rare: true, try: func(l *lair) error { return dialled("tcp6", l.TCP6) }},
	{name: "net_udp", try: func(l *lair) error {
		c, err := net.Dial("udp", l.UDP)
		if err != nil {
			return err
		}
		_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err = c.Read(make([]byte, 1))
		return err
	}},
	{name: "net_other_interface", try: func(*lair) error { // an address that any machine with a route sends something to
		all, err := os.ReadFile("/proc/net/dev")
		if err != nil {
			return err
		}
		if strings.Count(string(all), ":") > 1 {
			return nil
		}
		return errors.New("there is only the loopback")
	}},
	{name: "net_route", rare: true, try: func(*lair) error { return dialled("udp", "192.0.2.1:9") }},
	{name: "socket_abstract", try: func(l *lair) error { return dialled("unix", l.Abstract) }},
	{name: "socket_path", try: func(l *lair) error { return dialled("unix", l.Path) }},
	{name: "socket_by_link", try: func(l *lair) error {
		link := filepath.Join(l.Scratch, "link.sock")
		_ = os.Remove(link)
		if err := os.Symlink(l.Path, link); err != nil {
			return fmt.Errorf("BROKEN: %w", err)
		}
		return dialled("unix", link)
	}},
	{name: "socket_journal", rare: true, try: func(*lair) error { return dialled("unixgram", "/run/systemd/journal/socket") }},
	{name: "socket_dbus", rare: true, try: func(*lair) error { return dialled("unix", "/run/dbus/system_bus_socket") }},
	{name: "read_secret", try: func(l *lair) error { return readsExactly(l.Secret, l.Content) }},
	{name: "read_secret_by_symlink", try: func(l *lair) error {
		link := filepath.Join(l.Scratch, "link")
		_ = os.Remove(link)
		if err := os.Symlink(l.Secret, link); err != nil {
			return fmt.Errorf("BROKEN: %w", err)
		}
		return readsExactly(link, l.Content)
	}},
	{name: "read_secret_by_hard_link", try: func(l *lair) error {
		link := filepath.Join(l.Scratch, "hard")
		_ = os.Remove(link)
		if err := os.Link(l.Secret, link); err != nil {
			return err
		}
		return readsExactly(link, l.Content)
	}},
	{name: "read_secret_through_process", try: func(l *lair) error {
		return readsExactly(fmt.Sprintf("/proc/%d/root%s", os.Getppid(), l.Secret), l.Content)
	}},
	{name: "read_secret_by_dots", try: func(l *lair) error {
		return readsExactly(strings.Repeat("../", 40)+strings.TrimPrefix(l.Secret, "/"), l.Content)
	}},
	{name: "hard_link_to_system", try: func(l *lair) error {
		return os.Link("/etc/passwd", filepath.Join(filepath.Dir("/etc/passwd"), "probe-"+filepath.Base(filepath.Dir(l.Secret))))
	}},
	{name: "read_shadow", rare: true, try: func(*lair) error { return reads("/etc/shadow") }},
	{name: "list_home_of_root", try: func(*lair) error { _, err := os.ReadDir("/root"); return err }},
	{name: "harness_program", try: func(l *lair) error { return reads(l.Harness) }},
	{name: "harness_pid", try: func(l *lair) error { return sameProgram(l.PID, l.Harness) }},
	{name: "harness_environment", try: func(l *lair) error { return reads(fmt.Sprintf("/proc/%d/environ", os.Getppid())) }},
	{name: "parent_memory", try: func(*lair) error { return reaches(fmt.Sprintf("/proc/%d/mem", os.Getppid())) }},
	{name: "parent_program", try: func(*lair) error { return reads(fmt.Sprintf("/proc/%d/exe", os.Getppid())) }},
	{name: "parent_descriptors", try: func(*lair) error { _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", os.Getppid())); return err }},
	{name: "parent_namespaces", try: func(*lair) error { _, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid())); return err }},
	{name: "signal_parent", try: func(*lair) error { return unix.Kill(os.Getppid(), 0) }},
	{name: "signal_harness", try: func(l *lair) error { return unix.Kill(l.PID, 0) }},
	{name: "other_agents_file", try: func(l *lair) error { return readsExactly(l.Other, "theirs\n") }},
	{name: "other_agents_process", try: func(l *lair) error { return seesMark(l.Mark) }},
	{name: "inherited_descriptor", handed: true, try: func(*lair) error {
		for fd := 3; fd < 256; fd++ {
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				return nil
			}
		}
		return errors.New("no descriptor of a file beside the three streams")
	}},
	{name: "terminal", rare: true, try: func(*lair) error { return writable("/dev/tty") }},
	{name: "terminal_multiplexer", rare: true, try: func(*lair) error { return writable("/dev/ptmx") }},
	{name: "device_memory", rare: true, try: func(*lair) error { return writable("/dev/mem") }},
	{name: "device_log", rare: true, try: func(*lair) error { return reads("/dev/kmsg") }},
	{name: "device_kvm", rare: true, try: func(*lair) error { return writable("/dev/kvm") }},
	{name: "device_fuse", rare: true, try: func(*lair) error { return writable("/dev/fuse") }},
	{name: "device_tun", rare: true, try: func(*lair) error { return writable("/dev/net/tun") }},
	{name: "device_disk", rare: true, try: func(*lair) error {
		all, err := filepath.Glob("/dev/[vsn][dv][a-z]*")
		if err != nil || len(all) == 0 {
			return errors.New("no disk")
		}
		return reads(all[0])
	}},
	{name: "proc_core", rare: true, try: func(*lair) error { return reads("/proc/kcore") }},
	{name: "proc_symbols", rare: true, try: func(*lair) error { return reads("/proc/kallsyms") }},
	{name: "proc_keys", rare: true, try: func(*lair) error { return reads("/proc/key-users") }},
	{name: "proc_timers", rare: true, try: func(*lair) error { return reads("/proc/timer_list") }},
	{name: "proc_command_line_of_kernel", try: func(*lair) error { return reads("/proc/cmdline") }},
	{name: "proc_interrupts", try: func(*lair) error { return reads("/proc/interrupts") }},
	{name: "sysrq", rare: true, try: func(*lair) error { return writable("/proc/sysrq-trigger") }},
	{name: "core_pattern", try: func(*lair) error { return writable("/proc/sys/kernel/core_pattern") }},
	{name: "sysctl_forwarding", try: func(*lair) error { return writable("/proc/sys/net/ipv4/ip_forward") }},
	{name: "sysctl_modprobe", rare: true, try: func(*lair) error { return writable("/proc/sys/kernel/modprobe") }},
	{name: "sysctl_overcommit", try: func(*lair) error { return writable("/proc/sys/vm/overcommit_memory") }},
	{name: "unmask_proc", try: func(*lair) error { return reached(unix.Unmount("/proc/interrupts", unix.MNT_DETACH)) }},
	{name: "sys", try: func(*lair) error { _, err := os.ReadDir("/sys/kernel"); return err }},
	{name: "control_groups", rare: true, try: func(*lair) error { _, err := os.ReadDir("/sys/fs/cgroup"); return err }},
	{name: "debugfs", rare: true, try: func(*lair) error { _, err := os.ReadDir("/sys/kernel/debug"); return err }},
	{name: "write_programs", try: func(*lair) error { return creates("/usr/bin/dure-probe") }},
	{name: "write_libraries", try: func(*lair) error { return creates("/usr/lib/dure-probe") }},
	{name: "write_etc", try: func(*lair) error { return writable("/etc/passwd") }},
	{name: "write_root", try: func(*lair) error { return creates("/dure-probe") }},
	{name: "write_loader_preload", try: func(*lair) error { return creates("/etc/ld.so.dure-probe") }},
	{name: "rename_over_program", try: func(l *lair) error {
		return reachedFile(os.Rename(filepath.Join(l.Scratch, "nothing"), "/usr/bin/nothing-either"))
	}},
	{name: "xattr_trusted", rare: true, try: func(l *lair) error { return unix.Setxattr(l.Scratch, "trusted.overlay.opaque", []byte("y"), 0) }},
	{name: "xattr_capability", try: func(l *lair) error {
		return unix.Setxattr(l.Scratch, "security.capability", []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0)
	}},
	{name: "raise_own_limit", try: func(*lair) error {
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &now); err != nil {
			return err
		}
		if now.Max == unix.RLIM_INFINITY {
			return nil
		}
		now.Max++
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &now)
	}},
	{name: "real_time_priority", try: func(*lair) error {
		p := struct{ priority int32 }{1}
		return call(unix.SYS_SCHED_SETSCHEDULER, 0, 1, ptr(&p))
	}},
	{name: "nicer_than_given", try: func(*lair) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) }},
	{name: "lock_memory", try: func(*lair) error {
		mem := make([]byte, 16<<20)
		return unix.Mlock(mem)
	}},
}

func says(yes bool, answer string) error {
	if !yes {
		return errors.New("no")
	}
	fmt.Println(answer)
	return nil
}

// reaches opens a file for reading and nothing more.
func reaches(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// reachedFile is like reached, for a file system that is not to be written.
func reachedFile(err error) error {
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EXDEV) {
		return err
	}
	return reached(err)
}

// sameProgram reports whether a process is visible and executes a program.
func sameProgram(pid int, program string) error {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return err
	}
	if path != program {
		return errors.New("it is another process")
	}
	return nil
}
