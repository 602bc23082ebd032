package pack

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"dure/runtime/vcs/object"
)

func build(t testing.TB, contents [][]byte) (data, index []byte, places []Place) {
	t.Helper()
	var out bytes.Buffer
	b, err := NewBuilder(&out, len(contents))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range contents {
		if err := b.Add(object.Hash(object.TypeBlob, c), AppendEntry(nil, object.TypeBlob, c)); err != nil {
			t.Fatal(err)
		}
	}
	index, _, err = b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), index, b.places
}

// Git makes the same index of the pack, byte by byte.
func TestIndexIsGits(t *testing.T) {
	var contents [][]byte
	for i := range 3000 {
		contents = append(contents, bytes.Repeat(fmt.Appendf(nil, "%d ", i), i%200))
		if i == 0 {
			contents[0] = []byte("first")
		}
	}
	seen := map[object.ID]bool{}
	var unique [][]byte
	for _, c := range contents {
		if id := object.Hash(object.TypeBlob, c); !seen[id] {
			seen[id] = true
			unique = append(unique, c)
		}
	}
	data, index, _ := build(t, unique)
	path := filepath.Join(t.TempDir(), "p.pack")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "index-pack", "--object-format=sha1", path).CombinedOutput(); err != nil {
		t.Fatalf("git index-pack: %v %s", err, out)
	}
	want, err := os.ReadFile(path[:len(path)-4] + "idx")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(index, want) {
		t.Fatalf("the index has %d bytes, git's %d, and they differ", len(index), len(want))
	}
	x, err := ParseIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range unique {
		offset, ok := x.Find(object.Hash(object.TypeBlob, c))
		if !ok {
			t.Fatal("an object is not found")
		}
		h, err := ReadHeader(bytes.NewReader(data), int64(offset))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadBody(bytes.NewReader(data), int64(offset), h, 1<<20)
		if err != nil || !bytes.Equal(got, c) {
			t.Fatalf("%q, want %q: %v", got, c, err)
		}
		var large *TooLargeError
		if _, err := ReadBody(bytes.NewReader(data), int64(offset), h, h.Size-1); h.Size > 0 && !errors.As(err, &large) {
			t.Fatalf("beyond the limit: %v", err)
		}
	}
	if _, ok := x.Find(object.ID{1, 2, 3}); ok {
		t.Error("found what is not there")
	}
}

// Offsets beyond 2 GiB have a table of their own.
func TestLargeOffsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offsets := rapid.SliceOfN(rapid.Uint64Range(0, 1<<40), 0, 60).Draw(t, "offsets")
		var places []Place
		want := map[object.ID]uint64{}
		for i, o := range offsets {
			id := object.Hash(object.TypeBlob, fmt.Append(nil, i))
			places = append(places, Place{ID: id, Offset: o, CRC: uint32(i)})
			want[id] = o
		}
		x, err := ParseIndex(FormatIndex(places, [sha1.Size]byte{1}))
		if err != nil {
			t.Fatal(err)
		}
		back, err := x.Places()
		if err != nil || len(back) != len(want) {
			t.Fatalf("%d places of %d: %v", len(back), len(want), err)
		}
		for _, p := range back {
			if got, ok := x.Find(p.ID); !ok || got != want[p.ID] || p.Offset != got {
				t.Fatalf("%v at %d, want %d", p.ID, got, want[p.ID])
			}
		}
	})
}

func TestEntriesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		typ := object.Type(rapid.IntRange(1, 4).Draw(t, "type"))
		entry := AppendEntry([]byte("before"), typ, data)[6:]
		h, err := ParseHeader(entry)
		if err != nil || h.Type != typ || h.Size != uint64(len(data)) {
			t.Fatalf("%+v %v", h, err)
		}
		got, err := ReadBody(bytes.NewReader(entry), 0, h, 1<<20)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%q %v", got, err)
		}
		// A stream that is cut off, or longer than its header says, is refused.
		cut := rapid.IntRange(h.Len, len(entry)-1).Draw(t, "cut")
		if _, err := ReadBody(bytes.NewReader(entry[:cut]), 0, h, 1<<20); !errors.Is(err, ErrFormat) {
			t.Fatalf("cut at %d of %d: %v", cut, len(entry), err)
		}
		if h.Size > 0 {
			h.Size--
			if _, err := ReadBody(bytes.NewReader(entry), 0, h, 1<<20); !errors.Is(err, ErrFormat) {
				t.Fatalf("a longer stream: %v", err)
			}
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("hello world"), []byte{11, 5, 0x90, 5})
	f.Add([]byte("hello world"), []byte{11, 3, 3, 'a', 'b', 'c'})
	f.Add([]byte("x"), binary.AppendUvarint([]byte{1}, 1<<40))
	f.Add([]byte("x"), []byte{1, 1, 0})
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		out, err := ApplyDelta(base, delta, 1<<16)
		size, sizeErr := DeltaSize(delta)
		if err == nil && (sizeErr != nil || size != uint64(len(out)) || size > 1<<16) {
			t.Fatalf("%d bytes, said %d: %v", len(out), size, sizeErr)
		}
	})
}

func FuzzParse(f *testing.F) {
	data, index, _ := build(f, [][]byte{[]byte("one"), []byte("two")})
	f.Add(data[HeadLen:])
	f.Add(index)
	f.Add([]byte{0xe1, 0x80, 0x80, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := ParseHeader(b); err == nil {
			if h.Len > len(b) {
				t.Fatalf("a header of %d in %d bytes", h.Len, len(b))
			}
			if data, err := ReadBody(bytes.NewReader(b), 0, h, 1<<16); err == nil && uint64(len(data)) != h.Size {
				t.Fatalf("%d bytes of %d", len(data), h.Size)
			}
		}
		if x, err := ParseIndex(b); err == nil {
			if places, err := x.Places(); err == nil && len(places) != x.Len() {
				t.Fatal("places are missing")
			}
			x.Find(object.ID{})
			x.Find(object.ID{0xff, 0xff})
		}
	})
}
