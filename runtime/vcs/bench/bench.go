// Package bench measures the git store beside git itself: durable commits of many
// writers, `git commit` as a process each, `git fast-import`, and what a flush of
// the disk costs. It owns the load and the arithmetic; cmd prints.
package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dure/runtime/vcs"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
)

// A Shape is a load.
type Shape struct {
	Dir     string        // where repositories are made; the disk that is measured
	Writers int           // agents that commit at once, each on its branch
	Files   int           // of the tree
	For     time.Duration // how long
	Git     string        // the program
}

// Result is what a run of writers came to.
type Result struct {
	Files         int           `json:"files"`
	Writers       int           `json:"writers"`
	Commits       int64         `json:"commits"`
	Seconds       float64       `json:"seconds"`
	Rate          float64       `json:"commits_per_second"`
	P50           time.Duration `json:"p50_ns"`
	P99           time.Duration `json:"p99_ns"`
	Longest       time.Duration `json:"longest_ns"`
	PerFlush      float64       `json:"commits_per_flush"`
	BytesEach     float64       `json:"bytes_per_commit"`
	Packs         int           `json:"packs"`
	KeptEach      float64       `json:"kept_bytes_per_commit"` // of packs and indexes, when it ends
	Fsck, Clone   time.Duration // how long git took to find it clean, and to clone it
	CommitsInside int64         `json:"commits_git_counts"`
}

// Path is the i-th file of a tree of n: folders of 20 to 25 names, as deep as that
// makes it, which is how source trees look.
func Path(i, n int) string {
	if n <= 1000 {
		return fmt.Sprintf("pkg%02d/file%02d.go", i%40, i/40)
	}
	return fmt.Sprintf("mod%02d/pkg%02d/file%02d.go", i%25, i/25%20, i/500)
}

// Content is about 1.5 KB of text that differs by file and version.
func Content(file, version int) []byte {
	var b bytes.Buffer
	rnd := rand.New(rand.NewPCG(uint64(file), 1))
	fmt.Fprintf(&b, "package pkg%d\n\n", file)
	for line := range 28 {
		fmt.Fprintf(&b, "func f%d(x int) int { return x*%d + %d } // part %d\n", line, rnd.IntN(1000), rnd.IntN(1000), line)
	}
	fmt.Fprintf(&b, "\nconst version = %d\n", version)
	return b.Bytes()
}

// Seed makes a repository whose main has the tree.
func Seed(ctx context.Context, dir string, files int, opt vcs.Options) (r *vcs.Repository, base object.ID, err error) {
	if r, err = vcs.Init(ctx, dir, "refs/heads/main", opt); err != nil {
		return nil, object.Zero, err
	}
	d := r.Draft()
	changes := make([]vcs.Change, files)
	for i := range changes {
		changes[i] = vcs.Change{Path: Path(i, files), Mode: object.ModeFile, Data: Content(i, 0)}
	}
	who := r.Signature(vcs.Owner())
	c := object.Commit{Author: who, Committer: who, Message: "begin"}
	if c.Tree, err = d.Splice(ctx, object.Zero, changes); err == nil {
		base, err = d.PutCommit(ctx, c)
	}
	if err == nil {
		err = r.Apply(ctx, vcs.Owner(), d, vcs.Move{Ref: r.Main(), New: base})
	}
	if err != nil {
		return nil, object.Zero, errors.Join(err, r.Close())
	}
	return r, base, nil
}

// Commits has writers commit one changed file after the other, and lets git judge
// what they made.
func Commits(ctx context.Context, s Shape) (res Result, err error) {
	dir := filepath.Join(s.Dir, fmt.Sprintf("commits-%d.git", s.Files))
	program, err := git.Find(ctx, s.Git)
	if err != nil {
		return res, err
	}
	r, base, err := Seed(ctx, dir, s.Files, vcs.Options{Git: program})
	if err != nil {
		return res, err
	}
	before := r.Stats()
	begin := time.Now()
	times, err := write(ctx, r, base, s)
	took := time.Since(begin)
	after := r.Stats()
	if err = errors.Join(err, r.Close()); err != nil {
		return res, err
	}
	slices.Sort(times)
	n := after.Requests - before.Requests
	res = Result{
		Files: s.Files, Writers: s.Writers, Commits: n, Seconds: took.Seconds(), Rate: float64(n) / took.Seconds(),
		P50: quantile(times, 0.5), P99: quantile(times, 0.99), Longest: quantile(times, 1),
		PerFlush:  float64(n) / float64(max(1, after.Batches-before.Batches)),
		BytesEach: float64(after.Bytes-before.Bytes) / float64(max(1, n)), Packs: after.Packs,
	}
	kept, err := packBytes(dir)
	if err != nil {
		return res, err
	}
	res.KeptEach = float64(kept) / float64(max(1, n))
	return res, judge(ctx, s, dir, &res)
}

// packBytes is how much a repository's packs and indexes take.
func packBytes(dir string) (total int64, err error) {
	files, err := os.ReadDir(filepath.Join(dir, "objects", "pack"))
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// write runs the writers and returns how long each commit took.
func write(ctx context.Context, r *vcs.Repository, base object.ID, s Shape) ([]time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, s.For)
	defer cancel()
	var all sync.WaitGroup
	times := make([][]time.Duration, s.Writers)
	errs := make([]error, s.Writers)
	for w := range s.Writers {
		all.Go(func() { times[w], errs[w] = writeOne(limited, r, base, s, w) })
	}
	all.Wait()
	return slices.Concat(times...), errors.Join(append(errs, ctx.Err())...)
}

func writeOne(limited context.Context, r *vcs.Repository, base object.ID, s Shape, w int) (times []time.Duration, err error) {
	a, err := vcs.Agent(fmt.Sprintf("agent-%d", w))
	if err != nil {
		return nil, err
	}
	rnd := rand.New(rand.NewPCG(uint64(w), 2))
	var at object.ID
	for i := 1; limited.Err() == nil; i++ {
		file := rnd.IntN(s.Files)
		q := vcs.CommitRequest{Old: at, Message: "change one file", Changes: []vcs.Change{
			{Path: Path(file, s.Files), Mode: object.ModeFile, Data: Content(file, w*1_000_000+i)},
		}}
		if at.IsZero() {
			q.Base = base
		}
		begin := time.Now()
		// Not limited: what is begun is finished, so that every answer is a commit.
		c, err := r.CommitChanges(context.WithoutCancel(limited), a, q)
		if err != nil {
			return times, err
		}
		times = append(times, time.Since(begin))
		at = c.Commit
	}
	return times, nil
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// FlushCost is the median time of an append of 16 KiB that is flushed.
func FlushCost(dir string) (median time.Duration, err error) {
	f, err := os.CreateTemp(dir, "flush")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 16<<10)
	var times []time.Duration
	for range 300 {
		begin := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return quantile(times, 0.5), nil
}
