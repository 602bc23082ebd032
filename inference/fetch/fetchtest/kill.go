// Package fetchtest holds what tests of several packages need to break off work
// of package fetch in another process. It owns nothing. Only tests import it.
package fetchtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
)

// KillAt starts cmd, kills it as soon as somebody has written a line into the
// named pipe alive, and returns when the last process that holds the pipe for
// writing is gone: the clients that cmd started, too.
func KillAt(t testing.TB, cmd *exec.Cmd, alive string) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	in := bufio.NewReader(pipe)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := io.Copy(io.Discard, in); err != nil {
		t.Fatal(err)
	}
}
