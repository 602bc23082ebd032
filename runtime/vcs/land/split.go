package land

import (
	"errors"
	"fmt"

	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// A splitPlace is a split on main, and since when.
type splitPlace struct {
	Split
	since int32
}

// split is the split of a path that the landing does not know of yet.
func (t *trial) split(path string) *Split {
	s, ok := t.l.splits[path]
	if !ok || s.since <= t.w.descent.seen {
		return nil
	}
	return &s.Split
}

// trace makes the map of a file that this landing splits: where its lines stand in
// the files that the landing brings.
func (t *trial) trace(tree object.ID) (*Split, error) {
	if t.w.Split == "" {
		return nil, nil
	}
	find := merge.NewFinder(t.read)
	was, _, err := find.Find(t.tree, t.w.Split)
	if err != nil {
		return nil, err
	}
	if !isText(was.Mode) {
		return nil, fmt.Errorf("%w: split of %q: main has no such file", ErrInvalid, t.w.Split)
	}
	source, err := t.draft.Blob(t.ctx, was.ID)
	if err != nil {
		return nil, err
	}
	var parts []merge.File
	for _, f := range t.files {
		e, _, err := find.Find(tree, f.Path)
		if err != nil {
			return nil, err
		}
		if !isText(e.Mode) {
			continue
		}
		data, err := t.draft.Blob(t.ctx, e.ID)
		if err != nil {
			return nil, err
		}
		parts = append(parts, merge.File{Path: f.Path, Data: data})
	}
	pieces, err := merge.Trace(source, parts, t.l.opt.Limits)
	if err != nil {
		return nil, fmt.Errorf("split of %q: %w: %w", t.w.Split, ErrInvalid, err)
	}
	return &Split{Path: t.w.Split, Source: was.ID, Pieces: pieces}, nil
}

func isText(m object.Mode) bool { return m == object.ModeFile || m == object.ModeExecutable }

// carry takes a change of a split file to its parts.
func (t *trial) carry(s *Split, d merge.Decision) error {
	lost := func(why string) error {
		return t.clash(FileConflict{Path: d.Path, Why: "the file was split: " + why, Base: d.Old, Ours: d.Ours, Theirs: d.New})
	}
	if !isText(d.Old.Mode) || !isText(d.New.Mode) {
		return lost("the change is not one of its text")
	}
	base, source, changed, err := t.texts(d.Old, object.Entry{Mode: object.ModeFile, ID: s.Source}, d.New)
	if err != nil {
		return err
	}
	if d.Old.ID != s.Source { // bring the change up to what was split first
		m, err := merge.Text(base, source, changed, merge.Whole, t.l.opt.Limits)
		if err != nil {
			return lost(err.Error())
		}
		var ok bool
		if changed, ok = m.Bytes(); !ok {
			return lost("the change conflicts with what it was before")
		}
	}
	parts, stray, err := merge.Carry(s.Pieces, source, changed, t.l.opt.Limits)
	if err != nil {
		return lost(err.Error())
	}
	if len(stray) > 0 {
		return lost("the change touches lines that went nowhere, or to several files")
	}
	t.raise(TierSplit)
	for _, p := range parts {
		if err := t.part(p); err != nil {
			return err
		}
	}
	return nil
}

// part merges what is carried to one file.
func (t *trial) part(p merge.Part) error {
	ours, _, err := merge.NewFinder(t.read).Find(t.tree, p.Path)
	if err != nil {
		return err
	}
	clash := func(why string, hunks []merge.Hunk) error {
		f := FileConflict{Path: p.Path, Why: why, Ours: ours, Hunks: hunks}
		f.Base = object.Entry{Mode: object.ModeFile, ID: t.draft.PutBlob(p.Base)}
		f.Theirs = object.Entry{Mode: object.ModeFile, ID: t.draft.PutBlob(p.Theirs)}
		return t.clash(f)
	}
	switch {
	case !isText(ours.Mode):
		return clash("a part of a split file is gone", nil)
	case t.written[p.Path]:
		return clash("the landing changes a part and the split file", nil)
	}
	text, err := t.draft.Blob(t.ctx, ours.ID)
	if err != nil {
		return err
	}
	m, err := merge.Text(p.Base, text, p.Theirs, merge.Whole, t.l.opt.Limits)
	if errors.Is(err, merge.ErrBinary) || errors.Is(err, merge.ErrTooLarge) {
		return clash(err.Error(), nil)
	}
	if err != nil {
		return err
	}
	merged, ok := m.Bytes()
	if !ok {
		return clash("both sides changed the same lines of a part", m.Hunks)
	}
	t.put(vcs.Change{Path: p.Path, Mode: ours.Mode, Data: merged}, int64(len(merged)))
	return nil
}
