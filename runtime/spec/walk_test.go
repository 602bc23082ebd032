package spec_test

import (
	"io/fs"
	"testing"
)

// walk notes what is in a tree.
func walk(t *testing.T, tree fs.FS, root string, have map[string]bool) {
	t.Helper()
	if err := fs.WalkDir(tree, root, func(p string, _ fs.DirEntry, err error) error {
		have[p] = true
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
