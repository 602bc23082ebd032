package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain is git's helper, too: the test binary is run under its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == Name {
		err := Run(context.Background(), Call{Args: os.Args[1:], Socket: os.Getenv("DURE_SOCKET"), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		var told *exec.ExitError
		switch {
		case err == nil:
			os.Exit(0)
		case errors.As(err, &told):
			os.Exit(told.ExitCode())
		default:
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
