package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, home string, opt Options) *Memory {
	t.Helper()
	m, err := Open(home, opt)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func keep(t *testing.T, m *Memory, id, record string) {
	t.Helper()
	if err := m.Keep(id, []byte(record)); err != nil {
		t.Fatal(err)
	}
}

func holds(m *Memory, id string) string {
	record, err := m.Recall(id)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return string(record)
}

func TestRecordsOutliveTheirProcess(t *testing.T) {
	home := t.TempDir()
	m := open(t, home, Options{})
	keep(t, m, "resp_A", "one")
	keep(t, m, "resp_A", "two")
	m = open(t, home, Options{})
	if got := holds(m, "resp_A"); got != "two" {
		t.Errorf("got %q", got)
	}
	info, err := os.Stat(filepath.Join(home, "responses-1", "resp_A.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := m.Forget("resp_A"); err != nil {
		t.Error(err)
	}
	if err := m.Forget("resp_A"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if got := holds(m, "resp_A"); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestIdsAreNoPaths(t *testing.T) {
	m := open(t, t.TempDir(), Options{})
	for _, id := range []string{"", "../x", "a/b", "a.b", strings.Repeat("a", 129), "a\x00"} {
		if err := m.Keep(id, []byte("x")); err == nil {
			t.Errorf("%q was kept", id)
		}
		if _, err := m.Recall(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", id, err)
		}
		if err := m.Forget(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// The longest unused record goes first, and what is used stays.
func TestBytesAreBounded(t *testing.T) {
	home := t.TempDir()
	m := open(t, home, Options{MaxBytes: 1000})
	for i := range 9 {
		id := fmt.Sprint("r", i)
		keep(t, m, id, strings.Repeat("x", 100))
		past := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(filepath.Join(m.dir, id+suffix), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if holds(m, "r0") == "" {
		t.Fatal("too early")
	}
	keep(t, m, "new", strings.Repeat("y", 300))
	for id, want := range map[string]bool{"r0": true, "new": true, "r1": false, "r2": false, "r3": false, "r8": true} {
		if got := holds(m, id) != ""; got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
	if err := m.Keep("huge", make([]byte, 1001)); err == nil {
		t.Error("more than all of it was kept")
	}
}

func TestAgeIsBounded(t *testing.T) {
	home := t.TempDir()
	m := open(t, home, Options{})
	keep(t, m, "old", "x")
	keep(t, m, "new", "x")
	for name, age := range map[string]time.Duration{"old.json": DefaultAge + time.Hour, "a.json-1.part": 2 * abandoned, "b.json-1.part": 0, "other": DefaultAge * 2} {
		file := filepath.Join(m.dir, name)
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		past := time.Now().Add(-age)
		if err := os.Chtimes(file, past, past); err != nil {
			t.Fatal(err)
		}
	}
	open(t, home, Options{})
	var left []string
	entries, err := os.ReadDir(m.dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := fmt.Sprint(left); err != nil || got != "[b.json-1.part new.json other]" {
		t.Errorf("%s %v", got, err)
	}
}

func TestFailuresAreTold(t *testing.T) {
	home := t.TempDir()
	m := open(t, home, Options{})
	if err := os.RemoveAll(m.dir); err != nil {
		t.Fatal(err)
	}
	if err := m.Keep("a", []byte("x")); err == nil {
		t.Error("kept in a directory that is gone")
	}
	if _, err := Open(filepath.Join(home, "file\x00"), Options{}); err == nil {
		t.Error("opened")
	}
}

func TestManyAtOnce(t *testing.T) {
	home := t.TempDir()
	both := []*Memory{open(t, home, Options{MaxBytes: 5000}), open(t, home, Options{MaxBytes: 5000})}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 25 {
				m, id := both[(i+k)%2], fmt.Sprintf("r%d_%d", i, k)
				if err := m.Keep(id, []byte(strings.Repeat("x", 100))); err != nil {
					t.Error(err)
				}
				if got := holds(m, id); got != "" && len(got) != 100 {
					t.Errorf("half a record: %q", got)
				}
			}
		})
	}
	wg.Wait()
}
