package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an agent did before its turns ran out is committed and checked as if it had said
// done: what passes lands, what does not comes back to the agent with the output.
func TestSwarmTurnsRunOut(t *testing.T) {
	p := newPlayground(t)
	script := `
parts:
  - name: lead
    role: lead
    turns:
      - calls: [{tool: spawn, arguments: {title: slow, text: "task: slow", check: "grep -q two a.txt"}}]
      - name: over
        calls: [{tool: done, arguments: {summary: "One task."}}]
        next: [{go: over}]
  - name: slow
    role: worker
    task: slow
    turns:
      - calls: [{tool: write, arguments: {path: a.txt, content: "one\n"}}]
      - calls: [{tool: read, arguments: {path: a.txt}}]
      - calls: [{tool: write, arguments: {path: a.txt, content: "two\n"}}]
      - name: idle
        calls: [{tool: read, arguments: {path: a.txt}}]
        next: [{go: idle}]
`
	if err := os.WriteFile(filepath.Join(p.dir, "script.yaml"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	run := p.dure("run", "run", "SPEC.md", "--repo", "repo", "--check", "grep -q two a.txt", "--script", "script.yaml", "--yes", "--turns", "2")
	out, err := p.toEnd(run)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"t2 is reported: It had as many turns as it may have.", "t2: its check fails", "t2 comes back", "t2: its check passes", "finished: done"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "joins as worker"); n != 1 {
		t.Errorf("%d workers, want the same one again\n%s", n, out)
	}
	p.landed("run", map[string]string{"a.txt": "two"})
}
