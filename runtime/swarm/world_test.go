package swarm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is a World that outlives the coordinator: what it did for a task and epoch it
// does not do again. What it does depends on a task's title alone, whose words say what
// goes wrong the first time: bad (the check fails), quits (its agent gives up), clash
// (main conflicts), doubted (the judge says no), huge (not landed), broken (the box
// fails).
type script struct {
	t    testing.TB
	c    *Coordinator
	pace time.Duration // an agent's work takes some of these
	plan map[string][]Spawn

	mu      sync.Mutex
	did     map[Key]any
	tries   map[Key]int
	landed  map[string]int // titles on main, how often
	seen    map[string]int // how often each verb saw a title
	told    map[string]int
	started int
	most    int // at work at once
	working int
}

func newScript(t testing.TB, plan map[string][]Spawn) *script {
	return &script{
		t: t, pace: time.Second, plan: plan, did: map[Key]any{}, tries: map[Key]int{},
		landed: map[string]int{}, seen: map[string]int{}, told: map[string]int{},
	}
}

var errBox = errors.New("the box did not start")

// once does something for a key the first time, and gives the same result again.
func once[T any](w *script, k Key, do func() T) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.did[k]; ok {
		return r.(T)
	}
	r := do()
	w.did[k] = r
	return r
}

// first reports whether a verb sees a title with a word for the first time. The caller
// holds the lock.
func (w *script) first(verb Verb, title, word string) bool {
	if !strings.Contains(title, word) {
		return false
	}
	w.seen[string(verb)+title]++
	return w.seen[string(verb)+title] == 1
}

func (w *script) title(id TaskID) string {
	var title string
	s, err := Load(context.Background(), w.c.log)
	if err != nil {
		w.t.Error(err)
		return ""
	}
	if t, ok := s.Task(id); ok {
		title = t.Title
	}
	return title
}

func (w *script) Open(context.Context, Opening) error { return nil }

func (w *script) Work(ctx context.Context, a Assignment) (Report, error) {
	k := Key{Verb: VerbWork, Task: a.Task, Epoch: a.Epoch}
	w.mu.Lock()
	w.started++
	w.working++
	w.most = max(w.most, w.working)
	w.tries[k]++
	fails := strings.Contains(a.Title, "broken") && w.tries[k] == 1 && a.Epoch == 1
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.working--; w.mu.Unlock() }()
	if fails {
		return Report{}, errBox
	}
	if err := w.wait(ctx, time.Duration(1+a.Task.number()%7)*w.pace); err != nil {
		return Report{}, err
	}
	if a.Kind == KindPlan {
		if err := w.spawn(ctx, a); err != nil {
			return Report{}, err
		}
	}
	return once(w, k, func() Report {
		switch {
		case a.Kind == KindPlan:
			return Report{Summary: "planned " + a.Title, Plan: "the plan"}
		case w.first(VerbWork, a.Title, "quits"):
			return Report{GaveUp: "too many turns"}
		}
		return Report{Commit: fmt.Sprintf("%s-%d", a.Task, a.Epoch), Summary: "did " + a.Title}
	}), nil
}

// spawn makes a planner's tasks, the first time it is asked.
func (w *script) spawn(ctx context.Context, a Assignment) error {
	ids := map[string]TaskID{}
	for i, r := range w.plan[a.Title] {
		r.By, r.Ref = a.Agent, fmt.Sprintf("%s.%d", a.Task, i)
		if r.Check == "" {
			r.Check = "test " + r.Title
		}
		r.After, r.Assumes = named(ids, r.After), named(ids, r.Assumes)
		got, err := w.c.Spawn(ctx, r)
		if err != nil {
			return err
		}
		ids[r.Title] = got.Task
	}
	return nil
}

// named makes IDs of titles.
func named(ids map[string]TaskID, titles []TaskID) []TaskID {
	var out []TaskID
	for _, title := range titles {
		out = append(out, ids[string(title)])
	}
	return out
}

func (w *script) wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *script) Judge(ctx context.Context, a Assignment) (Verdict, error) {
	if err := w.wait(ctx, w.pace); err != nil {
		return Verdict{}, err
	}
	return once(w, Key{Verb: VerbJudge, Task: a.Task, Epoch: a.Epoch}, func() Verdict {
		if w.first(VerbJudge, a.Title, "doubted") {
			return Verdict{Text: "not what was asked", Cites: "0 tests"}
		}
		return Verdict{Passed: true, Text: "good", Cites: "ok"}
	}), nil
}

func (w *script) Check(ctx context.Context, c Checking) (CheckResult, error) {
	if err := w.wait(ctx, w.pace/2); err != nil {
		return CheckResult{}, err
	}
	title := w.title(c.Task)
	return once(w, Key{Verb: VerbCheck, Task: c.Task, Epoch: c.Epoch}, func() CheckResult {
		return CheckResult{Commit: c.Commit, Passed: !w.first(VerbCheck, title, "bad"), Output: ClipOutput("said " + title)}
	}), nil
}

func (w *script) Verify(ctx context.Context, c Checking) (CheckResult, error) {
	if err := w.wait(ctx, w.pace); err != nil {
		return CheckResult{}, err
	}
	return once(w, Key{Verb: VerbVerify, Task: c.Task, Epoch: c.Epoch}, func() CheckResult {
		return CheckResult{Commit: "main", Passed: true}
	}), nil
}

func (w *script) Land(ctx context.Context, l Landing) (LandResult, error) {
	if err := w.wait(ctx, w.pace/4); err != nil {
		return LandResult{}, err
	}
	title := w.title(l.Task)
	return once(w, Key{Verb: VerbLand, Task: l.Task, Epoch: l.Epoch}, func() LandResult {
		switch {
		case w.first(VerbLand, title, "clash"):
			return LandResult{Conflict: &Conflict{ID: "x-" + title, Detail: "a.go"}}
		case w.first(VerbLand, title, "huge"):
			return LandResult{Refused: "too large"}
		}
		w.landed[title]++
		return LandResult{Main: "m"}
	}), nil
}

func (w *script) Tell(_ context.Context, l Letter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[l.Agent+" "+l.Ref]++
	return nil
}
