package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Row 45, in a run: three workers report a file, the run has it split, what a worker
// changed in it meanwhile waits, and lands in the part where its lines went. The two that
// have to meet wait for each other: c for the warning, which comes with the result of any
// of its calls, and the splitter for c's note that its commit was refused.
func TestSwarmHotFile(t *testing.T) {
	p := newPlayground(t)
	client := p.client()
	var mega, one, two strings.Builder
	for i := range 40 {
		line := fmt.Sprintf("line %d of the file that everybody changes\n", i)
		mega.WriteString(line)
		if i < 20 {
			one.WriteString(line)
		} else {
			two.WriteString(line)
		}
	}
	script := `
parts:
  - name: lead
    role: lead
    turns:
      - calls:
          - {tool: spawn, arguments: {title: a, text: "task: a", check: "test -s a.txt"}}
          - {tool: spawn, arguments: {title: b, text: "task: b", check: "test -s b.txt"}}
          - {tool: spawn, arguments: {title: c, text: "task: c", check: "grep -q CHANGED mega.txt"}}
      - name: over
        calls: [{tool: done, arguments: {summary: "Three tasks."}}]
        next: [{go: over}]
`
	for _, name := range []string{"a", "b"} {
		script += fmt.Sprintf(`
  - name: %s
    role: worker
    task: %[1]s
    turns:
      - name: again
        calls: [{tool: report_file, arguments: {path: mega.txt, why: "everybody is in it"}}]
      - calls: [{tool: write, arguments: {path: %[1]s.txt, content: "%[1]s\n"}}]
      - calls: [{tool: done, arguments: {summary: "%[1]s"}}]
        next: [{go: again}]
`, name)
	}
	script += fmt.Sprintf(`
  - name: c
    role: worker
    task: c
    turns:
      - name: again
        calls: [{tool: read, arguments: {path: mega.txt}}]
      - calls: [{tool: edit, arguments: {path: mega.txt, old: "line 30 of the file", new: "line 30, CHANGED, of the file"}}]
      - calls: [{tool: report_file, arguments: {path: mega.txt, why: "everybody is in it"}}]
        next: [{if: "splits it now", go: warned}, {go: unwarned}]
      - name: unwarned
        calls: [{tool: shell, arguments: {command: "sleep 0.2"}}]
        next: [{if: "splits it now", go: warned}, {go: unwarned}]
      - name: warned
        calls: [{tool: commit, arguments: {message: "refused"}}]
      - calls: [{tool: shell, arguments: {command: "sql \"insert into notes (topic, body) values ('c', 'was refused')\""}}]
      - calls: [{tool: done, arguments: {summary: "changed line 30"}}]
        next: [{go: again}]
  - name: splitter
    role: worker
    match: split mega.txt
    turns:
      - name: again
        calls: [{tool: read, arguments: {path: mega.txt}}]
      - calls: [{tool: write, arguments: {path: one.txt, content: %q}}, {tool: write, arguments: {path: two.txt, content: %q}}]
      - calls: [{tool: shell, arguments: {command: "rm mega.txt; for i in $(seq 300); do sql 'select body from notes' | grep -q 'was refused' && break; sleep 0.2; done"}}]
      - calls: [{tool: done, arguments: {summary: "one.txt and two.txt"}}]
        next: [{go: again}]
`, one.String(), two.String())
	for name, text := range map[string]string{"script.yaml": script, "repo/mega.txt": mega.String()} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.git("add", "-A")
	p.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "a large file")
	run := p.dure("run", "run", "SPEC.md", "--repo", "repo", "--check", "test -s a.txt && test -s b.txt && grep -q CHANGED two.txt && ! test -e mega.txt", "--script", "script.yaml", "--yes", "--judge-open", "allow")
	run.Env = append(run.Env, "DURE_CLIENT="+client)
	out, err := p.toEnd(run)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.landed("run", map[string]string{"one.txt": strings.TrimSpace(one.String())})
	for _, want := range []string{"is new: split mega.txt", "commit refused: failed", "finished: done"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "conflicts with main"); n != 0 {
		t.Errorf("%d conflicts\n%s", n, out)
	}
}
