package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"dure/runtime/tool"
)

//go:embed search.md
var searchText string

// Search finds lines by a regular expression.
type Search struct{ Box Box }

// maxMatches are shown at once, and of each line so many bytes.
const (
	maxMatches = 100
	maxWidth   = 300
)

// Spec implements tool.Tool.
func (Search) Spec() tool.Spec {
	return tool.Spec{Name: "search", Description: strings.TrimSpace(searchText), Again: true, Fields: []tool.Field{
		{Name: "pattern", Description: `a regular expression, as func \w+Handler`, Required: true, Also: []string{"query", "regex", "regexp", "search"}},
		{Name: "path", Description: "the file or folder to search; everything if left out", Also: []string{"file", "folder", "directory", "dir", "file_path"}},
	}}
}

// Run implements tool.Tool.
func (t Search) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	pattern := args["pattern"]
	switch {
	case strings.TrimSpace(pattern) == "":
		return invalid("pattern is empty; give a regular expression, or a word that stands in the lines you look for"), nil
	case strings.ContainsAny(pattern, "\n\x00"):
		return invalid("pattern has a line break in it; a match lies within one line: search for one of the lines"), nil
	case len(pattern) > 2000:
		return invalid("pattern has %d bytes; 2000 at most", len(pattern)), nil
	}
	where := file{".", "."}
	if strings.TrimSpace(args["path"]) != "" {
		if where, err = named(args["path"]); err != nil {
			return invalid("%v", err), nil
		}
	}
	r, err := t.search(ctx, pattern, where)
	if err != nil {
		return tool.Result{}, fmt.Errorf("search %s: %w", where.shown, err)
	}
	return r, nil
}

// searchScript prints at most $4 matches: file, NUL, number, colon, line. What is
// behind $4 is an expression of find for what is left out.
const searchScript = `pattern=$1 p=$2 width=$3 most=$4
shift 4
printf '' | grep -P -e "$pattern"
if [ $? -gt 1 ]; then echo pattern; exit; fi
if [ ! -e "$p" ]; then echo missing; exit; fi
echo matches
if [ -d "$p" ]; then
	find -H "$p" -regextype posix-extended -mindepth 1 \( -name .git "$@" \) -prune -o -type f -print0 | sort -z
elif [ -f "$p" ]; then
	printf '%s\0' "$p"
fi | LC_ALL=C.UTF-8 xargs -0 -r grep -nHIZP -D skip -d skip --color=never -e "$pattern" -- | cut -b "1-$width" | head -n "$most"
`

func (t Search) search(ctx context.Context, pattern string, where file) (tool.Result, error) {
	const gitignore = `if [ -f .gitignore ]; then exec head -c 65536 .gitignore; fi`
	list, err := script(ctx, t.Box, nil, maxShown, gitignore)
	if err != nil {
		return tool.Result{}, err
	}
	args := []string{pattern, where.arg, fmt.Sprint(maxWidth + 4096), fmt.Sprint(maxMatches + 1)}
	leave := ignored(string(list.out))
	if leave != nil {
		leave = append([]string{"-o"}, leave...)
	}
	a, err := script(ctx, t.Box, nil, 1<<20, searchScript, append(args, leave...)...)
	if err == nil && leave != nil && strings.Contains(a.words, "failed to compile regular expression") {
		leave = nil
		a, err = script(ctx, t.Box, nil, 1<<20, searchScript, args...)
		a.words = strings.TrimSpace(".gitignore was left out of account, it has a pattern that is none; " + a.words)
	}
	if err != nil {
		return tool.Result{}, err
	}
	word, lines, _ := bytes.Cut(a.out, []byte("\n"))
	switch {
	case string(word) == "pattern":
		return failed(`%q is no regular expression: %s. To find these very characters, put \ before each of . * + ? ( ) [ ] { } ^ $ | \`, pattern, a.words), nil
	case string(word) == "missing":
		return nothing(ctx, t.Box, where, seen{kind: "missing"})
	case a.status != 0 && len(lines) == 0:
		return a.failure("searching"), nil
	}
	return found(pattern, where, lines, a.words, leave != nil), nil
}

// found shows matches as file:number: line.
func found(pattern string, where file, lines []byte, words string, left bool) tool.Result {
	var b strings.Builder
	n, more := 0, false
	for line := range bytes.Lines(lines) {
		name, rest, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte{0})
		number, text, numbered := bytes.Cut(rest, []byte(":"))
		if !ok || !numbered {
			continue // a part of a name with a line break in it
		}
		if n == maxMatches || b.Len() > maxShown {
			more = true
			break
		}
		n++
		shown := strings.ToValidUTF8(string(bytes.TrimRight(text, "\r")), "\uFFFD")
		if len(text) > maxWidth {
			shown = strings.ToValidUTF8(string(wholeRunes(text[:maxWidth])), "\uFFFD") + "..."
		}
		fmt.Fprintf(&b, "%s:%s: %s\n", strings.ToValidUTF8(strings.TrimPrefix(string(name), "./"), "\uFFFD"), number, shown)
	}
	var notes []string
	if n == 0 {
		notes = append(notes, fmt.Sprintf("no line in %s matches %q", where.shown, pattern))
		if left && where.arg == "." {
			notes = append(notes, "what .gitignore names was not searched; give its path to search it")
		}
	}
	if more {
		notes = append(notes, fmt.Sprintf("more lines match; these are the first %d: make the pattern narrower, or give a path", n))
	}
	// That grep was stopped when there was enough is no news.
	if words = strings.TrimSpace(strings.ReplaceAll(words, "xargs: grep: terminated by signal 13", "")); words != "" {
		notes = append(notes, words)
	}
	if len(notes) > 0 {
		fmt.Fprintf(&b, "[%s]", strings.Join(notes, "; "))
	}
	return done("%s", b.String())
}
