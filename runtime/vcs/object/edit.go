package object

import (
	"bytes"
	"fmt"
	"slices"
)

// Edit is a tree's bytes after changes: each entry of edits takes the place of
// what had its name, or goes where it belongs; one with mode 0 removes the name.
// Names must differ. Removing a name that is not there is no error here.
func Edit(data []byte, edits []Entry) ([]byte, error) {
	if len(edits) == 1 {
		if out, ok, err := patch(data, edits[0]); ok || err != nil {
			return out, err
		}
	}
	edits = slices.Clone(edits)
	slices.SortFunc(edits, CompareEntries)
	byName := make(map[string]bool, len(edits))
	size := len(data)
	for _, e := range edits {
		if byName[e.Name] {
			return nil, fmt.Errorf("edit a tree: %q twice", e.Name)
		}
		byName[e.Name] = true
		size += len(e.Name) + 8 + Size
	}
	out := make([]byte, 0, size)
	for len(data) > 0 {
		name, mode, id, rest, err := NextEntry(data)
		if err != nil {
			return nil, err
		}
		if !byName[string(name)] {
			old := Entry{Name: string(name), Mode: mode, ID: id}
			for len(edits) > 0 && CompareEntries(edits[0], old) < 0 {
				out = appendPut(out, edits[0])
				edits = edits[1:]
			}
			out = append(out, data[:len(data)-len(rest)]...)
		}
		data = rest
	}
	for _, e := range edits {
		out = appendPut(out, e)
	}
	return out, nil
}

func appendPut(out []byte, e Entry) []byte {
	if e.Mode == 0 {
		return out
	}
	return AppendEntry(out, e)
}

// patch does the commonest edit, another object under the same name and mode,
// without building entries: commits of agents are mostly this.
func patch(data []byte, e Entry) (out []byte, ok bool, err error) {
	for rest := data; len(rest) > 0; {
		name, mode, _, next, err := NextEntry(rest)
		if err != nil {
			return nil, false, err
		}
		if string(name) == e.Name {
			if mode != e.Mode {
				return nil, false, nil
			}
			out = bytes.Clone(data)
			copy(out[len(data)-len(next)-Size:], e.ID[:])
			return out, true, nil
		}
		rest = next
	}
	return nil, false, nil
}
