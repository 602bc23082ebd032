package device

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"path"
	"runtime"
	"strings"
)

// Libraries finds shared libraries the way the dynamic loader would, without
// loading them.
type Libraries struct {
	root  fs.FS
	dirs  []string          // searched first
	cache map[string]string // the loader's cache
}

// usualDirs are searched last: the loader's own folders on systems without a
// cache, and where drivers and CUDA put libraries that the cache does not list.
var usualDirs = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
	"/usr/lib64", "/lib64", "/usr/lib", "/lib", "/usr/local/lib",
	"/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/usr/local/nvidia/lib64",
	"/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/local/cuda/targets/sbsa-linux/lib", "/opt/cuda/lib64",
}

// NewLibraries reads the loader's cache. dirs are absolute folders to search
// before it.
func NewLibraries(root fs.FS, dirs []string) *Libraries {
	data, err := fs.ReadFile(root, "etc/ld.so.cache")
	if err != nil {
		data = nil // a system without a cache: the usual folders remain
	}
	return &Libraries{root: root, dirs: dirs, cache: parseCache(data, runtime.GOARCH)}
}

// Find returns the absolute path of the library with this soname.
func (l *Libraries) Find(soname string) (file string, ok bool) {
	for _, dir := range l.dirs {
		if file := path.Join(dir, soname); path.IsAbs(dir) && exists(l.root, file) {
			return file, true
		}
	}
	if file, ok := l.cache[soname]; ok && exists(l.root, file) {
		return file, true
	}
	for _, dir := range usualDirs {
		if file := path.Join(dir, soname); exists(l.root, file) {
			return file, true
		}
	}
	return "", false
}

// The cache of glibc 2.2 and later: magic, then counts, then entries, then
// strings. Offsets count from the magic. An older cache may stand before it.
const (
	cacheMagic      = "glibc-ld.so.cache1.1"
	cacheHeaderSize = 48
	cacheEntrySize  = 24
)

// archFlags is how the cache marks libraries of this architecture.
var archFlags = map[string]uint32{"amd64": 0x0303, "arm64": 0x0a03}

// parseCache reads the sonames and paths for an architecture. What it does not
// understand it leaves out: the usual folders are searched anyway.
func parseCache(data []byte, arch string) map[string]string {
	found := map[string]string{}
	flags, known := archFlags[arch]
	start := bytes.Index(data, []byte(cacheMagic))
	if start < 0 || !known || len(data)-start < cacheHeaderSize {
		return found
	}
	data = data[start:]
	count := binary.NativeEndian.Uint32(data[len(cacheMagic):])
	for i := range uint64(count) {
		at := cacheHeaderSize + i*cacheEntrySize
		if at+cacheEntrySize > uint64(len(data)) {
			break
		}
		entry := data[at:]
		if binary.NativeEndian.Uint32(entry) != flags {
			continue
		}
		name, okName := cacheString(data, binary.NativeEndian.Uint32(entry[4:]))
		file, okFile := cacheString(data, binary.NativeEndian.Uint32(entry[8:]))
		if !okName || !okFile || !path.IsAbs(file) || strings.Contains(name, "/") {
			continue
		}
		if _, ok := found[name]; !ok { // the first one is the one the loader takes
			found[name] = file
		}
	}
	return found
}

func cacheString(data []byte, at uint32) (string, bool) {
	if uint64(at) >= uint64(len(data)) {
		return "", false
	}
	end := bytes.IndexByte(data[at:], 0)
	if end <= 0 {
		return "", false
	}
	return string(data[at : int(at)+end]), true
}
