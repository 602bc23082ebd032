package sandbox

import (
	"os"
	"strings"
)

// Fact is one of the machine's settings that decide what a sandbox can be.
type Fact struct {
	Name    string `json:"name"`
	Value   string `json:"value"` // "" when the machine does not have it
	Meaning string `json:"meaning"`
}

// facts reads the settings. What cannot be read is not there.
func facts() []Fact {
	var all []Fact
	for _, f := range []struct{ name, path, meaning string }{
		{"kernel", "/proc/sys/kernel/osrelease", "Landlock needs 5.13, what this package mounts with 5.12, read-only mapped snapshots 5.19"},
		{"security modules", "/sys/kernel/security/lsm", "landlock must be among them"},
		{"user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", "0 forbids user namespaces: sysctl user.max_user_namespaces=10000"},
		{"kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", "0 forbids user namespaces to all but root: sysctl kernel.unprivileged_userns_clone=1"},
		{"kernel.apparmor_restrict_unprivileged_userns", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
			"1 takes the rights of user namespaces away from programs without an AppArmor profile that says 'userns,'"},
		{"kernel.yama.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope", "1 and more keep processes of one user from looking into each other"},
		{"kernel.unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled", "1 and 2 close bpf to all but root; the filter closes it anyway"},
		{"kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled", "2 closes io_uring; the filter closes it anyway"},
		{"kernel.dmesg_restrict", "/proc/sys/kernel/dmesg_restrict", "1 closes the kernel's log to all but root"},
		{"kernel.modules_disabled", "/proc/sys/kernel/modules_disabled", "1 means that no module can be loaded any more"},
		{"kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict", "1 and 2 hide addresses of the kernel"},
		{"fs.protected_symlinks", "/proc/sys/fs/protected_symlinks", "1 keeps links in shared folders from being followed for others"},
		{"fs.protected_hardlinks", "/proc/sys/fs/protected_hardlinks", "1 keeps files of others from being linked to"},
	} {
		data, err := os.ReadFile(f.path)
		value := strings.TrimSpace(string(data))
		if err != nil {
			value = ""
		}
		all = append(all, Fact{f.name, value, f.meaning})
	}
	return all
}
