package judge

import (
	"errors"
	"path"
	"slices"
	"strconv"
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
	"env": {values: "-u -C --unset --chdir"}, "nohup": {}, "setsid": {}, "nice": {values: "-n --adjustment"}, "ionice": {values: "-c -n -p"},
	"time": {values: "-o -f"}, "timeout": {values: "-s -k --signal --kill-after", skip: 1}, "stdbuf": {values: "-i -o -e"},
	"command": {}, "builtin": {}, "exec": {values: "-a"}, "busybox": {}, "toybox": {}, "sudo": {values: "-u -g -h -p -C -r -t -T -D -R"},
	"doas": {values: "-u -C"}, "xargs": {values: "-I -n -P -L -d -a -s -E --max-args --max-procs --max-lines --delimiter --arg-file --max-chars"}, "chronic": {}, "unbuffer": {}, "watch": {values: "-n"},
	"strace": {values: "-e -o -p -s -u"}, "ltrace": {values: "-e -o -p"}, "faketime": {skip: 1}, "flock": {values: "-w -E", skip: 1},
	"taskset": {skip: 1}, "chroot": {skip: 1}, "nsenter": {values: "-t -S -G"}, "unshare": {}, "then": {}, "do": {}, "pkexec": {values: "--user"},
	"runuser": {values: "-u -g -G"}, "gosu": {skip: 1}, "setpriv": {}, "parallel": {values: "-j"}, "entr": {},
	"npx": {}, "uvx": {}, "su-exec": {skip: 1}, "dbus-run-session": {}, "xvfb-run": {values: "-s -n"}, "script": {},
}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"}

// interpreters, and the options that give them code.
var interpreters = map[string]string{
	"python": "-c", "perl": "-e -E", "ruby": "-e", "node": "-e -p --eval --print", "nodejs": "-e -p --eval --print", "deno": "eval",
	"bun": "-e -p --eval", "php": "-r --run", "lua": "-e", "luajit": "-e", "tclsh": "", "osascript": "-e", "Rscript": "-e", "groovy": "-e", "pwsh": "-c", "gdb": "-ex",
}

// run takes wrappers off a command, reads the scripts in it, and adds what is left.
func (r *reader) run(a act, input string) error {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth*4 {
		return errTooMuch
	}
	if script, ok := worded(a); ok {
		if err := r.add(a); err != nil {
			return err
		}
		return r.apart(func() error { return r.inner(script, pipe{from: a.from, to: a.to}) })
	}
	if w, ok := wrappers[a.program]; ok {
		return r.wrapped(a, w, input)
	}
	switch {
	case slices.Contains(shells, a.program), slices.Contains([]string{"eval", ".", "source", "su", "trap"}, a.program):
		return r.shell(a, input)
	case a.program == "find":
		return r.find(a)
	case a.program == "cd", a.program == "pushd":
		r.enter(a.args)
	case a.program == "read", a.program == "mapfile", a.program == "readarray", a.program == "let", a.program == "unset", a.program == "getopts":
		for _, name := range a.args {
			name, _, _ = strings.Cut(name, "=")
			r.set(name, unknown)
		}
	case a.program == "printf" && len(a.args) > 1 && a.args[0] == "-v":
		r.set(a.args[1], unknown)
	case a.program == "set":
		r.arguments(a.args)
	}
	if options, ok := interpreters[versionless(a.program)]; ok {
		a.code = inline(a.args, options)
		if a.code == "" && input != "" && readsInput(a.args) {
			a.code = input
		}
	}
	if slices.Contains([]string{"awk", "gawk", "mawk", "sed", "vim", "ed"}, a.program) {
		a.code = strings.Join(a.args, "\n")
	}
	if slices.Contains([]string{"cat", "tee", "echo", "printf"}, a.program) {
		a.text = r.said(a, input)
	}
	if err := r.add(a); err != nil {
		return err
	}
	return r.fetched(a)
}

// wrapped reads the program that a wrapper's arguments name.
func (r *reader) wrapped(a act, w wrapper, input string) error {
	if err := r.add(a); err != nil {
		return err
	}
	inner, sets := unwrap(w, a.args)
	if len(inner) == 0 {
		return nil
	}
	b := a
	b.through = append(slices.Clone(a.through), a.program)
	b.sets = append(slices.Clone(a.sets), sets...)
	b.full, b.args = inner[0], inner[1:]
	b.program = base(b.full)
	if strings.ContainsAny(b.full, " \t\n") || strings.Trim(b.full, "0123456789.") == "" {
		b.program = unknown // an option's value, or words that are split later
	}
	if a.program == "xargs" {
		b.args = xargs(a.args, b.args, input)
	}
	return r.run(b, input)
}

// worded returns the script that some wrappers are given as words.
func worded(a act) (script string, ok bool) {
	after := func(options ...string) (string, bool) {
		for i, arg := range a.args {
			for _, o := range options {
				if arg == o && i+1 < len(a.args) {
					return a.args[i+1], true
				}
			}
		}
		return "", false
	}
	switch a.program {
	case "env":
		if s, ok := after("-S", "--split-string"); ok {
			return s, true
		}
		for _, arg := range a.args {
			if s, ok := strings.CutPrefix(arg, "-S"); ok && s != "" {
				return s, true
			}
		}
	case "flock", "script":
		return after("-c", "-qc", "-ec", "-qec", "--command")
	case "watch":
		inner, _ := unwrap(wrappers["watch"], a.args)
		return strings.Join(inner, " "), len(inner) > 0
	case "parallel":
		words := slices.DeleteFunc(slices.Clone(a.args), func(s string) bool { return strings.HasPrefix(s, ":::") || strings.HasPrefix(s, "-") })
		return strings.Join(words, " "), len(words) > 0
	}
	return "", false
}

// enter follows a change of the folder.
func (r *reader) enter(args []string) {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") && len(a) > 1 })
	switch {
	case len(args) == 0:
		r.cwd = "/home/agent"
	case open(args[0]), args[0] == "-":
		r.cwd = unknown
	case path.IsAbs(args[0]):
		r.cwd = path.Clean(args[0])
	case strings.HasPrefix(args[0], "~"):
		r.cwd = path.Join("/home/agent", strings.TrimPrefix(args[0], "~"))
	case path.IsAbs(r.cwd):
		r.cwd = path.Join(r.cwd, args[0])
	}
}

// arguments follows set -- a b c.
func (r *reader) arguments(args []string) {
	for i, a := range args {
		if a == "--" {
			r.positional(args[i+1:])
			return
		}
	}
}

// positional sets $1 and its followers, $@ and $*.
func (r *reader) positional(args []string) {
	for i := range 9 {
		value := ""
		if i < len(args) {
			value = args[i]
		}
		r.set(strconv.Itoa(i+1), value)
	}
	r.set("@", strings.Join(args, " "))
	r.set("*", strings.Join(args, " "))
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
	words := strings.Fields(input)
	if len(words) == 0 {
		words = []string{unknown}
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
	around := pipe{from: a.from, to: a.to, reads: a.reads, writes: a.writes}
	switch a.program {
	case "eval":
		return r.inner(strings.Join(a.args, " "), around)
	case "trap":
		if len(a.args) > 0 && a.args[0] != "-" {
			return r.inner(a.args[0], around)
		}
		return nil
	case ".", "source":
		if len(a.args) > 0 && isInput(a.args[0]) {
			return r.inner(input, around)
		}
		return nil
	}
	o := shellOptions(a.args)
	if o.command {
		return r.apart(func() error {
			r.positional(o.rest[min(1, len(o.rest)):]) // the first one is $0
			return r.inner(o.script, around)
		})
	}
	if !o.input {
		return nil
	}
	hidden := r.hidden
	r.hidden = r.hidden || len(a.from) > 0 && hides(a.from)
	defer func() { r.hidden = hidden }()
	return r.apart(func() error {
		r.positional(o.rest)
		return r.inner(input, around)
	})
}

// inner reads a script within a script. Of one that is known only to the running shell
// there is an act that says so.
func (r *reader) inner(script string, p pipe) error {
	if strings.Trim(script, marks+" \t\n;") == "" {
		if open(script) {
			return r.add(act{program: unknown, full: unknown, from: p.from})
		}
		return nil
	}
	err := r.script(script, p)
	if err != nil && !errors.Is(err, errTooMuch) && open(script) {
		return r.add(act{program: unknown, full: unknown, from: p.from})
	}
	return err
}

// options of a shell.
type options struct {
	command, input bool
	script         string
	rest           []string // its arguments
}

// shellOptions reads a shell's arguments as dash and bash do.
func shellOptions(args []string) (o options) {
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if a == "--" || a == "-" {
			i++
			break
		}
		if strings.HasPrefix(a, "--") {
			if a == "--rcfile" || a == "--init-file" {
				i++
			}
			continue
		}
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") || len(a) < 2 {
			break
		}
		o.command = o.command || a[0] == '-' && strings.Contains(a, "c")
		o.input = o.input || strings.Contains(a, "s")
		if strings.HasSuffix(a, "o") || strings.HasSuffix(a, "O") {
			i++
		}
	}
	o.rest = args[min(i, len(args)):]
	switch {
	case o.command && len(o.rest) > 0:
		o.script, o.rest = o.rest[0], o.rest[1:]
	case !o.command && len(o.rest) == 0:
		o.input = true
	case !o.command && isInput(o.rest[0]):
		o.input, o.rest = true, o.rest[1:]
	}
	return o
}

func isInput(file string) bool {
	return file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0"
}

// hides says whether programs turn text that can be read into what cannot, or back.
func hides(programs []string) bool {
	return slices.ContainsFunc(programs, func(p string) bool {
		return slices.Contains([]string{"base64", "base32", "xxd", "rev", "tr", "openssl", "gunzip", "zcat", "gzip", "uudecode", "od"}, p)
	})
}

// inline is the code behind one of an interpreter's options: in the next argument, in
// the same one, or behind others (-lc).
func inline(args []string, names string) string {
	var all []string
	for i, a := range args {
		for _, option := range strings.Fields(names) {
			rest, attached := strings.CutPrefix(a, option)
			bundle := len(option) == 2 && len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, option[1:])
			switch {
			case a == option || bundle:
				if i+1 < len(args) {
					all = append(all, args[i+1])
				}
			case attached && strings.HasPrefix(option, "--"):
				all = append(all, strings.TrimPrefix(rest, "="))
			case attached:
				all = append(all, rest)
			}
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
