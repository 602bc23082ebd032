// Package bench measures the landing job: many agents that change a line, commit
// and land, evenly over a tree or with a part of the edits on one large file. It
// owns the load and the arithmetic; cmd prints.
package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dure/runtime/vcs"
	store "dure/runtime/vcs/bench"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/land"
	"dure/runtime/vcs/object"
)

// A Shape is a load.
type Shape struct {
	Dir     string        // where the repository is made
	Name    string        // of the run
	Agents  int           // that work at once
	Files   int           // of the tree
	Hot     float64       // share of edits that go to one file; 0: none
	Lines   int           // of that file
	For     time.Duration // how long
	Landing land.Options
}

// Result is what a run came to. An attempt is one commit that was asked to land; a
// retry is an attempt that conflicted and had to be done again from main.
type Result struct {
	Name     string              `json:"name"`
	Files    int                 `json:"files"`
	Agents   int                 `json:"agents"`
	Hot      float64             `json:"hot_share"`
	Lands    int64               `json:"lands"`
	HotLands int64               `json:"hot_lands"`
	Retries  int64               `json:"retries"`
	Share    float64             `json:"retry_share"` // of attempts
	Seconds  float64             `json:"seconds"`
	Rate     float64             `json:"lands_per_second"`
	Commits  float64             `json:"commits_per_second"` // of agents and of the job
	P50      time.Duration       `json:"p50_ns"`             // of landing
	P99      time.Duration       `json:"p99_ns"`
	Tiers    map[land.Tier]int64 `json:"tiers"`
	Batch    float64             `json:"lands_per_batch"`
}

// hotPath is the one file.
const hotPath = "registry/all.go"

// Run measures.
func Run(ctx context.Context, s Shape) (res Result, err error) {
	program, err := git.Find(ctx, s.Landing.Git)
	if err != nil {
		return res, err
	}
	r, base, err := store.Seed(ctx, filepath.Join(s.Dir, s.Name+".git"), s.Files, vcs.Options{Git: program})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if s.Hot > 0 {
		if base, err = addHot(ctx, r, base, s.Lines); err != nil {
			return res, err
		}
	}
	job, err := land.New(ctx, r, s.Landing)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	begin := time.Now()
	agents, err := work(ctx, r, job, base, s)
	took := time.Since(begin).Seconds()
	if err != nil {
		return res, err
	}
	state, err := job.State(ctx, 1)
	if err != nil {
		return res, err
	}
	res = Result{Name: s.Name, Files: s.Files, Agents: s.Agents, Hot: s.Hot, Seconds: took, Tiers: state.Totals.Landed}
	var times []time.Duration
	for _, a := range agents {
		times = append(times, a.times...)
		res.Retries += a.retries
		res.HotLands += a.hot
	}
	slices.Sort(times)
	res.Lands = int64(len(times))
	res.Share = float64(res.Retries) / float64(max(1, res.Lands+res.Retries))
	res.Rate = float64(res.Lands) / took
	res.Commits = float64(2*res.Lands+res.Retries) / took
	res.Batch = float64(res.Lands) / float64(max(1, state.Totals.Batches))
	if len(times) > 0 {
		res.P50, res.P99 = times[len(times)/2], times[len(times)*99/100]
	}
	return res, nil
}

// addHot puts the one file on main, by an agent of its own before the job begins.
func addHot(ctx context.Context, r *vcs.Repository, base object.ID, lines int) (object.ID, error) {
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b, "\tregister(%q, handle%d) // kept in order\n", fmt.Sprint("name", i), i)
	}
	tree, err := r.TreeAt(ctx, base)
	if err != nil {
		return base, err
	}
	d := r.Draft()
	if tree, err = d.Splice(ctx, tree, []vcs.Change{{Path: hotPath, Mode: object.ModeFile, Data: b.Bytes()}}); err != nil {
		return base, err
	}
	who := r.Signature(vcs.Landing())
	next, err := d.PutCommit(ctx, object.Commit{Tree: tree, Parents: []object.ID{base}, Author: who, Committer: who, Message: "the one file"})
	if err != nil {
		return base, err
	}
	return next, r.Apply(ctx, vcs.Landing(), d, vcs.Move{Ref: r.Main(), Old: base, New: next})
}

// an agent of the load, and what it saw.
type agent struct {
	r       *vcs.Repository
	job     *land.Lander
	actor   vcs.Actor
	rnd     *rand.Rand
	at      object.ID // where its branch is
	times   []time.Duration
	retries int64
	hot     int64
}

func work(ctx context.Context, r *vcs.Repository, job *land.Lander, base object.ID, s Shape) ([]*agent, error) {
	limited, cancel := context.WithTimeout(ctx, s.For)
	defer cancel()
	agents, errs := make([]*agent, s.Agents), make([]error, s.Agents)
	var all sync.WaitGroup
	for i := range agents {
		actor, err := vcs.Agent(fmt.Sprintf("agent-%d", i))
		if err != nil {
			return nil, err
		}
		a := &agent{r: r, job: job, actor: actor, rnd: rand.New(rand.NewPCG(uint64(i), 3))}
		agents[i] = a
		all.Go(func() { errs[i] = a.work(limited, base, s) })
	}
	all.Wait()
	return agents, errors.Join(append(errs, ctx.Err())...)
}

func (a *agent) work(limited context.Context, base object.ID, s Shape) error {
	ctx := context.WithoutCancel(limited) // what is begun is finished
	if err := a.move(ctx, base); err != nil {
		return err
	}
	for limited.Err() == nil {
		path, hot := store.Path(a.rnd.IntN(s.Files), s.Files), false
		if s.Hot > 0 && a.rnd.Float64() < s.Hot {
			path, hot = hotPath, true
		}
		for done := false; !done; { // a change that is begun is landed: others may wait for it
			var err error
			if done, err = a.edit(ctx, path); err != nil {
				return err
			}
			if done && hot {
				a.hot++
			}
		}
	}
	return nil
}

// move puts the branch where main is, as a new task begins.
func (a *agent) move(ctx context.Context, to object.ID) error {
	old, _ := a.r.Ref(a.actor.Branch())
	a.at = to
	return a.r.Apply(ctx, vcs.Owner(), nil, vcs.Move{Ref: a.actor.Branch(), Old: old, New: to})
}

// edit changes a line, commits and lands. Not done: it conflicted, and the branch
// begins again at main.
func (a *agent) edit(ctx context.Context, path string) (done bool, err error) {
	root, err := a.r.TreeAt(ctx, a.at)
	if err != nil {
		return false, err
	}
	e, err := vcs.Find(ctx, a.r, root, path)
	if err != nil {
		return false, err
	}
	text, err := a.r.Blob(ctx, e.ID)
	if err != nil {
		return false, err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	n := a.rnd.IntN(len(lines) - 1)
	lines[n] = fmt.Appendf(nil, "func changed%d() int { return %d } // by %v\n", n, a.rnd.IntN(1<<30), a.actor)
	c, err := a.r.CommitChanges(ctx, a.actor, vcs.CommitRequest{Old: a.at, Message: "change a line", Changes: []vcs.Change{
		{Path: path, Mode: object.ModeFile, Data: bytes.Join(lines, nil)},
	}})
	if err != nil {
		return false, err
	}
	a.at = c.Commit
	begin := time.Now()
	l, err := a.job.Land(ctx, land.Request{Agent: a.actor.Name(), Task: "load", Commit: c.Commit})
	switch {
	case errors.Is(err, land.ErrConflict):
		a.retries++
		main, _ := a.r.Ref(a.r.Main())
		return false, a.move(ctx, main)
	case err != nil:
		return false, err
	}
	a.times = append(a.times, time.Since(begin))
	return true, a.move(ctx, l.Commit)
}
