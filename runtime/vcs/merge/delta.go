package merge

import (
	"errors"
	"fmt"

	"dure/runtime/vcs/object"
)

// A Read returns the bytes of a tree. They are not changed.
type Read func(tree object.ID) ([]byte, error)

// A PathChange is a file that is not the same in two trees. Mode 0 means that it
// is not there.
type PathChange struct {
	Path     string
	Old, New object.Entry
	// Among says that the folder of the path is in the old tree too. A file that
	// came to a folder which the other side has not got any more may belong where
	// that folder went.
	Among bool
}

// A Folder is a folder that one tree has and the other has not.
type Folder struct {
	Path string
	ID   object.ID
}

// A Delta is what changed from one tree to another.
type Delta struct {
	Changes []PathChange // files in the order of the trees
	Gone    []Folder     // folders of the old tree that are not in the new one
	Added   int          // changes that are new files
}

// ErrTooMany: a delta has more files than its limit allows.
var ErrTooMany = errors.New("too many files differ")

// Changed compares two trees; the work is by what differs. Either may be
// object.Zero, the empty tree. At most files paths are listed, then it is
// ErrTooMany.
func Changed(read Read, from, to object.ID, files int) (*Delta, error) {
	w := &walker{read: read, most: files, delta: &Delta{}}
	if err := w.trees("", from, to, true); err != nil {
		return nil, fmt.Errorf("compare tree %s with %s: %w", from.Short(), to.Short(), err)
	}
	return w.delta, nil
}

type walker struct {
	read  Read
	most  int
	delta *Delta
}

func (w *walker) entries(id object.ID) ([]object.Entry, error) {
	if id.IsZero() {
		return nil, nil
	}
	data, err := w.read(id)
	if err != nil {
		return nil, err
	}
	return object.ParseTree(data)
}

// trees compares two folders at a prefix, which is empty or ends in a slash.
func (w *walker) trees(prefix string, from, to object.ID, among bool) error {
	if from == to {
		return nil
	}
	old, err := w.entries(from)
	if err != nil {
		return err
	}
	new, err := w.entries(to)
	if err != nil {
		return err
	}
	for len(old) > 0 || len(new) > 0 {
		var o, n object.Entry
		if len(new) == 0 || len(old) > 0 && object.CompareEntries(old[0], new[0]) <= 0 {
			o = old[0]
		}
		if len(old) == 0 || len(new) > 0 && object.CompareEntries(new[0], old[0]) <= 0 {
			n = new[0]
		}
		if o.Mode != 0 {
			old = old[1:]
		}
		if n.Mode != 0 {
			new = new[1:]
		}
		if err := w.entry(prefix, o, n, among); err != nil {
			return err
		}
	}
	return nil
}

// entry compares two entries of one name, of which one may be missing. A file and
// a folder of one name stand apart in the order, so they do not come together.
func (w *walker) entry(prefix string, o, n object.Entry, among bool) error {
	if o == n {
		return nil
	}
	if o.Mode == object.ModeTree || n.Mode == object.ModeTree {
		path := prefix + o.Name
		if o.Mode == 0 {
			path = prefix + n.Name
		}
		if n.Mode == 0 {
			w.delta.Gone = append(w.delta.Gone, Folder{path, o.ID})
		}
		return w.trees(path+"/", o.ID, n.ID, o.Mode != 0)
	}
	if len(w.delta.Changes) == w.most {
		return fmt.Errorf("%w: more than %d", ErrTooMany, w.most)
	}
	name := o.Name
	if o.Mode == 0 {
		name = n.Name
		w.delta.Added++
	}
	w.delta.Changes = append(w.delta.Changes, PathChange{prefix + name, o, n, among})
	return nil
}
