package fetch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parts are artifacts that a fake npm serves out of a folder; calls is the file
// where it notes each call.
func parts(t *testing.T, contents ...string) (all []Artifact, served, calls string) {
	t.Helper()
	served = t.TempDir()
	calls = filepath.Join(served, "calls")
	for i, text := range contents {
		n := i + 1
		writeFile(t, filepath.Join(served, fmt.Sprintf("demo-p%d-1.0.0.tgz", n)), []byte(text))
		all = append(all, Artifact{Client: NPM, Package: fmt.Sprintf("@demo/p%d", n), Version: "1.0.0",
			File: fmt.Sprintf("demo-p%d-1.0.0.tgz", n), Bytes: int64(len(text)), Hash: sha512Of([]byte(text))})
	}
	tools(t, map[string]string{"npm": `n=${2#@demo/p}; n=${n%@1.0.0}
echo $n >> '` + calls + `'
cp '` + served + `'/demo-p$n-1.0.0.tgz "$4/"`})
	return all, served, calls
}

func called(t *testing.T, calls string) string {
	t.Helper()
	data, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(data)), " ")
}

func TestFetchAll(t *testing.T) {
	all, _, calls := parts(t, "one", "two!", "three")
	var seen []Progress
	f := &Fetcher{Home: t.TempDir(), Progress: func(p Progress) { seen = append(seen, p) }}
	if got := f.Room(all...); got != 3+4+5+5 {
		t.Errorf("room is %d", got)
	}
	paths, err := f.FetchAll(ctx, "whole", all)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"one", "two!", "three"} {
		if got, _ := os.ReadFile(paths[i]); string(got) != want {
			t.Errorf("%s holds %q, want %q", paths[i], got, want)
		}
	}
	wantOneTotal(t, seen, "fetch", "whole", 12)
	if got := called(t, calls); got != "1 2 3" || f.Room(all...) != 0 {
		t.Errorf("npm was called for %s; room is %d", got, f.Room(all...))
	}
	seen = nil // what lies there is verified, and counts
	if _, err := f.FetchAll(ctx, "whole", all); err != nil || called(t, calls) != "1 2 3" {
		t.Errorf("again: %v, npm was called for %s", err, called(t, calls))
	}
	wantOneTotal(t, seen, "fetch", "whole", 12)
}

// A part that is not the pinned one ends the whole; the parts before it stay,
// the next attempt asks only for what is missing.
func TestFetchAllGoesOn(t *testing.T) {
	all, served, calls := parts(t, "one", "two", "three")
	two := filepath.Join(served, all[1].File)
	writeFile(t, two, []byte("tWo"))
	home := t.TempDir()
	f := &Fetcher{Home: home}
	paths, err := f.FetchAll(ctx, "whole", all)
	if e := as[*HashError](t, err); e.Want != all[1].Hash.String() || paths != nil || !strings.Contains(err.Error(), "@demo/p2@1.0.0") {
		t.Errorf("FetchAll = %v, %v", paths, err)
	}
	if left := leftovers(t, home, "tmp"); len(left) > 0 {
		t.Errorf("left in tmp: %v", left)
	}
	if got := leftovers(t, home, "downloads"); !slices.Equal(got, []string{all[0].File}) || f.Room(all...) != 3+5+5 {
		t.Errorf("downloads holds %v, room is %d", got, f.Room(all...))
	}
	writeFile(t, two, []byte("two"))
	if _, err := f.FetchAll(ctx, "whole", all); err != nil || called(t, calls) != "1 2 2 3" {
		t.Errorf("again: %v, npm was called for %s", err, called(t, calls))
	}
}
