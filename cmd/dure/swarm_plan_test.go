package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"dure/inference/remote"
	"dure/runtime/spec"
)

// planSpec has faults of several kinds; the script of swarmScript plans for it.
const planSpec = `# Three functions

## Goals

1. lib/add.sh adds two numbers.
   Check: ` + "`sh tests/add.sh`" + `
2. lib/greet.sh is there.
   Check: ` + "`test -f lib/greet.sh`" + `
3. It is fast. TODO: how fast?
`

// The lint is told where and why, with an exit status; checks are run in boxes on what is
// committed; the draft is the lead's own plan, and no worker starts.
func TestSwarmPlan(t *testing.T) {
	p := newPlayground(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("BAD.md", planSpec)
	plan := func(args ...string) (string, error) {
		out, err := p.dure("", append([]string{"plan"}, args...)...).CombinedOutput()
		needsSandbox(t, bytes.NewBuffer(out))
		return string(out), err
	}
	out, err := plan("BAD.md", "--repo", "repo", "--check", "sh check.sh", "--json")
	var got planned
	if start := strings.Index(out, "{"); err == nil || start < 0 || json.NewDecoder(strings.NewReader(out[start:])).Decode(&got) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := map[string]int{}
	for _, f := range got.Findings {
		found[f.Rule] = f.Line
	}
	for rule, line := range map[string]int{"check-missing": 6, "check-passes": 8, "goal-without-check": 9, "open-question": 9, "goal-unverifiable": 9} {
		if found[rule] != line {
			t.Errorf("%s at line %d, want %d: %v", rule, found[rule], line, got.Findings)
		}
	}
	if len(got.Goals) != 3 || got.Ran["test -f lib/greet.sh"].Passed != true || got.Ran["sh check.sh"].Passed || got.Plan != nil {
		t.Errorf("%+v", got)
	}
	if out, err := plan("BAD.md", "--repo", "repo", "--static"); err == nil || !strings.Contains(out, "BAD.md:9: error: ") || !strings.Contains(out, "fix: ") || !strings.Contains(out, "the specification has 4 errors") {
		t.Errorf("for people: %v\n%s", err, out)
	}
	if out, err := plan("BAD.md"); err == nil || !strings.Contains(out, "Without --repo nothing is said of files") {
		t.Errorf("without a repository: %v\n%s", err, out)
	}
	if out, err := plan("SPEC.md"); err != nil || !strings.Contains(out, "no-goals") {
		t.Errorf("warnings only: %v\n%s", err, out)
	}
	if out, err := plan("SPEC.md", "--strict"); err == nil {
		t.Errorf("warnings only, strict:\n%s", out)
	}
	if out, err := plan("SPEC.md", "--script", "script.yaml"); err == nil || !strings.Contains(out, "a draft needs the repository and the check too") {
		t.Errorf("a draft without a repository: %v\n%s", err, out)
	}
	begin := []string{"plan", "SPEC.md", "--repo", "repo", "--check", "sh check.sh", "--script", "script.yaml"}
	draft, err := p.dure("kept", begin...).CombinedOutput()
	for _, want := range []string{"The draft of a plan, with 4 tasks:\n  | add, twice after it, and two for greet\n", "t3    twice (work, after t2)", "check: test $(sh lib/twice.sh 4) = 8", "dure swarm run --dir"} {
		if err != nil || !strings.Contains(string(draft), want) {
			t.Errorf("no %q: %v\n%s", want, err, draft)
		}
	}
	if strings.Contains(string(draft), "(worker)") || strings.Contains(string(draft), "joins as worker") {
		t.Errorf("a worker started:\n%s", draft)
	}
	if again, err := p.dure("kept", begin...).CombinedOutput(); err == nil || !strings.Contains(string(again), "there is a run in") {
		t.Errorf("a second draft in the same folder: %v\n%s", err, again)
	}
	if status, err := p.dure("kept", "status").CombinedOutput(); err != nil || !strings.Contains(string(status), "at rest: waiting for approval") {
		t.Errorf("what was kept: %v\n%s", err, status)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, "swarm", ".scratch", "*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// A model that is not there is told before anything begins, with what to do; nothing is
// left behind.
func TestSwarmProbe(t *testing.T) {
	p := newPlayground(t)
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/locked"):
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/models":
			_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"qwen3.8-27b"},{"id":"other"}]}`))
		default: // as it answers whoever asks for a model that it does not have
			asked.Add(1)
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}`))
		}
	}))
	defer srv.Close()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nobody":        {[]string{"--url", "http://127.0.0.1:1/v1"}, "nothing answers at 127.0.0.1:1: start dure serve"},
		"another model": {[]string{"--url", srv.URL + "/v1", "--model", "qwen3.8-28b"}, `has no model "qwen3.8-28b" (did you mean "qwen3.8-27b"?)`},
		"a key":         {[]string{"--url", srv.URL + "/locked/v1"}, "--key-env"},
	} {
		args := append([]string{"run", "SPEC.md", "--repo", "repo", "--check", "sh check.sh", "--yes"}, c.args...)
		out, err := p.dure("probed", args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if isDir(filepath.Join(p.dir, "probed")) {
			t.Errorf("%s: something was left behind", name)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the model that is not listed was asked %d times", n)
	}
}

// A server may know more names than it lists.
func TestProbeOfUnlistedName(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = w.Write([]byte(`{"data":[{"id":"/models/a.gguf"}]}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n"))
	}))
	defer srv.Close()
	who := thinker{asks: remote.New(srv.URL+"/v1", "", "anything", http.DefaultClient)}
	who.rate.Model, who.rate.Host = "anything", "here"
	if err := probeOne(t.Context(), who); err != nil {
		t.Error(err)
	}
}

// What a person mistypes is answered with what is meant.
func TestSwarmUsage(t *testing.T) {
	p := newPlayground(t)
	for args, want := range map[string]string{
		"aprove":           `(did you mean "approve"?)`,
		"park":             "usage: dure swarm park TASK REASON",
		"answer q1":        "usage: dure swarm answer QUESTION TEXT",
		"ask noether":      "usage: dure swarm ask AGENT QUESTION",
		"plan":             "usage: dure swarm plan SPEC.md",
		"replay --until 7": "there is no run in",
		"replay --until X": "want a position, or an event's type",
		"status":           "no team runs",
	} {
		out, err := p.dure("none", strings.Fields(args)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
	if out, err := p.dure("none", "list").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "There is no run yet: ") {
		t.Errorf("an empty list: %v\n%s", err, out)
	}
	if out, err := p.dure("none", "list", "--json").CombinedOutput(); err != nil || string(out) != "[]\n" {
		t.Errorf("an empty list as JSON: %v\n%s", err, out)
	}
}

// A specification that the examples' team works on has nothing against it but what its
// checks say.
func TestExamplesAreSound(t *testing.T) {
	for _, name := range []string{"almanac", "tally"} {
		text, err := os.ReadFile("../../examples/" + name + "/SPEC.md")
		if err != nil {
			t.Fatal(err)
		}
		if r := spec.Lint(string(text), spec.Facts{Check: "make all"}); len(r.Findings) > 0 {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
}
