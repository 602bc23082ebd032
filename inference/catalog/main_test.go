package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"dure/inference/fetch"
)

// The test binary runs itself again where a test needs a process to kill.
const childVar = "CATALOG_TEST_CHILD"

// childTask is what such a process does: it pulls, and if Join is set stops
// there, after the first progress of joining, and says so on the pipe Alive.
type childTask struct {
	Home, Alive string
	Entry       Entry
	Join        bool
}

func TestMain(m *testing.M) {
	task := os.Getenv(childVar)
	if task == "" {
		os.Exit(m.Run())
	}
	if err := childMain(task); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childMain(text string) error {
	var task childTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return err
	}
	f := &fetch.Fetcher{Home: task.Home}
	if task.Join {
		f.Progress = func(p fetch.Progress) {
			if p.Step != "unpack" {
				return
			}
			pipe, err := os.OpenFile(task.Alive, os.O_WRONLY, 0)
			if err == nil {
				fmt.Fprintln(pipe, "up")
			}
			select {} // until it is killed
		}
	}
	_, err := Pull(ctx, f, task.Entry, Options{})
	return err
}

func child(t *testing.T, home string, e Entry, alive string, more ...string) *exec.Cmd {
	t.Helper()
	task, err := json.Marshal(childTask{Home: home, Alive: alive, Entry: e, Join: len(more) > 0})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), childVar+"="+string(task))
	return cmd
}
