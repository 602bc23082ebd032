package judge

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Ways of writing a word that change nothing but how it looks. Who types a command has
// no use for them; who hides one does.

// contrivedCommand returns a word of a command that is put together so that it does not
// look like what it is; "" where there is none. The name of the program is held to more
// than its arguments.
func contrivedCommand(c *syntax.CallExpr) string {
	if word := evaluated(c); word != nil {
		var text strings.Builder
		if syntax.NewPrinter().Print(&text, word) != nil {
			return "?"
		}
		return text.String()
	}
	for i, w := range c.Args {
		if contrived(w, i == 0) {
			var text strings.Builder
			if syntax.NewPrinter().Print(&text, w) != nil {
				return "?"
			}
			return text.String()
		}
	}
	return ""
}

// contrived: quotes in the middle of a word that needs none, codes for letters, slices of
// variables, patterns or braces in a program's name.
func contrived(w *syntax.Word, name bool) bool {
	texts := 0
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if name && (strings.ContainsAny(p.Value, "*?[{") && len(p.Value) > 2 && !tests.MatchString(p.Value) || backslashed.MatchString(strings.ReplaceAll(p.Value, `\\`, "/"))) || backslashes.MatchString(strings.ReplaceAll(p.Value, `\\`, "/")) {
				return true
			}
			texts++
		case *syntax.SglQuoted:
			if p.Dollar && coded.MatchString(p.Value) {
				return true
			}
			if needless(w.Parts, i, p.Value) {
				return true
			}
			texts++
		case *syntax.DblQuoted:
			value, plain := "", true
			for _, q := range p.Parts {
				if l, ok := q.(*syntax.Lit); ok {
					value += l.Value
				} else {
					plain = false
					if sliced(q) && (name || len(w.Parts) > 1 || len(p.Parts) > 2) {
						return true
					}
				}
			}
			if plain && needless(w.Parts, i, value) {
				return true
			}
		case *syntax.ParamExp:
			if sliced(p) && (name || len(w.Parts) > 1) || between(w.Parts, i) && p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*" || p.Param.Value == "IFS") {
				return true
			}
			if p.Param != nil && p.Param.Value == "IFS" {
				return true
			}
		case *syntax.CmdSubst:
			if between(w.Parts, i) && letters(p) {
				return true
			}
		}
	}
	return name && variables(w) > 1 && texts == 0
}

var (
	tests       = regexp.MustCompile(`^(\[\[?|\{)$`)
	backslashed = regexp.MustCompile(`^.*\w\\\w|^\\\w.*\\\w`)
	backslashes = regexp.MustCompile(`(\\[a-zA-Z].*){3,}`)
	coded       = regexp.MustCompile(`(\\(x[0-9a-fA-F]{1,2}|[0-7]{3}|u[0-9a-fA-F]{1,4})){2,}|\\x[2-7][0-9a-fA-F]\w|\w\\x[2-7][0-9a-fA-F]`)
	word        = regexp.MustCompile(`^[\w./-]{0,12}$`)
	wordEnd     = regexp.MustCompile(`[a-z]$`)
	wordStart   = regexp.MustCompile(`^[a-z]`)
)

// needless are quotes between letters, around letters.
func needless(parts []syntax.WordPart, i int, value string) bool {
	if !word.MatchString(value) {
		return false
	}
	before, after := "", ""
	if i > 0 {
		before = litOf(parts[i-1])
	}
	if i+1 < len(parts) {
		after = litOf(parts[i+1])
	}
	joinsBefore, joinsAfter := wordEnd.MatchString(before), wordStart.MatchString(after)
	if value == "" {
		return joinsBefore && (joinsAfter || after != "" && after[0] == '/' || i+1 == len(parts) && len(parts) > 2) || joinsAfter && before == "" && i == 0
	}
	return (joinsBefore && wordStart.MatchString(value) || joinsAfter && wordEnd.MatchString(value)) && !strings.ContainsAny(before, "=:,@%") && !strings.HasPrefix(before, "-")
}

func litOf(p syntax.WordPart) string {
	switch p := p.(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.SglQuoted:
		return p.Value
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 {
			if l, ok := p.Parts[0].(*syntax.Lit); ok {
				return l.Value
			}
		}
	}
	return ""
}

// sliced is a part of a variable, by place.
func sliced(n syntax.Node) bool {
	p, ok := n.(*syntax.ParamExp)
	return ok && p.Slice != nil && numbered(p.Slice.Offset) && p.Param != nil && p.Index == nil && p.Param.Value != "@" && p.Param.Value != "*"
}

// numbered says whether a part is named by its place, as ${x:0:1} and not ${env:NAME}.
func numbered(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return strings.Trim(x.Lit(), "0123456789") == "" && x.Lit() != ""
	case *syntax.ParenArithm, *syntax.UnaryArithm, *syntax.BinaryArithm:
		return true
	}
	return false
}

// between says whether a part stands between letters.
func between(parts []syntax.WordPart, i int) bool {
	return i > 0 && wordEnd.MatchString(litOf(parts[i-1])) || i+1 < len(parts) && wordStart.MatchString(litOf(parts[i+1])) && i > 0
}

// letters says whether a substitution prints a text that stands there.
func letters(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 {
		return false
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return len(c.Stmts) == 1 && !ok
	}
	head := call.Args[0].Lit()
	return head == "echo" || head == "printf"
}

// variables counts those that a word is made of.
func variables(w *syntax.Word) int {
	n := 0
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.ParamExp:
			n++
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				switch q.(type) {
				case *syntax.ParamExp:
					n++
				case *syntax.Lit:
					return 0
				}
			}
		default:
			return 0
		}
	}
	return n
}

// evaluated is a word that is run as code and that another program prints; nil where
// there is none, or where the program is one that prints settings of the shell.
func evaluated(c *syntax.CallExpr) *syntax.Word {
	if len(c.Args) < 2 {
		return nil
	}
	head := c.Args[0].Lit()
	runs := head == "eval" || head == "source" || head == "."
	for i, w := range c.Args[1:] {
		option := c.Args[i].Lit()
		isCode := runs || strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && (strings.HasSuffix(option, "c") || strings.HasSuffix(option, "e")) && (interpreters[versionless(head)] != "" || isShell(head))
		if isCode && printsCode(w) {
			return w
		}
	}
	return nil
}

func isShell(name string) bool {
	for _, s := range shells {
		if s == name {
			return true
		}
	}
	return false
}

// printsCode says whether a word is what a program prints, and the program not one of
// settings.
func printsCode(w *syntax.Word) bool {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	if len(parts) == 0 {
		return false
	}
	var list []*syntax.Stmt
	switch p := parts[0].(type) {
	case *syntax.CmdSubst:
		list = p.Stmts
	case *syntax.ProcSubst:
		list = p.Stmts
	default:
		return false
	}
	for _, s := range list {
		for {
			b, ok := s.Cmd.(*syntax.BinaryCmd)
			if !ok {
				break
			}
			s = b.X
		}
		call, ok := s.Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || !settings.MatchString(call.Args[0].Lit()) {
			return true
		}
	}
	return false
}

// settings are programs that print what a shell is set up with.
var settings = regexp.MustCompile(`^(.*/)?(ssh-agent|opam|pyenv|rbenv|nodenv|goenv|jenv|brew|dircolors|go|luarocks|helm|kubectl|gh|poetry|conda|mamba|fnm|starship|minikube|register-python-argcomplete|tset|resize|direnv|zoxide|mise|asdf|perl|pip|npm|docker-machine|rustup|cargo|deno|hugo|dpkg-architecture|dpkg-buildflags|getopt|lesspipe|thefuck|fzf|atuin|pkgx|devbox|nix|cobra-cli|yq|tmuxp|grunt|gulp|[\w-]*completion\S*)$`)
