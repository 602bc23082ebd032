package cell

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls are made here, and not through a library, because those put the whole
// process into the domain. Here only the thread that starts commands goes in, so that
// commands cannot reach the rest.

const (
	readAccess  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeAccess = readAccess | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	fileOnly = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// handled are the accesses that each version of the interface knows, from version 1.
var handled = []uint64{
	1<<13 - 1,            // 1
	1<<14 - 1,            // 2: refer
	1<<15 - 1, 1<<15 - 1, // 3: truncate; 4: TCP, which an own network makes needless
	1<<16 - 1, 1<<16 - 1, 1<<16 - 1, 1<<16 - 1, // 5: ioctl on devices; 6: scopes; 7: audit; 8: threads
	1<<17 - 1, // 9: sockets with a path
}

// scopes are from version 6 on.
const scopedFrom = 6

// LandlockVersion is the version of the interface that the kernel offers; 0 is none.
func LandlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// restrictPaths lets this thread, and what it starts, reach the paths of the plan and
// no others. In Full it is the second wall and may be missing; in Reduced it is the
// first.
func restrictPaths(p *Plan) (int, error) {
	version := LandlockVersion()
	if version == 0 {
		if p.Mode == Reduced {
			return 0, errors.New("this kernel has no Landlock")
		}
		return 0, nil
	}
	all := handled[min(version, len(handled))-1]
	attr := unix.LandlockRulesetAttr{Handled_access_fs: all}
	size := unsafe.Offsetof(attr.Handled_access_net)
	if version >= scopedFrom {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	if version >= 4 && p.Mode == Reduced {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size = max(size, unsafe.Offsetof(attr.Handled_access_net)+unsafe.Sizeof(attr.Handled_access_net))
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return 0, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, a := range grants(p) {
		if err := grant(int(fd), a.path, a.access&all); err != nil {
			return 0, err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return 0, fmt.Errorf("enter the Landlock domain: %w", errno)
	}
	return version, nil
}

type access struct {
	path   string
	access uint64
}

func grants(p *Plan) []access {
	var all []access
	for _, t := range p.Trees {
		a := access{t.Inside, readAccess}
		if t.Writable {
			a.access = writeAccess
		}
		all = append(all, a)
	}
	all = append(all, access{p.Workspace.Inside, writeAccess}, access{p.Home, writeAccess})
	const device = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	for _, name := range devices {
		all = append(all, access{"/dev/" + name, device})
	}
	if p.Mode == Reduced {
		return append(all, access{p.Scratch, writeAccess})
	}
	if p.Socket != nil {
		all = append(all, access{SocketInside, device | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX})
	}
	// Folders may be listed everywhere: the tree has nothing to hide.
	return append(all, access{"/", unix.LANDLOCK_ACCESS_FS_READ_DIR}, access{"/etc", readAccess}, access{"/proc", readAccess},
		access{"/tmp", writeAccess}, access{"/dev/shm", writeAccess})
}

func grant(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing there, nothing to grant
	}
	if err != nil {
		return fmt.Errorf("grant %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("grant %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileOnly
	}
	if rights == 0 {
		return nil
	}
	// The kernel's structure is packed: 8 bytes and 4.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = rights
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("grant %s: %w", path, errno)
	}
	return nil
}
