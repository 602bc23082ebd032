package main

import (
	"errors"
	"testing"

	"dure/runtime/board/shell"
)

// A wrong command line has the exit code that the help names.
func TestSQLUsage(t *testing.T) {
	for _, args := range [][]string{{"sql", "a", "b"}, {"sql", "--nope"}, {"sql", "--for", "x"}} {
		root := newRoot()
		root.SetArgs(args)
		var coded *exitError
		if err := root.ExecuteContext(t.Context()); !errors.As(err, &coded) || coded.code != shell.Usage {
			t.Errorf("%v: %v", args, err)
		}
	}
}
