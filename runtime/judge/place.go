package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// place makes sets of the places, those that a team names before those of the file.
func (d *document) place(own map[string][]string) error {
	if d.Sets == nil {
		d.Sets = map[string][]string{}
	}
	for name := range own {
		if d.Places[name] == nil {
			return fmt.Errorf("rules: no place %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(d.Places)), ", "))
		}
	}
	for name, globs := range d.Places {
		if own[name] != nil {
			globs = own[name]
		}
		var all []string
		for _, g := range globs {
			all = append(all, globbed(g))
		}
		d.Sets[name] = all
	}
	return nil
}

// globbed makes an expression of a glob. One without a root is met in every folder, and
// also where the files are those that a program lists.
func globbed(glob string) string {
	x := regexp.QuoteMeta(glob)
	for _, r := range [][2]string{{`\*\*/`, "(?:.*/)?"}, {`\*\*`, ".*"}, {`\*`, "[^/]*"}, {`\?`, "[^/]"}} {
		x = strings.ReplaceAll(x, r[0], r[1])
	}
	if strings.HasPrefix(glob, "/") || strings.HasPrefix(glob, "~") {
		return x
	}
	return computed + "?(?:.*/)?" + x
}

// kindOf is what a tool does, by its fields: one that is given a file and its content
// writes, one that is given old and new text edits, one that is given a text and whom to
// gives it speaks, whatever its name.
func kindOf(name string, fields map[string]any) string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { _, ok := fields[n]; return ok })
	}
	switch {
	case has("to", "recipient", "recipients", "channel") && has("text", "message", "body", "content", "comment"):
		return "message"
	case !has(pathFields...):
	case has("content", "contents", "file_text"):
		return "write"
	case has("new", "new_string", "new_text", "new_str"):
		return "edit"
	}
	return name
}

// written are the acts of a tool that writes a file: the change, and where the file is
// one that is run later by others, what is in it.
func (s *sources) written(kind string, a act, fields map[string]any) ([]act, error) {
	c := act{program: "change", full: "change", args: a.args, tool: kind, through: []string{kind}, cwd: workspace}
	for _, name := range sortedKeys(fields) {
		switch {
		case slices.Contains(pathFields, name):
		case strings.HasPrefix(name, "old"):
			c.old += flat(fields[name])
		default:
			c.text += flat(fields[name]) + "\n"
		}
	}
	if c.text == "\n" && kind == "write" {
		c.program = "empty"
	}
	all := []act{c}
	for _, file := range a.args {
		all = append(all, s.scripted(kind, file, c.text)...)
		r := s.reader(kind)
		program, shell := language(file)
		var err error
		switch {
		case shell:
			if err = r.script(c.text, pipe{}); err != nil {
				continue // a part of a script, or another dialect: its words are judged
			}
		case program != "":
			err = r.code(act{program: program, full: file}, c.text)
		case strings.HasSuffix(file, ".json"):
			for _, command := range commandsWithin(c.text) {
				if r.script(command, pipe{}) != nil {
					continue
				}
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s.startedBy(kind, file, c.text)...)
		for _, b := range r.acts {
			b.later = true
			b.opened = unasked.MatchString(file) && !installs(b)
			all = append(all, b)
		}
	}
	return all, nil
}

// scripted are the acts of a script that is written: nothing of it happens yet, and it is
// read as what it will be.
func (s *sources) scripted(kind, file, text string) []act {
	var scripts []string
	name := path.Base(file)
	switch {
	case strings.HasSuffix(name, ".sh"), strings.HasSuffix(name, ".bash"), strings.HasSuffix(name, ".zsh"), shellHead.MatchString(text):
		scripts = []string{text}
	case strings.HasPrefix(name, "Makefile"), strings.HasSuffix(name, ".mk"), name == "GNUmakefile", name == "justfile":
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			if recipe := strings.TrimLeft(strings.TrimSpace(line), "@-+ "); (line[0] == '\t' || line[0] == ' ') && recipe != "" {
				scripts = append(scripts, strings.ReplaceAll(makeWords.ReplaceAllString(recipe, "$$${1}"), "$$", "$"))
			}
		}
	case strings.HasPrefix(name, "Dockerfile"), strings.HasSuffix(name, ".dockerfile"):
		for _, m := range layer.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), 100) {
			scripts = append(scripts, m[1])
		}
	case strings.HasSuffix(name, ".yml"), strings.HasSuffix(name, ".yaml"):
		for _, m := range runStep.FindAllStringSubmatch(text, 100) {
			scripts = append(scripts, m[1])
		}
	}
	var all []act
	for _, script := range scripts[:min(len(scripts), 400)] {
		r := s.reader("script")
		if r.script(script, pipe{}) != nil {
			continue // of another dialect, or a part: its words are judged
		}
		for _, b := range r.acts {
			b.later, b.script = true, true
			all = append(all, b)
		}
	}
	return all
}

var (
	shellHead = regexp.MustCompile(`^\s*#! ?/(usr/)?bin/(env )?(ba|da|z)?sh\b`)
	makeWords = regexp.MustCompile(`\$[({](\w+)[)}]`)
	layer     = regexp.MustCompile(`(?m)^RUN (?:--\S+ )*([^\[][^\n]*)$`)
	runStep   = regexp.MustCompile(`(?m)^\s*(?:-\s+)?(?:run|script|command):\s*([^|>\n][^\n]*)$`)
)

// unasked are files whose commands run when a project is opened, installed or committed.
var unasked = regexp.MustCompile(`(^|/)(package\.json|setup\.py|conftest\.py|build\.rs|postinstall\.js|\.envrc|\.vscode/.*|\.devcontainer/.*|\.husky/.*|\.githooks/.*|hooks/.*|\.?\w*(rc|profile)|.*\.pth|sitecustomize\.py|usercustomize\.py|\.eslintrc\.js|.*\.config\.[mc]?[jt]s)$`)

// installs: setting a machine up is the usual work of such files.
func installs(a act) bool {
	return slices.Contains([]string{"sudo", "apt-get", "apt", "brew", "apk", "dnf", "yum", "npm", "pip"}, a.program) || slices.Contains(a.through, "sudo")
}

// language is the interpreter of files that run by themselves: when a project is
// installed, built, tested or opened, or somebody logs in.
func language(file string) (program string, shell bool) {
	name := path.Base(file)
	switch {
	case slices.Contains([]string{"setup.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "__init__.py", "noxfile.py", "manage.py"}, name), strings.HasSuffix(name, ".pth"):
		return "python", false
	case strings.HasSuffix(name, ".config.js"), strings.HasSuffix(name, ".config.ts"), strings.HasSuffix(name, ".config.mjs"), name == "postinstall.js", name == ".eslintrc.js":
		return "node", false
	case name == "build.rs" || name == "extconf.rb" || name == "Rakefile" || name == "Gemfile":
		return "ruby", false
	case strings.HasSuffix(name, "rc") && strings.HasPrefix(name, "."), strings.Contains(name, "profile"), strings.Contains(file, "hooks/"), strings.Contains(file, ".husky/"):
		return "", true
	}
	return "", false
}

// commandsWithin are the values of a document that are commands.
func commandsWithin(text string) []string {
	var all []string
	for _, m := range commandFieldsWithin.FindAllStringSubmatch(text, 50) {
		value := strings.TrimSpace(m[1])
		if strings.HasPrefix(value, `"`) {
			var s string
			if json.Unmarshal([]byte(strings.TrimRight(value, ", }]")), &s) == nil {
				value = s
			}
		}
		all = append(all, value)
	}
	return all
}

var commandFieldsWithin = regexp.MustCompile(`(?m)(?:-\s*)?"?(?:command|run|script|entry|(?:pre|post)?(?:install|test|build|start|prepare|publish|commit|checkout)|postCreateCommand|postStartCommand|initializeCommand|onCreateCommand)"?\s*:\s*("(?:[^"\\]|\\.)*"|[^\n,{}\[\]]+)`)

// startedBy are the acts of the commands that stand in a program which runs some: nothing
// of it happens yet, and it is read as what it will be.
func (s *sources) startedBy(kind, file, text string) []act {
	if !programFile.MatchString(file) || aboutAttacks.MatchString(file) || !runsShell.MatchString(text) {
		return nil
	}
	var all []act
	for _, m := range quotedTexts.FindAllStringSubmatch(text, 300) {
		command := m[1] + m[2] + m[3]
		if len(command) < 6 || !strings.ContainsAny(command, " /") || strings.Count(command, " ") > 40 {
			continue
		}
		r := s.reader(kind)
		if r.script(command, pipe{}) != nil {
			continue // another text
		}
		for _, b := range r.acts {
			b.later, b.script, b.guess = true, true, true
			all = append(all, b)
		}
	}
	return all
}

// runsShell is a call by which a program runs commands in a shell.
var runsShell = regexp.MustCompile(`\bos\.(?:system|popen)\(|\bshell\s*=\s*True|\bsubprocess\.getoutput|\bexecSync\(|\bexec\(\s*["'` + "`" + `\w]|"(?:/bin/)?(?:ba)?sh",\s*"-\w*c"|\bshell_exec\(|\bpassthru\(|\bpopen\(|\bsystem\(|Runtime\.getRuntime|%x[{(\[]`)
