package land

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"dure/runtime/vcs/object"
)

// A gitAnswer is what git says of one merge.
type gitAnswer struct {
	clean bool
	tree  object.ID
	files []gitFile         // that conflict
	why   map[string]string // by path: the kind of conflict
}

// A gitFile is a path with its entries; mode 0: none.
type gitFile struct {
	path               string
	base, ours, theirs object.Entry
}

// word reads up to the next NUL.
func word(r *bufio.Reader) (string, error) {
	s, err := r.ReadString(0)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return "", err
	}
	return s[:len(s)-1], nil
}

// readAnswer reads one answer: its head, and messages up to an empty word.
func readAnswer(r *bufio.Reader) (*gitAnswer, error) {
	a, err := readHead(r)
	if err != nil {
		return nil, err
	}
	return a, a.messages(r)
}

// readHead reads status, tree, and conflicting entries up to an empty word.
func readHead(r *bufio.Reader) (*gitAnswer, error) {
	status, err := word(r)
	if err != nil {
		return nil, err
	}
	tree, err := word(r)
	if err != nil {
		return nil, err
	}
	a := &gitAnswer{clean: status == "1", why: map[string]string{}}
	if status != "0" && status != "1" {
		return nil, fmt.Errorf("its answer begins with %q", status)
	}
	if a.tree, err = object.ParseID(tree); err != nil {
		return nil, err
	}
	for {
		line, err := word(r)
		if err != nil || line == "" {
			return a, err
		}
		if err := a.entry(line); err != nil {
			return nil, err
		}
	}
}

// entry reads "mode id stage\tpath".
func (a *gitAnswer) entry(line string) error {
	head, path, ok := bytes.Cut([]byte(line), []byte{'\t'})
	var mode, id string
	var stage int
	if _, err := fmt.Sscan(string(head), &mode, &id, &stage); !ok || err != nil {
		return fmt.Errorf("a conflicting file is described as %q", line)
	}
	m, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return err
	}
	e := object.Entry{Name: filepath.Base(string(path)), Mode: object.Mode(m)}
	if e.ID, err = object.ParseID(id); err != nil {
		return err
	}
	if n := len(a.files); n == 0 || a.files[n-1].path != string(path) {
		a.files = append(a.files, gitFile{path: string(path)})
	}
	f := &a.files[len(a.files)-1]
	switch stage {
	case 1:
		f.base = e
	case 2:
		f.ours = e
	case 3:
		f.theirs = e
	default:
		return fmt.Errorf("stage %d of %q", stage, path)
	}
	return nil
}

// messages reads groups of: how many paths, the paths, a type, a text.
func (a *gitAnswer) messages(r *bufio.Reader) error {
	for {
		count, err := word(r)
		if err != nil || count == "" {
			return err
		}
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 {
			return fmt.Errorf("a message begins with %q", count)
		}
		var paths []string
		for range n {
			p, err := word(r)
			if err != nil {
				return err
			}
			paths = append(paths, p)
		}
		kind, err := word(r)
		if err != nil {
			return err
		}
		if _, err = word(r); err != nil { // the text for people
			return err
		}
		for _, p := range paths {
			if len(kind) > 8 && kind[:8] == "CONFLICT" {
				a.why[p] = kind
			}
		}
	}
}
