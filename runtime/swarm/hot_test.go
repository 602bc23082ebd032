package swarm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// finds has the landing job find a file.
func (b *table) finds(path string) {
	b.t.Helper()
	events, err := b.s.finds(Found{Path: path, Why: []string{"3 agents reported it; the limit is 3"}, Size: 900})
	if err != nil {
		b.t.Fatal(err)
	}
	b.apply(events...)
}

// told are those who get a letter, by its mark.
func told(works []Effect, mark string) []string {
	var out []string
	for _, e := range works {
		if l, ok := e.(Tell); ok && strings.HasPrefix(l.Ref, mark) {
			out = append(out, l.Agent)
		}
	}
	slices.Sort(out)
	return out
}

// Row 45, of the run: a hot file gets one task that splits it; who is at work hears of it
// when it begins, and again when it is over; the landing names the file.
func TestHotFileIsSplit(t *testing.T) {
	b := approved(t, nil, step("one"), step("two"))
	b.finds("mega.go")
	b.finds("mega.go") // while it is split: nothing
	works := b.settle()
	split := b.task("t4")
	if split.File != "mega.go" || split.Parent != Root || split.By != Harness || split.Phase != PhaseLeased || !strings.Contains(split.Check, "-le 600") {
		t.Fatalf("the task %+v", split)
	}
	workers := []string{b.task("t2").Agent, b.task("t3").Agent}
	slices.Sort(workers)
	if got := told(works, "split/t4"); !slices.Equal(got, workers) {
		t.Errorf("told %v, want %v", got, workers)
	}
	i := slices.IndexFunc(works, func(e Effect) bool { w, ok := e.(Work); return ok && w.Task == "t4" })
	if i < 0 || works[i].(Work).File != "mega.go" {
		t.Fatalf("works %+v", works)
	}
	b.finds("mega.go")
	if n := len(b.s.Tasks()); n != 4 {
		t.Fatalf("%d tasks, want one that splits", n)
	}
	b.report("t4", "split into two")
	b.settle()
	b.check("t4", true)
	works = b.settle()
	if l := works[0].(Land).Landing; l.File != "mega.go" {
		t.Errorf("lands %+v", l)
	}
	b.land("t4")
	works = b.settle()
	b.ended("t4", Done)
	if got := told(works, "split over/t4"); !slices.Equal(got, workers) {
		t.Errorf("told that it is over: %v", got)
	}
	if slices.ContainsFunc(works, func(e Effect) bool { _, ok := e.(Open); return ok }) {
		t.Error("a file that was split is opened, which its landing did")
	}
	// It grows again: once more, and then no more.
	for _, want := range []int{5, 5} {
		b.finds("mega.go")
		b.settle()
		if n := len(b.s.Tasks()); n != want {
			t.Fatalf("%d tasks, want %d", n, want)
		}
		if want == 5 && b.task("t5").Phase != PhaseEnded {
			b.finish("t5")
		}
	}
}

// A split that comes to nothing opens the file again, once.
func TestFileThatIsNotSplit(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Returns = 1 }, step("one"))
	b.finds("mega.go")
	b.settle()
	for b.task("t3").Phase == PhaseLeased {
		b.report("t3", "no")
		b.settle()
		b.check("t3", false)
		if works := b.settle(); b.task("t3").Phase == PhaseEnded {
			if o, ok := works[0].(Open); !ok || o.Path != "mega.go" {
				t.Fatalf("works %v", keys(works))
			}
		}
	}
	b.ended("t3", Failed)
	if got := b.s.HotFiles(); len(got) != 1 || !got[0].shut {
		t.Fatalf("%+v", got)
	}
	b.apply(Opened{Path: "mega.go", Task: "t3"})
	if works := b.settle(); slices.ContainsFunc(works, func(e Effect) bool { _, ok := e.(Open); return ok }) {
		t.Errorf("opened twice: %v", keys(works))
	}
}

// Splits are bounded, and begin also when all places are taken by those who may wait for
// the file.
func TestSplitsAreBounded(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Agents, p.Limits.Active = 9, 2 }, step("one"), step("two"), step("three"))
	for i := range 6 {
		b.finds(fmt.Sprintf("f%d", i))
	}
	b.settle()
	open := 0
	for _, task := range b.s.Tasks() {
		if task.File == "" {
			continue
		}
		open++
		if task.Phase != PhaseLeased {
			t.Errorf("%s is %s", task.ID(), task.Phase)
		}
	}
	if open != mostSplitting || b.s.Active() != 2+mostSplitting {
		t.Errorf("%d files are split, %d agents at work", open, b.s.Active())
	}
	if _, err := b.s.finds(Found{}); err == nil {
		t.Error("a file without a path")
	}
}
