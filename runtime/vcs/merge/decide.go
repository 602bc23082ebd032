package merge

import (
	"fmt"
	"strings"

	"dure/runtime/vcs/object"
)

// A Verdict says what a change of theirs means on top of ours.
type Verdict uint8

// The verdicts.
const (
	Take  Verdict = iota // ours has what the change started from: take the new entry
	Done                 // ours has the new entry already
	Blend                // both changed the text: merge it by lines
	Hard                 // files that were renamed or became folders: git's own merge
)

// A Decision is the verdict for one path.
type Decision struct {
	PathChange
	Ours    object.Entry // what ours has; mode 0: nothing
	Verdict Verdict
	Mode    object.Mode // of the merged file, for Blend and Take
	Why     string      // in plain words, for Hard
}

// Decide says for each change of theirs how it goes onto ours, a tree. It agrees
// with what `git merge-tree` does without looking for renames; where renames
// could matter (both removed a file, or one removed what the other changed, or took
// away a folder in which the other works), the verdict is Hard.
func Decide(read Read, d *Delta, ours object.ID) ([]Decision, error) {
	f := NewFinder(read)
	out := make([]Decision, 0, len(d.Changes))
	for _, c := range d.Changes {
		have, blocked, err := f.Find(ours, c.Path)
		if err != nil {
			return nil, fmt.Errorf("merge of path %q: %w", c.Path, err)
		}
		dec := decide(c, have)
		if blocked && dec.Verdict != Done {
			dec.Verdict, dec.Why = Hard, "a file where the path has a folder"
		}
		if dec.Verdict == Take && c.Old.Mode == 0 && c.Among {
			if dec.Verdict, dec.Why, err = f.among(ours, c.Path); err != nil {
				return nil, err
			}
		}
		out = append(out, dec)
	}
	if d.Added == 0 {
		return out, nil
	}
	return out, f.gone(ours, d.Gone, out)
}

// among looks whether ours has the folder that a new file came to.
func (f *Finder) among(ours object.ID, path string) (Verdict, string, error) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return Take, "", nil
	}
	e, _, err := f.Find(ours, path[:slash])
	if err == nil && e.Mode != object.ModeTree {
		return Hard, "a new file in a folder that is gone", nil
	}
	return Take, "", err
}

// gone makes the changes in folders that theirs took away hard ones, where ours
// changed something in them: the folder may have been renamed.
func (f *Finder) gone(ours object.ID, folders []Folder, out []Decision) error {
	for _, dir := range folders {
		e, _, err := f.Find(ours, dir.Path)
		if err != nil {
			return err
		}
		if e.Mode == 0 || e.ID == dir.ID {
			continue
		}
		for i := range out {
			if strings.HasPrefix(out[i].Path, dir.Path+"/") {
				out[i].Verdict, out[i].Why = Hard, "a folder is gone in which the other side works"
			}
		}
	}
	return nil
}

func decide(c PathChange, ours object.Entry) Decision {
	d := Decision{PathChange: c, Ours: ours, Mode: c.New.Mode}
	hard := func(why string) Decision {
		d.Verdict, d.Why = Hard, why
		return d
	}
	text := func(e object.Entry) bool { return e.Mode == object.ModeFile || e.Mode == object.ModeExecutable }
	switch {
	case ours.Mode == 0 && c.New.Mode == 0:
		return hard("both sides removed or renamed it")
	case same(ours, c.New):
		d.Verdict = Done
	case same(ours, c.Old):
		d.Verdict = Take
	case ours.Mode == 0 || c.New.Mode == 0:
		return hard("one side removed or renamed what the other changed")
	case !text(ours) || !text(c.New) || c.Old.Mode != 0 && !text(c.Old):
		return hard("not a plain file on every side")
	case c.Old.Mode == 0:
		d.Verdict = Blend
		if ours.Mode != c.New.Mode {
			return hard("both sides added the file, with other modes")
		}
	default:
		// A plain file has two modes, so sides that both changed it agree.
		if c.New.Mode == c.Old.Mode {
			d.Mode = ours.Mode
		}
		d.Verdict = Blend
		switch {
		case ours.ID == c.Old.ID || ours.ID == c.New.ID:
			d.Verdict = Take
		case c.New.ID == c.Old.ID:
			d.Verdict, d.New.ID = Take, ours.ID
		}
	}
	return d
}

// same compares entries by what they are, not by name.
func same(a, b object.Entry) bool { return a.Mode == b.Mode && (a.Mode == 0 || a.ID == b.ID) }

// A Finder looks paths up. Trees that it is asked about often it reads once.
type Finder struct {
	read  Read
	trees map[object.ID]*shelf
}

type shelf struct {
	data  []byte
	asked int
	names map[string]object.Entry
}

// often is how many look-ups in one tree are worth a table.
const often = 6

// NewFinder reads trees by read.
func NewFinder(read Read) *Finder { return &Finder{read: read, trees: map[object.ID]*shelf{}} }

// Find looks a path up in a tree. Mode 0: it is not there; blocked then says that
// a file stands where the path has a folder.
func (f *Finder) Find(root object.ID, path string) (e object.Entry, blocked bool, err error) {
	for {
		if root.IsZero() {
			return object.Entry{}, false, nil
		}
		name, rest, deeper := strings.Cut(path, "/")
		e, err = f.entry(root, name)
		if err != nil || !deeper || e.Mode == 0 {
			return e, false, err
		}
		if e.Mode != object.ModeTree {
			return object.Entry{}, true, nil
		}
		root, path = e.ID, rest
	}
}

func (f *Finder) entry(tree object.ID, name string) (object.Entry, error) {
	s := f.trees[tree]
	if s == nil {
		data, err := f.read(tree)
		if err != nil {
			return object.Entry{}, err
		}
		s = &shelf{data: data}
		f.trees[tree] = s
	}
	if s.asked++; s.asked == often {
		entries, err := object.ParseTree(s.data)
		if err != nil {
			return object.Entry{}, err
		}
		s.names = make(map[string]object.Entry, len(entries))
		for _, e := range entries {
			s.names[e.Name] = e
		}
	}
	if s.names != nil {
		return s.names[name], nil
	}
	e, _, err := object.FindEntry(s.data, name)
	return e, err
}
