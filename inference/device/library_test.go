package device

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"testing"
	"testing/fstest"
)

type cacheEntry struct {
	flags      uint32
	name, file string
}

// makeCache writes a loader cache as ldconfig does, behind a header of the old
// format if asked to.
func makeCache(old bool, entries ...cacheEntry) []byte {
	var b bytes.Buffer
	if old {
		b.WriteString("ld.so-1.7.0\x00\x00\x00\x00\x00")
	}
	var strs bytes.Buffer
	at := cacheHeaderSize + len(entries)*cacheEntrySize
	place := func(s string) uint32 {
		p := at + strs.Len()
		strs.WriteString(s + "\x00")
		return uint32(p)
	}
	var table bytes.Buffer
	for _, e := range entries {
		for _, v := range []uint32{e.flags, place(e.name), place(e.file), 0, 0, 0} {
			table.Write(binary.NativeEndian.AppendUint32(nil, v))
		}
	}
	b.WriteString(cacheMagic)
	for _, v := range []uint32{uint32(len(entries)), uint32(strs.Len()), 0, 0, 0, 0, 0} {
		b.Write(binary.NativeEndian.AppendUint32(nil, v))
	}
	b.Write(table.Bytes())
	b.Write(strs.Bytes())
	return b.Bytes()
}

func TestFind(t *testing.T) {
	flags, ok := archFlags[runtime.GOARCH]
	if !ok {
		t.Skipf("SKIPPED: no loader cache flags for %s", runtime.GOARCH)
	}
	for _, old := range []bool{false, true} {
		root := fstest.MapFS{
			"etc/ld.so.cache": {Data: makeCache(old, cacheEntry{0x0003, "libcuda.so.1", "/usr/lib32/libcuda.so.1"},
				cacheEntry{flags, "libcuda.so.1", "/opt/nvidia/libcuda.so.1"}, cacheEntry{flags, "libcuda.so.1", "/second/libcuda.so.1"},
				cacheEntry{flags, "libgone.so.1", "/opt/gone/libgone.so.1"})},
			"usr/lib32/libcuda.so.1":                 {},
			"opt/nvidia/libcuda.so.1":                {},
			"second/libcuda.so.1":                    {},
			"usr/local/cuda/lib64/libcublas.so.13":   {},
			"home/me/lib/libcuda.so.1":               {},
			"usr/lib/x86_64-linux-gnu/libgone.so.12": {},
		}
		for _, c := range []struct {
			dirs       []string
			name, want string
		}{
			{nil, "libcuda.so.1", "/opt/nvidia/libcuda.so.1"},
			{[]string{"/home/me/lib"}, "libcuda.so.1", "/home/me/lib/libcuda.so.1"},
			{[]string{"home/me/lib", "", "/not/there"}, "libcuda.so.1", "/opt/nvidia/libcuda.so.1"},
			{nil, "libcublas.so.13", "/usr/local/cuda/lib64/libcublas.so.13"},
			{nil, "libgone.so.1", ""},
			{nil, "libnever.so", ""},
		} {
			got, ok := NewLibraries(root, c.dirs).Find(c.name)
			if got != c.want || ok != (c.want != "") {
				t.Errorf("Find(%s) with %v = %q, %v; want %q", c.name, c.dirs, got, ok, c.want)
			}
		}
	}
}

// The C library is on every machine that runs the engine.
func TestFindHere(t *testing.T) {
	file, ok := NewLibraries(os.DirFS("/"), nil).Find("libc.so.6")
	if !ok {
		t.Fatal("libc.so.6 not found")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func FuzzParseCache(f *testing.F) {
	f.Add(makeCache(true, cacheEntry{0x0303, "liba.so", "/a/liba.so"}))
	f.Add([]byte(cacheMagic + "\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, file := range parseCache(data, "amd64") {
			if name == "" || file == "" || file[0] != '/' {
				t.Fatalf("%q at %q", name, file)
			}
		}
	})
}
