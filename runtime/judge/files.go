package judge

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Files that a command writes and runs are read as what they are: r.files holds the
// content of those it wrote, where that is known.

// keep notes what a statement writes into the files of its redirections.
func (r *reader) keep(s *syntax.Stmt, input string) error {
	for _, d := range s.Redirs {
		adds := d.Op == syntax.AppOut || d.Op == syntax.AppAll
		if !adds && d.Op != syntax.RdrOut && d.Op != syntax.RdrClob && d.Op != syntax.RdrAll || d.N != nil && d.N.Value != "1" {
			continue
		}
		text := r.bare(s, input)
		if err := r.write(r.literal(d.Word), text, adds, ">"); err != nil {
			return err
		}
	}
	return nil
}

// write notes a file's new content, and adds the act of changing it.
func (r *reader) write(file, text string, adds bool, how string) error {
	if file == "" || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "&") {
		return nil
	}
	p := r.at(file)
	whole := text
	if adds {
		whole = r.files[p] + text
	}
	if len(whole) <= maxValue && r.charge(len(whole)) == nil {
		r.files[p] = whole
	}
	program := "change"
	if text == "" && !adds {
		program = "empty"
	}
	return r.add(act{program: program, full: program, args: []string{file}, text: whole, through: []string{how}})
}

// bare is what a statement prints where its redirections to files are left out.
func (r *reader) bare(s *syntax.Stmt, input string) string {
	given := r.given(s)
	if given == unknown && input != "" {
		given = input
	}
	switch c := s.Cmd.(type) {
	case nil:
		return ""
	case *syntax.CallExpr:
		text := r.printed(c, given)
		if open(text) && r.secretive(c) {
			text += secretMark
		}
		return text
	case *syntax.Block:
		return r.outputs(c.Stmts)
	case *syntax.Subshell:
		return r.outputs(c.Stmts)
	case *syntax.BinaryCmd:
		return r.output(&syntax.Stmt{Cmd: c})
	}
	return unknown
}

// runs are programs that run a file as shell, as code, or as recipes.
func (r *reader) content(file string) (string, bool) {
	if file == "" || len(r.files) == 0 {
		return "", false
	}
	text, ok := r.files[r.at(file)]
	return text, ok
}

// stored reads what a program is given as a file that this command wrote.
func (r *reader) stored(a act) error {
	if len(r.files) == 0 {
		return nil
	}
	if text, ok := r.content(a.full); ok && strings.Contains(a.full, "/") {
		if open(text) && strings.Trim(text, marks+" \t\n") == "" {
			return r.add(act{program: unknown, full: readMark, from: a.from})
		}
		return r.apart(func() error { return r.inner(text, pipe{from: a.from, to: a.to}) })
	}
	for _, s := range a.sets { // BASH_ENV=file
		if name, file, _ := strings.Cut(s, "="); name == "BASH_ENV" || name == "ENV" {
			if text, ok := r.content(file); ok {
				if err := r.apart(func() error { return r.inner(text, pipe{}) }); err != nil {
					return err
				}
			}
		}
	}
	return r.remembered(a)
}

// remembered is stored for programs that are named their file.
func (r *reader) remembered(a act) error {
	name := versionless(a.program)
	_, speaks := interpreters[name]
	if !speaks && name != "go" && name != "gcc" && name != "cc" && name != "cargo" && name != "sqlite" && name != "psql" {
		return nil
	}
	for _, arg := range append(slices.Clone(a.args), a.reads...) {
		if text, ok := r.content(arg); ok {
			return r.code(a, text)
		}
	}
	return nil
}

// moved follows a file that is copied or renamed.
func (r *reader) moved(a act) error {
	if !slices.Contains(copies, a.program) || len(a.args) < 2 {
		return nil
	}
	to := a.args[len(a.args)-1]
	from := a.args[len(a.args)-2]
	if text, ok := r.content(from); ok {
		return r.write(to, text, false, a.program)
	}
	return r.add(act{program: "change", full: "change", args: []string{to}, text: unknown, through: []string{a.program}})
}
