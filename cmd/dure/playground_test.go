package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
)

// playground is a person's repository with a specification and a script beside it.
type playground struct {
	t   *testing.T
	dir string
	ctx context.Context // ends what hangs
}

func newPlayground(t *testing.T) playground {
	t.Helper()
	dir, err := os.MkdirTemp("", "swarm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	p := playground{t, dir, ctx}
	for name, text := range map[string]string{
		"SPEC.md": swarmSpec, "script.yaml": swarmScript,
		"repo/check.sh":     "set -e\ntest $(sh lib/add.sh 2 2) = 4\ntest $(sh lib/twice.sh 5) = 10\ntest \"$(sh lib/greet.sh)\" = \"hello name shout\"\necho all good\n",
		"repo/lib/greet.sh": "echo hello\n",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "begin")
	return p
}

func (p playground) git(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", filepath.Join(p.dir, "repo")}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// dure runs a subcommand of swarm on the run in a folder.
func (p playground) dure(folder string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.ctx, self, append([]string{"swarm", "--dir", filepath.Join(p.dir, folder)}, args...)...)
	cmd.Env = append(os.Environ(), envBeDure+"=1", "DURE_HOME="+p.dir)
	cmd.Dir = p.dir
	return cmd
}

// toEnd runs the run in the folder "run" to its end. One that waits for a person is ended,
// too; where the machine allows no sandbox, the test is skipped.
func (p playground) toEnd(run *exec.Cmd) (out []byte, err error) {
	p.t.Helper()
	text := &lockedBuffer{}
	run.Stdout, run.Stderr = text, text
	if err := run.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	c := control.Dial(filepath.Join(p.dir, "run", teamSocket))
	for {
		select {
		case err := <-ended:
			needsSandbox(p.t, text)
			return []byte(text.String()), err
		case <-time.After(50 * time.Millisecond):
		}
		if why := waitsFor(p.ctx, c); why != "" {
			_ = run.Process.Kill()
			<-ended
			return []byte(text.String()), errors.New("the team waits for a person: " + why)
		}
	}
}

// waitsFor is why a run does not go on without a person; empty: it does.
func waitsFor(ctx context.Context, c *control.Client) string {
	if s, err := c.Status(ctx); err == nil && s.Gate.Phase == gate.PhaseStopped && len(s.Gate.Blocks) > 0 {
		return s.Gate.Blocks[0].Reason
	}
	if v, err := c.View(ctx); err == nil && len(v.Questions) > 0 {
		return v.Questions[0].Text
	}
	return ""
}

// needsSandbox skips the test where dure says that this machine allows no sandbox.
func needsSandbox(t *testing.T, said fmt.Stringer) {
	t.Helper()
	if strings.Contains(said.String(), "this machine allows no sandbox") {
		t.Skipf("SKIPPED: %s", said)
	}
}

// waitForPlan waits until the lead of a run has drafted one.
func waitForPlan(ctx context.Context, t *testing.T, c *control.Client, ended chan error, out fmt.Stringer) control.View {
	t.Helper()
	for {
		if v, err := c.View(ctx); err == nil && v.Plan != "" {
			return v
		}
		select {
		case err := <-ended:
			needsSandbox(t, out)
			t.Fatalf("the run ended: %v\n%s", err, out)
		case <-ctx.Done():
			t.Fatal("no plan")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// runLog opens the log of a run for as long as the test goes on.
func runLog(t *testing.T, folder string) event.Log {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(folder, teamLog)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// begun reports whether a folder's log holds a run.
func begun(t *testing.T, folder string) bool {
	t.Helper()
	_, _, err := loadRun(t.Context(), folder)
	return err == nil
}

// client builds what boxes have of dure.
func (p playground) client() string {
	p.t.Helper()
	file := filepath.Join(p.dir, "client")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", file, "dure/cmd/client")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// landed looks at files of a run's main.
func (p playground) landed(folder string, files map[string]string) {
	p.t.Helper()
	for name, want := range files {
		out, err := exec.Command("git", "-C", filepath.Join(p.dir, folder, teamRepo), "show", "main:"+name).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			p.t.Errorf("%s on main is %q, want %q: %v", name, got, want, err)
		}
	}
}
