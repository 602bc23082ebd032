package judge

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// sources say where secrets come from. They are data: rules.yaml, under sources.
type sources struct {
	Paths     []string `yaml:"paths"`     // files that hold secrets
	Except    []string `yaml:"except"`    // files among them that do not
	Variables []string `yaml:"variables"` // names of variables that hold secrets
	Commands  []string `yaml:"commands"`  // programs with arguments that print secrets
	Blind     []string `yaml:"blind"`     // programs that name a file and do not show what is in it
	Readers   []string `yaml:"readers"`   // programs that print what stands in files or comes in

	paths, except, variables, commands *regexp.Regexp
}

func (s *sources) compile() error {
	for _, e := range []struct {
		name string
		list []string
		to   **regexp.Regexp
	}{{"paths", s.Paths, &s.paths}, {"except", s.Except, &s.except}, {"variables", s.Variables, &s.variables}, {"commands", s.Commands, &s.commands}} {
		x, err := regexp.Compile("^(?:" + strings.Join(e.list, "|") + ")$")
		if err != nil {
			return fmt.Errorf("sources: %s: %w", e.name, err)
		}
		*e.to = x
	}
	return nil
}

// maxName is what the kernel takes as a file's name.
const maxName = 4096

// secretFile says whether a file holds a secret: by its name, or because this command
// wrote one into it.
func (r *reader) secretFile(p string) bool {
	if p == "" || len(p) > maxName {
		return false
	}
	if len(r.tainted) > 0 && r.tainted[r.at(p)] {
		return true
	}
	p = clean(p)
	return r.src.paths.MatchString(p) && !r.src.except.MatchString(p)
}

// secretWord says whether a word of a command names a secret's file, or holds a secret.
func (r *reader) secretWord(w string) bool {
	if strings.Contains(w, secretMark) {
		return true
	}
	if strings.Contains(w, "://") && !strings.Contains(w, "@") && !strings.HasPrefix(w, "file:") {
		return false // an address, whatever its path is called
	}
	if r.secretFile(strings.TrimLeft(w, "@<:")) {
		return true
	}
	for _, cut := range []string{"=@", "=", "@", ":"} { // file=@.env, --file=.env, FILE:.env
		if _, value, ok := strings.Cut(w, cut); ok && r.secretFile(value) {
			return true
		}
	}
	return false
}

// secretive says whether what a part of a script prints may hold a secret.
func (r *reader) secretive(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if found || r.spend() != nil {
			return false
		}
		switch n := n.(type) {
		case *syntax.Redirect:
			found = n.Op == syntax.RdrIn && r.secretFile(r.literal(n.Word))
		case *syntax.DeclClause:
			found = len(n.Args) == 0 || len(n.Args) == 1 && n.Args[0].Naked && n.Args[0].Name == nil // export -p
		case *syntax.CallExpr:
			found = r.prints(r.fields(n.Args...))
		}
		return !found
	})
	return found
}

// prints says whether a command prints a secret.
func (r *reader) prints(words []string) bool {
	for len(words) > 0 {
		name := base(words[0])
		line := strings.Join(append([]string{name}, words[1:]...), " ")
		if r.src.commands.MatchString(line) {
			return true
		}
		if slices.Contains(r.src.Blind, name) {
			return false
		}
		w, ok := wrappers[name]
		if !ok {
			break
		}
		words, _ = unwrap(w, words[1:])
	}
	return len(words) > 1 && slices.ContainsFunc(words[1:], r.secretWord)
}

// at is a path from the root, where the folder is known.
func (r *reader) at(p string) string {
	if path.IsAbs(p) || strings.HasPrefix(p, "~") || !path.IsAbs(r.cwd) {
		return clean(p)
	}
	return path.Join(r.cwd, p)
}

// copies are programs that write what they read into the file named last.
var copies = []string{"cp", "mv", "ln", "install", "rsync"}

// taint follows a secret into the files that a command writes.
func (r *reader) taint(a *act) {
	a.secret = a.secret || r.carries(a)
	a.leaks = r.leaks
	if !a.secret {
		return
	}
	to := slices.Clone(a.writes)
	if slices.Contains(copies, a.program) && len(a.args) > 1 {
		to = append(to, a.args[len(a.args)-1])
	}
	if a.program == "tee" {
		to = append(to, a.args...)
	}
	for _, p := range to {
		if p = r.at(p); strings.HasPrefix(p, workspace+"/") || strings.HasPrefix(p, "/tmp/") {
			r.tainted[p] = true
			r.leaks = r.leaks || strings.HasPrefix(p, workspace+"/")
		}
	}
}

// carries says whether an act has a secret in its hands.
func (r *reader) carries(a *act) bool {
	if a.program == "change" || a.program == "empty" {
		return strings.Contains(a.text, secretMark)
	}
	return slices.ContainsFunc(a.args, r.secretWord) || slices.ContainsFunc(a.reads, r.secretFile) ||
		slices.ContainsFunc(a.sets, func(s string) bool { return strings.Contains(s, secretMark) }) ||
		len(a.writes) > 0 && r.src.commands.MatchString(a.line())
}
