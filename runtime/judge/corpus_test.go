package judge

import (
	"cmp"
	"encoding/json"
	"flag"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dure/runtime/tool"
)

// corpus: a part of the recorded commands in make test, all of them behind this flag.
var corpus = flag.String("corpus", "", "all: judge every recorded command; a file name: also write down what is not let through")

// shellCall is a call of the shell tool.
func shellCall(command string) tool.Call {
	b, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return tool.Call{Agent: "noether", Turn: 1, ID: "c1", Tool: "shell", Arguments: string(b)}
}

// recordings are folders in which developers wrote commands down, by the name that the
// figures give them.
func recordings(t testing.TB) map[string]string {
	t.Helper()
	env := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	home, _ := os.UserHomeDir() // without one there is nothing below it
	return map[string]string{
		"Go modules": env("GOMODCACHE"), "Go": env("GOROOT"),
		"npm": "/usr/lib/node_modules", "documents": "/usr/share/doc", "git": "/usr/lib/git-core", "Python": "/usr/lib/python3",
		"pyenv": filepath.Join(home, ".pyenv"), "engine": filepath.Join(home, ".dure", "build"),
	}
}

// recorded are commands that developers wrote down, and in which recording each was met
// first; programs are those that the recorded projects are themselves.
func recorded(t testing.TB) (commands map[string]recording, programs []string) {
	t.Helper()
	commands = map[string]recording{}
	c := recorder{functions: map[string]bool{}, programs: map[string]bool{}}
	folders := recordings(t)
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		_ = filepath.WalkDir(folders[name], func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || generated.MatchString(path) {
				return nil // what cannot be read here holds no command
			}
			c.notes(path)
			found := commandsIn(path)
			if len(found) > 0 && !strings.HasSuffix(path, ".md") {
				c.defined(string(read(path)))
			}
			for _, f := range found {
				if _, ok := commands[f]; !ok && len(f) <= 8<<10 {
					commands[f] = recording{name, path}
				}
			}
			return nil
		})
	}
	maps.DeleteFunc(commands, func(command string, _ recording) bool { return !c.apart(command) })
	return commands, slices.Sorted(maps.Keys(c.programs))
}

// generated are files that a build wrote, with the paths of the machine that it ran on,
// and what tests of shells are made of.
var generated = regexp.MustCompile(`/configure$|/sh/v3@[^/]*/(syntax|interp|cmd)/|/parser/testdata/|/lib/python[\d.]+/config[^/]*/|/autom4te\.cache/`)

type recording struct{ name, file string }

// administration is what those who keep machines and publish releases do by hand or in
// a pipeline of their own, and no agent does: a person has to look at it.
var administration = map[string]string{
	"gh release upload": "publishes", "gcloud storage cp": "publishes", "docfx-": "publishes",
	"docker run --rm --privileged": "gives a container the machine", "/proc/sys/kernel/apparmor": "lowers the machine's guard",
	"\"$git_dir/HEAD\" .git/HEAD": "makes a second working folder, inside git", "node_id_rsa": "publishes", "git push -f upstream": "publishes", "rw,remount /": "sets up a test device",
	"rm -rf pkg/bootstrap pkg/obj .git": "in a copy of the tree that it has just made",
	"metadata.google.internal":          "asks a cloud for its credentials",
}

func administers(command string) bool {
	for text := range administration {
		if strings.Contains(command, text) {
			return true
		}
	}
	return false
}

// sampled says whether make test judges a command: one in four, by its hash.
func sampled(command string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(command)) // a hash takes all
	return *corpus != "" || h.Sum32()%4 == 0
}

func TestNoFalseBlocksOnRecordedCommands(t *testing.T) {
	commands, programs := recorded(t)
	rules, err := BuiltinWith(map[string][]string{"programs": programs})
	if err != nil {
		t.Fatal(err)
	}
	type count struct{ all, refused, cannot, blocked, administration int }
	counts, rulesMet := map[string]*count{"all": {}}, map[string]int{}
	var told strings.Builder
	for command, from := range commands {
		if !sampled(command) {
			continue
		}
		if counts[from.name] == nil {
			counts[from.name] = &count{}
		}
		f := OpenScripts.settle(rules.Look(shellCall(command)))
		for _, c := range []*count{counts[from.name], counts["all"]} {
			c.all++
			switch {
			case f.Action == "refuse":
				c.refused++
				if f.Rule != NotOrdinary && f.Rule != UnknownScript || strings.Contains(f.Why, "no network here") {
					c.cannot++
				}
			case f.Action == "block" && administers(command):
				c.administration++
			case f.Action == "block":
				c.blocked++
			}
		}
		if f.Action == "block" && !administers(command) {
			t.Errorf("%s: %s\n%.300s", f.Rule, from.file[len(from.file)-min(60, len(from.file)):], command)
		}
		if f.Action == "refuse" || f.Action == "block" {
			rulesMet[f.Action+" "+f.Rule]++
			told.WriteString("### " + f.Action + " " + f.Rule + " | " + f.Why + " | " + from.name + " " + from.file + "\n" + command + "\n")
		}
	}
	if counts["all"].all < 1000 {
		t.Skipf("only %d recorded commands on this machine: run go mod download", counts["all"].all)
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		t.Logf("%-12s %6d commands, %d blocked, %d of administration blocked, refused: %s, of which %s cannot work here", name, c.all, c.blocked, c.administration, share(c.refused, c.all), share(c.cannot, c.all))
	}
	for _, name := range slices.SortedFunc(maps.Keys(rulesMet), func(a, b string) int { return cmp.Compare(rulesMet[b], rulesMet[a]) }) {
		t.Logf("%5d %s", rulesMet[name], name)
	}
	if *corpus != "" && *corpus != "all" {
		if err := os.WriteFile(*corpus, []byte(told.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// recordedWrites are files of the same folders, as calls that write them anew.
func recordedWrites(t testing.TB) map[string]tool.Call {
	t.Helper()
	calls := map[string]tool.Call{}
	folders := recordings(t)
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		_ = filepath.WalkDir(folders[name], func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || generated.MatchString(path) || !written.MatchString(path) || strings.Contains(path, "/testdata/") {
				return nil // what cannot be read here is no file of a project
			}
			h := fnv.New32a()
			_, _ = h.Write([]byte(path)) // a hash takes all
			if info, err := d.Info(); err != nil || info.Size() > 48<<10 || h.Sum32()%40 != 0 || *corpus == "" && h.Sum32()%800 != 0 {
				return nil
			}
			b, err := json.Marshal(map[string]string{"path": inProject(path), "content": string(read(path))})
			if err != nil {
				t.Fatal(err)
			}
			calls[path] = tool.Call{Agent: "noether", Turn: 1, ID: "c1", Tool: "write", Arguments: string(b)}
			return nil
		})
	}
	return calls
}

var written = regexp.MustCompile(`\.(go|py|js|mjs|ts|c|h|cc|cpp|rs|rb|pl|sh|md|ya?ml|toml|json|txt|mk)$|/(Makefile|Dockerfile)$`)

// inProject is the last part of a path, as it is below a project.
func inProject(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-3):], "/")
}

func TestNoFalseBlocksOnRecordedWrites(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	calls, refused, blocked := recordedWrites(t), 0, 0
	for path, call := range calls {
		switch f := OpenScripts.settle(rules.Look(call)); f.Action {
		case "block":
			blocked++
			t.Errorf("%s: %s %s", path[len(path)-min(80, len(path)):], f.Rule, f.Why)
		case "refuse":
			refused++
			told.WriteString(f.Rule + " | " + f.Why + " | " + path + "\n")
		}
	}
	t.Logf("%d files: %d blocked, %d refused (%.2f %%)", len(calls), blocked, refused, 100*float64(refused)/float64(max(len(calls), 1)))
	if *corpus != "" && *corpus != "all" {
		if err := os.WriteFile(*corpus+".writes", []byte(told.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
