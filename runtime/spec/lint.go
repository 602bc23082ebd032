package spec

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Facts are what is known of the world that the specification speaks of.
type Facts struct {
	// Check is the official check, of the whole; empty: none was given.
	Check string
	// Repo is what is committed; nil: not known.
	Repo *Repo
	// Ran is what commands said in the repository as it is, by command.
	Ran map[string]Ran
	// Window is how many tokens the planner's model takes in one request; 0: not known.
	Window int
}

// A Repo is what a repository holds.
type Repo struct {
	// Files are the committed files and folders, by path with slashes.
	Files map[string]bool
	// Loose reports whether a path is in the checkout without being committed; nil: none is.
	Loose func(path string) bool
	// Read is the text of a committed file; nil: none can be read.
	Read func(path string) (string, bool)
}

func (r *Repo) has(path string) bool { return r.Files[strings.TrimSuffix(path, "/")] }

func (r *Repo) loose(path string) bool { return r.Loose != nil && r.Loose(path) }

func (r *Repo) read(path string) (string, bool) {
	if r.Read == nil || !r.has(path) {
		return "", false
	}
	return r.Read(path)
}

// Ran is what a command said in the repository as it is.
type Ran struct {
	Passed bool
	// Missing: the command, or a program that it starts, is not there.
	Missing bool
	Output  string
}

// reader is a specification that is looked at.
type reader struct {
	facts Facts
	lines []line
	text  string
	r     Report
	// within is the goal that each line is part of, by number; nil: not made yet.
	within []string
	sought int // files that the text was searched for
}

// Lint says what is wrong with a specification.
func Lint(text string, f Facts) Report {
	x := &reader{facts: f, text: text}
	x.r.Bytes, x.r.Tokens = len(text), tokens(text)
	x.r.Findings = []Finding{}
	switch {
	case len(text) > MaxBytes:
		x.find(Error, "too-large", 0, "", fmt.Sprintf("the text has %d bytes, and a run takes %d", len(text), MaxBytes),
			"move what no goal needs to files of the repository, and name these")
	case !utf8.ValidString(text) || bytes.IndexByte([]byte(text), 0) >= 0:
		x.find(Error, "no-text", 0, "", "it is no text in UTF-8", "save it as UTF-8")
	case strings.TrimSpace(text) == "":
		x.find(Error, "empty", 0, "", "there is nothing in it", "say what there shall be when the team is done, as a list of goals with a check each")
	default:
		x.lines = lines(text)
		x.r.Title, x.r.Goals = title(x.lines), goals(x.lines)
		for _, rule := range []func(){x.size, x.official, x.goals, x.checks, x.questions, x.vague, x.files, x.references, x.alike} {
			rule()
		}
	}
	x.r.finish()
	return x.r
}

// Commands are the checks that a specification names, each once, in their order.
func Commands(text string) []string {
	if len(text) > MaxBytes {
		return nil
	}
	var out []string
	seen := map[string]bool{"": true}
	for _, g := range goals(lines(text)) {
		if !seen[g.Check] {
			seen[g.Check] = true
			out = append(out, g.Check)
		}
	}
	return out
}

// find notes a finding; of so many nobody looks at the last.
func (x *reader) find(s Severity, rule string, line int, goal, why, fix string) {
	if len(x.r.Findings) > 20*MaxFindings {
		return
	}
	x.r.Findings = append(x.r.Findings, Finding{Rule: rule, Severity: s, Line: line, Goal: goal, Why: why, Fix: fix})
}

// size says whether models can hold the text. It stands in the lead's conversation from
// the first turn to the last, beside what the lead reads and does.
func (x *reader) size() {
	n, window := x.r.Tokens, x.facts.Window
	switch {
	case window == 0 && n > 32_000:
		x.find(Note, "large", 0, "", fmt.Sprintf("it has about %d tokens, which every turn of the lead has before it", n),
			"see that the lead's model takes twice as many, or move details to files of the repository")
	case window > 0 && n > window*6/10:
		x.find(Error, "too-large", 0, "", fmt.Sprintf("it has about %d tokens, and the lead's model takes %d with all that the lead reads and does", n, window),
			"move details to files of the repository and name these, or give the lead a model with a longer context")
	case window > 0 && n > window*3/10:
		x.find(Warning, "large", 0, "", fmt.Sprintf("it has about %d tokens of the %d that the lead's model takes: little is left for its work", n, window),
			"move details to files of the repository and name these, or give the lead a model with a longer context")
	}
}

// tokens is about how many tokens a text has: one for four bytes of Latin letters, one for
// each character of scripts that write words in one or two.
func tokens(text string) int {
	ascii, other := 0, 0
	for _, r := range text {
		if r < 0x2E80 {
			ascii += utf8.RuneLen(r)
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// official is about the check of the whole.
func (x *reader) official() {
	c := x.facts.Check
	if c == "" {
		x.find(Note, "no-official-check", 0, "", "no check of the whole is given: nothing can be said of it",
			"give --check, the command that passes when the specification is met; dure swarm run needs it too")
		return
	}
	x.command(0, "", c)
	if x.ran(c, 0, "") {
		x.find(Error, "check-passes", 0, "", fmt.Sprintf("the official check %s passes already: the run would be over before anything is done", quote(c)),
			"give a check that fails until the specification is met, for example all the goals' checks joined with &&")
	}
}

// ran tells a check that cannot run, and reports whether it passes before any work.
func (x *reader) ran(command string, line int, goal string) (passes bool) {
	r, ok := x.facts.Ran[command]
	if ok && r.Missing {
		x.find(Error, "check-missing", line, goal, fmt.Sprintf("the check %s cannot be run in the repository: %s", quote(command), quote(lastLine(r.Output))),
			"commit what it needs, or name another command")
	}
	return ok && r.Passed
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if t := strings.TrimSpace(lines[i]); t != "" && !strings.HasPrefix(t, "the check ended") {
			return t
		}
	}
	return strings.TrimSpace(s)
}

// goals says which goals have no check.
func (x *reader) goals() {
	if len(x.r.Goals) == 0 {
		x.find(Warning, "no-goals", 0, "", "nothing in it is set apart as a goal, so nothing but the official check says how far the team has come",
			"write a list below a heading \"Goals\", each item with a line \"Check: `command`\"")
	}
	for _, g := range x.r.Goals {
		switch {
		case g.CheckLine > 0 && g.Check == "":
			x.find(Error, "goal-without-check", g.CheckLine, g.Name, "the goal's check is empty", "name the command that passes when the goal is met")
		case g.CheckLine == 0:
			x.find(Error, "goal-without-check", g.Line, g.Name, fmt.Sprintf("the goal %s has no check: nobody can tell whether it is met, and a planner makes one up", quote(firstLine(g.Text))),
				"add a line \"Check: `command`\" with a command that fails now and passes when the goal is met")
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
