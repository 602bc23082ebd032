package sandbox

import (
	"os"
	"testing"
)

// TestMain is the probes, too: the test binary executes itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == probeArg {
		runProbe(os.Args[2])
	}
	os.Exit(m.Run())
}
