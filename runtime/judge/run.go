package judge

import (
	"slices"
	"strings"
)

// A wrapper runs the program that its arguments name.
type wrapper struct {
	// values are options that take the next argument.
	values string
	// skip is how many arguments stand before the program.
	skip int
}

var wrappers = map[string]wrapper{
	"env": {values: "-u -C -S --unset --chdir"}, "nohup": {}, "setsid": {}, "nice": {values: "-n"}, "ionice": {values: "-c -n -p"},
	"time": {values: "-o -f"}, "timeout": {values: "-s -k --signal --kill-after", skip: 1}, "stdbuf": {values: "-i -o -e"},
	"command": {}, "builtin": {}, "exec": {values: "-a"}, "busybox": {}, "toybox": {}, "sudo": {values: "-u -g -h -p -C -r -t -T -D -R"},
	"doas": {values: "-u -C"}, "xargs": {values: "-I -n -P -L -d -a -s -E"}, "chronic": {}, "unbuffer": {}, "watch": {values: "-n"},
	"strace": {values: "-e -o -p -s -u"}, "ltrace": {values: "-e -o -p"}, "faketime": {skip: 1}, "flock": {values: "-w -E", skip: 1},
	"taskset": {skip: 1}, "chroot": {skip: 1}, "nsenter": {values: "-t -S -G"}, "unshare": {}, "then": {}, "do": {}, "pkexec": {values: "--user"},
	"runuser": {values: "-u -g -G"}, "gosu": {skip: 1}, "setpriv": {}, "parallel": {values: "-j"}, "entr": {},
	"npx": {}, "uvx": {}, "su-exec": {skip: 1}, "dbus-run-session": {}, "xvfb-run": {values: "-s -n"}, "script": {},
}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"}

// interpreters, and the option that gives them code.
var interpreters = map[string]string{
	"python": "-c", "python2": "-c", "python3": "-c", "perl": "-e", "ruby": "-e", "node": "-e", "nodejs": "-e", "deno": "eval",
	"bun": "-e", "php": "-r", "lua": "-e", "luajit": "-e", "tclsh": "", "osascript": "-e", "Rscript": "-e", "groovy": "-e", "pwsh": "-c", "gdb": "-ex",
}

// run takes wrappers off a command, reads the scripts in it, and adds what is left.
func (r *reader) run(a act, input string) error {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth*4 {
		return errTooMuch
	}
	if w, ok := wrappers[a.program]; ok {
		inner, sets := unwrap(w, a.args)
		if len(inner) > 0 {
			if err := r.add(a); err != nil {
				return err
			}
			b := a
			b.through = append(slices.Clone(a.through), a.program)
			b.sets = append(slices.Clone(a.sets), sets...)
			b.full, b.args = inner[0], inner[1:]
			b.program = base(b.full)
			if a.program == "xargs" {
				b.args = xargs(a.args, b.args, input)
			}
			return r.run(b, input)
		}
		return r.add(a)
	}
	switch {
	case slices.Contains(shells, a.program), a.program == "eval", a.program == ".", a.program == "source", a.program == "su":
		return r.shell(a, input)
	case a.program == "find":
		return r.find(a)
	}
	if option, ok := interpreters[versionless(a.program)]; ok {
		a.code = inline(a.args, option)
		if a.code == "" && input != "" && !open(input) && readsInput(a.args) {
			a.code = input
		}
	}
	if a.program == "awk" || a.program == "gawk" || a.program == "mawk" || a.program == "sed" || a.program == "vim" || a.program == "ed" {
		a.code = strings.Join(a.args, "\n")
	}
	if a.program == "cat" || a.program == "tee" || a.program == "echo" || a.program == "printf" {
		a.text = r.said(a, input)
	}
	if err := r.add(a); err != nil {
		return err
	}
	return r.fetched(a)
}

// said is the text that a printing program writes.
func (r *reader) said(a act, input string) string {
	if a.program == "echo" || a.program == "printf" {
		return strings.Join(a.args, " ")
	}
	return input
}

// versionless makes python of python3.12.
func versionless(program string) string {
	return strings.TrimRight(program, "0123456789.")
}

// xargs gives a program's arguments the words of the input: at the end, or with -I
// wherever the text given there stands.
func xargs(options, args []string, input string) []string {
	words := []string{unknown}
	if input != "" && !open(input) {
		words = strings.Fields(input)
	}
	place := ""
	for i, o := range options {
		if rest, ok := strings.CutPrefix(o, "-I"); ok && rest != "" {
			place = rest
		} else if ok && i+1 < len(options) {
			place = options[i+1]
		}
	}
	if place == "" {
		return append(slices.Clone(args), words...)
	}
	var all []string
	for _, a := range args {
		all = append(all, strings.ReplaceAll(a, place, strings.TrimSpace(strings.Join(words, " "))))
	}
	return all
}

// unwrap returns the program within a wrapper's arguments, and variables set for it.
func unwrap(w wrapper, args []string) (inner, sets []string) {
	values := strings.Fields(w.values)
	skip := w.skip
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return args[i+1:], sets
		case slices.Contains(values, a):
			i++
		case strings.HasPrefix(a, "-") && len(a) > 1:
		case strings.Contains(a, "=") && !strings.HasPrefix(a, "=") && !strings.Contains(strings.SplitN(a, "=", 2)[0], "/"):
			sets = append(sets, a)
		case skip > 0:
			skip--
		default:
			return args[i:], sets
		}
	}
	return nil, sets
}

// shell reads what a shell is given: -c, its input, the arguments of eval, or a file.
func (r *reader) shell(a act, input string) error {
	if err := r.add(a); err != nil {
		return err
	}
	script := ""
	switch a.program {
	case "eval":
		script = strings.Join(a.args, " ")
	case ".", "source":
		return nil
	default:
		script = inline(a.args, "-c")
		if script == "" && readsInput(a.args) {
			script = input
		}
	}
	if open(script) || strings.TrimSpace(script) == "" {
		return nil
	}
	piped := len(a.from) > 0 && a.program != "eval" && inline(a.args, "-c") == ""
	hidden := r.hidden
	r.hidden = r.hidden || piped && hides(a.from)
	defer func() { r.hidden = hidden }()
	err := r.script(script, pipe{from: a.from, to: a.to, reads: a.reads, writes: a.writes})
	if err != nil && piped {
		return r.add(act{program: unknown, full: unknown})
	}
	return err
}

// hides says whether programs turn text that can be read into what cannot, or back.
func hides(programs []string) bool {
	return slices.ContainsFunc(programs, func(p string) bool {
		return slices.Contains([]string{"base64", "base32", "xxd", "rev", "tr", "openssl", "gunzip", "zcat", "gzip", "uudecode", "od"}, p)
	})
}

// inline is the argument after an option, also behind others (-lc) or in one (-e'x').
func inline(args []string, option string) string {
	if option == "" {
		return ""
	}
	var all []string
	for i, a := range args {
		short := len(option) == 2 && strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, option[1:])
		if (a == option || short) && i+1 < len(args) {
			all = append(all, args[i+1])
		}
	}
	return strings.Join(all, "\n")
}

// readsInput says whether an interpreter reads its program from its standard input.
func readsInput(args []string) bool {
	for _, a := range args {
		if a == "-" || a == "-s" || a == "/dev/stdin" {
			return true
		}
		if !strings.HasPrefix(a, "-") {
			return false
		}
	}
	return true
}

// find reads the commands of -exec and its kin.
func (r *reader) find(a act) error {
	if err := r.add(a); err != nil {
		return err
	}
	roots := []string{}
	for _, arg := range a.args {
		if strings.HasPrefix(arg, "-") || arg == "(" || arg == "!" {
			break
		}
		roots = append(roots, arg)
	}
	for i, arg := range a.args {
		switch arg {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := slices.IndexFunc(a.args[i+1:], func(s string) bool { return s == ";" || s == "+" })
			if end < 0 {
				end = len(a.args) - i - 1
			}
			words := a.args[i+1 : i+1+end]
			if len(words) == 0 {
				continue
			}
			b := act{full: words[0], program: base(words[0]), args: slices.Clone(words[1:]), from: []string{"find"}, to: a.to}
			for j, w := range b.args {
				if w == "{}" && len(roots) > 0 {
					b.args[j] = strings.TrimRight(roots[0], "/") + "/" + unknown
				}
			}
			if err := r.run(b, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetched reads the command that some programs run for others: make, git and tar take
// one in an argument.
func (r *reader) fetched(a act) error {
	for _, arg := range a.args {
		for _, mark := range []string{"--checkpoint-action=exec=", "core.sshCommand=", "core.fsmonitor=", "core.pager=", "--use-compress-program=", "--to-command="} {
			if _, command, ok := strings.Cut(arg, mark); ok && command != "" {
				if err := r.script(command, pipe{from: []string{a.program}}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
