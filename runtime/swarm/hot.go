package swarm

import (
	"context"
	"fmt"
	"strings"
)

// A hot file is in too many agents' way: the landing job counts that. The run makes a
// task that splits it, one for a file; while an agent splits it, nobody else may change
// it, and what waits to land is carried to its parts when it was split.

// Bounds of splitting.
const (
	mostSplitting = 4 // files at once
	mostSplits    = 2 // times that one file is split
	longestPath   = 1 << 10
)

// Found is the payload of file.found: the landing job holds a file to be hot.
type Found struct {
	Path string   `json:"path"`
	Why  []string `json:"why"`
	Size int64    `json:"size"` // bytes on main
}

// Opened is the payload of file.opened: a file that was not split may be changed again.
type Opened struct {
	Path string `json:"path"`
	Task TaskID `json:"task"`
}

// A HotFile is what the events say of one.
type HotFile struct {
	Found
	Task   TaskID // that splits it; empty: none yet
	Splits int    // tasks that there were

	shut bool            // it is blocked for the task
	tell map[string]bool // agents that hear that it is over
}

// HotFiles are all that were found, in the order of the log.
func (s *State) HotFiles() []HotFile {
	out := make([]HotFile, 0, len(s.files))
	for _, f := range s.files {
		out = append(out, *f)
	}
	return out
}

func (s *State) file(path string) *HotFile {
	for _, f := range s.files {
		if f.Path == path {
			return f
		}
	}
	return nil
}

// Hot notes that a file is hot. One that is known, and is being split or was split as
// often as it may be, is passed over.
func (c *Coordinator) Hot(ctx context.Context, p Found) error {
	return c.do(ctx, "hot file", func(s *State) ([]any, error) { return s.finds(p) })
}

func (s *State) finds(p Found) ([]any, error) {
	switch f := s.file(p.Path); {
	case p.Path == "" || len(p.Path) > longestPath:
		return nil, refuse("a hot file has a path of at most %d bytes", longestPath)
	case f != nil && (f.Splits >= mostSplits || !s.over(f)):
		return nil, nil
	}
	return []any{p}, nil
}

// over reports whether a file's task has ended, and nobody is kept from the file.
func (s *State) over(f *HotFile) bool {
	t := s.task(f.Task)
	return t != nil && t.Ended() && !f.shut
}

func (s *State) applyFile(payload any) error {
	switch p := payload.(type) {
	case Found:
		f := s.file(p.Path)
		if f == nil {
			f = &HotFile{}
			s.files = append(s.files, f)
		}
		f.Found, f.Task = p, ""
	case Opened:
		f := s.file(p.Path)
		if f == nil {
			return fmt.Errorf("%q was not found", p.Path)
		}
		f.shut = false
	}
	return nil
}

// splitting notes what a new or leased or ended task means for the file that it splits.
func (s *State) splitting(t *Task) {
	f := s.file(s.fileOf(t))
	if f == nil || t.Kind == KindMerge && !t.Ended() && t.Phase != PhaseLeased {
		return
	}
	switch {
	case t.Phase == PhaseLeased:
		f.shut = true
	case t.Kind == KindMerge:
	case t.Ended() && t.ID() == f.Task:
		f.shut = f.shut && t.Outcome != Done // a landing that splits opens it by itself
		f.tell = map[string]bool{}
		for _, a := range s.agents {
			if a.marks[splitMark(f)] && a.Task != "" && a.Gone == "" {
				f.tell[a.Agent] = true
			}
		}
	case f.Task == "":
		f.Task = t.ID()
		f.Splits++
	}
}

// fileOf is the file that a task, or the one whose conflict it settles, splits.
func (s *State) fileOf(t *Task) string {
	if t.Kind == KindMerge && t.parent != nil {
		return t.parent.File
	}
	return t.File
}

func splitMark(f *HotFile) string { return "split/" + string(f.Task) }
func overMark(f *HotFile) string  { return "split over/" + string(f.Task) }

// split makes tasks for hot files, tells those whom they concern, and opens files whose
// task came to nothing.
func (p *planning) split() {
	open := 0
	for _, f := range p.s.files {
		if t := p.s.task(f.Task); t != nil && !t.Ended() {
			open++
			if f.shut {
				p.warn(f, t)
			}
			continue
		}
		if f.Task == "" {
			continue
		}
		if f.shut {
			p.work(Key{Verb: VerbOpen, Task: f.Task}, func() Effect { return Open{Opening{Task: f.Task, Path: f.Path}} })
		} else {
			p.tellOver(f)
		}
	}
	for _, f := range p.s.files {
		if f.Task == "" && open < mostSplitting && f.Splits < mostSplits && p.s.own < p.s.limits.Tasks && !p.s.root().parked() {
			open++
			p.decide(Submit{p.s.splitTask(f, taskID(len(p.s.tasks)+p.submitted()))})
		}
	}
}

// warn tells who is at work that a file is being split: each once.
func (p *planning) warn(f *HotFile, t *Task) {
	mark := splitMark(f)
	for _, n := range p.s.todo {
		other := p.s.tasks[n]
		if other.Phase != PhaseLeased || other.Kind == KindPlan || p.s.fileOf(other) == f.Path {
			continue
		}
		if a := p.s.byName[other.Agent]; a != nil && !a.marks[mark] {
			p.decide(Remind{Reminded{Agent: a.Agent, Mark: mark, Text: fmt.Sprintf(
				"%s is in everybody's way, and %s splits it now (%s). Do not change it until then; a commit that does is refused. What you changed in it already is carried to its parts once it was split: when you call done, that waits.",
				f.Path, t.Agent, t.ID())}})
		}
	}
}

// tellOver tells those who heard of a split that it is over.
func (p *planning) tellOver(f *HotFile) {
	text := f.Path + " was split. Main has its parts; what you changed in it is carried there when you land."
	if t := p.s.task(f.Task); t.Outcome != Done {
		text = f.Path + " was not split after all. You may change it again."
	}
	for _, a := range p.s.agents {
		if f.tell[a.Agent] {
			p.decide(Remind{Reminded{Agent: a.Agent, Mark: overMark(f), Text: text}})
		}
	}
}

// told notes that an agent heard of the end of a split.
func (s *State) told(p Reminded) {
	for _, f := range s.files {
		if f.tell[p.Agent] && p.Mark == overMark(f) {
			delete(f.tell, p.Agent)
		}
	}
}

// splitTask is a task of the harness's own. Its check is a mechanical one: the parts are
// smaller. That they fit together, the checks of all that lands afterwards say.
func (s *State) splitTask(f *HotFile, id TaskID) Submitted {
	quoted := "'" + strings.ReplaceAll(f.Path, "'", `'\''`) + "'"
	return Submitted{
		Task: id, Kind: KindWork, Parent: Root, Crew: MainCrew, By: Harness, File: f.Path,
		Title: head("split "+f.Path, MaxTitle),
		Text: clip(fmt.Sprintf("The file %s is in everybody's way: %s.\nMove its contents into several files, each of one matter, so that agents can work beside each other. Move whole functions, sections or tables as they are, and change nothing else in them: what others have changed in the file meanwhile is carried to where its lines went. Leave what has to stay, mend imports and references, and see that all still works.",
			f.Path, strings.Join(f.Why, "; ")), MaxText),
		Check: fmt.Sprintf(`test ! -e %s || test "$(wc -c < %s)" -le %d`, quoted, quoted, f.Size*2/3),
	}
}
