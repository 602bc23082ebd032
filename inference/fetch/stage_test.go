package fetch

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestPublishReplaces(t *testing.T) {
	home := t.TempDir()
	f := &Fetcher{Home: home}
	for _, want := range []string{"first", "second"} {
		stage, err := f.Stage("thing")
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(stage.Dir, "lib", "f"), []byte(want))
		if err := stage.Publish(".", filepath.Join(home, "things", "a")); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(home, "things", "a", "lib", "f"))
		if err != nil || string(got) != want {
			t.Errorf("published %q, %v; want %q", got, err, want)
		}
		if err := stage.Discard(); err != nil {
			t.Error(err)
		}
		if left := leftovers(t, home, "tmp"); len(left) > 0 {
			t.Errorf("left in tmp: %v", left)
		}
		info, err := os.Stat(filepath.Join(home, "things", "a"))
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("mode is %v, %v", info.Mode(), err)
		}
	}
}

// A stage removes what was left under its own name and nothing else.
func TestStageRemovesItsOwnLeftovers(t *testing.T) {
	f := &Fetcher{Home: t.TempDir()}
	for _, name := range []string{"a", "a-b", "a.b"} {
		if _, err := f.Stage(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Stage("a"); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, f.Home, "tmp"); len(left) != 3 {
		t.Errorf("tmp holds %v, want one of each name", left)
	}
}

func TestNamesAreChecked(t *testing.T) {
	f := &Fetcher{Home: t.TempDir()}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "a~b", "-a", "*"} {
		if _, err := f.Stage(name); err == nil {
			t.Errorf("Stage(%q) worked", name)
		}
		if _, err := f.Lock(ctx, name); err == nil {
			t.Errorf("Lock(%q) worked", name)
		}
	}
}

func TestLockWaitsAndCancels(t *testing.T) {
	var log logs
	f := &Fetcher{Home: t.TempDir(), Log: log.logger()}
	unlock, err := f.Lock(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	other, err := f.Lock(ctx, "y") // another name does not wait
	if err != nil {
		t.Fatal(err)
	}
	other()
	waiting, cancel := context.WithCancel(ctx)
	failed := make(chan error)
	go func() {
		_, err := f.Lock(waiting, "x")
		failed <- err
	}()
	cancel()
	if err := <-failed; err == nil {
		t.Error("got a lock that is held")
	}
	got := make(chan error)
	go func() {
		second, err := f.Lock(ctx, "x")
		if err == nil {
			second()
		}
		got <- err
	}()
	unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if !log.contains("waiting for another process") {
		t.Error("the wait was not told")
	}
}
