package sqlite

import (
	"errors"
	"sync"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// system is the name of the VFS that logs use: the system's, with errors told apart.
const system = "dure-event"

var register = sync.OnceFunc(func() { vfs.Register(system, telling{vfs.Find("")}) })

// telling is a VFS that says SQLITE_FULL when there is no room. The system's VFS
// says a general I/O error, and what the cause was is forgotten before the
// statement returns.
type telling struct{ vfs.VFS }

func (v telling) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := vfsutil.WrapOpenFilename(v.VFS, name, flags)
	if err != nil {
		return nil, flags, tell(err)
	}
	return tellingFile{file}, flags, nil
}

// noRoom reports whether the system says that a disk or a quota is full.
func noRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

func tell(err error) error {
	if noRoom(err) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}

// tellingFile passes on all that SQLite asks of the system's files.
type tellingFile struct{ vfs.File }

var (
	_ vfs.FileUnwrap             = tellingFile{}
	_ vfs.FileSharedMemory       = tellingFile{}
	_ vfs.FileLockState          = tellingFile{}
	_ vfs.FileHasMoved           = tellingFile{}
	_ vfs.FileSizeHint           = tellingFile{}
	_ vfs.FilePersistWAL         = tellingFile{}
	_ vfs.FilePowersafeOverwrite = tellingFile{}
)

func (f tellingFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p, at)
	return n, tell(err)
}

func (f tellingFile) Truncate(size int64) error      { return tell(f.File.Truncate(size)) }
func (f tellingFile) Sync(flags vfs.SyncFlag) error  { return tell(f.File.Sync(flags)) }
func (f tellingFile) SizeHint(size int64) error      { return tell(vfsutil.WrapSizeHint(f.File, size)) }
func (f tellingFile) Unwrap() vfs.File               { return f.File }
func (f tellingFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }
func (f tellingFile) LockState() vfs.LockLevel       { return vfsutil.WrapLockState(f.File) }
func (f tellingFile) HasMoved() (bool, error)        { return vfsutil.WrapHasMoved(f.File) }
func (f tellingFile) PersistWAL() bool               { return vfsutil.WrapPersistWAL(f.File) }
func (f tellingFile) SetPersistWAL(keep bool)        { vfsutil.WrapSetPersistWAL(f.File, keep) }
func (f tellingFile) PowersafeOverwrite() bool       { return vfsutil.WrapPowersafeOverwrite(f.File) }
func (f tellingFile) SetPowersafeOverwrite(safe bool) {
	vfsutil.WrapSetPowersafeOverwrite(f.File, safe)
}
