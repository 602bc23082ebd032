package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/runtime/swarm"
	"dure/runtime/tool"
)

// What agents' shells say in TestSwarmShell.
const (
	shellFirst = `set -x
sql "insert into notes (topic, body) values (\$1, 'from the shell')" --arg first && echo STORED
sql "create table mine (a text)"; echo CREATED $?
git clone -q dure::/git /tmp/r && cd /tmp/r && git log -1 --format='LOG %an %s' && ls lib
echo pushed > pushed.txt && git add pushed.txt && git commit -qm 'a push'
git push -q origin HEAD:main && echo MAIN MOVED
git push -q origin HEAD:agent/noether && echo ANOTHERS MOVED
git push -q origin HEAD:agent/$GIT_AUTHOR_NAME && echo PUSHED`
	shellSecond = `for i in $(seq 300); do sql "select agent, body from notes" > /tmp/notes; grep -q shell /tmp/notes && break; sleep 0.2; done
cat /tmp/notes
git init -q /tmp/g; cd /tmp/g
for i in $(seq 300); do git fetch -q dure::/git agent/FIRST && git show FETCH_HEAD:pushed.txt && break; sleep 0.2; done
echo RUN $(ls -R /run); ls -d FOLDER; ls -l /opt/dure; grep -c runtime/judge /opt/dure/sql; true`
)

// Rows 6 and 10, in a run: an agent's shell has the team's tables and the repository by
// its own socket, which says who it is, and nothing else of the harness. What it pushes
// and what it leaves in its workspace both land.
func TestSwarmShell(t *testing.T) {
	p := newPlayground(t)
	client := p.client()
	quote := func(s string) string { return fmt.Sprintf("%q", s) }
	script := `
parts:
  - name: lead
    role: lead
    turns:
      - calls:
          - {tool: spawn, arguments: {title: first, text: "task: first", check: "grep -q two written.txt && test -s pushed.txt"}}
          - {tool: spawn, arguments: {title: second, text: "task: second", check: "test -s second.txt"}}
      - name: over
        calls: [{tool: done, arguments: {summary: "Two tasks."}}]
        next: [{go: over}]
  - name: first
    role: worker
    task: first
    turns:
      - calls: [{tool: write, arguments: {path: written.txt, content: "one\n"}}]
      - calls: [{tool: shell, arguments: {command: ` + quote(shellFirst) + `}}]
      - calls: [{tool: done, arguments: {summary: "first"}}]
      - calls: [{tool: read, arguments: {path: written.txt}}]
      - calls: [{tool: write, arguments: {path: written.txt, content: "two\n"}}]
      - calls: [{tool: done, arguments: {summary: "first, again"}}]
  - name: second
    role: worker
    task: second
    turns:
      - calls: [{tool: shell, arguments: {command: ` + quote(strings.NewReplacer("FIRST", swarm.Name(1), "FOLDER", filepath.Join(p.dir, "run")).Replace(shellSecond)) + `}}]
      - calls: [{tool: write, arguments: {path: second.txt, content: "s\n"}}]
      - calls: [{tool: done, arguments: {summary: "second"}}]
`
	if err := os.WriteFile(filepath.Join(p.dir, "script.yaml"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	run := p.dure("run", "run", "SPEC.md", "--repo", "repo", "--check", "test -s second.txt && test -s pushed.txt", "--script", "script.yaml", "--yes", "--judge-open", "allow")
	run.Env = append(run.Env, "DURE_CLIENT="+client)
	out, err := p.toEnd(run)
	said := p.shells("run")
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, said)
	}
	first, second := said["first"], said["second"]
	worker := swarm.Name(1)
	for _, want := range []string{"STORED", "only the lead creates tables", "CREATED 3", "LOG a begin", "greet.sh", "an agent moves its own branch only", "+ echo PUSHED"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	if strings.Contains(first, "MOVED\n") {
		t.Errorf("a push to another's branch:\n%s", first)
	}
	for _, want := range []string{worker + "  from the shell", "pushed", "RUN /run: dure /run/dure: agent.sock\n", "No such file", " git-remote-dure\n", " sql\n", "\n0\n"} {
		if !strings.Contains(second, want) {
			t.Errorf("no %q in\n%s", want, second)
		}
	}
	p.landed("run", map[string]string{"written.txt": "two", "pushed.txt": "pushed", "second.txt": "s"})
}

// shells is what shells said in a run, by the title of the task.
func (p playground) shells(folder string) map[string]string {
	t := p.t
	t.Helper()
	log := runLog(t, filepath.Join(p.dir, folder))
	titles, calls, said := map[string]string{}, map[string]string{}, map[string]string{}
	for e, err := range log.ReadAll(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		payload, err := swarm.Registry.Decode(e)
		if err != nil {
			payload, _ = tool.Registry.Decode(e)
		}
		switch q := payload.(type) {
		case swarm.Submitted:
			titles[string(q.Task)] = q.Title
		case tool.Judged:
			if q.Tool == "shell" {
				calls[q.Agent+q.Call] = titles[strings.SplitN(q.Call, "-", 2)[0]]
			}
		case tool.Ended:
			if title, is := calls[q.Agent+q.Call]; is {
				said[title] += q.Output
			}
		}
	}
	return said
}
