package scripted_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/inference"
	"dure/runtime/scripted"
)

const almanac = "../../examples/almanac"

// hand is an agent without a team: it has one folder and carries out what its script
// calls, for a test of the script itself.
type hand struct {
	t      *testing.T
	model  *scripted.Model
	dir    string
	req    *inference.Request
	spawns []map[string]string
}

func newHand(t *testing.T, m *scripted.Model, dir, role, task string) *hand {
	h := &hand{t: t, model: m, dir: dir}
	h.req = ask("noether", "You are a "+role+". Work.", task)
	h.req.Tools = nil
	for _, name := range []string{"shell", "read", "write", "edit", "search", "commit", "message", "spawn", "done", "verdict"} {
		h.req.Tools = append(h.req.Tools, inference.Tool{Name: name})
	}
	return h
}

// work goes on until the agent says that it is done, and returns what it said last.
func (h *hand) work() map[string]string {
	h.t.Helper()
	for range 30 {
		g, err := generate(h.t.Context(), h.model, h.req)
		if err != nil {
			h.t.Fatal(err)
		}
		next := *h.req
		next.Messages = append(append([]inference.Message(nil), h.req.Messages...), g.Message)
		var last map[string]string
		for _, c := range g.ToolCalls {
			var args map[string]string
			if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
				h.t.Fatal(err)
			}
			next.Messages = append(next.Messages, inference.Message{Role: inference.RoleTool, Content: h.call(c.Name, args)})
			if c.Name == "done" || c.Name == "verdict" {
				last = args
			}
		}
		h.req = &next
		if last != nil {
			return last
		}
	}
	h.t.Fatal("it is never done")
	return nil
}

func (h *hand) call(tool string, args map[string]string) string {
	path := filepath.Join(h.dir, args["path"])
	switch tool {
	case "shell":
		out, _ := h.shell(args["command"])
		return out
	case "read":
		b, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		return string(b)
	case "write":
		if err := os.WriteFile(path, []byte(args["content"]), 0o600); err != nil {
			h.t.Fatal(err)
		}
	case "edit":
		b, err := os.ReadFile(path)
		if err != nil || strings.Count(string(b), args["old"]) != 1 {
			h.t.Fatalf("edit %s: %v, or its old part is not there once", path, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(b), args["old"], args["new"], 1)), 0o600); err != nil {
			h.t.Fatal(err)
		}
	case "search":
		out, _ := h.shell("grep -rn -e '" + args["pattern"] + "' '" + args["path"] + "'")
		return out
	case "spawn":
		h.spawns = append(h.spawns, args)
	}
	return "ok"
}

func (h *hand) shell(command string) (string, error) {
	cmd := exec.CommandContext(h.t.Context(), "sh", "-c", command)
	cmd.Dir = h.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// say is a message of the harness.
func (h *hand) say(text string) {
	next := *h.req
	next.Messages = append(append([]inference.Message(nil), h.req.Messages...), inference.Message{Role: inference.RoleUser, Content: text})
	h.req = &next
}

// copyTree makes a folder with the files of another.
func copyTree(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func almanacModel(t *testing.T) *scripted.Model {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(almanac, "script.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return model(t, string(b), scripted.Options{})
}

// The example's script does what its README says: the tasks, the check that fails once,
// the function that two write at the same place, and a tree that passes in the end.
func TestAlmanac(t *testing.T) {
	m, main := almanacModel(t), copyTree(t, filepath.Join(almanac, "tree"))
	lead := newHand(t, m, main, "lead", "The specification.")
	lead.work()
	if out, err := lead.shell("sh check.sh"); err == nil {
		t.Fatalf("the tree passes before anything is done: %s", out)
	}
	planner := newHand(t, m, main, "planner", lead.spawns[0]["text"])
	planner.work()
	tasks := append(planner.spawns, lead.spawns[1])
	if len(tasks) != 4 || lead.spawns[0]["kind"] != "plan" {
		t.Fatalf("%d tasks: %v", len(tasks), tasks)
	}
	trees := map[string]string{}
	for _, task := range tasks {
		slug := strings.Fields(task["text"])[1]
		trees[slug] = copyTree(t, main)
		worker := newHand(t, m, trees[slug], "worker", task["text"])
		if _, err := worker.shell(task["check"]); err == nil {
			t.Errorf("%s passes before it is done", slug)
		}
		worker.work()
		out, err := worker.shell(task["check"])
		if (err != nil) != (slug == "leap") {
			t.Errorf("%s at first: %v\n%s", slug, err, out)
		}
		if err != nil {
			worker.say("The check failed:\n" + out)
			worker.work()
			if out, err := worker.shell(task["check"]); err != nil {
				t.Errorf("%s comes back and fails: %s", slug, out)
			}
		}
	}
	read := func(tree, path string) string {
		b, err := os.ReadFile(filepath.Join(tree, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	one, other := read(trees["weekday"], "lib/date.sh"), read(trees["days"], "lib/date.sh")
	if one == other || !strings.HasPrefix(one, read(main, "lib/date.sh")) || !strings.HasPrefix(other, read(main, "lib/date.sh")) {
		t.Error("weekday and days do not change the same place in two ways")
	}
	// Whoever comes second in a small team finds the function and uses it.
	for slug, before := range map[string]string{"weekday": "days", "days": "weekday"} {
		tree := copyTree(t, trees[before])
		worker := newHand(t, m, tree, "worker", tasks[map[string]int{"weekday": 1, "days": 2}[slug]]["text"])
		worker.work()
		if out, err := worker.shell("sh tests/" + slug + ".sh"); err != nil || read(tree, "lib/date.sh") != read(trees[before], "lib/date.sh") {
			t.Errorf("%s after %s: %v %s", slug, before, err, out)
		}
	}
	for slug, tree := range trees {
		if err := os.WriteFile(filepath.Join(main, "lib", slug+".sh"), []byte(read(tree, "lib/"+slug+".sh")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	merger := newHand(t, m, main, "merger", "You are abel. Your task is t9: Merge\nlib/date.sh: both changed the same lines\n> task: days")
	merger.work()
	if out, err := merger.shell("sh check.sh"); err != nil {
		t.Errorf("in the end: %s", out)
	}
	judge := newHand(t, m, main, "judge", "task: leap\nit printed:\n> leap: all as expected")
	if v := judge.work(); v["passed"] != "yes" {
		t.Errorf("verdict %v", v)
	}
	lead.say("Your tasks: done")
	if last := lead.work(); !strings.Contains(last["summary"], "All four") {
		t.Errorf("the lead's end: %v", last)
	}
}
