package scripted_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The specification that is for a real model can be met, and is not met by what its
// repository begins with.
func TestTally(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: no go to build the example with: ", err)
	}
	check := func(dir, what string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "check.sh", what)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	dir := copyTree(t, "../../examples/tally/tree")
	for _, what := range []string{"journal", "reports", "choosing", ""} {
		if out, err := check(dir, what); err == nil {
			t.Errorf("check %q passes before anything is written: %s", what, out)
		}
	}
	for _, name := range []string{"main.go", "main_test.go"} {
		b, err := os.ReadFile(filepath.Join("testdata/tally", name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range []string{"journal", "reports", "choosing", ""} {
		if out, err := check(dir, what); err != nil {
			t.Errorf("check %q: %v\n%s", what, err, out)
		}
	}
}
