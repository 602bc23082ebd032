package builtin

import "strings"

// ignored is an expression of find that holds for what a .gitignore at the top of the
// workspace excludes; empty if it excludes nothing. As with git, the last pattern that
// fits decides, and what lies in an excluded folder is excluded. Files of that name
// further down are not read: more is searched then, never less.
func ignored(gitignore string) []string {
	var all []string
	for line := range strings.Lines(gitignore) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " ")
		}
		keep := strings.HasPrefix(line, "!")
		line = strings.TrimPrefix(line, "!")
		if line == "" || strings.HasPrefix(line, "#") && !keep {
			continue
		}
		regex, folder := gitPattern(line)
		if regex == "" {
			continue
		}
		one := []string{"-regex", regex}
		if folder {
			one = append(one, "-type", "d")
		}
		switch {
		case keep && all != nil:
			all = append(append(append([]string{"(", "("}, all...), ")", "!", "("), append(one, ")", ")")...)
		case keep: // nothing is excluded yet
		case all == nil:
			all = append(append([]string{"("}, one...), ")")
		default:
			all = append(append(append([]string{"("}, all...), "-o"), append(one, ")")...)
		}
	}
	return all
}

// gitPattern is a pattern of .gitignore as a regular expression for paths that begin
// with ./, and whether it is about folders alone.
func gitPattern(pattern string) (regex string, folder bool) {
	pattern, folder = strings.CutSuffix(pattern, "/")
	anchored := strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	var b strings.Builder
	b.WriteString(`\./`)
	if !anchored {
		b.WriteString(`(.*/)?`)
	}
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case strings.HasPrefix(rest, "**/") && (i == 0 || pattern[i-1] == '/'):
			b.WriteString(`(.*/)?`)
			i += 2
		case rest == "**" && i > 0 && pattern[i-1] == '/':
			b.WriteString(`.+`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			end := strings.IndexByte(pattern[min(i+2, len(pattern)):], ']')
			if end < 0 {
				return "", false // git takes it for no pattern either
			}
			set := pattern[i+1 : i+2+end]
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + set + "]")
			i += 2 + end
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(quoteRegex(pattern[i]))
		default:
			b.WriteString(quoteRegex(c))
		}
	}
	return b.String(), folder
}

func quoteRegex(c byte) string {
	if strings.IndexByte(`.+*?()[]{}^$|\`, c) >= 0 {
		return `\` + string(rune(c))
	}
	return string([]byte{c})
}
