package sqlite

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/event"
	"dure/runtime/event/eventtest"
)

// alter runs statements on the file of a closed log.
func alter(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec(sql), c.Close()); err != nil {
		t.Fatal(err)
	}
}

func filled(t *testing.T, n int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "events.db")
	log, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := log.Append(t.Context(), "s", event.Any, eventtest.Number(1, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns how many events a log gives before it ends, and how it ends.
func read(t *testing.T, path string) (n int, err error) {
	t.Helper()
	log, err := OpenReader(t.Context(), Config{Path: path})
	if err != nil {
		return 0, err
	}
	defer log.Close()
	for _, err := range log.ReadAll(t.Context(), 0) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Whatever is changed in a row is noticed, whoever reads it, and the error names the event.
func TestChangedRows(t *testing.T) {
	for what, sql := range map[string]string{
		"a bit of the payload": `update events set payload = cast(replace(cast(payload as text), '"n":4', '"n":5') as blob) where position = 5`,
		"type":                 "update events set type = 'test.lumber' where position = 5",
		"version":              "update events set version = 2 where position = 5",
		"time":                 "update events set time = time + 1 where position = 5",
		"id":                   "update events set id = zeroblob(16) where position = 5",
		"checksum":             "update events set sum = sum + 1 where position = 5",
		"payloads swapped":     "update events set payload = (select payload from events where position = 6) where position = 5",
	} {
		path := filled(t, 9)
		alter(t, path, sql)
		n, err := read(t, path)
		if n != 4 || !errors.Is(err, event.ErrDamaged) || !strings.Contains(err.Error(), "position 5") {
			t.Errorf("%s: %d events, then %v", what, n, err)
		}
		log := openAt(t, path)
		for _, err := range log.Read(t.Context(), "s", 5) {
			if !errors.Is(err, event.ErrDamaged) {
				t.Errorf("%s: by its stream: %v", what, err)
			}
		}
	}
}

// A bit that turns over anywhere in the file is noticed, or changes nothing that is read.
func TestFlippedBits(t *testing.T) {
	path := filled(t, 40)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random, noticed := rand.New(rand.NewPCG(7, 7)), 0
	for range 80 {
		bent := bytes.Clone(whole)
		bent[random.IntN(len(bent))] ^= 1 << random.IntN(8)
		file := filepath.Join(t.TempDir(), "events.db")
		if err := os.WriteFile(file, bent, 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := read(t, file)
		if err != nil {
			noticed++
		}
		if err == nil && n != 40 {
			t.Errorf("%d of 40 events, and no error", n)
		}
	}
	if noticed < 8 {
		t.Errorf("only %d of 80 were noticed: the test bends nothing", noticed)
	}
}

// A log from before there were checksums is read as it is, and written on with them.
func TestLogWithoutSums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	alter(t, path, "pragma journal_mode = wal;"+migrations[0]+`;
		insert into events values (1, 's', 1, zeroblob(16), 'test.number', 1, 5, cast('{"writer":1,"n":0}' as blob));
		pragma application_id = 0x64726576; pragma user_version = 1`)
	before := contents(t, path)
	if n, err := read(t, path); n != 1 || err != nil {
		t.Errorf("read: %d events, %v", n, err)
	}
	if !bytes.Equal(contents(t, path), before) {
		t.Error("who reads a log of yesterday changes it")
	}
	log, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), "s", 1, eventtest.Number(1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	alter(t, path, "update events set payload = cast('7' as blob) where position = 1")
	if n, err := read(t, path); n != 2 || err != nil {
		t.Errorf("an event without a checksum: %d events, %v", n, err)
	}
	alter(t, path, "update events set payload = cast('7' as blob) where position = 2")
	if n, err := read(t, path); n != 1 || !errors.Is(err, event.ErrDamaged) {
		t.Errorf("one with it: %d events, %v", n, err)
	}
}

// A reader follows what another log appends, and changes nothing.
func TestReader(t *testing.T) {
	path := filled(t, 3)
	writer := openAt(t, path)
	log, err := OpenReader(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), "s", event.Any, eventtest.Number(2, 0)); !errors.Is(err, event.ErrReadOnly) {
		t.Errorf("append: %v", err)
	}
	next := make(chan event.Event)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer close(next)
		for e, err := range log.FollowAll(ctx, 1) {
			if err != nil {
				return
			}
			select {
			case next <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	for i := range 6 {
		if i >= 3 {
			if _, err := writer.Append(t.Context(), "s", event.Any, eventtest.Number(1, i)); err != nil {
				t.Fatal(err)
			}
		}
		if e, ok := <-next; !ok || e.Position != event.Position(i+1) {
			t.Fatalf("want position %d, got %+v", i+1, e)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	missing := filepath.Join(t.TempDir(), "none.db")
	if _, err := OpenReader(t.Context(), Config{Path: missing}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log that is not there: %v", err)
	}
	if err := os.WriteFile(missing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.Context(), Config{Path: missing}); !errors.Is(err, event.ErrForeign) {
		t.Errorf("an empty file: %v", err)
	}
}
