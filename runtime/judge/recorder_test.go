package judge

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A recorder collects what scripts define for others, beside their commands.
type recorder struct {
	functions map[string]bool
	programs  map[string]bool // that the recorded projects are or build
}

// notes what a file tells of its project's own programs.
func (c *recorder) notes(path string) {
	for _, m := range project.FindAllStringSubmatch(path, -1) {
		c.programs[strings.TrimSuffix(m[1]+m[2], "-go")] = true
	}
	if filepath.Base(path) == "package.json" {
		var doc struct {
			Bin any `json:"bin"`
		}
		if json.Unmarshal(read(path), &doc) != nil {
			return
		}
		if named, ok := doc.Bin.(map[string]any); ok {
			for name := range named {
				c.programs[name] = true
			}
		}
	}
	if m := builtTool.FindStringSubmatch(path); m != nil {
		c.programs["llama-"+m[1]] = true // what the engine's build calls its tools and examples
	}
	if dir := filepath.Base(filepath.Dir(path)); (dir == "libexec" || dir == "bin") && strings.Contains(path, ".pyenv") {
		c.programs[filepath.Base(path)] = true
	}
}

// project names a module, or one of its commands.
var project = regexp.MustCompile(`/([\w.-]+)@v[^/]*/|/cmd/([\w.-]+)/`)

var builtTool = regexp.MustCompile(`/llama\.cpp-[^/]*/(?:tools|examples)/([\w-]+)/`)

// defined notes the functions of a script.
func (c *recorder) defined(script string) {
	for _, m := range definition.FindAllStringSubmatch(script, -1) {
		c.functions[m[1]] = true
	}
}

var definition = regexp.MustCompile(`(?m)^\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\)`)

// apart says whether a command stands for itself: it calls no function of another script,
// and its program is no variable that only a whole Makefile gives.
func (c *recorder) apart(command string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return false
	}
	own, whole := map[string]bool{}, true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			own[n.Name.Value] = true
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			name := n.Args[0].Lit()
			if name == "trap" && len(n.Args) > 1 {
				name = n.Args[1].Lit()
			}
			_, known := wrappers[name]
			if c.functions[name] && !own[name] && !known || constant.MatchString(name) || strings.HasSuffix(name, ":") && len(name) > 1 {
				whole = false
			}
		}
		return whole
	})
	return whole
}

var constant = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$|^\W+$|^(ifn?eq|ifn?def|endif|else|foreach|subst|abspath|filter-out|\d+)$|^@|^test_|^-`)
