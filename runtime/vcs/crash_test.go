package vcs

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/runtime/vcs/disk/disktest"
	"dure/runtime/vcs/object"
)

var cuts = flag.Int("cuts", 20, "how many power cuts are simulated")

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

// workPath and workText are what the nth commit of a writer puts where.
func workPath(w, n int) string { return fmt.Sprintf("d%d/f%d", w%3, n%7) }

func workText(w, n int) string {
	return fmt.Sprintf("%d of %d\n%s", n, w, strings.Repeat("x", 40*(n%50)))
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
		q := CommitRequest{Old: at, Message: fmt.Sprintf("commit %d", n), Changes: []Change{put(workPath(w, n), workText(w, n))}}
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
