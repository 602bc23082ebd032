package judge

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"mvdan.cc/sh/v3/syntax"

	"dure/runtime/tool"
)

// shellCall is a call of the shell tool.
func shellCall(command string) tool.Call {
	b, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return tool.Call{Agent: "noether", Turn: 1, ID: "c1", Tool: "shell", Arguments: string(b)}
}

// recorded are commands that developers wrote down: scripts, recipes of Makefiles and
// steps of workflows in the modules that this project is built from, statement by
// statement.
func recorded(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	err = filepath.WalkDir(strings.TrimSpace(string(out)), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		var found []string
		switch name := d.Name(); {
		case strings.HasSuffix(name, ".sh"):
			found = statements(read(path))
		case strings.EqualFold(name, "makefile") || strings.HasSuffix(name, ".mk"):
			found = recipes(read(path))
		case strings.Contains(path, ".github/workflows/") && (strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml")):
			found = steps(read(path))
		}
		for _, c := range found {
			if _, ok := commands[c]; !ok {
				commands[c] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return commands
}

func read(path string) []byte {
	b, _ := os.ReadFile(path) // a file that is gone or closed is no command
	return b
}

// statements are the top statements of a script, and those of its functions.
func statements(script []byte) []string {
	file, err := syntax.NewParser().Parse(bytes.NewReader(script), "")
	if err != nil {
		return nil
	}
	var all []string
	var add func(list []*syntax.Stmt)
	add = func(list []*syntax.Stmt) {
		for _, s := range list {
			if f, ok := s.Cmd.(*syntax.FuncDecl); ok {
				if b, ok := f.Body.Cmd.(*syntax.Block); ok {
					add(b.Stmts)
				}
				continue
			}
			var text strings.Builder
			if syntax.NewPrinter().Print(&text, s) == nil && text.Len() > 0 {
				all = append(all, text.String())
			}
		}
	}
	add(file.Stmts)
	return all
}

func recipes(makefile []byte) []string {
	var all []string
	joined := strings.ReplaceAll(string(makefile), "\\\n", " ")
	for line := range strings.Lines(joined) {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			recipe = strings.TrimLeft(strings.TrimSpace(recipe), "@-+")
			recipe = strings.ReplaceAll(recipe, "$$", "$")
			all = append(all, statements([]byte(recipe))...)
		}
	}
	return all
}

func steps(workflow []byte) []string {
	var doc struct {
		Jobs map[string]struct {
			Steps []struct {
				Run string `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if yaml.Unmarshal(workflow, &doc) != nil {
		return nil
	}
	var all []string
	for _, job := range doc.Jobs {
		for _, s := range job.Steps {
			all = append(all, statements([]byte(s.Run))...)
		}
	}
	return all
}

// administration is what those who keep machines and publish releases do by hand or in
// a pipeline of their own, and no agent does: a person has to look at it.
var administration = map[string]string{
	"gh release upload": "publishes", "gcloud storage cp": "publishes", "docfx-": "publishes",
	"docker run --rm --privileged": "gives a container the machine", "/proc/sys/kernel/apparmor": "lowers the machine's guard",
	"metadata.google.internal": "asks a cloud for its credentials",
}

func administers(command string) bool {
	for text := range administration {
		if strings.Contains(command, text) {
			return true
		}
	}
	return false
}

func TestNoFalseBlocksOnRecordedCommands(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	commands := recorded(t)
	counts := map[string]int{}
	for command, path := range commands {
		f := rules.Look(shellCall(command))
		counts[f.Action]++
		if f.Rule == UnknownScript {
			counts["open scripts"]++
		}
		switch {
		case f.Action != "block":
		case administers(command):
			counts["administration"]++
		default:
			t.Errorf("%s: %s\n%.300s", f.Rule, path[len(path)-min(60, len(path)):], command)
		}
	}
	if len(commands) < 1000 {
		t.Skipf("only %d recorded commands in the module cache: run go mod download", len(commands))
	}
	t.Logf("%d commands: %v", len(commands), counts)
	// What is refused by default where there is no model.
	if 1000*counts["open scripts"] > len(commands) {
		t.Errorf("%d of %d run text that nobody has read; at most one in a thousand may", counts["open scripts"], len(commands))
	}
}
