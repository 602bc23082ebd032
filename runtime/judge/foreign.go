package judge

import (
	"regexp"
	"slices"
	"strings"
)

// executes are the calls of other languages that run a command, or more code.
var executes = regexp.MustCompile(`(?i)system|popen|exec|spawn|subprocess|child_process|\beval\b|Function\b|passthru|proc_open|qx|%x|\x60|getline|\|\s*"|\brun\(|\bcall\(|import_module|__import__|os\.execute|Runtime|shell|Open3|Command\(|\bload\(|compile\(`)

// evaluates are those that run more code of the same language.
var evaluates = regexp.MustCompile(`\b(eval|exec|Function|instance_eval|class_eval|compile|assert|create_function|load|loadstring|runInThisContext|vm\.\w+)\b`)

// code reads program text of another language: the rules see it as it stands and
// folded, and what it would give to a shell is read as a shell would.
func (r *reader) code(a act, text string) error {
	if r.depth >= maxDepth {
		return errTooMuch
	}
	r.depth++
	defer func() { r.depth-- }()
	if err := r.charge(len(text)); err != nil {
		return err
	}
	if strings.Contains(a.program, "awk") {
		text = given2awk(a.args) + text
	}
	f := fold(text)
	b := act{program: a.program, full: a.full, code: text + "\n" + f.text, through: a.through, from: a.from, to: a.to, folded: true}
	for _, t := range f.texts {
		if looksLikePath(t) {
			b.reads = append(b.reads, t)
		}
	}
	if err := r.add(b); err != nil {
		return err
	}
	if err := r.codeWrites(f); err != nil {
		return err
	}
	if strings.Contains(a.program, "awk") && dynamic.MatchString(text) {
		if err := r.add(act{program: unknown, full: readMark, from: []string{"awk"}}); err != nil {
			return err
		}
	}
	if !executes.MatchString(b.code) {
		return nil
	}
	return r.commandsIn(a, f)
}

// dynamic is a call of awk that runs what it reads.
var dynamic = regexp.MustCompile(`system\(\s*\$|\$\w+\s*\|\s*getline|\|\s*"(/bin/)?(ba)?sh"`)

// given2awk are awk's -v name=value as code.
func given2awk(args []string) string {
	var code strings.Builder
	for _, v := range valuesOf(args, "-v", "--assign") {
		if name, value, ok := strings.Cut(v, "="); ok {
			code.WriteString(name + ` = "` + strings.ReplaceAll(value, `"`, `\"`) + "\"\n")
		}
	}
	return code.String()
}

// commandsIn reads the texts of code that runs commands as commands, and where it runs
// code, as code.
func (r *reader) commandsIn(a act, f folded) error {
	texts := f.texts
	for _, list := range lists.FindAllStringSubmatch(f.text, 50) { // ["rm", "-rf", "/"]
		var words []string
		for _, w := range inList.FindAllStringSubmatch(list[0], -1) {
			words = append(words, w[1])
		}
		texts = append(texts, strings.Join(words, " "))
	}
	for _, t := range texts[:min(len(texts), 60)] {
		if strings.TrimSpace(t) == "" || len(t) < 4 || !strings.ContainsAny(t, " /(") {
			continue
		}
		sub := r.src.reader(r.tool)
		sub.depth, sub.steps, sub.bytes, sub.cwd, sub.files = r.depth, r.steps, r.bytes, r.cwd, r.files
		sub.leaks, sub.tainted, sub.hidden, sub.guess = r.leaks, r.tainted, r.hidden, true
		err := sub.script(strings.TrimPrefix(t, "!"), pipe{from: []string{a.program}})
		r.steps, r.bytes = sub.steps, sub.bytes
		if err == nil {
			for _, b := range sub.acts {
				if err := r.add(b); err != nil {
					return err
				}
			}
		}
		if evaluates.MatchString(f.text) && strings.ContainsAny(t, "([") && t != f.text {
			if err := r.code(a, t); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	lists  = regexp.MustCompile(`"[^"\n]*"\s*(,\s*\[?\s*"[^"\n]*"\s*\]?)+`)
	inList = regexp.MustCompile(`"([^"\n]*)"`)
)

func looksLikePath(s string) bool {
	return len(s) > 1 && len(s) < 300 && (strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || strings.HasPrefix(s, "..")) && !strings.ContainsAny(s, " \n<>|;")
}

// puts are calls that write files.
var puts = regexp.MustCompile(`(?i)\bwrite_text\(|write_bytes\(|writeFile(Sync)?\(|appendFile|file_put_contents\(|File\.write|\.write\(|os\.WriteFile\(|open\([^)\n]*"[wa]b?\+?"`)

// codeWrites adds the changes that code makes to files that it names, as far as they can
// be told: any text of it may be written to any of them.
func (r *reader) codeWrites(f folded) error {
	if !puts.MatchString(f.text) {
		return nil
	}
	for _, t := range f.texts {
		if len(t) < 3 || len(t) > 300 || strings.ContainsAny(t, " \n;(") || !strings.ContainsAny(t, "/.") {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(f.texts), func(s string) bool { return s == t })
		if err := r.add(act{program: "change", full: "change", args: []string{t}, text: strings.Join(others, "\n"), through: []string{"code"}, loose: true}); err != nil {
			return err
		}
	}
	return nil
}

// A carrier is a program that is given commands in its arguments or its input.
type carrier struct {
	options  string // the next argument, or what stands behind =, is a command
	form     string // or what its group finds in an argument or the input
	compiled *regexp.Regexp
}

var carriers = compileCarriers(map[string]carrier{
	"sqlite":  {form: `(?m)(?:^|;|")\s*\.(?:shell|system)\s+(.+)$`},
	"psql":    {form: `(?m)\\!\s*(.+)$|(?i)\bprogram\s+'([^']+)'`},
	"mysql":   {form: `(?m)(?:^|;)\s*(?:\\!|system)\s+(.+)$`},
	"mariadb": {form: `(?m)(?:^|;)\s*(?:\\!|system)\s+(.+)$`},
	"vim":     {form: `(?m):?!\s*(.+)$|system\('([^']+)'`}, "vi": {form: `(?m):?!\s*(.+)$`}, "nvim": {form: `(?m):?!\s*(.+)$|system\('([^']+)'`},
	"ex": {form: `(?m)^:?!\s*(.+)$`}, "ed": {form: `(?m)^!\s*(.+)$`}, "less": {form: `^\+?!\s*(.+)$`},
	"gdb": {form: `^(?:shell|!)\s*(.+)$|system\("([^"]+)"`}, "lldb": {form: `^(?:platform shell|shell)\s+(.+)$`},
	"sed": {form: `(?m)(?:^|[;{\d$/])\s*e\s+(.+)$`},
	"git": {options: "--exec -x --upload-pack --receive-pack --tree-filter --index-filter --msg-filter --env-filter --commit-filter foreach",
		form: `^(?:alias\.[^=]+=|alias\.\S+ )?!\s*(.+)$|alias\.[^=]+=!(.+)$`},
	"rsync": {options: "-e --rsh --rsync-path"}, "split": {options: "--filter"}, "sort": {options: "--compress-program"},
	"tmux": {form: `^(\S+ .+)$`}, "screen": {form: `^(\S+ .+)$`}, "expect": {form: `spawn\s+([^;\n]+)`}, "zip": {options: "-TT --unzip-command"},
	"ssh": {form: `(?i)(?:Proxy|Local)Command[= ](.+)$`}, "npm": {options: "-c --call"}, "nix-shell": {options: "--run --command"}, "hyperfine": {form: `^(\S+ .+)$`},
	"nodemon": {options: "--exec -x"}, "concurrently": {form: `^(\S+ .+)$`}, "start-stop-daemon": {options: "--exec -x --startas -a"}, "xterm": {options: "-e"},
	"fc": {options: "-e"}, "man": {options: "-P -H"}, "tcpdump": {options: "-z"}, "wget": {options: "--use-askpass"}, "docker": {form: `^(?:ba)?sh -c (.+)$`}, "make": {options: "--eval"},
	"tar": {options: "--use-compress-program -I --to-command --checkpoint-action"},
})

func compileCarriers(all map[string]carrier) map[string]carrier {
	for name, c := range all {
		if c.form != "" {
			c.compiled = regexp.MustCompile(c.form)
			all[name] = c
		}
	}
	return all
}

// carried reads the commands that a program is given for others to run.
func (r *reader) carried(a act, input string) error {
	c, ok := carriers[versionless(a.program)]
	if !ok {
		return nil
	}
	commands := valuesOf(a.args, strings.Fields(c.options)...)
	if c.compiled != nil {
		for _, text := range append(slices.Clone(a.args), input) {
			for _, m := range c.compiled.FindAllStringSubmatch(text, 20) {
				commands = append(commands, strings.Join(m[1:], ""))
			}
		}
	}
	if a.program == "git" && slices.Contains(a.args, "foreach") {
		commands = append(commands, a.args[len(a.args)-1])
	}
	for _, command := range commands {
		if strings.TrimSpace(command) == "" {
			continue
		}
		guess := r.guess
		r.guess = true
		err := r.apart(func() error { return r.inner(strings.TrimPrefix(command, "exec="), pipe{from: []string{a.program}}) })
		r.guess = guess
		if err == errTooMuch {
			return err
		}
	}
	return nil
}

var shellCall2make = regexp.MustCompile(`\$\(shell ([^()]*)\)`)

// recipes reads a Makefile that make is given, or that this command wrote.
func (r *reader) recipes(a act, input string) error {
	text, found := "", false
	files := append(valuesOf(a.args, "-f", "--file", "--makefile"), "Makefile", "makefile", "GNUmakefile")
	for _, f := range files {
		if f == "-" || isInput(f) {
			text, found = input, input != ""
		} else {
			text, found = r.content(f)
		}
		if found {
			break
		}
	}
	if !found {
		return nil
	}
	text = shellCall2make.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), "$$$$(${1})")
	for line := range strings.Lines(text) {
		recipe, ok := strings.CutPrefix(line, "\t")
		if !ok {
			continue
		}
		recipe = strings.ReplaceAll(strings.TrimLeft(recipe, "@-+ \t"), "$$", "$")
		if err := r.apart(func() error { return r.inner(recipe, pipe{from: a.from}) }); err == errTooMuch {
			return err
		}
	}
	return nil
}
