package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPruneTakesTheLongestUnused(t *testing.T) {
	dir := t.TempDir()
	at := time.Now()
	for i, name := range []string{"old", "open", "older", "mine", "new"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name, "1.kv")
		if err := os.WriteFile(file, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		used := at.Add(-time.Duration([]int{3, 9, 5, 20, 1}[i]) * time.Hour)
		if err := os.Chtimes(file, used, used); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := lockDir(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.Chtimes(filepath.Join(dir, "open", "lock"), at.Add(-9*time.Hour), at.Add(-9*time.Hour)); err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	for _, step := range []struct {
		budget int64
		want   []string
	}{
		{450, []string{"mine", "new", "old", "older", "open"}}, // the lock has a few bytes too
		{399, []string{"mine", "new", "old", "open"}},          // open is the longest unused, and stays
		{0, []string{"mine", "open"}},
	} {
		if err := Prune(dir, "mine", step.budget); err != nil {
			t.Fatal(err)
		}
		if got := left(); !slices.Equal(got, step.want) {
			t.Errorf("budget %d leaves %v, want %v", step.budget, got, step.want)
		}
	}
	if err := Prune(filepath.Join(dir, "none"), "", 0); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}
