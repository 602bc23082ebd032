package vcs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dure/runtime/vcs/disk"
	"dure/runtime/vcs/object"
)

// sick is a disk that fails when it is told to.
type sick struct {
	disk.OS
	full, noFlush atomic.Bool
}

type sickFile struct {
	disk.File
	d *sick
}

func (d *sick) Create(path string) (disk.File, error) {
	f, err := d.OS.Create(path)
	if err != nil {
		return nil, err
	}
	return &sickFile{f, d}, nil
}

func (f *sickFile) Write(p []byte) (int, error) {
	if f.d.full.Load() {
		n, err := f.File.Write(p[:len(p)/2])
		return n, errors.Join(syscall.ENOSPC, err)
	}
	return f.File.Write(p)
}

func (f *sickFile) Sync() error {
	if f.d.noFlush.Load() {
		return syscall.EIO
	}
	return f.File.Sync()
}

// A full disk refuses commits, loses nothing, and the store goes on when there is
// room. A disk that cannot flush stops it, until it is opened again.
func TestSickDisk(t *testing.T) {
	d := new(sick)
	dir := filepath.Join(t.TempDir(), "r.git")
	r, err := Init(t.Context(), dir, mainRef, Options{Disk: d, SealEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	base := seed(t, r, map[string]string{"f": "0\n"})
	a := agent(t, "a")
	at := object.Zero
	commit := func(n int) error {
		q := CommitRequest{Old: at, Message: "m", Changes: []Change{put("f", fmt.Sprint(n))}}
		if at.IsZero() {
			q.Base = base
		}
		c, err := r.CommitChanges(t.Context(), a, q)
		if err == nil {
			at = c.Commit
		}
		return err
	}
	for n := range 20 {
		d.full.Store(n%3 == 1)
		if err := commit(n); (n%3 == 1) != errors.Is(err, ErrFull) || n%3 != 1 && err != nil {
			t.Fatalf("commit %d: %v", n, err)
		}
		if n%3 == 1 {
			if err := r.Publish(t.Context()); err == nil {
				t.Fatal("published on a full disk")
			}
		}
	}
	d.full.Store(false)
	if err := r.Publish(t.Context()); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	fsck(t, dir)
	if err := commit(100); err != nil {
		t.Fatal(err)
	}
	d.noFlush.Store(true)
	for n := range 2 {
		if err := commit(200 + n); !errors.Is(err, ErrBroken) {
			t.Fatalf("without a flush: %v", err)
		}
		d.noFlush.Store(false) // it says that all is well again, and is not believed
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = Open(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	holds(t, r, ack{a.Branch(), at, 0, 0})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	fsck(t, dir)
}

// logOf is the bytes of a log with batches that were acknowledged.
func logOf(t testing.TB, batches int) (data []byte, ends []int) {
	data = appendLogHead(nil, 7, mark{1, 2, 3})
	for n := range batches {
		text := bytes.Repeat([]byte{byte(n)}, 30*n)
		o := stored{object.Hash(object.TypeBlob, text), object.TypeBlob, text}
		data, _ = appendRecord(data, mark{1, 2, 3}, uint64(n+5), []Move{{Ref: fmt.Sprintf("refs/x/%d", n), New: o.id}}, []stored{o})
		ends = append(ends, len(data))
	}
	return data, ends
}

// A log that is cut off anywhere has the batches that are whole; one that has lost
// bytes before its end is refused.
func TestTornLogs(t *testing.T) {
	data, ends := logOf(t, 6)
	for n := range len(data) + 1 {
		for _, tail := range []string{"", "\x00\x00\x00\x00", strings.Repeat("\xff", 40)} {
			torn := append(bytes.Clone(data[:n]), tail...)
			whole := 0 // the tail may happen to be what was cut off
			for whole < len(ends) && bytes.HasPrefix(torn, data[:ends[whole]]) {
				whole++
			}
			got, err := readLog(torn, 7)
			if n >= logHead && (err != nil || len(got) != whole) {
				t.Fatalf("cut at %d: %d batches, want %d: %v", n, len(got), whole, err)
			}
			if n < logHead && len(got) != 0 {
				t.Fatalf("cut at %d: %d batches", n, len(got))
			}
		}
	}
	for n := logHead; n < ends[4]; n++ {
		bad := bytes.Clone(data)
		bad[n] ^= 0x10
		if got, err := readLog(bad, 7); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d changed: %d batches, %v", n, len(got), err)
		}
	}
	later := bytes.Clone(data)
	later[7] = '2'
	if _, err := readLog(later, 7); !errors.Is(err, ErrNewer) {
		t.Errorf("of a later version: %v", err)
	}
	if _, err := readLog(data, 8); !errors.Is(err, ErrDamaged) {
		t.Errorf("another log's content: %v", err)
	}
}

func FuzzLog(f *testing.F) {
	data, _ := logOf(f, 3)
	f.Add(data)
	f.Add(data[:50])
	f.Fuzz(func(t *testing.T, b []byte) {
		batches, err := readLog(b, 7)
		if err != nil {
			return
		}
		for _, r := range batches {
			for _, o := range r.objects {
				if o.offset < logHead || o.offset+int64(o.n) > int64(len(b)) {
					t.Fatalf("an object at %d of %d in %d bytes", o.offset, o.n, len(b))
				}
			}
		}
	})
}

// Bytes that changed on the disk are noticed, not handed out.
func TestDamagedPack(t *testing.T) {
	r := newRepo(t, Options{})
	seed(t, r, map[string]string{"f": strings.Repeat("some text ", 300)})
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("%v %v", packs, err)
	}
	blob := object.Hash(object.TypeBlob, []byte(strings.Repeat("some text ", 300)))
	whole, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	at, _ := r.view.Load().find(blob)
	for i := range 20 {
		bad := bytes.Clone(whole)
		bad[int(at.offset)+4+i] ^= 0x40
		if err := os.WriteFile(packs[0], bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Blob(t.Context(), blob); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	if err := os.WriteFile(packs[0], whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Merging keeps packs few: a thousand seals leave less than a tier's fan in each tier.
func TestPacksStayFew(t *testing.T) {
	var sizes []int64
	for n := range 3000 {
		sizes = append(sizes, int64(1<<20+n%(6<<20)))
		for {
			chosen := chooseMerge(sizes)
			if chosen == nil {
				break
			}
			var sum int64
			drop := map[int]bool{}
			for _, i := range chosen {
				sum += sizes[i]
				drop[i] = true
			}
			if len(chosen) < 2 || sum > maxMerged {
				t.Fatalf("%d packs of %d bytes", len(chosen), sum)
			}
			left := []int64{sum}
			for i, s := range sizes {
				if !drop[i] {
					left = append(left, s)
				}
			}
			sizes = left
		}
		large := 0
		for _, s := range sizes {
			if s >= maxMerged/2 {
				large++
			}
		}
		if len(sizes)-large > 4*fan {
			t.Fatalf("after %d seals there are %d packs", n, len(sizes))
		}
	}
}

func TestMergedPacks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r.git")
	r, err := Init(t.Context(), dir, mainRef, Options{})
	if err != nil {
		t.Fatal(err)
	}
	base := seed(t, r, map[string]string{"f": "0\n"})
	at := object.Zero
	for n := range 3 * fan {
		q := CommitRequest{Old: at, Message: "m", Changes: []Change{put("f", fmt.Sprint(n))}}
		if n == 0 {
			q.Base = base
		}
		c, err := r.CommitChanges(t.Context(), agent(t, "a"), q)
		if err != nil {
			t.Fatal(err)
		}
		at = c.Commit
		if err := r.Publish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s := r.Stats()
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || s.Merges == 0 || len(packs) != s.Packs || s.Packs >= 2*fan {
		t.Errorf("%+v, %d packs in the folder: %v", s, len(packs), err)
	}
	fsck(t, dir)
	if got := runGit(t, dir, "rev-list", "--count", "agent/a"); got != fmt.Sprint(3*fan+1) {
		t.Errorf("%s commits", got)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache(1 << 16)
	for i := range 5000 {
		id := object.Hash(object.TypeTree, fmt.Append(nil, i))
		c.put(id, object.TypeTree, make([]byte, 100))
		if _, data, ok := c.get(id); !ok || len(data) != 100 {
			t.Fatal("what was put last is not there")
		}
	}
	total := 0
	for i := range c.shards {
		for _, m := range []map[object.ID]cached{c.shards[i].young, c.shards[i].old} {
			total += len(m) * (100 + perEntry)
		}
	}
	if total > 1<<16 {
		t.Errorf("the cache holds %d bytes", total)
	}
}
