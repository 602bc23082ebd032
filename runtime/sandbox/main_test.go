package sandbox

import (
	"os"
	"testing"

	"dure/runtime/sandbox/cell"
)

// TestMain is the helper and the probes, too: the test binary executes itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == cell.Arg {
		cell.Main()
	}
	if len(os.Args) > 2 && os.Args[1] == probeArg {
		runProbe(os.Args[2])
	}
	os.Exit(m.Run())
}
