package judge

import (
	"regexp"
	"slices"
	"strings"
)

// A change of a file is an act of its own, however it is made: program change (or
// empty), the file as its argument, the new text, the old one where it is known, and in
// through what made it.

// changes adds what editors of streams and documents change.
func (r *reader) changes(a act, input string) error {
	switch a.program {
	case "sed", "gsed", "perl", "ruby":
		return r.substituted(a)
	case "tee":
		for _, file := range plainArgs(a.args) {
			if err := r.write(file, input, slices.ContainsFunc(a.args, func(s string) bool { return s == "-a" || s == "--append" }), "tee"); err != nil {
				return err
			}
		}
	case "truncate":
		if strings.Contains(a.line(), "-s 0") || strings.Contains(a.line(), "-s0") || strings.Contains(a.line(), "--size=0") {
			return r.emptied(a)
		}
	case "cp", "mv", "install", "ln":
		if a.program == "cp" && len(a.args) > 1 && a.args[0] == "/dev/null" {
			return r.emptied(a)
		}
		return r.moved(a)
	case "jq", "yq":
		if m := setsField.FindStringSubmatch(a.line()); m != nil {
			return r.add(act{program: "change", full: "change", args: a.args[len(a.args)-1:], text: m[1] + ": " + m[2], old: m[1], through: []string{a.program}})
		}
	case "npm", "yarn", "pnpm":
		if i := slices.Index(a.args, "set"); i >= 0 && i+1 < len(a.args) && slices.Contains(a.args, "pkg") {
			return r.add(act{program: "change", full: "change", args: []string{"package.json"}, text: strings.Replace(strings.Join(a.args[i+1:], "\n"), "=", `": "`, 1), old: "scripts", through: []string{"npm"}})
		}
	case "git", "patch":
		return r.patched(input)
	}
	return nil
}

var setsField = regexp.MustCompile(`\.([\w.\["\]-]*scripts[\w.\["\]-]*)\s*\|?=\s*("[^\n]*|\S[^\n]*)`)

func plainArgs(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(s string) bool { return strings.HasPrefix(s, "-") })
}

func (r *reader) emptied(a act) error {
	for _, file := range plainArgs(a.args) {
		if file == "0" || file == "/dev/null" {
			continue
		}
		if err := r.add(act{program: "empty", full: "empty", args: []string{file}, through: []string{a.program}}); err != nil {
			return err
		}
	}
	return nil
}

// edit is what a command of sed or perl changes.
type edit struct{ old, new string }

// substituted reads sed -i and perl -pi: each of their commands changes each file.
func (r *reader) substituted(a act) error {
	inPlace := slices.ContainsFunc(a.args, func(s string) bool {
		return strings.HasPrefix(s, "--in-place") || len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.Contains(strings.SplitN(s, ".", 2)[0], "i") && strings.Trim(s[1:], "inpEersz0w.bakorgl") == ""
	})
	if !inPlace {
		return nil
	}
	scripts, files := scriptAndFiles(a.args)
	for _, script := range scripts {
		for _, e := range edits(script) {
			for _, file := range files {
				if err := r.add(act{program: "change", full: "change", args: []string{file}, old: e.old, text: e.new, through: []string{"sed"}}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scriptAndFiles are the scripts in the arguments of sed or perl, and the files.
func scriptAndFiles(args []string) (scripts, files []string) {
	given := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--expression" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "e"):
			if i++; i < len(args) {
				scripts, given = append(scripts, args[i]), true
			}
		case strings.HasPrefix(a, "--expression="):
			scripts, given = append(scripts, strings.TrimPrefix(a, "--expression=")), true
		case strings.HasPrefix(a, "-"), a == "":
		case !given:
			scripts, given = append(scripts, a), true
		default:
			files = append(files, a)
		}
	}
	return scripts, files
}

var lineCommand = regexp.MustCompile(`(?s)(?:^|[;{}\n\d$/!])\s*([aic])(?:\\\n?|\s)\s*([^;\n]+)`)
var deletes = regexp.MustCompile(`/((?:[^/\\]|\\.)+)/[,/$\w]*\s*d\b`)

// edits are what a script of sed or perl replaces: s commands, added and deleted lines.
func edits(script string) []edit {
	var all []edit
	for i := 0; i < len(script); i++ {
		if script[i] != 's' || i > 0 && !strings.ContainsRune(" \t;{}/,$\n0123456789!", rune(script[i-1])) || i+1 >= len(script) {
			continue
		}
		mark := script[i+1]
		if !strings.ContainsRune("/|#,!~@%:_+", rune(mark)) {
			if mark != '{' {
				continue
			}
		}
		old, end := until(script, i+2, mark)
		text, last := until(script, end, mark)
		if last < 0 {
			continue
		}
		all = append(all, edit{old: plainPattern(old), new: text})
		i = last
	}
	for _, m := range lineCommand.FindAllStringSubmatch(script, 20) {
		all = append(all, edit{new: m[2]})
	}
	for _, m := range deletes.FindAllStringSubmatch(script, 20) {
		all = append(all, edit{old: plainPattern(m[1])})
	}
	return all
}

// until is a text up to a mark that is not escaped, and where it goes on behind it; -1
// where there is none.
func until(s string, from int, mark byte) (string, int) {
	if from < 0 || from > len(s) {
		return "", -1
	}
	for i := from; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case mark:
			return s[from:i], i + 1
		}
	}
	return "", -1
}

// plainPattern is a pattern without what makes it one.
func plainPattern(p string) string {
	return strings.NewReplacer(`\s`, " ", `\`, "", "^", "", ".*", " ").Replace(p)
}

var patchFile = regexp.MustCompile(`^\+\+\+ (?:b/)?(\S+)`)

// patched reads a patch on the input: what it takes from each file, and adds to it.
func (r *reader) patched(input string) error {
	if !strings.Contains(input, "\n+++ ") {
		return nil
	}
	file := ""
	var old, text strings.Builder
	flush := func() error {
		if file == "" {
			return nil
		}
		c := act{program: "change", full: "change", args: []string{file}, old: old.String(), text: text.String(), through: []string{"patch"}}
		old.Reset()
		text.Reset()
		return r.add(c)
	}
	for line := range strings.Lines(input) {
		if m := patchFile.FindStringSubmatch(line); m != nil {
			if err := flush(); err != nil {
				return err
			}
			file = m[1]
			continue
		}
		if after, ok := strings.CutPrefix(line, "+"); ok {
			text.WriteString(after)
		} else if after, ok := strings.CutPrefix(line, "-"); ok && !strings.HasPrefix(line, "---") {
			old.WriteString(after)
		}
	}
	return flush()
}
