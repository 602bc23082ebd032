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
