package patches_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dure/inference"
	"dure/runtime/scripted"
	"dure/runtime/scripted/patches"
	"dure/runtime/vcs/merge"
)

// large is what counts as too large here.
const large = 4096

func write(t *testing.T, dir string, tree map[string]string) {
	t.Helper()
	for path, text := range tree {
		file := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, err2 := filepath.Rel(dir, path)
		tree[name] = string(b)
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func sh(t *testing.T, dir, command string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err == nil
}

// play has an agent of the script work on a task in a folder, with a harness that runs
// its check, and returns what caught something.
func play(t *testing.T, m *scripted.Model, dir string, task patches.Task, system string) map[patches.Mechanism]int {
	t.Helper()
	caught := map[patches.Mechanism]int{}
	messages := []inference.Message{{Role: inference.RoleSystem, Content: system}, {Role: inference.RoleUser, Content: "You are abel.\n\n" + task.Text}}
	for range 20 {
		answer := inference.Message{Role: inference.RoleAssistant}
		req := &inference.Request{Messages: messages, Tools: []inference.Tool{{Name: "shell"}, {Name: "done"}}}
		for e, err := range m.Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == inference.EventToolCall && e.Call.Name != "" {
				answer.ToolCalls = append(answer.ToolCalls, inference.ToolCall{Name: e.Call.Name})
			}
			if e.Kind == inference.EventToolCall {
				answer.ToolCalls[0].Arguments += e.Call.Arguments
			}
		}
		var args map[string]string
		if err := json.Unmarshal([]byte(answer.ToolCalls[0].Arguments), &args); err != nil {
			t.Fatal(err)
		}
		result := inference.Message{Role: inference.RoleTool}
		messages = append(messages, answer)
		if answer.ToolCalls[0].Name == "shell" {
			if strings.HasPrefix(args["command"], "while :") {
				caught[patches.ByTime]++
				result.Content = "stopped"
			} else {
				result.Content, _ = sh(t, dir, args["command"])
			}
			messages = append(messages, result)
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, "parts/large.bin")); err == nil && info.Size() >= large {
			caught[patches.ByLimit]++
			result.Content = "not done: your files cannot be committed"
			messages = append(messages, result)
			continue
		}
		out, passed := sh(t, dir, task.Check)
		if passed {
			return caught
		}
		caught[patches.ByCheck]++
		messages = append(messages, inference.Message{Role: inference.RoleTool, Content: "done"}, inference.Message{Role: inference.RoleUser, Content: "The check failed:\n" + out})
	}
	t.Fatalf("%s is never done", task.Slug)
	return nil
}

func model(t *testing.T, s patches.Set) *scripted.Model {
	t.Helper()
	m, err := scripted.New(s.Script, scripted.Options{Wait: func(context.Context, time.Duration) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Each task's script makes its patch, its fault happens once and is caught by what must
// catch it; all of them one after the other end in the tree that was promised.
func TestEachPatch(t *testing.T) {
	s := patches.Make(patches.Options{Oversize: large})
	if len(s.Tasks) != 60 {
		t.Fatalf("%d tasks", len(s.Tasks))
	}
	m, dir := model(t, s), t.TempDir()
	write(t, dir, s.Start)
	if _, passed := sh(t, dir, s.Check); passed {
		t.Fatal("the hidden check passes at the beginning")
	}
	kinds := map[patches.Fault]int{}
	for _, task := range s.Tasks {
		kinds[task.Fault]++
		if _, passed := sh(t, dir, task.Check); passed && task.Slug != "alpha-low" && task.Slug != "beta-low" {
			t.Errorf("%s passes before it is done", task.Slug)
		}
		want := read(t, dir)
		task.Apply(want)
		caught := play(t, m, dir, task, "You are a worker.")
		mechanism := task.Fault.CaughtBy()
		if mechanism == "" || mechanism == patches.ByConflict {
			if len(caught) > 0 {
				t.Errorf("%s: caught %v", task.Slug, caught)
			}
		} else if len(caught) != 1 || caught[mechanism] != 1 {
			t.Errorf("%s: caught %v, want %s once", task.Slug, caught, mechanism)
		}
		if got := read(t, dir); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: the script makes %v\nthe patch is %v", task.Slug, got, want)
		}
	}
	for _, f := range []patches.Fault{patches.BadPatch, patches.EarlyDone, patches.StaleBase, patches.Oversize, patches.Runaway} {
		if kinds[f] == 0 {
			t.Errorf("no %s", f)
		}
	}
	if got := read(t, dir); !reflect.DeepEqual(got, s.Final) {
		t.Errorf("the end is another tree")
	}
	if out, passed := sh(t, dir, s.Check); !passed {
		t.Errorf("the hidden check: %s", out)
	}
	for path, text := range map[string]string{"parts/07.sh": "part07() { echo 24; }\n", "large.bin": "x", "table.txt": s.Start["table.txt"]} {
		bad := t.TempDir()
		write(t, bad, s.Final)
		write(t, bad, map[string]string{path: text})
		if _, passed := sh(t, bad, s.Check); passed {
			t.Errorf("the hidden check passes with another %s", path)
		}
	}
}

// The merger's script settles what git's markers show as Resolve does.
func TestMerger(t *testing.T) {
	s := patches.Make(patches.Options{Oversize: large})
	m, dir := model(t, s), t.TempDir()
	ours, theirs := maps.Clone(s.Start), maps.Clone(s.Start)
	s.Tasks[0].Apply(ours)
	s.Tasks[3].Apply(ours)
	s.Tasks[1].Apply(theirs)
	s.Tasks[2].Apply(theirs)
	joined, err := merge.Text([]byte(s.Start["table.txt"]), []byte(ours["table.txt"]), []byte(theirs["table.txt"]), merge.Whole, merge.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := joined.Bytes(); ok {
		t.Fatal("no conflict")
	}
	write(t, dir, s.Start)
	write(t, dir, map[string]string{"table.txt": string(joined.Render(merge.Labels{Ours: "main", Base: "before", Theirs: "other"}, merge.Whole))})
	play(t, m, dir, patches.Task{Text: "table.txt: both changed the same lines", Check: "true"}, "You are a merger.")
	want := patches.Resolve(ours["table.txt"], theirs["table.txt"])
	if got := read(t, dir)["table.txt"]; got != want || !strings.Contains(want, "limit alpha: 20\n") || !strings.Contains(want, "limit beta: 40\n") {
		t.Errorf("settled as\n%s\nwant\n%s", got, want)
	}
}

// team lands patches as many workers would, in an order of its own, and counts conflicts.
func team(t interface{ Fatal(...any) }, s patches.Set, n func(below int) int) (main map[string]string, conflicts int) {
	type work struct {
		task       patches.Task
		base, tree map[string]string
	}
	main = maps.Clone(s.Start)
	waiting, busy := append([]patches.Task(nil), s.Tasks...), []work(nil)
	for len(waiting)+len(busy) > 0 {
		if len(waiting) > 0 && len(busy) < 20 && (len(busy) == 0 || n(3) > 0) {
			i := n(len(waiting))
			w := work{waiting[i], maps.Clone(main), maps.Clone(main)}
			w.task.Apply(w.tree)
			waiting, busy = append(waiting[:i], waiting[i+1:]...), append(busy, w)
			continue
		}
		i := n(len(busy))
		w := busy[i]
		busy = append(busy[:i], busy[i+1:]...)
		for path, text := range w.tree {
			switch {
			case text == w.base[path]:
			case main[path] == w.base[path]:
				main[path] = text
			default:
				m, err := merge.Text([]byte(w.base[path]), []byte(main[path]), []byte(text), merge.Whole, merge.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				merged, ok := m.Bytes()
				if !ok {
					conflicts++
					merged = []byte(patches.Resolve(main[path], text))
				}
				main[path] = string(merged)
			}
		}
	}
	return main, conflicts
}

// Five orders, and as many more as are asked for, end in the same tree.
func TestOrdersEndInTheSameTree(t *testing.T) {
	conflicts := 0
	for seed := range uint64(5) {
		s := patches.Make(patches.Options{Seed: seed})
		main, c := team(t, s, rand.New(rand.NewPCG(seed, 1)).IntN)
		conflicts += c
		if !reflect.DeepEqual(main, s.Final) {
			t.Errorf("seed %d ends in another tree", seed)
		}
	}
	if conflicts == 0 {
		t.Error("no order had a conflict")
	}
	rapid.Check(t, func(t *rapid.T) {
		s := patches.Make(patches.Options{Seed: rapid.Uint64().Draw(t, "seed")})
		main, _ := team(t, s, func(below int) int { return rapid.IntRange(0, below-1).Draw(t, "n") })
		if !reflect.DeepEqual(main, s.Final) {
			t.Fatal("another tree")
		}
	})
}

// A seed changes order and latencies, and nothing else; the same seed is the same set.
func TestSeed(t *testing.T) {
	text := func(s patches.Set) string {
		b, err := scripted.Encode(s.Script)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scripted.Decode("patches.yaml", b); err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	a, b, again := patches.Make(patches.Options{Seed: 1}), patches.Make(patches.Options{Seed: 2}), patches.Make(patches.Options{Seed: 1})
	if text(a) != text(again) || text(a) == text(b) {
		t.Error("seeds do not decide the script")
	}
	if !reflect.DeepEqual(a.Final, b.Final) || a.Check != b.Check {
		t.Error("seeds change the end")
	}
}

// Every task is spawned once, by the lead's planners.
func TestAllAreSpawned(t *testing.T) {
	s := patches.Make(patches.Options{Planners: 7})
	count := map[string]int{}
	for _, p := range s.Script.Parts {
		for _, turn := range p.Turns {
			for _, c := range turn.Calls {
				if c.Tool == "spawn" {
					count[fmt.Sprint(c.Arguments["kind"], " ", strings.Fields(c.Arguments["text"])[1])]++
				}
			}
		}
	}
	if len(count) != 67 {
		t.Errorf("%d different tasks: %v", len(count), count)
	}
	for _, task := range s.Tasks {
		if count["work "+task.Slug] != 1 {
			t.Errorf("%s is spawned %d times", task.Slug, count["work "+task.Slug])
		}
	}
}
