package vcs

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/runtime/vcs/disk/disktest"
	"dure/runtime/vcs/object"
)

var (
	kills    = flag.Int("kills", 4, "how often writers are killed")
	cuts     = flag.Int("cuts", 50, "how many power cuts are simulated")
	childDir = flag.String("child", "", "the repository that the killed process writes to")
)

// acked is what was acknowledged, by branch: the number of the commit, which is in
// its message, and the moment.
type acked struct {
	mu   sync.Mutex
	list []ack
}

type ack struct {
	branch string
	commit object.ID
	number int
	moment int
}

// work has writers commit on branches of their own until ctx ends, and says so of
// each commit when it is acknowledged. at is where the branches are.
func work(ctx context.Context, r *Repository, writers int, done func(branch string, n int, id object.ID)) error {
	base, _ := r.Ref(r.Main())
	errs := make(chan error, writers)
	for w := range writers {
		go func() { errs <- workOne(ctx, r, w, base, done) }()
	}
	var first error
	for range writers {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func workOne(ctx context.Context, r *Repository, w int, base object.ID, done func(branch string, n int, id object.ID)) error {
	a, err := Agent(fmt.Sprintf("w%d", w))
	if err != nil {
		return err
	}
	n := 0
	at, there := r.Ref(a.Branch())
	if there {
		c, err := r.Commit(context.Background(), at)
		if err != nil {
			return err
		}
		if _, err := fmt.Sscanf(c.Message, "commit %d", &n); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		n++
		q := CommitRequest{Old: at, Message: fmt.Sprintf("commit %d", n), Changes: []Change{
			put(fmt.Sprintf("d%d/f%d", w%3, n%7), fmt.Sprintf("%d of %d\n%s", n, w, strings.Repeat("x", 40*(n%50))))}}
		if at.IsZero() {
			q.Base = base
		}
		c, err := r.CommitChanges(context.Background(), a, q)
		if err != nil {
			return err
		}
		at = c.Commit
		done(a.Branch(), n, at)
	}
	return nil
}

// holds checks that a branch has a commit: it, or one that came after it.
func holds(t *testing.T, r *Repository, a ack) {
	t.Helper()
	at, _ := r.Ref(a.branch)
	for !at.IsZero() && at != a.commit {
		c, err := r.Commit(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		at = object.Zero
		if len(c.Parents) > 0 {
			at = c.Parents[0]
		}
	}
	if at != a.commit {
		t.Fatalf("%s lost commit %d, %v", a.branch, a.number, a.commit)
	}
}

// A power cut at any moment loses nothing that was acknowledged, and plain git finds
// the folder clean, before and after it is opened again.
func TestPowerCuts(t *testing.T) {
	root := filepath.Join(t.TempDir(), "r.git")
	rec := disktest.NewRecorder(root)
	r, err := Init(t.Context(), root, mainRef, Options{Disk: rec, SealEvery: 3 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	seed(t, r, map[string]string{"d0/f0": "0\n", "d1/f0": "0\n", "README": "x\n"})
	begin := rec.Moment()
	var all acked
	ctx, stop := context.WithCancel(t.Context())
	err = work(ctx, r, 6, func(branch string, n int, id object.ID) {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.list = append(all.list, ack{branch, id, n, rec.Moment()})
		if len(all.list) >= 400 {
			stop()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if s := r.Stats(); s.Seals < 5 {
		t.Fatalf("too little happened to cut into: %+v", s)
	}
	for i := range *cuts {
		rnd := rand.New(rand.NewPCG(uint64(i), 99))
		cutAt(t, rec, begin+rnd.IntN(rec.Moment()-begin+1), rnd, all.list)
	}
}

func cutAt(t *testing.T, rec *disktest.Recorder, moment int, rnd *rand.Rand, all []ack) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cut.git")
	if err := rec.After(moment, rnd, dir); err != nil {
		t.Fatal(err)
	}
	fsck(t, dir)
	r, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatalf("after a cut at %d: %v", moment, err)
	}
	last := map[string]ack{}
	for _, a := range all {
		if a.moment <= moment && a.number > last[a.branch].number {
			last[a.branch] = a
		}
	}
	for _, a := range last {
		holds(t, r, a)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	fsck(t, dir)
}

// TestChild is no test but the process that the next one kills.
func TestChild(t *testing.T) {
	if *childDir == "" {
		return
	}
	r, err := Open(t.Context(), *childDir, Options{SealEvery: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	err = work(t.Context(), r, 40, func(branch string, n int, id object.ID) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("acked %s %d %v\n", branch, n, id)
	})
	t.Fatal(err)
}

// Killed at any moment, a process loses nothing that it has acknowledged.
func TestKills(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r.git")
	r, err := Init(t.Context(), dir, mainRef, Options{})
	if err != nil {
		t.Fatal(err)
	}
	seed(t, r, map[string]string{"d0/f0": "0\n"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range *kills {
		last := killOne(t, dir, time.Duration(rand.IntN(400)+30)*time.Millisecond)
		fsck(t, dir)
		r, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatalf("after kill %d: %v", i, err)
		}
		for _, a := range last {
			holds(t, r, a)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		fsck(t, dir)
	}
}

// killOne lets a process work for a while, kills it, and returns the last commit of
// each branch that it has acknowledged.
func killOne(t *testing.T, dir string, after time.Duration) map[string]ack {
	t.Helper()
	cmd := exec.Command(must(os.Executable()), "-test.run=^TestChild$", "-child="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := map[string]ack{}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		var a ack
		var id string
		if _, err := fmt.Sscanf(lines.Text(), "acked %s %d %s", &a.branch, &a.number, &id); err != nil {
			t.Fatalf("the child says %q", lines.Text())
		}
		if len(id) != 2*object.Size {
			break // the line was cut off with the process
		}
		a.commit = must(object.ParseID(id))
		last[a.branch] = a
	}
	if err := cmd.Wait(); err == nil || len(last) == 0 {
		t.Fatalf("the child ended by itself, after %d branches: %v", len(last), err)
	}
	return last
}
