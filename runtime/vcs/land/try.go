package land

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// errGit: the landing needs git's own merge.
var errGit = errors.New("left to git")

// A trial is one landing tried on top of a commit of main, in a draft.
type trial struct {
	l       *Lander
	w       *work
	ctx     context.Context
	draft   *vcs.Draft
	main    object.ID // the commit
	tree    object.ID // its tree
	tier    Tier
	changes []vcs.Change
	files   []Touched
	clashes []FileConflict
	written map[string]bool
}

func (t *trial) read(id object.ID) ([]byte, error) { return t.draft.Tree(t.ctx, id) }

// run merges. It returns the merged tree, errGit, or a ConflictError.
func (t *trial) run() (object.ID, error) {
	if len(t.w.descent.bases) > 1 && t.w.tier == "" {
		return object.Zero, errGit
	}
	decisions, err := t.decisions()
	if err != nil {
		return object.Zero, err
	}
	t.tier, t.written = TierSplice, map[string]bool{}
	if t.w.tier != "" {
		t.tier = t.w.tier
	}
	hard := false
	for _, d := range decisions {
		more, err := t.decide(d)
		if err != nil {
			return object.Zero, err
		}
		hard = hard || more
	}
	switch {
	case hard, t.w.tier == TierGit && len(t.clashes) > 0: // main moved on: git again
		return object.Zero, errGit
	case len(t.clashes) > 0:
		return object.Zero, t.conflict()
	}
	if len(t.changes) == 0 {
		return t.tree, nil
	}
	changes, err := t.foldersGo()
	if err != nil {
		return object.Zero, err
	}
	return t.draft.Splice(t.ctx, t.tree, changes)
}

// decisions are what becomes of each change. Where main has what the change starts
// from, as it has after git's merge with it, there is nothing to decide.
func (t *trial) decisions() ([]merge.Decision, error) {
	if t.tree != t.w.base {
		return merge.Decide(t.read, t.w.delta, t.tree)
	}
	all := make([]merge.Decision, 0, len(t.w.delta.Changes))
	for _, c := range t.w.delta.Changes {
		all = append(all, merge.Decision{PathChange: c, Ours: c.Old, Verdict: merge.Take, Mode: c.New.Mode})
	}
	return all, nil
}

// foldersGo are the changes, with one removal for each folder in whose place a file
// comes instead of those of all that is in it.
func (t *trial) foldersGo() ([]vcs.Change, error) {
	find, gone := merge.NewFinder(t.read), map[string]bool{}
	for _, c := range t.changes {
		if c.Mode == 0 {
			continue
		}
		e, _, err := find.Find(t.tree, c.Path)
		if err != nil {
			return nil, err
		}
		if e.Mode == object.ModeTree {
			gone[c.Path] = true
		}
	}
	if len(gone) == 0 {
		return t.changes, nil
	}
	kept := make([]vcs.Change, 0, len(t.changes)+len(gone))
	for path := range gone {
		kept = append(kept, vcs.Change{Path: path})
	}
	for _, c := range t.changes {
		if c.Mode != 0 || !below(c.Path, gone) {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// below reports whether a path lies below one of these folders.
func below(path string, folders map[string]bool) bool {
	for i := range len(path) {
		if path[i] == '/' && folders[path[:i]] {
			return true
		}
	}
	return false
}

// decide carries out one decision; hard says that git must merge the whole.
func (t *trial) decide(d merge.Decision) (hard bool, err error) {
	switch d.Verdict {
	case merge.Done:
		return false, nil
	case merge.Take:
		t.take(d)
		return false, nil
	case merge.Blend:
		return t.blend(d)
	case merge.Hard:
	}
	if s := t.split(d.Path); s != nil {
		return false, t.carry(s, d)
	}
	return true, nil
}

// take puts an entry of theirs in.
func (t *trial) take(d merge.Decision) {
	c := vcs.Change{Path: d.Path, Mode: d.Mode}
	size := int64(-1)
	if d.Mode != 0 {
		size = t.w.sizes[d.New.ID]
		if data, ok := t.w.fresh[d.New.ID]; ok {
			c.Data = data
		} else {
			c.Blob = d.New.ID
		}
	}
	t.put(c, size)
}

// put notes a change of main.
func (t *trial) put(c vcs.Change, size int64) {
	t.written[c.Path] = true
	t.changes = append(t.changes, c)
	t.files = append(t.files, Touched{c.Path, size})
}

// blend merges a text by lines. What is no text, or too large, is git's.
func (t *trial) blend(d merge.Decision) (hard bool, err error) {
	base, ours, theirs, err := t.texts(d.Old, d.Ours, d.New)
	if err != nil {
		return false, err
	}
	m, err := merge.Text(base, ours, theirs, merge.Whole, t.l.opt.Limits)
	if errors.Is(err, merge.ErrBinary) || errors.Is(err, merge.ErrTooLarge) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if merged, ok := m.Bytes(); ok {
		t.raise(TierLines)
		t.put(vcs.Change{Path: d.Path, Mode: d.Mode, Data: merged}, int64(len(merged)))
		return false, nil
	}
	if s := t.split(d.Path); s != nil {
		return false, t.carry(s, d)
	}
	return false, t.clash(FileConflict{
		Path: d.Path, Why: "both sides changed the same lines",
		Base: d.Old, Ours: d.Ours, Theirs: d.New, Hunks: m.Hunks,
	})
}

// raise notes a dearer tier than so far.
func (t *trial) raise(to Tier) {
	order := map[Tier]int{TierSplice: 0, TierLines: 1, TierSplit: 2, TierGit: 3}
	if order[to] > order[t.tier] {
		t.tier = to
	}
}

// texts reads the three sides of a file. What is not there is empty.
func (t *trial) texts(base, ours, theirs object.Entry) (b, o, th []byte, err error) {
	for _, s := range []struct {
		e  object.Entry
		to *[]byte
	}{{base, &b}, {ours, &o}, {theirs, &th}} {
		if s.e.Mode == 0 {
			continue
		}
		if data, ok := t.w.fresh[s.e.ID]; ok {
			*s.to = data
			continue
		}
		if *s.to, err = t.draft.Blob(t.ctx, s.e.ID); err != nil {
			return nil, nil, nil, err
		}
	}
	return b, o, th, nil
}

// clash notes a conflict, with who made main's side of it.
func (t *trial) clash(f FileConflict) error {
	var err error
	if f.OursBy, err = t.l.author(t.ctx, t.draft, t.main, t.w.descent.bases, f.Path); err != nil {
		return err
	}
	t.clashes = append(t.clashes, f)
	return nil
}

// conflict makes the record.
func (t *trial) conflict() error {
	c := &Conflict{
		ID:     fmt.Sprintf("%s-%s", t.main.Short(), t.w.Commit.Short()),
		Main:   t.main,
		Base:   t.w.descent.bases[0],
		Theirs: Side{t.w.Agent, t.w.Task, t.w.Commit},
		Files:  t.clashes,
	}
	if c.Root = t.w.root; c.Root == "" {
		c.Root = c.ID
	}
	return &ConflictError{Conflict: c}
}

// commit makes the merge commit of a merged tree.
func (t *trial) commit(tree object.ID) (object.ID, error) {
	actor, err := vcs.Agent(t.w.Agent)
	if err != nil {
		return object.Zero, err
	}
	subject, _, _ := strings.Cut(t.w.commit.Message, "\n")
	return t.draft.PutCommit(t.ctx, object.Commit{
		Tree:      tree,
		Parents:   []object.ID{t.main, t.w.Commit},
		Author:    t.l.repo.Signature(actor),
		Committer: t.l.repo.Signature(vcs.Landing()),
		Message:   message(subject, t.w.Request, t.tier),
	})
}

// message says what landed. The last lines are read again by authorOf.
func message(subject string, q Request, tier Tier) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Land %s: %s\n\n%s%s\n", q.Agent, subject, agentLine, q.Agent)
	if task := oneLine(q.Task); task != "" {
		b.WriteString(taskLine + task + "\n")
	}
	if q.Resolves != "" {
		b.WriteString("Resolves: " + q.Resolves + "\n")
	}
	b.WriteString("Tier: " + string(tier) + "\n")
	return b.String()
}

const (
	agentLine = "Agent: "
	taskLine  = "Task: "
)

// oneLine is text that stays in its line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
