package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"mvdan.cc/sh/v3/syntax"
)

// commandsIn are the commands that a file holds: statements of scripts, recipes of
// Makefiles, steps of workflows, scripts of packages, and what documents tell to type.
// Each stands for itself: what it uses of its script (functions, variables) is put
// before it.
func commandsIn(path string) []string {
	switch name := filepath.Base(path); {
	case strings.HasSuffix(name, ".sh"), strings.HasSuffix(name, ".bash"):
		return statements(read(path))
	case strings.HasPrefix(strings.ToLower(name), "makefile"), strings.HasSuffix(name, ".mk"):
		return recipes(read(path))
	case strings.Contains(path, ".github/workflows/") && (strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml")):
		return steps(read(path))
	case name == "package.json":
		return scripts(read(path))
	case strings.HasPrefix(name, "Dockerfile"):
		return layers(read(path))
	case strings.HasSuffix(name, ".md"), name == "METADATA", strings.HasSuffix(name, ".rst"):
		return typed(read(path))
	case strings.HasSuffix(name, ".txt") && strings.Contains(path, "/testdata/script/"):
		return scripted(read(path))
	case !strings.Contains(name, "."):
		if b := read(path); shebang.Match(b) {
			return statements(b)
		}
	}
	return nil
}

var shebang = regexp.MustCompile(`^#! ?/(usr/)?bin/(env )?(ba|da)?sh\b`)

// read is a file's text: empty where it is gone, closed or too large to be a script.
func read(path string) []byte {
	if info, err := os.Stat(path); err != nil || info.Size() > 1<<20 {
		return nil
	}
	b, _ := os.ReadFile(path)
	return b
}

// statements are the top statements of a script and those of its functions, each with
// what it uses of the script.
func statements(script []byte) []string {
	file, err := syntax.NewParser().Parse(bytes.NewReader(script), "")
	if err != nil {
		return nil
	}
	c := closure{functions: map[string]*syntax.Stmt{}, variables: map[string]*syntax.Stmt{}}
	c.collect(file.Stmts)
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
			if text := c.whole(s); text != "" {
				all = append(all, text)
			}
		}
	}
	add(file.Stmts)
	return all
}

// closure is what a script's statements may use.
type closure struct {
	functions map[string]*syntax.Stmt
	variables map[string]*syntax.Stmt // the last assignment at the top
}

func (c *closure) collect(list []*syntax.Stmt) {
	for _, s := range list {
		switch cmd := s.Cmd.(type) {
		case *syntax.FuncDecl:
			c.functions[cmd.Name.Value] = s
		case *syntax.CallExpr:
			if len(cmd.Args) == 0 {
				for _, a := range cmd.Assigns {
					c.variables[a.Name.Value] = s
				}
			}
		}
	}
}

// whole is a statement with the functions and variables that it uses before it.
func (c *closure) whole(s *syntax.Stmt) string {
	used, before := map[*syntax.Stmt]bool{s: true}, ""
	var use func(n syntax.Node)
	use = func(n syntax.Node) {
		syntax.Walk(n, func(n syntax.Node) bool {
			var need *syntax.Stmt
			switch n := n.(type) {
			case *syntax.CallExpr:
				if len(n.Args) > 0 {
					need = c.functions[n.Args[0].Lit()]
				}
			case *syntax.ParamExp:
				if n.Param != nil {
					need = c.variables[n.Param.Value]
				}
			}
			if need != nil && !used[need] {
				used[need] = true
				use(need)
				before += shown(need) + "\n"
			}
			return true
		})
	}
	use(s)
	text := shown(s)
	if text == "" {
		return ""
	}
	return positional.ReplaceAllString(before+text, "${1}argument$2")
}

// positional are a function's or script's own arguments: whoever types the statement
// alone has named values there.
var positional = regexp.MustCompile(`(\$\{?)([1-9@*])`)

func shown(s *syntax.Stmt) string {
	var text strings.Builder
	if syntax.NewPrinter().Print(&text, s) != nil {
		return ""
	}
	return text.String()
}

var (
	makeVariable = regexp.MustCompile(`(?m)^(?:export\s+|override\s+)?([\w.-]+)\s*(?::|::|\?|\+)?=\s*([^\n]*)$`)
	makeUse      = regexp.MustCompile(`\$[({]([\w.-]+)[)}]`)
	makeCall     = regexp.MustCompile(`\$[({](?:shell)\s+`)
	makeOther    = regexp.MustCompile(`\$[({]\w+[ :][^()]*[)}]`)
	makeTarget   = regexp.MustCompile(`\$[@<^*?+]|\$\([@<^*?]\w?\)`)
)

// recipes are the commands of a Makefile, with its variables filled in.
func recipes(makefile []byte) []string {
	text := strings.ReplaceAll(string(makefile), "\\\n", " ")
	values := map[string]string{}
	for _, m := range makeVariable.FindAllStringSubmatch(text, -1) {
		values[m[1]] = m[2]
	}
	var all []string
	for line := range strings.Lines(text) {
		recipe, ok := strings.CutPrefix(line, "\t")
		if !ok || len(recipe) > 4<<10 {
			continue
		}
		recipe = strings.TrimLeft(strings.TrimSpace(recipe), "@-+ ")
		recipe = strings.ReplaceAll(recipe, "$$", "\x00")
		for range 4 {
			recipe = makeUse.ReplaceAllStringFunc(recipe, func(use string) string {
				name := makeUse.FindStringSubmatch(use)[1]
				value, ok := values[name]
				switch {
				case name == "MAKE":
					return "make"
				case ok && len(value) < 1<<10:
					return value
				}
				return "\x00{" + strings.NewReplacer(".", "_", "-", "_").Replace(name) + "}"
			})
		}
		recipe = makeCall.ReplaceAllString(recipe, "\x00(")
		recipe = makeOther.ReplaceAllString(recipe, "\x00{VALUE}")
		recipe = makeTarget.ReplaceAllString(recipe, "\x00{TARGET}")
		all = append(all, statements([]byte(strings.ReplaceAll(recipe, "\x00", "$")))...)
	}
	return all
}

var expression = regexp.MustCompile(`\$\{\{[^}]*\}\}`)

func steps(workflow []byte) []string {
	var doc struct {
		Jobs map[string]struct {
			RunsOn any `yaml:"runs-on"`
			Steps  []struct {
				Run   string `yaml:"run"`
				Shell string `yaml:"shell"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if yaml.Unmarshal(workflow, &doc) != nil {
		return nil
	}
	var all []string
	for _, job := range doc.Jobs {
		for _, s := range job.Steps {
			if s.Shell == "" && strings.Contains(fmt.Sprint(job.RunsOn), "windows") {
				continue // another shell
			}
			if s.Shell == "" || strings.Contains(s.Shell, "bash") {
				all = append(all, statements(expression.ReplaceAll([]byte(s.Run), []byte("${VALUE}")))...)
			}
		}
	}
	return all
}

func scripts(pkg []byte) []string {
	var doc struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(pkg, &doc) != nil {
		return nil
	}
	return slices.Sorted(maps.Values(doc.Scripts))
}

func layers(dockerfile []byte) []string {
	var all []string
	for line := range strings.Lines(strings.ReplaceAll(string(dockerfile), "\\\n", " ")) {
		if run, ok := strings.CutPrefix(strings.TrimSpace(line), "RUN "); ok && !strings.HasPrefix(run, "[") && !strings.HasPrefix(run, "--mount") {
			all = append(all, statements([]byte(run))...)
		}
	}
	return all
}

var fence = regexp.MustCompile("(?ms)^```(?:sh|bash|shell|console|terminal|zsh)\\s*$(.*?)^```")

var prompt = regexp.MustCompile(`(?m)^\s*\$ (.+)$`)

// typed are the commands that a document tells to type: blocks of shell, and lines behind
// a prompt.
func typed(document []byte) []string {
	var all []string
	for _, m := range fence.FindAllSubmatch(document, -1) {
		if drawn.Match(m[1]) || otherShell.Match(m[1]) {
			continue
		}
		lines := prompt.FindAllSubmatch(m[1], -1)
		if len(lines) == 0 && !bytes.HasPrefix(m[0], []byte("```console")) && !bytes.HasPrefix(m[0], []byte("```terminal")) {
			all = append(all, documented(m[1])...)
		}
		for _, l := range lines {
			all = append(all, documented(l[1])...)
		}
	}
	return all
}

// otherShell is a command of Windows.
var otherShell = regexp.MustCompile(`\w\\\w|\$env:|\b(winget|choco|robocopy|Out-File|Invoke-\w+)\b`)

// drawn is a picture of folders, or a listing.
var drawn = regexp.MustCompile("[\u2500-\u257f\u25a0-\u25ff]|(?m)^\\s*\\w+: +\\w+,?$|\\[\\d+/\\d+\\]")

// documented are statements of a document; with names in angle brackets it says what has
// to be filled in, and is no command yet.
func documented(text []byte) []string {
	if bytes.Contains(text, []byte("<")) && regexp.MustCompile(`<[\w -]+>`).Match(text) {
		return nil
	}
	return statements(text)
}

// scripted are the go and shell commands of the tests of the go command.
func scripted(script []byte) []string {
	var all []string
	head, _, _ := bytes.Cut(script, []byte("\n-- "))
	for line := range strings.Lines(string(head)) {
		line = strings.TrimSpace(line)
		for _, mark := range []string{"! ", "? ", "exec "} {
			line = strings.TrimPrefix(line, mark)
		}
		if name, _, _ := strings.Cut(line, " "); slices.Contains([]string{"go", "git", "cp", "mkdir", "rm", "mv", "grep", "cat", "hg", "cd", "chmod"}, name) {
			all = append(all, statements([]byte(strings.TrimSuffix(line, "&")))...)
		}
	}
	return all
}
