package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/scripted"
	"dure/runtime/scripted/patches"
	"dure/runtime/swarm"
	"dure/runtime/tool"
	"dure/runtime/world"
)

var swarmInterleavings = flag.Int("swarm-interleavings", 1, "how many orders TestSwarmPatches tries")

// Rows 34, 44: sixty patches by twenty workers, some of which go wrong in known ways. Each
// fault is caught by its mechanism, and whatever the order, main ends as the same tree.
func TestSwarmPatches(t *testing.T) {
	for seed := range *swarmInterleavings {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			set := patches.Make(patches.Options{Seed: uint64(seed), Pace: 20 * time.Millisecond})
			p := newPatchground(t, set)
			out, err := p.toEnd(p.dure("run", "run", "SPEC.md", "--repo", "repo", "--check", set.Check, "--script", "script.yaml",
				"--yes", "--agents", "20", "--shell-time", "5s", "--judge-open", "allow"))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := mainFiles(t, p, "run"); !maps.Equal(got, set.Final) {
				t.Errorf("main ends as\n%v\nwant\n%v\n%s", got, set.Final, out)
			}
			caught := mechanisms(t, filepath.Join(p.dir, "run"))
			for _, task := range set.Tasks {
				if task.Fault != patches.None && task.Fault != patches.StaleBase && !caught[task.Slug][task.Fault.CaughtBy()] {
					t.Errorf("%s, a %s, was not caught by %s but by %v", task.Slug, task.Fault, task.Fault.CaughtBy(), caught[task.Slug])
				}
			}
		})
	}
}

func newPatchground(t *testing.T, set patches.Set) playground {
	t.Helper()
	dir, err := os.MkdirTemp("", "patches")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	script, err := scripted.Encode(set.Script)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"SPEC.md": set.Spec, "script.yaml": string(script)}
	for name, text := range set.Start {
		files["repo/"+name] = text
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p := playground{t, dir, t.Context()}
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "begin")
	return p
}

// mainFiles are all files of a run's main.
func mainFiles(t *testing.T, p playground, folder string) map[string]string {
	t.Helper()
	repo := filepath.Join(p.dir, folder, teamRepo)
	out, err := exec.Command("git", "-C", repo, "ls-tree", "-r", "--name-only", "refs/heads/main").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name := range strings.FieldsSeq(string(out)) {
		text, err := exec.Command("git", "-C", repo, "show", "refs/heads/main:"+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

// mechanisms says by the log what caught faults in each task.
func mechanisms(t *testing.T, folder string) map[string]map[patches.Mechanism]bool {
	t.Helper()
	log := runLog(t, folder)
	slugs, caught := map[string]string{}, map[string]map[patches.Mechanism]bool{}
	note := func(task string, m patches.Mechanism) {
		if slug := slugs[task]; slug != "" {
			if caught[slug] == nil {
				caught[slug] = map[patches.Mechanism]bool{}
			}
			caught[slug][m] = true
		}
	}
	for e, err := range log.ReadAll(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case swarm.Events.Submitted.Name():
			p, _ := swarm.Events.Submitted.Decode(e)
			line, _, _ := strings.Cut(p.Text, "\n")
			slugs[string(p.Task)] = strings.TrimSpace(strings.TrimPrefix(line, "task:"))
		case swarm.Events.Checked.Name():
			if p, _ := swarm.Events.Checked.Decode(e); !p.Passed {
				note(string(p.Task), patches.ByCheck)
			}
		case world.Landing.Name():
			if p, _ := world.Landing.Decode(e); p.Conflict != nil {
				note(p.Conflict.Theirs.Task, patches.ByConflict)
			}
		case tool.Events.Ended.Name():
			p, _ := tool.Events.Ended.Decode(e)
			task, _, _ := strings.Cut(p.Call, "-") // a call's name begins with its thread's
			if p.Outcome == tool.TimedOut {
				note(task, patches.ByTime)
			}
			if p.Tool == "done" && p.Outcome == tool.Failed {
				note(task, patches.ByLimit)
			}
		}
	}
	return caught
}
