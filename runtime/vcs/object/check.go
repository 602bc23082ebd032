package object

import (
	"bytes"
	"fmt"
)

// CheckTree is ParseTree with every name safe to check out: what a tree must be to
// come in from outside.
func CheckTree(data []byte) ([]Entry, error) {
	entries, err := ParseTree(data)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if err := CheckName(e.Name); err != nil {
			return nil, err
		}
		// A file and a folder of one name do not stand side by side in the order.
		if seen[e.Name] {
			return nil, fmt.Errorf("%w: %q twice", ErrTree, e.Name)
		}
		seen[e.Name] = true
		if e.ID.IsZero() {
			return nil, fmt.Errorf("%w: %q has no object", ErrTree, e.Name)
		}
		if e.Mode == ModeLink && IsModules(e.Name) {
			return nil, &PathError{e.Name, ".gitmodules is a symbolic link"}
		}
	}
	return entries, nil
}

// maxAttributesLine is the longest line of a .gitattributes that git reads.
const maxAttributesLine = 2048

// CheckAttributes refuses a .gitattributes that git refuses.
func CheckAttributes(path string, data []byte) error {
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSuffix(line, []byte{'\n'})) >= maxAttributesLine {
			return &PathError{path, fmt.Sprintf("a line of %d bytes or more, which git does not read", maxAttributesLine)}
		}
	}
	return nil
}
