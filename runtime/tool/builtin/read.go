package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dure/runtime/tool"
)

//go:embed read.md
var readText string

// Read shows a file, or what is in a folder.
type Read struct{ Box Box }

// maxLines are shown at once, and maxEntries of a folder.
const (
	maxLines   = 600
	maxEntries = 500
)

// pathField is the one of all file tools.
func pathField(description string) tool.Field {
	return tool.Field{Name: "path", Description: description, Required: true, Also: []string{"file", "file_path", "filename", "file_name", "filepath"}}
}

// Spec implements tool.Tool.
func (Read) Spec() tool.Spec {
	return tool.Spec{Name: "read", Description: strings.TrimSpace(readText), Again: true, Fields: []tool.Field{
		pathField("the file or folder, from the workspace, as src/main.go or ."),
		{Name: "from", Description: "the first line to show, as 120; the first of the file if left out", Also: []string{"start", "start_line", "offset", "line"}},
		{Name: "lines", Description: "how many lines to show, as 80; as many as fit if left out", Also: []string{"limit", "count", "num_lines"}},
	}}
}

// Run implements tool.Tool.
func (t Read) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	f, err := named(args["path"])
	from, fromErr := number(args, "from", 1)
	lines, linesErr := number(args, "lines", maxLines)
	for _, err := range []error{err, fromErr, linesErr} {
		if err != nil {
			return invalid("%v", err), nil
		}
	}
	s, a, err := look(ctx, t.Box, f, true, from, lines)
	switch {
	case err != nil:
		return tool.Result{}, fmt.Errorf("read %s: %w", f.shown, err)
	case a.status != 0:
		return a.failure("reading " + f.shown), nil
	case s.kind == "folder":
		return folder(f, s.body), nil
	case s.kind == "file" || s.kind == "large":
		return shown(f, s, from, lines), nil
	}
	r, err := nothing(ctx, t.Box, f, s)
	if err != nil {
		return tool.Result{}, fmt.Errorf("read %s: %w", f.shown, err)
	}
	return r, nil
}

// number is an argument that must be a whole number from 1 on.
func number(args tool.Arguments, name string, unset int) (int, error) {
	text, ok := args[name]
	if !ok || strings.TrimSpace(text) == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), ".0"))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is %q; it must be a whole number from 1 on, as 120", name, text)
	}
	return n, nil
}

// shown is a file as the agent sees it: a line that says what follows, then lines as
// they are. They have no numbers, which models would copy into edits.
func shown(f file, s seen, from, lines int) tool.Result {
	body := s.body
	if s.kind == "large" {
		body = wholeRunes(body)
	}
	if why := noText(body); why != "" {
		return failed("%s (%d bytes) %s", f.shown, s.size, why)
	}
	if s.size == 0 {
		return done("[%s: empty]", f.shown)
	}
	all := splitLines(strings.ReplaceAll(string(body), "\r\n", "\n"))
	first := from - 1 // of all
	if s.kind == "large" {
		first = 0 // the box has cut it
	}
	if first >= len(all) {
		return failed("%s has %s; from is %d", f.shown, counted(len(all), "line"), from)
	}
	text, n, cut := fitting(all[first:], min(lines, maxLines))
	var head string
	switch last := from + n - 1; {
	case s.kind == "large":
		head = fmt.Sprintf("lines %d-%d; %d bytes are too many to edit it; go on with from=%d", from, last, s.size, last+1)
	case first == 0 && n == len(all):
		head = counted(n, "line")
	case last == len(all):
		head = fmt.Sprintf("lines %d-%d of %d", from, last, len(all))
	default:
		head = fmt.Sprintf("lines %d-%d of %d; go on with from=%d", from, last, len(all), last+1)
	}
	if cut > 0 {
		head += fmt.Sprintf("; line %d is long, its last %d bytes are left out", from+n-1, cut)
	}
	if bytes.Contains(s.body, []byte("\r\n")) {
		head += "; lines end in CR LF, which edit keeps"
	}
	if s.kind == "file" && s.body[len(s.body)-1] != '\n' {
		head += "; no line break at its end"
	}
	return done("[%s: %s]\n%s", f.shown, head, text)
}

// fitting is as many of the lines as may be shown; of the first one at least a part,
// without its last cut bytes.
func fitting(lines []string, most int) (text string, n, cut int) {
	var b strings.Builder
	for _, line := range lines[:min(most, len(lines))] {
		if b.Len()+len(line) > maxShown {
			if n > 0 {
				break
			}
			part := string(wholeRunes([]byte(line[:maxShown])))
			return part, 1, len(line) - len(part)
		}
		b.WriteString(line)
		n++
	}
	return b.String(), n, 0
}

// wholeRunes is the text without a character that was cut off at its end.
func wholeRunes(b []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// splitLines cuts a text after its line breaks.
func splitLines(text string) []string { return slices.Collect(strings.Lines(text)) }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// folder is what is in one: each entry with its kind in front and where it leads
// behind, both ending in a NUL.
func folder(f file, body []byte) tool.Result {
	fields := strings.Split(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00")
	var names []string
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "" {
			continue
		}
		kind, name := fields[i][0], fields[i][1:]
		if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
			name = strconv.Quote(name)
		}
		switch kind {
		case 'd':
			name += "/"
		case 'f':
		case 'l':
			name += " -> " + fields[i+1]
		default:
			name += " (no ordinary file)"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return done("[folder %s: empty]", f.shown)
	}
	slices.Sort(names)
	head := counted(len(names), "entry")
	if len(names) > 1 {
		head = fmt.Sprintf("%d entries", len(names))
	}
	if len(names) > maxEntries {
		head += fmt.Sprintf(", the first %d", maxEntries)
		names = names[:maxEntries]
	}
	return done("[folder %s: %s]\n%s\n", f.shown, head, strings.Join(names, "\n"))
}
