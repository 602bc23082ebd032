package spec

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// checks looks at the goals' checks.
func (x *reader) checks() {
	first := map[string]Goal{}
	for _, g := range x.r.Goals {
		if g.Check == "" {
			continue
		}
		x.command(g.CheckLine, g.Name, g.Check)
		if x.ran(g.Check, g.CheckLine, g.Name) {
			x.find(Error, "check-passes", g.CheckLine, g.Name, fmt.Sprintf("the check %s passes already: it proves nothing of what is to be done", quote(g.Check)),
				"name a check that fails now, or drop the goal if it is met")
		}
		if g.Check == x.facts.Check && len(x.r.Goals) > 1 {
			x.find(Warning, "check-shared", g.CheckLine, g.Name, "the goal's check is the official one: no task of this goal passes before all others are done",
				"give the goal a check of its own")
		} else if other, taken := first[g.Check]; taken {
			x.find(Warning, "check-shared", g.CheckLine, g.Name, fmt.Sprintf("the goal has the check of goal %s (line %d): which of the two is not met it does not tell", quote(other.Name), other.Line),
				"give each goal a check of its own")
		}
		if _, taken := first[g.Check]; !taken {
			first[g.Check] = g
		}
	}
}

var (
	alwaysPasses = regexp.MustCompile(`^(true|:|exit( 0)?|echo\b[^&|;]*|printf\b[^&|;]*|ls|pwd|date)$|\|\|\s*(true|:|exit 0|echo\b.*)\s*$`)
	needsNetwork = regexp.MustCompile(`(^|[\s;&|(])(curl|wget|ssh|scp|rsync|docker|podman|kubectl|npm (ci|i|install)|pip3? install|go (get|install)|cargo install|apt(-get)?|git (clone|fetch|pull))\b`)
	needsRights  = regexp.MustCompile(`(^|[\s;&|(])(sudo|su|mount|systemctl|chroot)\s`)
	leavesRepo   = regexp.MustCompile(`(^|[\s="':])(~(/|$|\s)|\.\./|/home/|/root/|/Users/|\$HOME\b)`)
	neverEnds    = regexp.MustCompile(`(^|[\s;&|(])(watch|top|less|more|vim?|nano|tail -[fF]|npm (start|run (dev|serve|watch))|sleep infinity)(\s|$)`)
	separators   = regexp.MustCompile(`&&|\|\||[;|\n]`)
	plainWord    = regexp.MustCompile(`^[\w./@:+,=-]+$`)
	makeTarget   = regexp.MustCompile(`(?m)^([\w./ -]+?)\s*:([^=]|$)`)
	scriptKey    = regexp.MustCompile(`"([\w:.-]+)"\s*:`)
)

// command says what is wrong with a command, as far as its text and the repository's
// files tell.
func (x *reader) command(line int, goal, command string) {
	say := func(s Severity, rule, why, fix string) {
		x.find(s, rule, line, goal, fmt.Sprintf("the check %s %s", quote(command), why), fix)
	}
	text := strings.TrimSpace(command)
	switch {
	case alwaysPasses.MatchString(text):
		say(Error, "check-proves-nothing", "passes whatever was done", "name a command that fails until the goal is met")
	case neverEnds.MatchString(text):
		say(Error, "check-never-ends", "does not end by itself", "name a command that ends, with the exit status 0 when the goal is met")
	}
	if needsNetwork.MatchString(text) {
		say(Warning, "check-needs-network", "asks for the network, and checks run in sandboxes without one", "run dure swarm prepare for what the repository depends on, and leave that out of the check")
	}
	if needsRights.MatchString(text) {
		say(Error, "check-needs-rights", "asks for rights that no sandbox has", "name a check that runs as an ordinary user")
	}
	if leavesRepo.MatchString(text) {
		say(Warning, "check-outside", "names a path outside the repository, which a sandbox does not have", "put what it needs into the repository and commit it")
	}
	if x.facts.Repo != nil {
		for _, simple := range separators.Split(text, -1) {
			if why := x.lacks(strings.Fields(simple)); why != "" {
				x.absent(line, goal, command, why)
			}
		}
	}
}

// absent tells that a check needs what is not committed: less of a fault where the
// specification has the team make it.
func (x *reader) absent(line int, goal, command, why string) {
	file, _, _ := strings.Cut(why, " ")
	switch {
	case x.facts.Repo.loose(file):
		x.find(Error, "check-missing", line, goal, fmt.Sprintf("the check %s needs %s, which is not committed: a run begins at a commit", quote(command), file), "commit it")
	case x.toMake(file):
		x.find(Warning, "check-by-the-team", line, goal, fmt.Sprintf("the check %s needs %s, which the team is to write: who does the work then writes what judges it", quote(command), file),
			"write and commit it yourself, if you can")
	default:
		x.find(Error, "check-missing", line, goal, fmt.Sprintf("the check %s needs %s", quote(command), why), "commit it, or name another command")
	}
}

// shells are programs whose first plain argument is a script.
var shells = []string{"sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "php", "lua", "bats", "deno", "bun", "Rscript"}

// lacks is what a simple command needs and the repository does not have, with a few words;
// empty: nothing that can be told.
func (x *reader) lacks(words []string) string {
	for len(words) > 0 && strings.Contains(words[0], "=") && plainWord.MatchString(words[0]) { // VAR=value command
		words = words[1:]
	}
	for len(words) > 1 && slices.Contains([]string{"!", "time", "timeout", "env", "exec", "test", "if", "then"}, words[0]) {
		if words[0] == "test" {
			return ""
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	program, args := words[0], words[1:]
	switch {
	case strings.Contains(program, "/") && !path.IsAbs(program):
		return x.file(program)
	case slices.Contains(shells, program):
		return x.script(args)
	case program == "make" || program == "gmake":
		return x.target(args)
	case program == "npm" && len(args) > 0 && (args[0] == "test" || args[0] == "run" && len(args) > 1):
		return x.npm(args)
	case program == "go" && len(args) > 0 && slices.Contains([]string{"test", "build", "vet", "run"}, args[0]):
		return x.golang(args[1:])
	case program == "cargo":
		return x.file("Cargo.toml")
	case program == "pytest":
		for _, a := range args {
			if !strings.HasPrefix(a, "-") && strings.HasSuffix(strings.SplitN(a, "::", 2)[0], ".py") {
				return x.file(strings.SplitN(a, "::", 2)[0])
			}
		}
	}
	return ""
}

// file is a path that is not committed; empty: it is, or nobody can tell.
func (x *reader) file(p string) string {
	if !plainWord.MatchString(p) || path.IsAbs(p) {
		return ""
	}
	clean := path.Clean(p)
	if clean == "." || strings.HasPrefix(clean, "../") || x.facts.Repo.has(clean) {
		return ""
	}
	return clean + " that is not in the repository"
}

func (x *reader) script(args []string) string {
	for _, a := range args {
		switch {
		case a == "-c" || a == "-m" || a == "-e" || a == "-":
			return ""
		case strings.HasPrefix(a, "-"):
			continue
		}
		return x.file(a)
	}
	return ""
}

func (x *reader) target(args []string) string {
	name := ""
	for _, f := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if x.facts.Repo.has(f) {
			name = f
		}
	}
	for _, a := range args {
		if strings.HasPrefix(a, "-C") || strings.HasPrefix(a, "-f") {
			return ""
		}
	}
	if name == "" {
		return "Makefile that is not in the repository"
	}
	text, ok := x.facts.Repo.read(name)
	if !ok || strings.Contains(text, "include ") || strings.Contains(text, "$(eval") {
		return ""
	}
	have := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
		for _, t := range strings.Fields(m[1]) {
			have[t] = true
		}
	}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && plainWord.MatchString(a) && !strings.Contains(a, "=") && !have[a] && !strings.Contains(text, "%") && !x.facts.Repo.has(a) {
			return fmt.Sprintf("%s (a target of %s) that is not there", a, name)
		}
	}
	return ""
}

func (x *reader) npm(args []string) string {
	if why := x.file("package.json"); why != "" {
		return why
	}
	text, ok := x.facts.Repo.read("package.json")
	name := args[len(args)-1]
	if args[0] == "test" {
		name = "test"
	} else if len(args) > 1 {
		name = args[1]
	}
	_, scripts, found := strings.Cut(text, `"scripts"`)
	if !ok {
		return ""
	}
	if found {
		for _, m := range scriptKey.FindAllStringSubmatch(strings.SplitN(scripts, "}", 2)[0], -1) {
			if m[1] == name {
				return ""
			}
		}
	}
	return name + " (a script of package.json) that is not there"
}

func (x *reader) golang(args []string) string {
	if !x.facts.Repo.has("go.mod") && !x.facts.Repo.has("go.work") {
		return "go.mod that is not in the repository"
	}
	for _, a := range args {
		if strings.HasPrefix(a, "./") && !strings.HasSuffix(a, "...") {
			return x.file(a)
		}
	}
	return ""
}
