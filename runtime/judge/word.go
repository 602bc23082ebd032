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
		Env: environ{r},
		CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
			out := strings.TrimRight(r.outputs(c.Stmts), "\n")
			if open(out) && (!strings.HasPrefix(out, computed) || len(out) == len(computed)) {
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
	mark := computed
	for _, s := range list {
		heads := r.heads(s)
		if len(heads) == 1 && settings.MatchString(heads[0]) && heads[0] != "perl" && heads[0] != "go" && !r.secretive(s) {
			mark = unknown // settings of the shell
		}
		if slices.ContainsFunc(heads, func(p string) bool { return slices.Contains(tells, p) }) {
			mark = telling + strings.TrimPrefix(mark, computed)
		}
		if len(heads) > 0 && slices.Contains(r.src.Readers, versionless(heads[0])) || readsFile(s) {
			mark += readMark
		}
		if r.secretive(s) {
			return telling + readMark + secretMark
		}
	}
	return mark
}

// readsFile says whether a statement is the shell's $(<file).
func readsFile(s *syntax.Stmt) bool {
	return s.Cmd == nil && len(s.Redirs) > 0 && s.Redirs[0].Op == syntax.RdrIn
}

// fields are the words that some words become; a word that cannot be expanded is
// unknown.
func (r *reader) fields(words ...*syntax.Word) []string {
	var all []string
	for _, w := range words {
		if r.risky(w) {
			all = append(all, unknown)
			continue
		}
		for field, err := range expand.FieldsSeq(r.config(), w) {
			if err != nil || r.spend() != nil || r.charge(len(field)) != nil {
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
	if r.risky(w) {
		return unknown
	}
	s, err := expand.Literal(r.config(), w)
	if err != nil || r.charge(len(s)) != nil {
		return unknown
	}
	return s
}

func (r *reader) document(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	if r.risky(w) {
		return unknown
	}
	s, err := expand.Document(r.config(), w)
	if err != nil || r.charge(len(s)) != nil {
		return unknown
	}
	return s
}

// charge counts bytes; beyond the bound nothing more is expanded.
func (r *reader) charge(n int) error {
	if r.bytes += n; r.bytes > maxBytes {
		return errTooMuch
	}
	return nil
}

// risky words are taken as unknown: those with operators on what is known only to the
// running shell, which would make something known of it, and replacements that could
// grow without bound.
func (r *reader) risky(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		p, ok := n.(*syntax.ParamExp)
		if !ok || p.Param == nil {
			return !found
		}
		value, known := r.vars[p.Param.Value]
		if p.Param.Value == "PWD" && !known {
			value, known = r.cwd, true
		}
		if list, ok := r.lists[p.Param.Value]; ok && !known {
			value, known = strings.Join(list, " "), true
		}
		if _, list := r.lists[p.Param.Value]; p.Index != nil && !list {
			found = true // an element of what is not known
		}
		cuts := p.Slice != nil || p.Repl != nil || p.Length || p.Excl || p.Exp != nil && !substitutes(p.Exp.Op)
		if cuts && (!known || open(value)) || p.Repl != nil && len(value) > 256 {
			found = true
		}
		return !found
	})
	return found
}

// substitutes: operators that give another word where a variable is not set.
func substitutes(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return true
	}
	return false
}

// environ holds the script's own variables; all others are unknown, but for those
// that have one meaning everywhere.
type environ struct{ r *reader }

func (e environ) Get(name string) expand.Variable {
	set := func(s string) expand.Variable {
		return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: s}
	}
	if list, ok := e.r.lists[name]; ok {
		if e.r.charge(len(strings.Join(list, " "))) != nil {
			return set(unknown)
		}
		return expand.Variable{Set: true, Kind: expand.Indexed, List: list}
	}
	if v, ok := e.r.vars[name]; ok {
		if e.r.charge(len(v)) != nil {
			return set(unknown)
		}
		return set(v)
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		if user == "root" {
			return set("/root")
		}
		return set("/home/" + user)
	}
	switch name {
	case "HOME":
		return set("~")
	case "PWD":
		return set(e.r.cwd)
	case "PPID":
		return set("1") // what runs the agent, whatever its number
	case "!":
		return set(child)
	case "TMPDIR":
		return set("/tmp")
	case "IFS":
		return set(" \t\n")
	case "@", "*", "1", "2", "3", "4", "5", "6", "7", "8", "9":
		return set("") // a command has no arguments of its own
	}
	if e.r.src.variables.MatchString(name) {
		return set(unknown + secretMark)
	}
	return set(unknown)
}

// child stands for the number of a program that the command itself began: its folder
// in /proc is no other's.
const child = "thread-self"

func (e environ) Each(yield func(string, expand.Variable) bool) {
	for name := range e.r.vars {
		if !yield(name, e.Get(name)) {
			return
		}
	}
}
