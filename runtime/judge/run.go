package judge

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
)

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
		if line, more, _ := strings.Cut(input, "\n"); a.program == "read" && more == "" && line != "" && len(a.args) > 0 {
			r.set(a.args[len(a.args)-1], line) // the only line there is
		}
	case a.program == "printf" && len(a.args) > 1 && a.args[0] == "-v":
		r.set(a.args[1], unknown)
	case a.program == "set":
		r.arguments(a.args)
	}
	code := ""
	if options, ok := interpreters[versionless(a.program)]; ok {
		code = inline(a.args, options)
		if code == "" && input != "" && readsInput(a.args) {
			code = input
		}
		if open(code) && strings.Trim(code, marks+" \t\n;") == "" && strings.Contains(code, readMark) {
			code = ""
			if err := r.add(act{program: unknown, full: readMark, from: a.from}); err != nil {
				return err
			}
		}
	}
	if slices.Contains([]string{"awk", "gawk", "mawk", "sed", "vim", "ed"}, a.program) {
		code = strings.Join(a.args, "\n")
	}
	a.code = code
	if slices.Contains([]string{"cat", "tee", "echo", "printf"}, a.program) {
		a.text = r.said(a, input)
	}
	if err := r.add(a); err != nil {
		return err
	}
	return r.all(
		func() error {
			if code == "" && input != "" && input != unknown && slices.Contains(compilers, versionless(a.program)) && slices.Contains(a.args, "-") {
				return r.code(a, input) // its source comes in
			}
			if code == "" || a.program == "sed" || a.program == "vim" || a.program == "ed" {
				return nil
			}
			return r.code(a, code)
		},
		func() error { return r.changes(a, input) },
		func() error { return r.stored(a) },
		func() error { return r.carried(a, input) },
		func() error { return r.fetched(a) },
		func() error {
			if a.program == "make" || a.program == "gmake" {
				return r.recipes(a, input)
			}
			return nil
		},
	)
}

// compilers take source on their standard input, as -.
var compilers = []string{"go", "gcc", "cc", "clang", "g++", "clang++", "tcc", "rustc", "swift", "runghc", "tsx", "ts-node", "kotlinc", "dart", "java"}

// wrapped reads the program that a wrapper's arguments name.
func (r *reader) wrapped(a act, w wrapper, input string) error {
	if err := r.add(a); err != nil {
		return err
	}
	inner, sets := unwrap(w, a.args)
	if len(inner) == 0 || a.program == "command" && (a.args[0] == "-v" || a.args[0] == "-V") { // it asks where a program is
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
	r.lists["@"], r.lists["*"] = args, args
}

// said is the text that a printing program writes.
func (r *reader) said(a act, input string) string {
	if a.program == "echo" || a.program == "printf" {
		return strings.Join(a.args, " ")
	}
	return input
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
		if len(a.args) > 0 {
			if text, ok := r.content(a.args[0]); ok {
				return r.inner(text, around)
			}
		}
		return nil
	}
	if err := r.stored(a); err != nil {
		return err
	}
	o := shellOptions(a.args)
	if o.command {
		return r.apart(func() error {
			if len(o.rest) > 0 {
				r.set("0", o.rest[0])
			}
			r.positional(o.rest[min(1, len(o.rest)):]) // the first one is $0
			return r.inner(o.script, around)
		})
	}
	if !o.input {
		if text, ok := r.content(o.rest[0]); ok {
			return r.apart(func() error {
				r.positional(o.rest[1:])
				return r.inner(text, around)
			})
		}
		return nil
	}
	if input == unknown || input == "" && len(a.from) > 0 {
		if len(a.from) > 0 && slices.Contains(r.src.Readers, versionless(a.from[0])) {
			return r.add(act{program: unknown, full: readMark, from: a.from})
		}
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
			return r.add(act{program: unknown, full: script, from: p.from})
		}
		return nil
	}
	err := r.script(script, p)
	if err != nil && !errors.Is(err, errTooMuch) && open(script) {
		return r.add(act{program: unknown, full: unknown, from: p.from})
	}
	return err
}

// hides says whether programs turn text that can be read into what cannot, or back.
func hides(programs []string) bool {
	return slices.ContainsFunc(programs, func(p string) bool {
		return slices.Contains([]string{"base64", "base32", "xxd", "rev", "tr", "openssl", "gunzip", "zcat", "gzip", "uudecode", "od"}, p)
	})
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
