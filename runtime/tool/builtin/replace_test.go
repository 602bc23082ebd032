package builtin

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const program = "func a() {\n\tif x {\n\t\tone()\n\t\ttwo()\n\t}\n}\n\nfunc b() {\n\tone()\n}\n"

func TestReplace(t *testing.T) {
	for _, c := range []struct{ name, text, old, fresh, want string }{
		{"exact", "a b c", "b", "x", "a x c"},
		{"exact wins over more places but for spaces", "b \nb\n", "b\n", "x\n", "b \nx\n"},
		{"lines removed", "a\nb\nc\n", "b\n", "", "a\nc\n"},
		{"spaces at ends", "a  \nb\t\nc\n", "a\nb\n", "x\n", "x\nc\n"},
		{"spaces at ends of old", "a\nb\nc\n", "a \nb  ", "x\ny", "x\ny\nc\n"},
		{"the last line has no break", "a\nb", "b\n", "x\n", "a\nx"},
		{"the last line has no break, and spaces", "a\nb ", "b\n", "x\ny\n", "a\nx\ny"},
		{"a break gone", "a \nb\n", "a\n", "x", "xb\n"},
		{"CR LF", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"},
		{"CR LF in old", "a\nb\nc\n", "a\r\nb\r\n", "x\r\n", "x\nc\n"},
		{"both", "a\r\nb\nc\r\n", "b\nc", "x\ny", "a\r\nx\ny\r\n"},
		{"a lone CR stays", "a\rb\nc\n", "c", "x", "a\rb\nx\n"},
		{"no indentation", program, "if x {\n\tone()\n\ttwo()\n}", "if y {\n\ttwo()\n}", strings.Replace(program, "\tif x {\n\t\tone()\n\t\ttwo()\n\t}", "\tif y {\n\t\ttwo()\n\t}", 1)},
		{"too much indentation", program, "\t\tif x {\n\t\t\tone()\n", "\t\tif y {\n\t\t\tone()\n", strings.Replace(program, "if x", "if y", 1)},
		{"spaces for tabs", program, "    if x {\n        one()\n        two()\n", "    if x {\n        one()\n\n        if y {\n            two()\n        }\n",
			strings.Replace(program, "\t\ttwo()\n", "\n\t\tif y {\n\t\t\ttwo()\n\t\t}\n", 1)},
		{"one line of spaces for tabs", program, "  two()", "  if y {\n    two()\n  }", strings.Replace(program, "\t\ttwo()", "\t\tif y {\n\t\t\ttwo()\n\t\t}", 1)},
		{"no indentation, and spaces in new", program, "two()", "two()", "!equal"},
		{"two spaces for four", "def f():\n    if x:\n        y()\n", "if x:\n  y()", "if x:\n  y()\n  if z:\n    w()", "def f():\n    if x:\n        y()\n        if z:\n            w()\n"},
		{"fences", "a\nb\n", "```go\nb\n```", "```go\nx\n```", "a\nx\n"},
		{"ambiguous", "a\nb\na\n", "a", "x", "!at lines 1 3:"},
		{"overlapping", "aaa", "aa", "x", "!at lines 1 1:"},
		{"ambiguous but for spaces", "a \nb\na  \n", "a\n", "x\n", "!at lines 1 3:"},
		{"ambiguous but for indentation", program, "  one()\n", "  x()\n", "!at lines 3 9:"},
		{"many", strings.Repeat("a\n", 50), "a", "x", "!at lines 1 2 3 4 5 6 7 8 9 10 and more:"},
		{"new lines further left than all that is known", program, "\t\t\t\tone()\n\t\t\t\ttwo()", "one()\n\t\t\t\ttwo()", "!it is not certain how new must be indented; in the file it is:\n\t\tone()\n\t\ttwo()\n"},
		{"contradicting indentation", "  a\n    b\n  c\n", "a\n  b\n c", "d", "!at line 1 with another indentation"},
		{"made already", "a\nx\n", "b", "x", "!new is, at line 2: this edit may have been made already"},
		{"near", "one\ntwo\nthree\n", "two\nthrea", "x", "!the nearest is at line 2, where it is:\ntwo\nthree\nTake"},
		{"nothing like it", "one\n", "two", "x", "!nor is any of its lines"},
		{"empty", "a", " \n", "x", "!old is empty"},
		{"equal", "a", "a", "a", "!old and new are equal"},
	} {
		r, err := replace(c.text, c.old, c.fresh)
		part, wrong := strings.CutPrefix(c.want, "!")
		switch {
		case wrong && (err == nil || !strings.Contains(err.Error(), part)):
			t.Errorf("%s: %q %v, want the error %q", c.name, r.text, err, part)
		case !wrong && (err != nil || r.text != c.want):
			t.Errorf("%s: %q %v, want %q", c.name, r.text, err, c.want)
		}
	}
}

// source draws lines of a program, each with another word in it, or blank, but for
// the last one.
func source(t *rapid.T, unit string) []string {
	depth := 0
	var lines []string
	n := rapid.IntRange(2, 12).Draw(t, "lines")
	for i := range n {
		depth = max(0, depth+rapid.IntRange(-2, 1).Draw(t, "deeper"))
		line := strings.Repeat(unit, depth) + fmt.Sprintf("line%02d()", i)
		if rapid.IntRange(0, 5).Draw(t, "blank") == 0 && i < n-1 {
			line = ""
		}
		lines = append(lines, line)
	}
	return lines
}

// Against a reference: some lines of a file are known by their numbers, given with what
// models get wrong about space, and put in place of them by number.
func TestReplaceAgainstAReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"\t", "    ", "  "}).Draw(t, "unit")
		lines := source(t, unit)
		from := rapid.IntRange(0, len(lines)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(lines)).Draw(t, "to")
		old := slices.Clone(lines[from:to])
		if strings.TrimSpace(strings.Join(old, "")) == "" {
			t.Skip("nothing but blank lines")
		}
		fresh := slices.Clone(old)
		at := rapid.IntRange(0, len(fresh)-1).Draw(t, "changed")
		fresh[at] = indentOf(fresh[at]) + "changed()"
		if rapid.Bool().Draw(t, "one more") {
			fresh = slices.Insert(fresh, at, indentOf(fresh[at])+"added()")
		}
		want := slices.Concat(lines[:from], fresh, lines[to:])
		// The file may have spaces at the ends of its lines, which stay but where it is changed.
		have := slices.Clone(lines)
		for i := range have {
			if rapid.IntRange(0, 4).Draw(t, "trailing") == 0 && (i < from || i >= to) {
				have[i] += "  "
				want[i+max(0, map[bool]int{true: len(fresh) - len(old)}[i >= to])] += "  "
			}
		}
		for i := range old {
			if rapid.IntRange(0, 4).Draw(t, "trailing in old") == 0 {
				old[i] += " \t"[rapid.IntRange(0, 1).Draw(t, "which"):]
			}
		}
		// All that is asked for stands further left than it is.
		if rapid.Bool().Draw(t, "further left") {
			least := -1
			for _, l := range slices.Concat(old, fresh) {
				if strings.TrimSpace(l) != "" && (least < 0 || len(indentOf(l)) < least) {
					least = len(indentOf(l))
				}
			}
			for _, list := range [][]string{old, fresh} {
				for i, l := range list {
					list[i] = l[min(least, len(indentOf(l))):]
				}
			}
		}
		end := "\n"
		if rapid.Bool().Draw(t, "CR LF") {
			end = "\r\n"
		}
		last := map[bool]string{true: end}[rapid.Bool().Draw(t, "last break")]
		oldLast := map[bool]string{true: "\n"}[rapid.Bool().Draw(t, "break in old")]
		// What is there exactly is replaced exactly, though it begins in the middle of a line.
		if part := strings.Join(old, "\n"); part != strings.Join(lines[from:to], "\n") && strings.Contains(strings.Join(have, "\n"), part) {
			t.Skip("it is there exactly")
		}
		text, wanted := strings.Join(have, end)+last, strings.Join(want, end)+last
		r, err := replace(text, strings.Join(old, "\n")+oldLast, strings.Join(fresh, "\n")+oldLast)
		if text == wanted {
			t.Skip("nothing changes")
		}
		if err != nil {
			t.Fatalf("%q -> %q in %q: %v", old, fresh, text, err)
		}
		if r.text != wanted {
			t.Fatalf("%q -> %q in %q\nis   %q\nwant %q (%s)", old, fresh, text, r.text, wanted, r.how)
		}
	})
}

// Whatever is asked for, what is outside of the place stays as it is, byte by byte.
func FuzzReplace(f *testing.F) {
	f.Add(program, "if x {\n  one()", "if y {")
	f.Add("a\r\nb\n\r\n", "b\n\n", "\r")
	f.Add("\ta\n b\n", "a\nb", "\t \ta\n")
	f.Fuzz(func(t *testing.T, text, old, fresh string) {
		r, err := replace(text, old, fresh)
		if err != nil {
			return
		}
		if !strings.Contains(text, "\r") && !strings.Contains(old+fresh, "\r") && strings.Count(text, old) == 1 && r.text != strings.Replace(text, old, fresh, 1) {
			t.Fatalf("%q -> %q in %q: %q", old, fresh, text, r.text)
		}
		// Lines outside of as many lines as old has are as they were.
		n := strings.Count(lf(old), "\n") + 1
		a, b := strings.SplitAfter(text, "\n"), strings.SplitAfter(r.text, "\n")
		top := 0
		for top < len(a) && top < len(b) && a[top] == b[top] {
			top++
		}
		end := 0
		for end < len(a)-top && end < len(b)-top && a[len(a)-1-end] == b[len(b)-1-end] {
			end++
		}
		if changed := len(a) - top - end; changed > n+1 {
			t.Fatalf("%q -> %q in %q: %d lines changed: %q", old, fresh, text, changed, r.text)
		}
		// A diff shows lines without the CR before their break, so that of two one is left.
		if strings.Contains(text+r.text, "\r\r\n") {
			return
		}
		if d := diff("x", text, r.text); apply(t, text, d) != strings.ReplaceAll(r.text, "\r\n", "\n") {
			t.Fatalf("%q: the diff of %q and %q", d, text, r.text)
		}
	})
}

// apply makes the second text of the first and a diff, with LF for CR LF.
func apply(t *testing.T, before, d string) string {
	var from, count, to, many int
	lines := strings.SplitAfter(d, "\n")
	if d == "" || len(lines) < 3 {
		t.Fatalf("%q is no diff", d)
	}
	if _, err := fmt.Sscanf(lines[2], "@@ -%d,%d +%d,%d @@", &from, &count, &to, &many); err != nil {
		t.Fatalf("%q: %v", lines[2], err)
	}
	if count > 0 {
		from--
	}
	have := splitLines(before)
	out := slices.Clone(have[:from])
	for i := 3; i < len(lines) && lines[i] != ""; i++ {
		line := lines[i][1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
			line = strings.TrimSuffix(line, "\n")
		}
		switch lines[i][0] {
		case ' ', '+':
			out = append(out, line)
		}
	}
	return strings.ReplaceAll(strings.Join(append(out, have[from+count:]...), ""), "\r\n", "\n")
}

// What find leaves out is what git ignores.
func TestIgnoredIsWhatGitIgnores(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: no git to compare with")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) []string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		list := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 || r == '\n' })
		slices.Sort(list)
		return list
	}
	run("git", "init", "-q")
	run("sh", "-c", `mkdir -p build/deep src/build src/a/b doc "sp ace" && for f in build/x build/deep/y src/build/z src/a/b/c src/a/c src/x.log src/keep.log \
		x.log keep.log a.o b.oo doc/index.txt doc/a.html "sp ace/f" "!odd" "#odd" a+b "[x]" src/a1 src/a2 src/ab; do : >"$f"; done`)
	patterns := []string{"build", "build/", "/build", "src/build", "*.log", "!keep.log", "!src/keep.log", "*.o", "*.o?", "src/*", "!src/a", "src/**", "**/c", "src/**/c", "a/**/c",
		"# comment", `\#odd`, `\!odd`, "doc/*.txt", "/*.log", "sp ace", "sp ace/ ", "a+b", `\[x\]`, "a[0-9]", "a[!0-9]", "[", "", "   ", "src/a/", "!src/a/b", "*", "!/src", "**/", "/doc/**/index.txt"}
	rapid.Check(t, func(rt *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(patterns), 1, 4).Draw(rt, "patterns")
		gitignore := strings.Join(chosen, "\n") + "\n"
		run("sh", "-c", `printf %s "$1" >"$2"`, "sh", gitignore, filepath.Join(dir, ".gitignore"))
		want := run("git", "ls-files", "-oz", "--exclude-standard")
		args := []string{".", "-regextype", "posix-extended", "-mindepth", "1", "(", "-name", ".git"}
		if leave := ignored(gitignore); leave != nil {
			args = append(append(args, "-o"), leave...)
		}
		got := run("find", append(args, ")", "-prune", "-o", "-type", "f", "-printf", `%P\0`)...)
		if !slices.Equal(got, want) {
			rt.Fatalf("%q: searched are\n%q, git takes\n%q", chosen, got, want)
		}
	})
}
