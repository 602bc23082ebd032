package judge

import (
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// config expands words as the shell would, without a file system and without running
// anything.
func (r *reader) config() *expand.Config {
	return &expand.Config{
		Env: environ{r.vars},
		CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
			out := strings.TrimRight(r.outputs(c.Stmts), "\n")
			if open(out) {
				out = r.mark(c.Stmts)
			}
			_, err := io.WriteString(w, out)
			return err
		},
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "/dev/fd/63", nil },
	}
}

// mark stands for the output of commands that is not known.
func (r *reader) mark(list []*syntax.Stmt) string {
	for _, s := range list {
		if slices.ContainsFunc(r.heads(s), func(p string) bool { return slices.Contains(tells, p) }) {
			return telling
		}
	}
	return computed
}

// fields are the words that some words become; a word that cannot be expanded is
// unknown.
func (r *reader) fields(words ...*syntax.Word) []string {
	var all []string
	for _, w := range words {
		for field, err := range expand.FieldsSeq(r.config(), w) {
			if err != nil || r.spend() != nil {
				all = append(all, unknown)
				break
			}
			all = append(all, field)
		}
	}
	return all
}

// literal is a word as one text.
func (r *reader) literal(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	s, err := expand.Literal(r.config(), w)
	if err != nil {
		return unknown
	}
	return s
}

func (r *reader) document(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	s, err := expand.Document(r.config(), w)
	if err != nil {
		return unknown
	}
	return s
}

// environ holds the script's own variables; all others are unknown, but for those
// that have one meaning everywhere.
type environ struct{ vars map[string]string }

func (e environ) Get(name string) expand.Variable {
	set := func(s string) expand.Variable {
		return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: s}
	}
	if v, ok := e.vars[name]; ok {
		return set(v)
	}
	switch name {
	case "HOME":
		return set("~")
	case "PWD", "OLDPWD":
		return set(".")
	case "TMPDIR":
		return set("/tmp")
	case "IFS":
		return set(" \t\n")
	case "@", "*", "1", "2", "3", "4", "5", "6", "7", "8", "9":
		return set("") // a command has no arguments of its own
	}
	return set(unknown)
}

func (e environ) Each(yield func(string, expand.Variable) bool) {
	for name := range e.vars {
		if !yield(name, e.Get(name)) {
			return
		}
	}
}
