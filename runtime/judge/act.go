package judge

import (
	"path"
	"regexp"
	"strings"
)

// Marks for parts of a text that only the running shell knows.
const (
	unknown  = "\uFFFC" // the value of a variable
	computed = "\uFFF9" // what a command prints
	telling  = "\uFFFB" // what a command prints that tells about the machine, or packs data
	// With one of these behind it, more is known of the part.
	secretMark = "\uFFF8" // it holds a secret
	readMark   = "\uFFFA" // it stands in a file, or came in
	marks      = unknown + computed + telling + secretMark + readMark
)

// open says whether a part of a text is not known.
func open(s string) bool { return strings.ContainsAny(s, marks) }

// tells are programs whose output is no part of an innocent address.
var tells = []string{"base64", "base32", "xxd", "od", "tar", "gzip", "zip", "env", "printenv", "history", "whoami", "id",
	"hostname", "openssl", "ps", "ifconfig", "ip"}

// act is one thing that a call would do: a program run with arguments, or a tool of
// dure's own.
type act struct {
	program string   // its base name; unknown where only the shell knows it
	full    string   // as it was written
	args    []string // without wrappers like env or timeout
	through []string // those wrappers, sudo among them
	reads   []string // files of redirections
	writes  []string
	from    []string // programs whose output it reads, the nearest last
	to      []string // programs that read its output, the nearest first
	sets    []string // variables set for it: NAME=value
	code    string   // program text that an interpreter is given
	text    string   // content that is written, or said to others
	old     string   // content that it takes the place of
	secret  bool     // a secret is among what it is given
	later   bool     // others run it, at another time: what cannot work here may work there
	leaks   bool     // a secret was put into the workspace before it
	hidden  bool     // was found only by decoding
	script  bool     // it stands in a script that is written, and run by hand later
	opened  bool     // and they do so without being asked
	guess   bool     // a text that may be a command, or may not
	folded  bool     // the code of another act, read
	own     bool     // the script itself defines the program
	loose   bool     // which file is changed is not certain
	tool    string   // that was called
	cwd     string   // where it runs

	// What the rules ask for again and again, once it was told (prepare).
	told    bool
	oneLine string
	allPath []string
}

// prepare tells line and paths once for all rules. The act does not change any more.
func (a *act) prepare() {
	a.oneLine, a.allPath = a.joined(), a.named()
	a.told = true
}

// line is the program with its arguments.
func (a *act) line() string {
	if a.told {
		return a.oneLine
	}
	return a.joined()
}

// paths are all files that an act names.
func (a *act) paths() []string {
	if a.told {
		return a.allPath
	}
	return a.named()
}

func (a *act) joined() string { return strings.Join(append([]string{a.program}, a.args...), " ") }

// named are all files that an act names, cleaned: redirections, and arguments that
// are no options, and the values of options like --file=x and @x.
func (a *act) named() []string {
	var all []string
	add := func(p string) {
		if p == "" || len(p) > maxName {
			return
		}
		if lost.MatchString(p) {
			all = append(all, "/proc/1/root") // a link in /proc, and out of it again
		}
		all = append(all, clean(p))
		if strings.Contains(p, unknown) {
			// Nothing in the middle of a name is what a variable that is not set leaves.
			if whole := within.ReplaceAllString(p, "$1$2"); whole != p {
				all = append(all, clean(whole))
			}
		}
		if !path.IsAbs(p) && !strings.HasPrefix(p, "~") && path.IsAbs(a.cwd) {
			// Where it leaves the workspace, that counts as well.
			if whole := path.Join(a.cwd, p); whole != workspace && !strings.HasPrefix(whole, workspace+"/") {
				all = append(all, whole)
			}
		}
	}
	for _, p := range a.reads {
		add(p)
	}
	for _, p := range a.writes {
		add(p)
	}
	for _, arg := range a.args {
		if strings.HasPrefix(arg, "-") || strings.Contains(arg, "=") {
			_, value, _ := strings.Cut(arg, "=")
			add(strings.TrimLeft(value, "@<"))
			continue
		}
		add(strings.TrimLeft(arg, "@<"))
		all = append(all, guessed(arg)...)
		// host:path and source:target of copies and mounts.
		if _, after, ok := strings.Cut(arg, ":"); ok && strings.HasPrefix(after, "/") && !strings.HasPrefix(after, "//") {
			add(after)
		}
	}
	return all
}

var within = regexp.MustCompile(`(\w)` + unknown + `+(\w)`)

// lost are paths that climb out of a link in /proc.
var lost = regexp.MustCompile(`/proc/[^/]+/(cwd|root|fd/[^/]+)/.*\.\.`)

// clean gives a path one spelling: no doubled slashes, dots or climbing within it. The
// home folder is ~ already. Slashes at the end go.
func clean(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// guarded are files that a pattern is tried against: ~/.s?h/id* names a key as well.
var guarded = []string{"~/.ssh/id_rsa", "~/.ssh/id_ed25519", "~/.aws/credentials", "~/.netrc", "~/.git-credentials", "~/.dure/token",
	"~/.dure/keys.json", "/etc/shadow", "/etc/sudoers", "/proc/1/environ", "/root/.ssh/id_rsa"}

// guessed are the guarded files that a pattern stands for. One that would stand for
// nearly anything (*, */*) is a loop over one's own files.
func guessed(pattern string) []string {
	from := strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~")
	if !from || !strings.ContainsAny(pattern, "*?[") || len(strings.Trim(pattern, "*?/.~")) == 0 {
		return nil
	}
	var all []string
	for _, g := range guarded {
		if ok, err := path.Match(pattern, g); ok && err == nil {
			all = append(all, g)
		}
	}
	return all
}
