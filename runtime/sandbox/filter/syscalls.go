package filter

// allowed are the system calls that any program may need and that reach nothing
// outside of it, its files and its own processes. What is not here is refused:
// mounts and namespaces, modules and kexec, bpf, ptrace and the memory of other
// processes, keys, io_uring, performance counters, userfaultfd, file handles,
// the clock, swap, quota, accounting, the kernel's log.
var allowed = []string{
	// files
	"access", "chdir", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3", "faccessat", "faccessat2",
	"fadvise64", "fallocate", "fchdir", "fchmod", "fchown", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr",
	"fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate", "getcwd", "getdents", "getdents64", "getxattr", "inotify_add_watch",
	"inotify_init", "inotify_init1", "inotify_rm_watch", "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "lseek",
	"lstat", "mkdir", "mkdirat", "newfstatat", "open", "openat", "openat2", "pread64", "preadv", "preadv2",
	"pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "rename", "renameat", "renameat2",
	"rmdir", "sendfile", "splice", "stat", "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "tee",
	"truncate", "umask", "unlink", "unlinkat", "ustat", "vmsplice", "write", "writev", "memfd_create", "cachestat",
	// memory
	"brk", "madvise", "membarrier", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mprotect", "mremap", "msync", "munlock",
	"munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect", "remap_file_pages", "map_shadow_stack", "mseal",
	// processes and threads
	"arch_prctl", "capget", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_waitv", "futex_wait",
	"futex_wake", "futex_requeue", "get_robust_list", "get_thread_area", "getcpu", "getegid", "geteuid", "getgid", "getgroups",
	"getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage",
	"getsid", "gettid", "getuid", "ioprio_get", "ioprio_set", "kill", "pidfd_open", "pidfd_send_signal", "prctl", "rseq",
	"sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam",
	"sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler",
	"sched_yield", "set_robust_list", "set_thread_area", "set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups",
	"setpgid", "setpriority", "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid", "setuid", "sysinfo",
	"tgkill", "times", "tkill", "uname", "vfork", "wait4", "waitid", "capset",
	"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
	// signals, time, waiting
	"alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old",
	"epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "getitimer", "gettimeofday", "nanosleep",
	"pause", "poll", "ppoll", "pselect6", "restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo",
	"rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "select", "setitimer", "sigaltstack", "signalfd",
	"signalfd4", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create",
	"timerfd_gettime", "timerfd_settime",
	// pipes, sockets that exist already, shared memory of the own namespace, asynchronous reads
	"pipe", "pipe2", "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
	"recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
	"io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit",
	"msgctl", "msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
	"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink",
}
