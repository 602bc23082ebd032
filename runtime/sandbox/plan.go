package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dure/runtime/sandbox/cell"
)

// toolchain are the folders and files of the machine that every box has, where they
// exist: programs, and what the linker and the certificate libraries look for. Nothing
// in them belongs to a person.
var toolchain = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
}

// baseEnv is the environment that every command begins with.
func baseEnv(p *cell.Plan) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin",
		"HOME=" + p.Home, "USER=agent", "LOGNAME=agent", "SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=dumb",
	}
	switch {
	case p.Mode == cell.Full && p.Socket != nil:
		env = append(env, "DURE_SOCKET="+cell.SocketInside)
	case p.Mode != cell.Full && p.Socket != nil:
		env = append(env, "DURE_SOCKET_FD=3")
	}
	if p.Scratch != "" {
		return append(env, "TMPDIR="+p.Scratch)
	}
	return append(env, "TMPDIR=/tmp")
}

// planned is a plan with the descriptors that go with it.
type planned struct {
	cell.Plan
	files []*os.File
}

func (p *planned) close() {
	for _, f := range p.files {
		_ = f.Close() // mounts that the helper has by now, or nobody
	}
}

// plan says what the helper is to build for a spec, and makes the folders for it.
func (h *Host) plan(s Spec, uid int) (p *planned, err error) {
	p = &planned{Plan: cell.Plan{Mode: h.report.Rung, ScratchBytes: s.Limits.Scratch, ScratchFiles: scratchFiles, Filter: h.filter}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	p.Limits = cell.Limits{Processes: int64(s.Limits.Processes), Files: openFiles, FileSize: s.Limits.Disk}
	if h.fence == nil {
		p.Limits.WatchMemory, p.Limits.Data = s.Limits.Memory, s.Limits.Memory+helperData
	}
	if err := h.folders(s, uid); err != nil {
		return p, err
	}
	if h.report.Rung != Full {
		return p, h.planPaths(p, s, uid)
	}
	p.Home = cell.HomeInside
	if p.Box, err = h.source(p, s.Dir, "", true, false); err != nil {
		return p, err
	}
	if err := h.planWorkspace(p, s); err != nil {
		return p, err
	}
	if err := h.planToolchain(p, s); err != nil {
		return p, err
	}
	if s.Socket != "" {
		t, err := h.source(p, s.Socket, cell.SocketInside, true, false)
		if err != nil {
			return p, err
		}
		p.Socket = &t
	}
	return p, nil
}

const (
	scratchFiles = 1 << 16
	openFiles    = 4096
	// helperData is what the helper itself has mapped, most of it never touched.
	helperData = 512 << 20
)

// source opens a tree if this program may; otherwise the helper will.
func (h *Host) source(p *planned, from, inside string, writable, shifted bool) (cell.Tree, error) {
	info, err := os.Stat(from)
	if err != nil {
		return cell.Tree{}, fmt.Errorf("look at %s: %w", from, err)
	}
	t := cell.Tree{From: from, Inside: inside, Writable: writable, File: !info.IsDir()}
	f, err := h.owner.tree(from, writable, shifted)
	if err != nil || f == nil {
		return t, err
	}
	p.files = append(p.files, f)
	t.Descriptor = len(p.files)
	return t, nil
}

func (h *Host) planWorkspace(p *planned, s Spec) error {
	p.Workspace = cell.Workspace{Inside: cell.WorkInside, Memory: s.Volatile, MemoryFiles: s.Limits.Files}
	switch {
	case s.Lower == "" && s.Volatile > 0:
		p.Workspace.Plain = "upper"
	case s.Lower == "" || !h.report.Overlay:
		p.Workspace.Plain = "tree"
	default:
		t, err := h.source(p, s.Lower, "", false, true)
		if err != nil {
			return err
		}
		p.Workspace.Lower = &t
	}
	if p.Workspace.Plain == "tree" && s.Volatile > 0 {
		return fmt.Errorf("sandbox %s: a volatile workspace over a snapshot needs an overlay, which this machine does not have", s.Name)
	}
	return nil
}

// planToolchain binds the machine's programs and what the spec mounts, and hides this
// program and what the spec hides.
func (h *Host) planToolchain(p *planned, s Spec) error {
	for _, from := range toolchain {
		info, err := os.Lstat(from)
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(from)
			if err != nil {
				return fmt.Errorf("read %s: %w", from, err)
			}
			p.Links = append(p.Links, cell.Link{Inside: from, Target: target})
			continue
		}
		t, err := h.source(p, from, from, false, false)
		if err != nil {
			return err
		}
		p.Trees = append(p.Trees, t)
	}
	if target, err := os.Readlink("/etc/localtime"); err == nil {
		p.Links = append(p.Links, cell.Link{Inside: "/etc/localtime", Target: target})
	}
	mounts := slices.Clone(s.Mounts)
	// A mount within another must come after it.
	slices.SortStableFunc(mounts, func(a, b Mount) int { return strings.Compare(a.inside(), b.inside()) })
	for _, m := range mounts {
		t, err := h.source(p, m.From, m.inside(), false, false)
		if err != nil {
			return err
		}
		p.Trees = append(p.Trees, t)
	}
	p.Hide = slices.Clone(s.Hide)
	if self, err := os.Executable(); err == nil && !slices.ContainsFunc(mounts, func(m Mount) bool { return m.From == self }) {
		p.Hide = append(p.Hide, self)
	}
	return nil
}

func (m Mount) inside() string {
	if m.Inside == "" {
		return path.Clean(m.From)
	}
	return path.Clean(m.Inside)
}

// planPaths is the plan of a rung without a mount tree: the same paths inside and
// outside.
func (h *Host) planPaths(p *planned, s Spec, uid int) error {
	if s.Volatile > 0 {
		return fmt.Errorf("sandbox %s: a volatile workspace needs rung full", s.Name)
	}
	for _, from := range append(slices.Clone(toolchain), "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/localtime") {
		p.Trees = append(p.Trees, cell.Tree{From: from, Inside: from})
	}
	for _, m := range s.Mounts {
		if m.inside() != path.Clean(m.From) {
			return fmt.Errorf("sandbox %s: %s cannot appear at %s on rung %s, only where it is", s.Name, m.From, m.Inside, h.report.Rung)
		}
		p.Trees = append(p.Trees, cell.Tree{From: m.From, Inside: m.From})
	}
	if len(s.Hide) > 0 {
		return fmt.Errorf("sandbox %s: nothing can be hidden on rung %s", s.Name, h.report.Rung)
	}
	p.Workspace = cell.Workspace{Inside: filepath.Join(s.Dir, "tree"), Plain: "tree"}
	p.Home, p.Scratch = filepath.Join(s.Dir, "home"), filepath.Join(s.Dir, "tmp")
	p.OwnUser = uid != 0
	if s.Socket != "" {
		p.Socket = &cell.Tree{From: s.Socket}
	}
	return nil
}

// folders makes what the plan needs below Spec.Dir, owned by the agent's user.
func (h *Host) folders(s Spec, uid int) error {
	if err := os.MkdirAll(s.Dir, 0o711); err != nil {
		return fmt.Errorf("make the folder of the sandbox: %w", err)
	}
	// The folder is the caller's: only what is in it is the agent's.
	names := []string{"home", "upper", "work"}
	if h.report.Rung != Full {
		names = []string{"home", "tmp"}
	} else if s.Volatile > 0 {
		return nil
	} else if s.Lower == "" || !h.report.Overlay {
		names = []string{"home"}
	}
	for _, name := range names {
		if err := ownFolder(filepath.Join(s.Dir, name), uid); err != nil {
			return err
		}
	}
	if h.report.Rung == Full && h.report.Overlay && s.Lower != "" {
		return nil
	}
	return copyOnce(s.Lower, filepath.Join(s.Dir, "tree"), uid)
}

func ownFolder(dir string, uid int) error {
	err := os.Mkdir(dir, 0o700)
	if err != nil && !os.IsExist(err) {
		return fmt.Errorf("make the folder of the sandbox: %w", err)
	}
	if uid == 0 {
		return nil
	}
	if err := os.Lchown(dir, uid, uid); err != nil {
		return fmt.Errorf("give the folder to the agent: %w", err)
	}
	return nil
}

// spawnTimeout is how long a helper may take to build its walls.
const spawnTimeout = 30 * time.Second
