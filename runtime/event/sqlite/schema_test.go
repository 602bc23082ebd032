package sqlite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/event"
	"dure/runtime/event/eventtest"
)

func openSteps(path string, steps ...string) (event.Log, error) {
	register()
	return open(context.Background(), Config{Path: path}, ground{vfs: system, steps: steps, foldPages: foldPages})
}

// A log of yesterday is brought to today's schema with its events; one of tomorrow
// is refused, and stays as it is.
func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	first := openAt(t, path)
	if _, err := first.Append(context.Background(), "s", 0, eventtest.Number(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	later, err := openSteps(path, append(slices.Clone(migrations), "create table more (a integer)", "insert into more values (7)")...)
	if err != nil {
		t.Fatal(err)
	}
	wholeLog(t, later, 1)
	if err := later.Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, path)
	_, err = Open(context.Background(), Config{Path: path})
	var newer *event.NewerError
	if !errors.As(err, &newer) || newer.Found != 4 || newer.Known != 2 || !errors.Is(err, event.ErrNewer) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(contents(t, path), before) {
		t.Error("a later log was changed")
	}
	// A step that fails leaves the version before it.
	if _, err := openSteps(path, "", "", "", "", "create table more (a integer)"); err == nil {
		t.Error("a table was made twice")
	}
	again, err := openSteps(path, "", "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What is not a log is refused and not touched.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	c, err := sqlite3.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec("create table events (a); insert into events values (1)"), c.Close()); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, text} {
		before := contents(t, path)
		if _, err := Open(context.Background(), Config{Path: path}); !errors.Is(err, event.ErrForeign) {
			t.Errorf("%s: got %v", path, err)
		}
		if !bytes.Equal(contents(t, path), before) {
			t.Errorf("%s was changed", path)
		}
	}
	if _, err := Open(context.Background(), Config{Path: dir}); err == nil {
		t.Error("a folder was opened")
	}
}

// Odd paths are paths, and everything belongs to the owner alone.
func TestPaths(t *testing.T) {
	for _, name := range []string{"a b", "a%20b", "a?mode=memory", "a#b", "a'b\"", "ä/두레", ":memory:", "file:x", "-"} {
		path := filepath.Join(t.TempDir(), "new", name, "e?v#%41.db")
		log := openAt(t, path)
		if _, err := log.Append(context.Background(), "s", 0, eventtest.Number(0, 0)); err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"", "-wal"} {
			info, err := os.Stat(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s%s has mode %v", name, suffix, info.Mode())
			}
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder of %s: %v, %v", name, info.Mode(), err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		wholeLog(t, openAt(t, path), 1)
	}
}

// Many open a new log at once: one makes it, all have it.
func TestOpenedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			log, err := Open(context.Background(), Config{Path: path})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := log.Append(context.Background(), "s", event.Any, eventtest.Number(w, 0)); err != nil {
				t.Error(err)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wholeLog(t, openAt(t, path), 6)
}

// A reader that stands still does not keep the write-ahead file from being folded.
func TestSlowReaderHoldsNoSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	register()
	log, err := open(context.Background(), Config{Path: path}, ground{vfs: system, steps: migrations, foldPages: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	payload := event.Event{Type: "test.big", Version: 1, Payload: []byte(`"` + strings.Repeat("x", 10_000) + `"`)}
	add := func() {
		if _, err := log.Append(context.Background(), "s", event.Any, payload); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		add()
	}
	read := 0
	for _, err := range log.ReadAll(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 2 {
			for range 500 { // 5 MB, in the middle of the reading
				add()
			}
		}
	}
	if read != 10 {
		t.Errorf("%d events read, want those at the time of the call", read)
	}
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 1<<20 {
		t.Errorf("the write-ahead file has %d bytes", info.Size())
	}
}

// A log that lost events from its middle says so instead of passing over them.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	log := openAt(t, path)
	for n := range 10 {
		if _, err := log.Append(context.Background(), "s", event.Any, eventtest.Number(0, n)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec("delete from events where position = 5"), c.Close()); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, err = range log.ReadAll(context.Background(), 0) {
		if err != nil {
			break
		}
		read++
	}
	if !errors.Is(err, event.ErrDamaged) || read != 4 {
		t.Errorf("after %d events: %v", read, err)
	}
	for _, err = range log.Read(context.Background(), "s", 5) {
	}
	if !errors.Is(err, event.ErrDamaged) {
		t.Errorf("the stream: %v", err)
	}
}

func FuzzAppend(f *testing.F) {
	eventtest.Seed(f)
	log := openAt(f, filepath.Join(f.TempDir(), "events.db"))
	f.Fuzz(func(t *testing.T, stream, typ string, version int, payload []byte) {
		eventtest.FuzzAppend(t, log, stream, typ, version, payload)
	})
}

func BenchmarkAppend(b *testing.B) { eventtest.Benchmark(b, place) }
