package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/control"
	"dure/runtime/swarm"
	"dure/runtime/tool"
)

// A real model works for a team whose lead follows a script: held to the form of a call,
// it makes calls that are judged, carried out in its box and answered, whatever it makes
// of the task. That it does the task is not asked of 135 million parameters.
func TestSwarmRealModel(t *testing.T) {
	p := newPlayground(t)
	script := `
parts:
  - name: lead
    role: lead
    turns:
      - calls: [{tool: spawn, arguments: {title: Create hello.txt, text: "Write a file with the name hello.txt. The content of the file is: hello", check: "test -s hello.txt"}}]
      - name: over
        calls: [{tool: done, arguments: {summary: "One task."}}]
        next: [{go: over}]
`
	if err := os.WriteFile(filepath.Join(p.dir, "script.yaml"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	run := p.dure("run", "run", "SPEC.md", "--repo", "repo", "--check", "test -s hello.txt", "--script", "script.yaml",
		"--url", s.url, "--must-call", "--yes", "--agents", "1", "--turns", "2")
	out := &lockedBuffer{}
	run.Stdout, run.Stderr = out, out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	c := control.Dial(filepath.Join(p.dir, "run", teamSocket))
	waitForPlan(p.ctx, t, c, ended, out)
	for called := false; !called; {
		v, err := c.View(p.ctx)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, a := range v.Agents {
			called = called || a.Role == swarm.RoleWorker && a.Turns > 1 // the first turn's calls have ended
		}
		for _, task := range v.Tasks {
			called = called || task.Returns > 0 || task.Epoch > 1
		}
		if sleep(p.ctx, 100*time.Millisecond) != nil {
			t.Fatalf("no turn of the worker\n%s", out)
		}
	}
	if text, err := p.dure("run", "finish", "seen enough").CombinedOutput(); err != nil {
		t.Errorf("finish: %v\n%s", err, text)
	}
	var exit *exec.ExitError // a run that was stopped is not done
	if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out.String(), "Nothing leaves this machine") {
		t.Fatalf("%v\n%s", err, out)
	}
	p.calls(out)
	if got := p.git("status", "--short"); got != "" {
		t.Errorf("the person's repository was changed: %s", got)
	}
}

// calls looks at the calls of the worker in a run's log.
func (p playground) calls(out fmt.Stringer) {
	t := p.t
	t.Helper()
	log := runLog(t, filepath.Join(p.dir, "run"))
	worker, judged, ended := "", map[string]bool{}, 0
	for e, err := range log.ReadAll(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case swarm.Events.Leased.Name():
			l, decodeErr := swarm.Events.Leased.Decode(e)
			if err = decodeErr; l.Role == swarm.RoleWorker && worker == "" {
				worker = l.Agent
			}
		case tool.Events.Judged.Name():
			j, decodeErr := tool.Events.Judged.Decode(e)
			err = decodeErr
			judged[j.Agent+j.Call] = true
		case tool.Events.Started.Name():
			st, decodeErr := tool.Events.Started.Decode(e)
			if err = decodeErr; !judged[st.Agent+st.Call] {
				t.Errorf("%s of %s was carried out without a verdict before it", st.Call, st.Agent)
			}
		case tool.Events.Ended.Name():
			end, decodeErr := tool.Events.Ended.Decode(e)
			if err = decodeErr; end.Agent == worker && worker != "" {
				ended++
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if ended == 0 {
		t.Errorf("the worker %q made no call\n%s", worker, out)
	}
}
