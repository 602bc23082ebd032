package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/inference"
	"dure/runtime/agent"
	"dure/runtime/control"
	"dure/runtime/report"
	"dure/runtime/swarm"
	"dure/runtime/tool"
)

var swarmKills = flag.Int("swarm-kills", 6, "how often TestSwarmRun kills a run")

const swarmSpec = `# Three functions

lib/add.sh adds, lib/twice.sh doubles with it, lib/greet.sh greets.
`

// The lead plans four tasks; add comes back once, two workers contradict each other in
// greet.sh and a merger settles it. All begin again when their work comes back, as it does
// when a call was cut off by a kill.
const swarmScript = `
latency: 20ms
parts:
  - name: lead
    role: lead
    turns:
      - calls: [{tool: read, arguments: {path: check.sh}}]
      - calls:
          - {tool: spawn, arguments: {title: add, text: "task: add\nMake lib/add.sh.", check: "test $(sh lib/add.sh 1 2) = 3"}}
          - {tool: spawn, arguments: {title: twice, text: "task: twice\nMake lib/twice.sh.", check: "test $(sh lib/twice.sh 4) = 8", after: t2}}
          - {tool: spawn, arguments: {title: greet, text: "task: greet\nPut a name into lib/greet.sh.", check: "grep -q name lib/greet.sh"}}
          - {tool: spawn, arguments: {title: shout, text: "task: shout\nHave lib/greet.sh shout.", check: "grep -q shout lib/greet.sh"}}
      - calls: [{tool: done, arguments: {summary: "Four tasks.", plan: "add, twice after it, and two for greet"}}]
      - name: over
        calls: [{tool: done, arguments: {summary: "All are on main."}}]
        next: [{go: over}]
    asides: [{match: 'How far', text: All are planned.}]
  - name: add
    role: worker
    task: add
    turns:
      - calls: [{tool: write, arguments: {path: lib/add.sh, content: "echo $(($1 - $2))\n"}}]
      - calls: [{tool: done, arguments: {summary: "add.sh"}}]
      - name: again
        calls: [{tool: read, arguments: {path: lib/add.sh}}]
      - calls: [{tool: write, arguments: {path: lib/add.sh, content: "echo $(($1 + $2))\n"}}]
      - calls: [{tool: shell, arguments: {command: "sh lib/add.sh 1 2; echo PRINTED BY A TOOL"}}]
      - calls: [{tool: done, arguments: {summary: "add.sh adds now"}}]
        next: [{go: again}]
  - name: twice
    role: worker
    task: twice
    turns:
      - name: again
        calls: [{tool: read, arguments: {path: lib}}, {tool: read, arguments: {path: lib/twice.sh}}]
      - calls: [{tool: write, arguments: {path: lib/twice.sh, content: "sh lib/add.sh $1 $1\n"}}]
      - calls: [{tool: commit, arguments: {message: "twice"}}]
      - calls: [{tool: done, arguments: {summary: "twice.sh"}}]
        next: [{go: again}]
  - name: greet
    role: worker
    task: greet
    turns:
      - name: again
        calls: [{tool: read, arguments: {path: lib/greet.sh}}]
      - calls: [{tool: write, arguments: {path: lib/greet.sh, content: "echo hello name\n"}}]
      - calls: [{tool: done, arguments: {summary: "greets by name"}}]
        next: [{go: again}]
  - name: shout
    role: worker
    task: shout
    turns:
      - name: again
        calls: [{tool: read, arguments: {path: lib/greet.sh}}]
      - calls: [{tool: write, arguments: {path: lib/greet.sh, content: "echo hello shout\n"}}]
      - calls: [{tool: done, arguments: {summary: "shouts"}}]
        next: [{go: again}]
  - name: merger
    role: merger
    turns:
      - name: again
        calls: [{tool: read, arguments: {path: lib/greet.sh}}]
      - calls: [{tool: write, arguments: {path: lib/greet.sh, content: "echo hello name shout\n"}}]
      - calls: [{tool: done, arguments: {summary: "both"}}]
        next: [{go: again}]
`

var swarmBegin = []string{"run", "SPEC.md", "--repo", "repo", "--check", "sh check.sh", "--script", "script.yaml"}

// A run with a person's approval, a check that fails, a conflict and a merger ends with
// the check passing, and the person's repository changes by accept only.
func TestSwarmRun(t *testing.T) {
	p := newPlayground(t)
	run := p.dure("run", swarmBegin...)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	c := control.Dial(filepath.Join(p.dir, "run", teamSocket))
	v := waitForPlan(p.ctx, t, c, ended, &out)
	if v.Tasks[1].Phase != swarm.PhaseWaiting || len(v.Tasks) != 5 || v.Plan != "add, twice after it, and two for greet" {
		t.Errorf("before the plan is approved: %+v", v)
	}
	if text, err := p.dure("run", "accept").CombinedOutput(); err == nil {
		t.Errorf("accepted what runs:\n%s", text)
	}
	if text, err := p.dure("run", "ask", "noether", "How far", "are you?").CombinedOutput(); err != nil || string(text) != "All are planned.\n" {
		t.Errorf("asked: %v\n%s", err, text)
	}
	if text, err := p.dure("run", "ask", "nobody", "x").CombinedOutput(); err == nil || !strings.Contains(string(text), "no such agent") {
		t.Errorf("asked nobody: %v\n%s", err, text)
	}
	if text, err := p.dure("run", "caps", "--max-tokens", "100").CombinedOutput(); err != nil || !strings.Contains(string(text), "cap: run 100 tokens") {
		t.Errorf("caps: %v\n%s", err, text)
	}
	if text, err := p.dure("run", "approve", "go").CombinedOutput(); err != nil {
		t.Fatalf("approve: %v\n%s", err, text)
	}
	// Nobody is asked any more under that cap, and the run waits; with another it goes on.
	select {
	case err := <-ended:
		t.Fatalf("the run ended under its cap: %v\n%s", err, out.String())
	case <-time.After(300 * time.Millisecond):
	}
	if text, err := p.dure("run", "caps", "--max-tokens", "0", "--max-cost", "5").CombinedOutput(); err != nil || !strings.Contains(string(text), "local") {
		t.Errorf("caps: %v\n%s", err, text)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"t2 comes back", "conflicts with main", "(merger)", "The official check passes on main", "finished: done"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	p.report("run")
	p.cleanPlanner("run")
	before := p.git("rev-parse", "HEAD")
	text, err := p.dure("run", "accept").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "dure/three-functions") {
		t.Fatalf("accept: %v\n%s", err, text)
	}
	if p.git("rev-parse", "HEAD") != before || p.git("status", "--short") != "" {
		t.Error("accept touched the checkout")
	}
	p.git("merge", "-q", "dure/three-functions")
	if got, err := exec.Command("sh", "-c", "cd "+filepath.Join(p.dir, "repo")+" && sh check.sh").CombinedOutput(); err != nil {
		t.Errorf("the check on what was accepted: %v\n%s", err, got)
	}
}

// Row 35: the report is made of the log alone, is the same each time, and its sums are
// those of the log.
func (p playground) report(folder string) {
	p.t.Helper()
	var texts [2][]byte
	for i := range texts {
		var err error
		if texts[i], err = p.dure(folder, "report", "--json").Output(); err != nil {
			p.t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		p.t.Errorf("two reports of one log differ:\n%s\n%s", texts[0], texts[1])
	}
	var r report.Report
	if err := json.Unmarshal(texts[0], &r); err != nil {
		p.t.Fatal(err)
	}
	if len(r.Tasks) != 6 || r.Ended["done"] != 6 || r.Finish != "done" || r.Verified == "" || r.Conflicts != 1 || r.Goals.Proved != 4 {
		p.t.Errorf("%d tasks, ended %v, finish %q, %d conflicts, goals %+v", len(r.Tasks), r.Ended, r.Finish, r.Conflicts, r.Goals)
	}
	var agents, roles report.Tokens
	for _, a := range r.Agents {
		agents = report.Tokens{Turns: agents.Turns + a.Turns, Prompt: agents.Prompt + a.Prompt, Cached: agents.Cached + a.Cached, Completion: agents.Completion + a.Completion}
	}
	for _, t := range r.Roles {
		roles = report.Tokens{Turns: roles.Turns + t.Turns, Prompt: roles.Prompt + t.Prompt, Cached: roles.Cached + t.Cached, Completion: roles.Completion + t.Completion}
	}
	if last := r.Curve[len(r.Curve)-1]; agents != roles || last.Tokens != agents.Prompt+agents.Completion || last.Done != 6 || agents.Completion == 0 {
		p.t.Errorf("tokens of agents %+v, of roles %+v, of the curve %+v", agents, roles, last)
	}
	// Row 54: the accounts are the same tokens.
	if run := r.Accounts.Run; run.Uncached+run.Cached != agents.Prompt || run.Cached != agents.Cached || run.Output != agents.Completion {
		p.t.Errorf("accounts %+v, agents %+v", run, agents)
	}
	page := filepath.Join(p.dir, "report.html")
	if out, err := p.dure(folder, "report", "--out", page).CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	html, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(html, []byte("lib/greet.sh</td>")) || !bytes.Contains(html, []byte("<polyline points=")) {
		p.t.Errorf("the page: %v\n%s", err, html)
	}
}

// Row 38: what workers' tools print is in the workers' conversations, and not in the
// lead's.
func (p playground) cleanPlanner(folder string) {
	p.t.Helper()
	log := runLog(p.t, filepath.Join(p.dir, folder))
	reads := func(name, thread string) bool {
		s, err := agent.Load(p.t.Context(), log, name, thread)
		if err != nil || s.Born == nil {
			p.t.Fatalf("%s %s: %v", name, thread, err)
		}
		for _, m := range s.Messages() {
			if m.Role != inference.RoleAssistant && strings.Contains(m.Content, "PRINTED BY A TOOL") {
				return true
			}
		}
		return false
	}
	worker := ""
	for e, err := range log.Read(p.t.Context(), swarm.Stream, 0) {
		if err != nil {
			p.t.Fatal(err)
		}
		if l, err := swarm.Events.Leased.Decode(e); e.Type == swarm.Events.Leased.Name() && err == nil && l.Task == "t2" && worker == "" {
			worker = l.Agent
		}
	}
	if !reads(worker, "t2-1") || reads("noether", "t1-1") {
		p.t.Error("the worker does not read what its tools print, or the lead does")
	}
}

// Row 19: a run that is killed again and again ends as one that is not, and no call is
// carried out twice.
func TestSwarmRunKilled(t *testing.T) {
	p := newPlayground(t)
	text, err := p.toEnd(p.dure("run", append(swarmBegin, "--yes")...))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	calm := mainTree(t, p, "run")
	random := rand.New(rand.NewPCG(1, 2))
	for kills, run := 0, 0; kills < *swarmKills; run++ {
		folder := fmt.Sprint("storm", run)
		n := p.storm(folder, random, *swarmKills-kills)
		if kills += n; n == 0 {
			t.Logf("run %d was not killed", run)
		}
		if got := mainTree(t, p, folder); got != calm {
			t.Errorf("run %d, after %d kills: main's tree is %s, without kills %s", run, n, got, calm)
		}
		callsOnce(t, filepath.Join(p.dir, folder))
	}
}

// storm kills a run up to so many times, and then lets it come to its end.
func (p playground) storm(folder string, random *rand.Rand, most int) (kills int) {
	p.t.Helper()
	for {
		args := append(swarmBegin, "--yes")
		if begun(p.t, filepath.Join(p.dir, folder)) {
			args = []string{"run"}
		}
		run := p.dure(folder, args...)
		var out bytes.Buffer
		run.Stdout, run.Stderr = &out, &out
		if err := run.Start(); err != nil {
			p.t.Fatal(err)
		}
		if kills < most {
			stop := time.AfterFunc(100*time.Millisecond+time.Duration(random.IntN(500))*time.Millisecond, func() { _ = run.Process.Kill() })
			defer stop.Stop()
		}
		err := run.Wait()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return kills
		case errors.As(err, &exit) && !exit.Exited() && kills < most:
			kills++
		default:
			p.t.Fatalf("after %d kills: %v\n%s", kills, err, out.String())
		}
	}
}

func mainTree(t *testing.T, p playground, folder string) string {
	t.Helper()
	out, err := exec.Command("git", "-C", filepath.Join(p.dir, folder, teamRepo), "rev-parse", "refs/heads/main^{tree}").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func callsOnce(t *testing.T, folder string) {
	t.Helper()
	log := runLog(t, folder)
	started := map[string]int{}
	for e, err := range log.ReadAll(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == tool.Events.Started.Name() {
			s, err := tool.Events.Started.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			if started[s.Agent+"/"+s.Call]++; started[s.Agent+"/"+s.Call] > 1 {
				t.Errorf("%s of %s was started twice", s.Call, s.Agent)
			}
		}
	}
	if len(started) == 0 {
		t.Error("no call is in the log")
	}
}

// Row 64: a judge looks at what passed its check, in a context of its own, and cites the
// check's output; what it turns down comes back to its worker. A file too large to be
// committed is said while its worker can take it away again. The worker has a tool of the
// person's own.
func TestSwarmJudge(t *testing.T) {
	p := newPlayground(t)
	script := `
latency: 10ms
parts:
  - name: lead
    role: lead
    turns:
      - calls: [{tool: spawn, arguments: {title: greet, text: "task: greet\nPut a name into lib/greet.sh.", check: "grep -n name lib/greet.sh"}}]
      - calls: [{tool: done, arguments: {summary: "One task."}}]
      - name: over
        calls: [{tool: done, arguments: {summary: "It is on main."}}]
  - name: greet
    role: worker
    task: greet
    turns:
      - calls: [{tool: read, arguments: {path: lib/greet.sh}}]
      - calls: [{tool: write, arguments: {path: lib/greet.sh, content: "# name\n"}}]
      - calls: [{tool: lines, arguments: {path: lib/greet.sh}}]
      - calls: [{tool: shell, arguments: {command: "truncate -s 101M big.bin"}}]
      - calls: [{tool: done, arguments: {summary: "with a large file"}}]
      - calls: [{tool: shell, arguments: {command: "rm big.bin"}}]
      - calls: [{tool: done, arguments: {summary: "a comment that fools the check"}}]
      - calls: [{tool: write, arguments: {path: lib/greet.sh, content: "echo hello name\n"}}]
      - calls: [{tool: done, arguments: {summary: "greets by name"}}]
  - name: judge
    role: judge
    turns:
      - calls: [{tool: shell, arguments: {command: "sh lib/greet.sh; echo ended"}}]
        next: [{if: 'hello name', go: good}]
      - calls: [{tool: verdict, arguments: {passed: "no", citation: "words that nobody printed", reason: "x"}}]
      - calls: [{tool: verdict, arguments: {passed: "no", citation: "1:# name", reason: "it greets nobody"}}]
      - name: good
        calls: [{tool: verdict, arguments: {passed: "yes", citation: "1:echo hello name", reason: "it greets"}}]
`
	if err := os.WriteFile(filepath.Join(p.dir, "script.yaml"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	tools := "- name: lines\n  description: Count the lines of a file.\n  command: wc -l < \"$DURE_ARG_PATH\"\n  parameters: {properties: {path: {type: string}}, required: [path]}\n"
	if err := os.WriteFile(filepath.Join(p.dir, "tools.yaml"), []byte(tools), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := p.toEnd(p.dure("run", "run", "SPEC.md", "--repo", "repo", "--check", "grep -q 'echo hello name' lib/greet.sh", "--script", "script.yaml",
		"--tools", "tools.yaml", "--yes", "--judge"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"lines lib/greet.sh: done", "done with a large file: failed", "verdict words that nobody printed no x: failed", "says it fails: it greets nobody", "says it passes: it greets", "finished: done"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
