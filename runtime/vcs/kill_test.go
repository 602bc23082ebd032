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
	"sync"
	"testing"
	"time"

	"dure/runtime/vcs/object"
)

var (
	kills    = flag.Int("kills", 4, "how often writers are killed")
	childDir = flag.String("child", "", "the repository that the killed process writes to")
)

// What one process commits before it is killed, and how many are killed over one
// repository: git fsck after each reads all that was ever committed.
const (
	killWriters = 40
	mostAcks    = 300
	killsOfOne  = 20
)

// TestChild is no test but the process that the next one kills.
func TestChild(t *testing.T) {
	if *childDir == "" {
		return
	}
	// It seals and merges so often that kills hit that, too.
	r, err := Open(t.Context(), *childDir, Options{SealEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	err = work(t.Context(), r, killWriters, func(branch string, n int, id object.ID) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("acked %s %d %v\n", branch, n, id)
	})
	t.Fatal(err)
}

// Killed at any moment, a process loses nothing that it has acknowledged, and git
// finds the folder clean as the kill left it and as Open mended it.
func TestKills(t *testing.T) {
	var acks, idle int
	for done := 0; done < *kills; done += killsOfOne {
		a, i := killSeries(t, done, min(killsOfOne, *kills-done))
		acks, idle = acks+a, idle+i
	}
	if acks == 0 || idle == *kills {
		t.Errorf("%d acknowledged, %d of %d killed before that: nothing was at stake", acks, idle, *kills)
	}
	t.Logf("%d kills, %d of them before a commit was acknowledged; %d acknowledged, all there", *kills, idle, acks)
}

// killSeries kills process after process that works on one repository. It returns
// how many commits they acknowledged, and how many of them none.
func killSeries(t *testing.T, first, n int) (acks, idle int) {
	dir := filepath.Join(t.TempDir(), "r.git")
	r, err := Init(t.Context(), dir, mainRef, Options{})
	if err != nil {
		t.Fatal(err)
	}
	seed(t, r, map[string]string{"d0/f0": "0\n"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	seen := make([]int, killWriters) // commits of each writer that were found whole
	for i := first; i < first+n; i++ {
		acked := killOne(t, dir, rand.New(rand.NewPCG(uint64(i), 7)))
		fsck(t, dir)
		r, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatalf("after kill %d: %v", i, err)
		}
		for w := range seen {
			seen[w] = checkWork(t, r, w, seen[w], acked[BranchOf(fmt.Sprintf("w%d", w))])
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		fsck(t, dir)
		for _, list := range acked {
			acks += len(list)
		}
		if len(acked) == 0 {
			idle++
		}
	}
	return acks, idle
}

// checkWork reads what a writer committed behind its commit seen: each commit, the
// trees down to its file, and the file. Those acknowledged must be there; others may,
// for they were on the disk before the kill and their answer was not. It returns the
// number of the last one.
func checkWork(t *testing.T, r *Repository, w, seen int, acked []ack) int {
	t.Helper()
	ctx, branch := t.Context(), BranchOf(fmt.Sprintf("w%d", w))
	found := map[int]object.ID{}
	last, n := 0, 0
	at, there := r.Ref(branch)
	for ; there; n-- {
		c, err := r.Commit(ctx, at)
		if err != nil {
			t.Fatalf("%s: %v", branch, err)
		}
		if c.Message == "begin\n" {
			break
		}
		var says int
		if _, err := fmt.Sscanf(c.Message, "commit %d", &says); err != nil || last > 0 && says != n || len(c.Parents) != 1 || c.Author.Name != fmt.Sprintf("w%d", w) {
			t.Fatalf("%s: commit %v is %+v, want the one numbered %d", branch, at, c, n)
		}
		if last == 0 {
			last, n = says, says
		}
		if n <= seen {
			break
		}
		checkFile(t, r, c.Tree, workPath(w, n), workText(w, n))
		found[n] = at
		at = c.Parents[0]
	}
	if last < seen {
		t.Fatalf("%s stands at its commit %d, and %d was there before", branch, last, seen)
	}
	for _, a := range acked {
		if found[a.number] != a.commit {
			t.Fatalf("%s: commit %d was acknowledged as %v and is %v", branch, a.number, a.commit, found[a.number])
		}
	}
	return last
}

func checkFile(t *testing.T, r *Repository, tree object.ID, path, want string) {
	t.Helper()
	e, err := Find(t.Context(), r, tree, path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Blob(t.Context(), e.ID)
	if err != nil || string(data) != want || object.Hash(object.TypeBlob, data) != e.ID {
		t.Fatalf("%s is %.40q, want %.40q: %v", path, data, want, err)
	}
}

// killOne lets a process work for a while, kills it, and returns what it has
// acknowledged, by branch. One in four is killed by the clock: mostly while it still
// mends what the one before it left.
func killOne(t *testing.T, dir string, rnd *rand.Rand) map[string][]ack {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	cmd := exec.CommandContext(ctx, must(os.Executable()), "-test.run=^TestChild$", "-child="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	most := 1 + rnd.IntN(mostAcks)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if rnd.IntN(4) == 0 {
		defer time.AfterFunc(time.Duration(rnd.IntN(25_000))*time.Microsecond, kill).Stop()
	}
	acked, count := map[string][]ack{}, 0
	for lines := bufio.NewScanner(out); lines.Scan(); count++ {
		if count == most {
			kill()
		}
		var a ack
		var id string
		if _, err := fmt.Sscanf(lines.Text(), "acked %s %d %s", &a.branch, &a.number, &id); err != nil || len(id) != 2*object.Size {
			if text := lines.Text(); lines.Scan() {
				t.Fatalf("the child says %q", text)
			}
			break // the line was cut off with the process
		}
		a.commit = must(object.ParseID(id))
		acked[a.branch] = append(acked[a.branch], a)
	}
	if err := cmd.Wait(); ctx.Err() == nil {
		t.Fatalf("the child ended by itself, after %d commits: %v", count, err)
	}
	return acked
}
