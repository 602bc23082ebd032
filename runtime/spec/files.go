package spec

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

var (
	linkTo    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	withExt   = regexp.MustCompile(`^[\w@+-][\w./@+-]*\.[a-z][a-z0-9]{0,5}$`)
	pathForm  = regexp.MustCompile(`^[\w.@+-]+(/[\w.@+-]+)+/?$`)
	holder    = regexp.MustCompile(`(^|[/.])([A-Z]{2,}|[Xx]{2,}|foo|bar|baz|example)([/.]|$)`)
	wellKnown = regexp.MustCompile(`^(README|LICEN[CS]E|CHANGELOG|AUTHORS|NOTICE|AGENTS|CONTRIBUTING|SPEC|TODO|MAKEFILE|ARCHITECTURE|RATIONALE)\b`)
	making    = regexp.MustCompile(`(?i)\b(creat(e|es|ed|ing)|writ(e|es|ten|ing)|add(s|ed|ing)?|new|mak(e|es|ing)|made|produc(e|es|ed|ing)|generat(e|es|ed|ing)|belongs? in(to)?|goes in(to)?|puts?|introduc(e|es|ed)|prints? to|output|saved?|shall (have|be)|is a file|into|build[s]?|compil(e|es|ed)|named)\b`)
)

// maxSought files are looked for in the text.
const maxSought = 300

// names are the paths that a line names: in code, and as links.
func names(text string) []string {
	var out []string
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	for _, m := range linkTo.FindAllStringSubmatch(text, -1) {
		if p, _, _ := strings.Cut(m[1], "#"); p != "" && !strings.Contains(p, "://") {
			out = append(out, p)
		}
	}
	return out
}

// isPath reports whether a name is meant as a file's, rather than as a pattern, a word or a
// command.
func (x *reader) isPath(name string) bool {
	if strings.ContainsAny(name, "*<>{}$ ") || path.IsAbs(name) || strings.HasPrefix(name, "..") || strings.Contains(name, "://") {
		return false
	}
	if holder.MatchString(name) && !wellKnown.MatchString(path.Base(name)) {
		return false
	}
	if withExt.MatchString(name) {
		return strings.Contains(name, "/") || known(path.Ext(name))
	}
	first, _, _ := strings.Cut(name, "/")
	return pathForm.MatchString(name) && x.facts.Repo.has(first)
}

// known are endings of files, so that `os.Exit` and `v1.beta` are none.
func known(ext string) bool {
	const all = " .go .py .js .ts .tsx .jsx .mjs .rs .c .h .cc .cpp .hpp .java .kt .rb .php .sh .bash .sql .md .txt .json .yaml .yml .toml .ini .cfg .conf .xml .html .css .csv .proto .mod .sum .lock .lua .pl .ex .exs .hs .ml .swift .scala .zig .tf .vue .svelte .mk .cmake .gradle .env .in .out .golden .tsv .log .rst .adoc .ipynb .r .jl .dart .s .asm "
	return strings.Contains(all, " "+ext+" ")
}

// toMake reports whether the text has the team make a file.
func (x *reader) toMake(file string) bool {
	if x.sought++; x.sought > maxSought {
		return true // nothing is said against what was not looked for
	}
	for _, l := range x.lines {
		if _, check := checkOf(l.text); check || l.kind == kindCode {
			continue
		}
		if strings.Contains(l.text, file) && making.MatchString(prose(l.text)) {
			return true
		}
	}
	return false
}

// files finds named files that are not there.
func (x *reader) files() {
	if x.facts.Repo == nil {
		return
	}
	defer func() {
		if x.sought > maxSought {
			x.find(Note, "not-compared", 0, "", fmt.Sprintf("only the first %d files that are not there were looked at", maxSought), "shorten the text")
		}
	}()
	told := map[string]bool{}
	for _, l := range x.lines {
		if _, check := checkOf(l.text); check || l.kind == kindCode {
			continue
		}
		for _, name := range names(l.text) {
			p := path.Clean(name)
			if told[p] || !x.isPath(name) || x.facts.Repo.has(p) || x.anywhere(p) {
				continue
			}
			told[p] = true
			switch {
			case x.facts.Repo.loose(p):
				x.find(Error, "file-not-committed", l.number, x.goalAt(l.number), fmt.Sprintf("%s is in your checkout and not committed: the team does not see it", quote(p)), "commit it")
			case !x.toMake(p):
				x.find(Warning, "file-missing", l.number, x.goalAt(l.number), fmt.Sprintf("there is no %s in the repository, and nothing says that the team is to make it", quote(p)),
					"mend the name, commit the file, or say that it is to be written")
			}
		}
	}
}

// anywhere reports whether a bare name is one of a file in some folder.
func (x *reader) anywhere(name string) bool {
	if strings.Contains(name, "/") {
		return false
	}
	for p := range x.facts.Repo.Files {
		if path.Base(p) == name {
			return true
		}
	}
	return false
}

var goalRef = regexp.MustCompile(`(?i)\bgoals?\s+(\d{1,3})(?:\s*(?:to|-|–|and)\s*(\d{1,3}))?\b`)

// references finds goals that are spoken of and not there.
func (x *reader) references() {
	have := map[int]bool{}
	for _, g := range x.r.Goals {
		n, err := strconv.Atoi(strings.TrimRight(strings.Fields(g.Name + " x")[0], "."))
		if err != nil {
			continue
		}
		have[n] = true
	}
	if len(have) == 0 {
		return
	}
	for _, l := range x.lines {
		if l.kind == kindCode {
			continue
		}
		for _, m := range goalRef.FindAllStringSubmatch(prose(l.text), -1) {
			for _, text := range m[1:] {
				if n, err := strconv.Atoi(text); err == nil && !have[n] {
					x.find(Error, "goal-unknown", l.number, x.goalAt(l.number), fmt.Sprintf("it speaks of goal %d, and there is none", n), "mend the number, or write the goal")
				}
			}
		}
	}
}
