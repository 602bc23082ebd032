package judge

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// outputs is what statements print, where that can be known: echo, printf and filters
// that only rewrite text. Else it is unknown.
func (r *reader) outputs(list []*syntax.Stmt) string {
	var all strings.Builder
	for _, s := range list {
		all.WriteString(r.output(s))
	}
	if all.Len() > maxScript {
		return unknown
	}
	return all.String()
}

func (r *reader) output(s *syntax.Stmt) string {
	if r.depth >= maxDepth || r.spend() != nil {
		return unknown
	}
	r.depth++
	defer func() { r.depth-- }()
	for _, d := range s.Redirs {
		if d.Op == syntax.RdrIn {
			if text, ok := r.content(r.literal(d.Word)); ok && len(s.Redirs) == 1 {
				if c, ok := s.Cmd.(*syntax.CallExpr); ok {
					return r.printed(c, text)
				}
			}
		}
		if d.Op != syntax.Hdoc && d.Op != syntax.DashHdoc && d.Op != syntax.WordHdoc && (d.N == nil || d.N.Value != "2") {
			return unknown // it prints elsewhere, or reads from there
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return r.printed(c, r.given(s))
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.Pipe, syntax.PipeAll:
			right, ok := c.Y.Cmd.(*syntax.CallExpr)
			if !ok {
				return unknown
			}
			input := r.given(c.Y)
			if input == unknown {
				input = r.output(c.X)
			}
			return r.printed(right, input)
		case syntax.AndStmt:
			if left, ok := c.X.Cmd.(*syntax.CallExpr); ok && certain(left) {
				return r.output(c.X) + r.output(c.Y)
			}
		}
	case *syntax.Subshell:
		return r.outputs(c.Stmts)
	case *syntax.Block:
		return r.outputs(c.Stmts)
	}
	return unknown
}

// certain says whether a command succeeds whatever happens.
func certain(c *syntax.CallExpr) bool {
	if len(c.Args) == 0 {
		return true
	}
	switch c.Args[0].Lit() {
	case "true", ":", "echo", "printf":
		return true
	}
	return false
}

// given is the standard input that a statement's own redirections give.
func (r *reader) given(s *syntax.Stmt) string {
	for _, d := range s.Redirs {
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			return r.document(d.Hdoc)
		case syntax.WordHdoc:
			return r.literal(d.Word) + "\n"
		}
	}
	return unknown
}

// printed is what a simple command makes of its input.
func (r *reader) printed(c *syntax.CallExpr, input string) string {
	words := r.fields(c.Args...)
	if len(words) == 0 {
		return ""
	}
	args := words[1:]
	switch base(words[0]) {
	case "true", ":", "cd", "export", "set", "sleep":
		return ""
	case "which", "command", "type":
		if name := lastOf(args); len(args) > 0 && plainName.MatchString(strings.ReplaceAll(name, "-", "_")) && (base(words[0]) == "which" || strings.HasPrefix(args[0], "-")) {
			return name + "\n" // the program of that name, wherever it is
		}
	case "pwd":
		return r.cwd + "\n"
	case "mktemp":
		if !open(strings.Join(args, " ")) && !strings.Contains(strings.Join(args, " "), "/") {
			return "/tmp/tmp.made\n" // a place of its own
		}
	case "echo":
		return echo(args)
	case "printf":
		if len(args) > 1 && strings.Contains(args[0], "%b") {
			args = percentB(args)
		}
		if len(args) > 0 && !open(args[0]) && !wide.MatchString(args[0]) {
			if s, _, err := expand.Format(r.config(), args[0], args[1:]); err == nil && r.charge(len(s)) == nil {
				return s
			}
		}
		return unknown
	case "cat", "tee":
		if len(args) == 0 || args[0] == "-" {
			return input
		}
		return r.contents(args)
	}
	if names := listed(base(words[0]), args, input); names != "" {
		return names
	}
	if text, ok := r.spoken(base(words[0]), args, input); ok {
		return text
	}
	if len(args) > 0 && !strings.HasPrefix(args[len(args)-1], "-") && open(input) {
		if text, ok := r.content(args[len(args)-1]); ok {
			input = text
		}
	}
	if open(input) {
		return unknown
	}
	return filter(base(words[0]), args, input)
}

// contents are what stands in files that this command wrote.
func (r *reader) contents(files []string) string {
	var all strings.Builder
	for _, f := range files {
		text, ok := r.content(f)
		if !ok {
			return unknown
		}
		all.WriteString(text)
	}
	return all.String()
}

// saying is code that prints one text and does nothing else.
var saying = regexp.MustCompile(`^\s*(?:BEGIN\s*\{)?\s*(?:print|puts|echo|printf|say|console\.log|process\.stdout\.write|sys\.stdout\.write|io\.write)\s*\(?\s*"([^"]*)"\s*\)?\s*;?\s*\}?\s*$`)
var imports = regexp.MustCompile(`(?m)(?:^|;)\s*(?:import|from|require|use)\s[^;\n]*[;\n]`)

// spoken is what an interpreter prints whose code does nothing else.
func (r *reader) spoken(program string, args []string, input string) (string, bool) {
	options, ok := interpreters[versionless(program)]
	code := ""
	switch {
	case ok:
		if code = inline(args, options); code == "" && readsInput(args) && !open(input) {
			code = input
		}
	case strings.HasSuffix(program, "awk") && len(args) > 0:
		code = args[len(args)-1]
	}
	if code == "" || open(code) || r.charge(len(code)) != nil {
		return "", false
	}
	m := saying.FindStringSubmatch(imports.ReplaceAllString(fold(code).text, ""))
	if m == nil {
		return "", false
	}
	return m[1] + "\n", true
}
