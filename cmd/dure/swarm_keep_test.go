package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A command that has to go on passing follows main: the landing that breaks it is found,
// a task mends it, and green, a ref of the run's repository, stands on main in the end. The
// last task lands when green has a's file without the bad one: a run does not wait for it.
func TestSwarmKeep(t *testing.T) {
	p := newPlayground(t)
	client := p.client()
	script := `
parts:
  - name: lead
    role: lead
    turns:
      - calls:
          - {tool: spawn, arguments: {title: a, text: "task: a", check: "test -s a.txt"}}
          - {tool: spawn, arguments: {title: b, text: "task: b", check: "test -s b.txt", after: t2}}
      - name: over
        calls: [{tool: done, arguments: {summary: "Two tasks."}}]
        next: [{go: over}]
  - name: a
    role: worker
    task: a
    turns:
      - calls: [{tool: write, arguments: {path: a.txt, content: "a\n"}}, {tool: write, arguments: {path: bad.txt, content: "b\n"}}]
      - calls: [{tool: done, arguments: {summary: "a, and something bad"}}]
  - name: b
    role: worker
    task: b
    turns:
      - calls: [{tool: shell, arguments: {command: "git init -q /tmp/g; cd /tmp/g; for i in $(seq 300); do git fetch -q dure::/git green && git cat-file -e FETCH_HEAD:a.txt && ! git cat-file -e FETCH_HEAD:bad.txt && break; sleep 0.2; done"}}]
      - calls: [{tool: write, arguments: {path: b.txt, content: "b\n"}}]
      - calls: [{tool: done, arguments: {summary: "b"}}]
  - name: mender
    role: worker
    match: mend main
    turns:
      - calls: [{tool: shell, arguments: {command: "rm bad.txt"}}]
      - calls: [{tool: done, arguments: {summary: "nothing bad"}}]
`
	if err := os.WriteFile(filepath.Join(p.dir, "script.yaml"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	run := p.dure("run", "run", "SPEC.md", "--repo", "repo", "--check", "test -s b.txt && ! test -e bad.txt", "--keep", "! test -e bad.txt", "--script", "script.yaml", "--yes")
	run.Env = append(run.Env, "DURE_CLIENT="+client)
	out, err := p.toEnd(run)
	if err != nil || !strings.Contains(string(out), "is new: mend main: ! test -e bad.txt") {
		t.Fatalf("%v\n%s", err, out)
	}
	status, err := p.dure("run", "status").CombinedOutput()
	if err != nil || !strings.Contains(string(status), "! test -e bad.txt passes on main up to ") {
		t.Errorf("status: %v\n%s", err, status)
	}
	green, err := exec.Command("git", "-C", filepath.Join(p.dir, "run", teamRepo), "for-each-ref", "--format=%(refname)", "--contains", "main~1").CombinedOutput()
	if err != nil || !strings.Contains(string(green), "green") {
		t.Errorf("green is not near main: %v\n%s", err, green)
	}
}
