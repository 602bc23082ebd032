package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type member struct {
	name string
	data []byte
	link string // makes it a symbolic link
	hard bool   // makes the link a hard one
}

func tgzBytes(members ...member) []byte {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Size: int64(len(m.data)), Mode: 0o644, Typeflag: tar.TypeReg, Linkname: m.link}
		switch {
		case m.hard:
			h.Typeflag = tar.TypeLink
		case m.link != "":
			h.Typeflag = tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		if _, err := w.Write(m.data); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	if err := gz.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func whlBytes(members ...member) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.link != "" {
			h.SetMode(os.ModeSymlink | 0o777)
			m.data = []byte(m.link)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			panic(err)
		}
		if _, err := f.Write(m.data); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func packTgz(t *testing.T, members ...member) string {
	t.Helper()
	return writeFile(t, filepath.Join(t.TempDir(), "a.tgz"), tgzBytes(members...))
}

func everything(name string) string { return name }

func TestUnpackSelects(t *testing.T) {
	members := []member{{name: "package/lib/a.so", data: []byte("aa")}, {name: "package/README", data: []byte("no")},
		{name: "package/lib/b.so", data: []byte("bbb")}, {name: "package/link", link: "lib/a.so"}}
	for name, data := range map[string][]byte{"a.tgz": tgzBytes(members...), "a.whl": whlBytes(members...)} {
		archive := writeFile(t, filepath.Join(t.TempDir(), name), data)
		dir := t.TempDir()
		var last Progress
		files, err := Unpack(ctx, archive, dir, Unpacking{Limit: 5, Progress: func(p Progress) { last = p },
			Select: func(n string) string {
				if strings.HasSuffix(n, ".so") {
					return filepath.Base(n)
				}
				return ""
			}})
		if err != nil {
			t.Fatal(err)
		}
		sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
		want := []File{{"a.so", 2, sum("aa")}, {"b.so", 3, sum("bbb")}}
		if d := cmp.Diff(want, files); d != "" {
			t.Error(d)
		}
		if last.Done != 5 || last.Total != 5 {
			t.Errorf("last progress is %+v", last)
		}
		if names := leftovers(t, dir, "."); len(names) != 2 {
			t.Errorf("unpacked %v", names)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	x := []byte("x")
	for name, members := range map[string][]member{
		"parent":             {{name: "../evil", data: x}},
		"parent, deep":       {{name: "a/b/../../../evil", data: x}},
		"absolute":           {{name: "/evil", data: x}},
		"back slash":         {{name: `..\evil`, data: x}},
		"after a good one":   {{name: "good", data: x}, {name: "../evil", data: x}},
		"symbolic link":      {{name: "a", link: "/etc"}},
		"through a link":     {{name: "a", link: ".."}, {name: "a/evil", data: x}},
		"twice":              {{name: "a", data: x}, {name: "a", data: x}},
		"twice by spelling":  {{name: "a", data: x}, {name: "./b/../a", data: x}},
		"file, then folder":  {{name: "a", data: x}, {name: "a/b", data: x}},
		"larger than pinned": {{name: "a", data: make([]byte, 101)}},
		"larger in all":      {{name: "a", data: make([]byte, 60)}, {name: "b", data: make([]byte, 60)}},
	} {
		for kind, data := range map[string][]byte{".tgz": tgzBytes(members...), ".whl": whlBytes(members...)} {
			t.Run(name+kind, func(t *testing.T) {
				outer := t.TempDir()
				archive := writeFile(t, filepath.Join(t.TempDir(), "a"+kind), data)
				dir := filepath.Join(outer, "in")
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				files, err := Unpack(ctx, archive, dir, Unpacking{Select: everything, Limit: 100})
				if err == nil {
					t.Fatalf("unpacked %v", files)
				}
				if names := leftovers(t, outer, "."); len(names) != 1 {
					t.Errorf("wrote outside: %v", names)
				}
			})
		}
	}
	hard := writeFile(t, filepath.Join(t.TempDir(), "a.tgz"), tgzBytes(member{name: "a", link: "/etc/passwd", hard: true}))
	_, err := Unpack(ctx, hard, t.TempDir(), Unpacking{Select: everything, Limit: 100})
	as[*ArchiveError](t, err)
	// A bad name condemns the archive even where nobody selects it.
	evil := writeFile(t, filepath.Join(t.TempDir(), "a.tgz"), tgzBytes(member{name: "../evil"}))
	_, err = Unpack(ctx, evil, t.TempDir(), Unpacking{Select: func(string) string { return "" }, Limit: 100})
	as[*ArchiveError](t, err)
	// Nor may the caller's own mapping leave the folder.
	_, err = Unpack(ctx, packTgz(t, member{name: "a"}), t.TempDir(), Unpacking{Select: func(string) string { return "../a" }, Limit: 100})
	as[*ArchiveError](t, err)
	_, err = Unpack(ctx, writeFile(t, filepath.Join(t.TempDir(), "a.rar"), nil), t.TempDir(), Unpacking{Select: everything, Limit: 100})
	as[*ArchiveError](t, err)
}

func TestUnpackCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(ctx)
	archive := packTgz(t, member{name: "a", data: make([]byte, 8<<20)})
	_, err := Unpack(ctx, archive, t.TempDir(), Unpacking{Select: everything, Limit: 8 << 20, Progress: func(Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// What is unpacked is what was packed, and a strict prefix of an archive is
// refused.
func TestUnpackProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}(/[A-Z]{1,3}){0,2}`), 1, 5, rapid.ID).Draw(rt, "names")
		var members []member
		for _, n := range names {
			members = append(members, member{name: n + ".f", data: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "data")})
		}
		kind := rapid.SampledFrom([]string{".tgz", ".whl"}).Draw(rt, "kind")
		data := tgzBytes(members...)
		if kind == ".whl" {
			data = whlBytes(members...)
		}
		top, err := os.MkdirTemp("", "unpack")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(top)
		unpack := func(data []byte, to string) ([]File, error) {
			archive := filepath.Join(top, "a"+kind)
			if err := os.WriteFile(archive, data, 0o644); err != nil {
				rt.Fatal(err)
			}
			dir := filepath.Join(top, to)
			if err := os.Mkdir(dir, 0o755); err != nil {
				rt.Fatal(err)
			}
			return Unpack(ctx, archive, dir, Unpacking{Select: everything, Limit: 1500})
		}
		files, err := unpack(data, "whole")
		if err != nil || len(files) != len(members) {
			rt.Fatalf("%d files, %v", len(files), err)
		}
		for _, m := range members {
			got, err := os.ReadFile(filepath.Join(top, "whole", m.name))
			if err != nil || !bytes.Equal(got, m.data) {
				rt.Fatalf("%s holds %d bytes, %v", m.name, len(got), err)
			}
		}
		cut := rapid.IntRange(0, len(data)-1).Draw(rt, "cut")
		if _, err := unpack(data[:cut], "cut"); err == nil {
			rt.Fatalf("%d of %d bytes were accepted", cut, len(data))
		}
	})
}

func FuzzUnpack(f *testing.F) {
	m := []member{{name: "a/b", data: []byte("hello")}, {name: "c", data: []byte("x")}}
	f.Add(tgzBytes(m...), true)
	f.Add(whlBytes(m...), false)
	f.Add(tgzBytes(member{name: "../e", data: []byte("x")}), true)
	f.Add(whlBytes(member{name: "a", link: "/"}, member{name: "a/e"}), false)
	f.Fuzz(func(t *testing.T, data []byte, tgz bool) {
		outer := t.TempDir()
		kind := ".whl"
		if tgz {
			kind = ".tgz"
		}
		archive := filepath.Join(outer, "a"+kind)
		if err := os.WriteFile(archive, data, 0o644); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(outer, "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		files, err := Unpack(ctx, archive, dir, Unpacking{Select: everything, Limit: 1 << 16})
		if names := leftovers(t, outer, "."); len(names) != 2 {
			t.Fatalf("wrote outside: %v", names)
		}
		if err != nil {
			return
		}
		for _, file := range files {
			info, err := os.Lstat(filepath.Join(dir, file.Path))
			if err != nil || !info.Mode().IsRegular() || info.Size() != file.Bytes {
				t.Fatalf("%+v: %v, %v", file, info, err)
			}
		}
	})
}
