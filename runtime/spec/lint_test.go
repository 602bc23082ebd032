package spec_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dure/runtime/spec"
)

// repo is a repository of some files.
func repo(loose string, files ...string) *spec.Repo {
	have, texts := map[string]bool{}, map[string]string{}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "\n")
		texts[name] = text
		for p := name; p != "."; p, _, _ = cutLast(p) {
			have[p] = true
		}
	}
	return &spec.Repo{Files: have, Loose: func(p string) bool { return p == loose }, Read: func(p string) (string, bool) { return texts[p], true }}
}

func cutLast(p string) (string, string, bool) {
	i := strings.LastIndex(p, "/")
	if i < 0 {
		return ".", p, false
	}
	return p[:i], p[i+1:], true
}

// sound is a specification with nothing to say against it, but what is put into it.
func sound(more string) string {
	return "# A thing\n\nIt is a program in shell.\n\n## Goals\n\n1. It prints the sum of two numbers.\n   Check: `sh tests/sum.sh`\n" + more
}

var ground = repo("", "tests/sum.sh", "tests/twice.sh", "check.sh", "Makefile\ntest: build\n\tgo test\nbuild:\n", "package.json\n{\"scripts\": {\"test\": \"x\", \"lint\": \"y\"}}", "go.mod", "lib/a.go")

func facts(f spec.Facts) spec.Facts {
	if f.Check == "" {
		f.Check = "sh check.sh"
	}
	if f.Repo == nil {
		f.Repo = ground
	}
	return f
}

const second = "2. It doubles a number that is given.\n   Check: `"

func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		facts spec.Facts
		want  []string // rule:severity:line
	}{
		"nothing wrong":             {text: sound("")},
		"no goals":                  {text: "# T\n\nMake it work.\n", want: []string{"no-goals:warning:0"}},
		"empty":                     {text: " \n", want: []string{"empty:error:0"}},
		"not UTF-8":                 {text: "a\xff", want: []string{"no-text:error:0"}},
		"a NUL":                     {text: "a\x00b", want: []string{"no-text:error:0"}},
		"larger than a run takes":   {text: strings.Repeat("x", spec.MaxBytes+1), want: []string{"too-large:error:0"}},
		"larger than the window":    {text: sound("\n```\n" + strings.Repeat("Words. ", 4000) + "\n```\n"), facts: spec.Facts{Window: 8000}, want: []string{"too-large:error:0"}},
		"most of the window":        {text: sound("\n```\n" + strings.Repeat("Words. ", 4000) + "\n```\n"), facts: spec.Facts{Window: 16_000}, want: []string{"large:warning:0"}},
		"large, window unknown":     {text: sound("\n```\n" + strings.Repeat("x", 129_000) + "\n```\n"), want: []string{"large:note:0"}},
		"a goal without a check":    {text: sound("2. It doubles a number that is given.\n"), want: []string{"goal-without-check:error:9"}},
		"an empty check":            {text: sound("2. It doubles a number that is given.\n   Check:\n"), want: []string{"goal-without-check:error:10"}},
		"a check in a block":        {text: sound("2. It doubles a number that is given.\n\n   Check:\n\n   ```\n   sh tests/twice.sh\n   ```\n")},
		"items below an item":       {text: sound(second + "sh tests/twice.sh`\n   - of any size\n   - also below zero\n")},
		"a list of something else":  {text: sound("\n## Background\n\n- It was slow.\n- It was large.\n")},
		"a check that is not there": {text: sound(second + "sh tests/none.sh`\n"), want: []string{"check-missing:error:10"}},
		"a check not committed": {text: sound(second + "sh tests/new.sh`\n"),
			facts: spec.Facts{Repo: repo("tests/new.sh", "tests/sum.sh", "check.sh")}, want: []string{"check-missing:error:10"}},
		"a check that the team writes": {text: sound(second+"sh tests/new.sh`\n") + "\nWrite tests/new.sh first.\n", want: []string{"check-by-the-team:warning:10"}},
		"a target that is there":       {text: sound(second + "make test`\n")},
		"no such target":               {text: sound(second + "make -s verify`\n"), want: []string{"check-missing:error:10"}},
		"no Makefile": {text: sound(second + "make test`\n"), facts: spec.Facts{Repo: repo("", "tests/sum.sh", "check.sh")},
			want: []string{"check-missing:error:10"}},
		"npm scripts":               {text: sound(second + "npm test && npm run lint`\n")},
		"no such npm script":        {text: sound(second + "npm run verify`\n"), want: []string{"check-missing:error:10"}},
		"a package that is there":   {text: sound(second + "go vet ./lib && go test ./lib/...`\n")},
		"no such package":           {text: sound(second + "go test ./cmd`\n"), want: []string{"check-missing:error:10"}},
		"always passes":             {text: sound(second + "true`\n"), want: []string{"check-proves-nothing:error:10"}},
		"passes after all":          {text: sound(second + "sh tests/twice.sh || true`\n"), want: []string{"check-proves-nothing:error:10"}},
		"never ends":                {text: sound(second + "npm start`\n"), want: []string{"check-never-ends:error:10"}},
		"network":                   {text: sound(second + "curl -s localhost:80 && sh tests/twice.sh`\n"), want: []string{"check-needs-network:warning:10"}},
		"rights":                    {text: sound(second + "sudo sh tests/twice.sh`\n"), want: []string{"check-needs-rights:error:10"}},
		"outside":                   {text: sound(second + "diff ~/want lib/a.go`\n"), want: []string{"check-outside:warning:10"}},
		"the same check twice":      {text: sound(second + "sh tests/sum.sh`\n"), want: []string{"check-shared:warning:10"}},
		"the official check":        {text: sound(second + "sh check.sh`\n"), want: []string{"check-shared:warning:10"}},
		"the official check passes": {text: sound(""), facts: spec.Facts{Ran: map[string]spec.Ran{"sh check.sh": {Passed: true}}}, want: []string{"check-passes:error:0"}},
		"a check passes":            {text: sound(""), facts: spec.Facts{Ran: map[string]spec.Ran{"sh tests/sum.sh": {Passed: true}}}, want: []string{"check-passes:error:8"}},
		"a check fails, as it must": {text: sound(""), facts: spec.Facts{Ran: map[string]spec.Ran{"sh tests/sum.sh": {}, "sh check.sh": {}}}},
		"a program is not there": {text: sound(""), facts: spec.Facts{Ran: map[string]spec.Ran{"sh tests/sum.sh": {Missing: true, Output: "sh: 1: bats: not found"}}},
			want: []string{"check-missing:error:8"}},
		"no official check": {text: sound(""), facts: spec.Facts{Check: " "}, want: []string{"no-official-check:note:0"}},
		"TODO":              {text: sound("\nThe format is TBD.\n"), want: []string{"open-question:error:10"}},
		"undecided":         {text: sound("\nThe separator is to be decided.\n"), want: []string{"open-question:error:10"}},
		"a question":        {text: sound("\nDoes it take negative numbers?\n"), want: []string{"open-question:error:10"}},
		"open questions": {text: sound("\n## Open questions\n\n- which separator\n- how large\n\n## Notes\n\n- none of these\n"),
			want: []string{"open-question:error:12", "open-question:error:13"}},
		"no question":          {text: sound("\n```\nwhat? TODO\n```\n\n    TODO: in code\n\nIt prints `TODO?` then.\nSee https://example.org/a?b=TODO or\n> Really?\n\n### What is it?\n")},
		"nobody can verify it": {text: sound("2. It is fast and user-friendly on any machine.\n"), want: []string{"goal-unverifiable:error:9", "goal-without-check:error:9"}},
		"vague":                {text: sound("2. It doubles numbers with reasonable speed.\n   Check: `sh tests/twice.sh`\n"), want: []string{"vague:warning:9"}},
		"measured":             {text: sound("2. It doubles fast: 1000 numbers a second.\n   Check: `sh tests/twice.sh`\n")},
		"a missing file":       {text: sound("\nIt reads `lib/table.txt` at the start.\n"), want: []string{"file-missing:warning:10"}},
		"a missing link":       {text: sound("\nSee [the format](docs/format.md#top).\n"), want: []string{"file-missing:warning:10"}},
		"a file to make":       {text: sound("\nThe tables are written to `out/table.txt`.\n")},
		"patterns and words":   {text: sound("\nIt knows `NAME.in`, `*.txt`, `os.Exit`, `and/or`, `/etc/passwd`, `v1.2`, `a.sh`, `lib/a.go`.\n"), facts: spec.Facts{Repo: repo("", "tests/sum.sh", "check.sh", "x/a.sh", "lib/a.go")}},
		"a file not committed": {text: sound("\nIt reads `lib/table.txt`.\n"), facts: spec.Facts{Repo: repo("lib/table.txt", "tests/sum.sh", "check.sh")}, want: []string{"file-not-committed:error:10"}},
		"no such goal":         {text: sound("\nGoals 1 to 3 share a file.\n"), want: []string{"goal-unknown:error:10"}},
		"the same goal twice":  {text: sound("2. Prints the sum of two numbers.\n   Check: `sh tests/twice.sh`\n"), want: []string{"duplicate-goal:warning:9"}},
		"opposites": {text: sound("\nThe program must read the journal from standard input.\n\nThe program must never read the journal from standard input.\n"),
			want: []string{"contradiction:error:12"}},
		"other numbers": {text: sound("\nA line of the journal has at most 80 characters.\n\nA line of the journal has at most 120 characters.\n"),
			want: []string{"contradiction:warning:12"}},
		"said once more": {text: sound("\nThe program must read the journal from standard input. It must read the journal from standard input, the program.\n")},
	} {
		f := facts(c.facts)
		f.Check = strings.TrimSpace(f.Check)
		r := spec.Lint(c.text, f)
		var got []string
		for _, x := range r.Findings {
			got = append(got, fmt.Sprintf("%s:%s:%d", x.Rule, x.Severity, x.Line))
			if x.Why == "" || x.Fix == "" {
				t.Errorf("%s: %+v says not why, or not what to do", name, x)
			}
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: found %v, want %v\n%v", name, got, c.want, r.Findings)
		}
	}
}

// The examples have nothing against them but that their checks are not run here.
func TestExamples(t *testing.T) {
	for name, want := range map[string][]string{
		"almanac": {"1 sh tests/leap.sh", "2 sh tests/weekday.sh", "3 sh tests/days.sh", "4 sh tests/roman.sh"},
		"tally":   {"1. The journal sh check.sh journal", "2. Reports sh check.sh reports", "3. Choosing sh check.sh choosing", "4. As a whole sh check.sh"},
	} {
		root := "../../examples/" + name
		text, err := os.ReadFile(root + "/SPEC.md")
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		tree := os.DirFS(root + "/tree")
		walk(t, tree, ".", have)
		r := spec.Lint(string(text), spec.Facts{Check: "sh all.sh && sh check.sh", Repo: &spec.Repo{Files: have, Loose: func(p string) bool { return p == "all.sh" }}})
		var got []string
		for _, g := range r.Goals {
			got = append(got, g.Name+" "+g.Check)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: goals %q", name, got)
		}
		if len(r.Findings) != 1 || r.Findings[0].Rule != "check-missing" {
			t.Errorf("%s: %v", name, r.Findings)
		}
		if c := spec.Commands(string(text)); len(c) != 4 || "1 "+c[0] != want[0] && "1. The journal "+c[0] != want[0] {
			t.Errorf("%s: commands %q", name, c)
		}
	}
}

// Whatever the text, an answer comes, is bounded, is the same again, and names lines that
// are there.
func TestAnyText(t *testing.T) {
	parts := rapid.SliceOf(rapid.SampledFrom([]string{"# ", "## Goals\n", "1. ", "- ", "   Check: `sh a.sh`\n", "TODO", "?", "\n", "\n\n", "it must not print 3 lines of text", "it must print 4 lines of text",
		"```\n", "    ", "\t", "`lib/x.go`", "[a](b/c.md)", "goal 9", "fast", ">", "|", "\r\n", "두레", "\\", "*", "Check:", "."}))
	rapid.Check(t, func(t *rapid.T) {
		examine(t, strings.Join(parts.Draw(t, "text"), ""))
	})
}

func examine(t interface{ Fatalf(string, ...any) }, text string) {
	f := spec.Facts{Check: "make test", Repo: ground, Window: 4000}
	r := spec.Lint(text, f)
	if again := spec.Lint(text, f); !reflect.DeepEqual(r, again) {
		t.Fatalf("%q: two answers", text)
	}
	if len(r.Findings) > spec.MaxFindings+1 {
		t.Fatalf("%q: %d findings", text, len(r.Findings))
	}
	n := strings.Count(text, "\n") + 1
	for _, x := range r.Findings {
		if x.Line < 0 || x.Line > n || x.Why == "" || x.Fix == "" || len(x.Why) > 4000 {
			t.Fatalf("%q: %+v", text, x)
		}
	}
	for _, g := range r.Goals {
		if g.Line < 1 || g.Line > n || g.CheckLine < 0 || g.CheckLine > n {
			t.Fatalf("%q: %+v", text, g)
		}
	}
}

// A text that is made to be slow to compare is not.
func TestAlikeIsBounded(t *testing.T) {
	text := sound("\n" + strings.Repeat("The program must print every line of the journal in order.\n", 2000))
	r := spec.Lint(text[:min(len(text), spec.MaxBytes)], facts(spec.Facts{}))
	if !slices.ContainsFunc(r.Findings, func(f spec.Finding) bool { return f.Rule == "not-compared" || f.Rule == "more" }) {
		t.Errorf("what was left out is not said: %v", r.Findings)
	}
}

func FuzzLint(f *testing.F) {
	for _, name := range []string{"almanac", "tally"} {
		text, err := os.ReadFile("../../examples/" + name + "/SPEC.md")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("## Goals\n- a\n  Check:\n\n  ~~~\n  make x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 64<<10 {
			examine(t, text)
		}
	})
}
