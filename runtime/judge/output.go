package judge

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"

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
	case "echo":
		return echo(args)
	case "printf":
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
		return unknown
	}
	if open(input) {
		return unknown
	}
	return filter(base(words[0]), args, input)
}

// wide are widths that make a large text of a small one.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*(\d{4,}|\*)`)

func echo(args []string) string {
	escapes, newline := false, "\n"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0], "e")
		if strings.Contains(args[0], "n") {
			newline = ""
		}
		args = args[1:]
	}
	s := strings.Join(args, " ")
	switch {
	case escapes:
		f, _, err := expand.Format(&expand.Config{}, s, nil)
		if err != nil {
			return unknown
		}
		s = f
	case strings.Contains(s, `\`):
		return unknown // shells differ about it
	}
	return s + newline
}

// filter carries out programs that only rewrite text.
func filter(program string, args []string, input string) string {
	decodes := false
	for _, a := range args {
		switch a {
		case "-d", "-D", "--decode", "-di", "-id":
			decodes = true
		}
	}
	switch program {
	case "base64":
		if decodes {
			return decoded(base64.StdEncoding.DecodeString(squeeze(input)))
		}
	case "base32":
		if decodes {
			return decoded(base32.StdEncoding.DecodeString(squeeze(input)))
		}
	case "xxd":
		if strings.Contains(strings.Join(args, ""), "r") {
			return decoded(hex.DecodeString(squeeze(input)))
		}
	case "rev":
		lines := strings.Split(input, "\n")
		for i, l := range lines {
			lines[i] = reverse(l)
		}
		return strings.Join(lines, "\n")
	case "tr":
		if len(args) == 2 && args[0] != "-d" {
			return translate(args[0], args[1], input)
		}
		if len(args) == 2 {
			set := expandRanges(args[1])
			return strings.Map(func(c rune) rune {
				if strings.ContainsRune(set, c) {
					return -1
				}
				return c
			}, input)
		}
	}
	return unknown
}

func decoded(b []byte, err error) string {
	if err != nil {
		return unknown
	}
	return strings.ToValidUTF8(string(b), unknown)
}

func squeeze(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, s)
}

func reverse(s string) string {
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// translate is tr for sets with ranges, as rot13 needs them.
func translate(from, to, s string) string {
	a, b := []rune(expandRanges(from)), []rune(expandRanges(to))
	if len(a) == 0 || len(b) == 0 {
		return unknown
	}
	return strings.Map(func(c rune) rune {
		for i, x := range a {
			if x == c {
				return b[min(i, len(b)-1)]
			}
		}
		return c
	}, s)
}

func expandRanges(set string) string {
	set = strings.NewReplacer(`\n`, "\n", `\t`, "\t", "[:space:]", " \n\t").Replace(set)
	runes := []rune(set)
	var out []rune
	for i := 0; i < len(runes); i++ {
		if i+2 < len(runes) && runes[i+1] == '-' && runes[i] <= runes[i+2] && runes[i+2]-runes[i] < 256 {
			for c := runes[i]; c <= runes[i+2]; c++ {
				out = append(out, c)
			}
			i += 2
			continue
		}
		out = append(out, runes[i])
	}
	return string(out)
}
