package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A file cut at any places, its parts in archives of either kind among other
// members, is joined to what it was.
func TestJoinProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 5000), 1, 5).Draw(rt, "parts")
		stage, err := os.MkdirTemp(dir, "*")
		if err != nil {
			rt.Fatal(err)
		}
		var pieces []Piece
		for i, data := range parts {
			members := []member{{name: "pkg/__init__.py", data: []byte("import os")}, {name: "pkg/data/part", data: data}}
			name, bytes := "a.whl", whlBytes(members...)
			if i%2 == 1 {
				name, bytes = "a.tgz", tgzBytes(members...)
			}
			pieces = append(pieces, Piece{writeFile(t, filepath.Join(stage, string(rune('0'+i)), name), bytes), "pkg/data/part"})
		}
		whole := slices.Concat(parts...)
		out := filepath.Join(stage, "whole.gguf")
		got, err := Join(ctx, pieces, out, int64(len(whole)), nil)
		if err != nil {
			rt.Fatal(err)
		}
		sum := sha256.Sum256(whole)
		if want := (File{out, int64(len(whole)), hex.EncodeToString(sum[:])}); got != want {
			rt.Fatalf("joined %+v, want %+v", got, want)
		}
		if data, err := os.ReadFile(out); err != nil || !slices.Equal(data, whole) {
			rt.Fatalf("the file holds %d bytes, want %d, %v", len(data), len(whole), err)
		}
	})
}

func TestJoinRefuses(t *testing.T) {
	good := whlBytes(member{name: "p/part", data: []byte("first")})
	for _, c := range []struct {
		name   string
		second []byte
		file   string
		limit  int64
		says   string
	}{
		{"no such member", whlBytes(member{name: "p/other", data: []byte("x")}), "b.whl", 100, "there is no such member"},
		{"member twice", whlBytes(member{name: "p/part", data: []byte("x")}, member{name: "p/part", data: []byte("y")}), "b.whl", 100, "it is there twice"},
		{"member is a link", whlBytes(member{name: "p/part", link: "/etc/passwd"}), "b.whl", 100, "not a regular file"},
		{"another member climbs", whlBytes(member{name: "p/part"}, member{name: "../x"}), "b.whl", 100, "leaves the folder"},
		{"larger in all", whlBytes(member{name: "p/part", data: []byte("second")}), "b.whl", 10, "larger than the expected 10 bytes"},
		{"cut", good[:len(good)-30], "b.whl", 100, "not a whole zip file"},
		{"damaged", flip(good, "p/part"), "b.whl", 100, "damaged"},
		{"another kind", good, "b.rar", 100, "want a .tgz or .whl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			pieces := []Piece{{writeFile(t, filepath.Join(dir, "a.whl"), good), "p/part"}, {writeFile(t, filepath.Join(dir, c.file), c.second), "p/part"}}
			_, err := Join(ctx, pieces, filepath.Join(dir, "out"), c.limit, nil)
			e := as[*ArchiveError](t, err)
			if e.Path != pieces[1].Archive || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want %q and %s in it", err, c.says, pieces[1].Archive)
			}
			if info, err := os.Stat(filepath.Join(dir, "out")); err == nil && info.Size() > c.limit {
				t.Errorf("%d bytes were written, more than %d", info.Size(), c.limit)
			}
		})
	}
	dir := t.TempDir()
	pieces := []Piece{{writeFile(t, filepath.Join(dir, "a.whl"), good), "p/part"}}
	if _, err := Join(ctx, pieces, writeFile(t, filepath.Join(dir, "out"), nil), 100, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if _, err := Join(ctx, []Piece{{filepath.Join(dir, "none.whl"), "p/part"}}, filepath.Join(dir, "out2"), 100, nil); err == nil {
		t.Error("an archive that is not there was joined")
	}
	cancelled, cancel := context.WithCancelCause(ctx)
	why := errors.New("why")
	cancel(why)
	if _, err := Join(cancelled, pieces, filepath.Join(dir, "out3"), 100, nil); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}

// flip changes one byte in the data of the first member of a wheel, which
// follow its header of 30 bytes and its name.
func flip(wheel []byte, name string) []byte {
	bad := slices.Clone(wheel)
	bad[30+len(name)+1] ^= 0x10
	return bad
}

// One line of progress over all archives, of the joined file's name.
func TestJoinProgress(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 3<<20)
	var pieces []Piece
	for _, name := range []string{"a.whl", "b.whl"} {
		pieces = append(pieces, Piece{writeFile(t, filepath.Join(dir, name), whlBytes(member{name: "p", data: data})), "p"})
	}
	var seen []Progress
	if _, err := Join(ctx, pieces, filepath.Join(dir, "out"), 6<<20, func(p Progress) { seen = append(seen, p) }); err != nil {
		t.Fatal(err)
	}
	wantOneTotal(t, seen, "unpack", "out", 6<<20)
}

// wantOneTotal checks that progress is that of one step that never goes back
// and ends complete.
func wantOneTotal(t *testing.T, seen []Progress, step, name string, total int64) {
	t.Helper()
	var last int64
	for _, p := range seen {
		if p.Step != step || p.Name != name || p.Total != total || p.Done < last || p.Done > total {
			t.Errorf("progress %+v after %d, want step %s of %s, total %d", p, last, step, name, total)
		}
		last = p.Done
	}
	if last != total || len(seen) < 3 {
		t.Errorf("%d reports, the last at %d of %d", len(seen), last, total)
	}
}
