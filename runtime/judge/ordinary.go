package judge

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed ordinary.yaml
var ordinaryData []byte

// kind is what a known program does with the files that it is told.
type kind string

const (
	quiet  kind = "quiet"
	reads  kind = "read"
	writes kind = "write"
	builds kind = "build"
)

// ordinary is what is known as ordinary inside the work: the positive half of the
// judgement. The rules say what speaks against a call, this says what speaks for it.
type ordinary struct {
	kinds    map[string]kind
	commands map[string]*regexp.Regexp
	hazards  *regexp.Regexp
	names    *regexp.Regexp // variables that change what programs do
	values   *regexp.Regexp // and values that they may have
	read     *regexp.Regexp
	write    *regexp.Regexp
	apart    *regexp.Regexp
	whole    *regexp.Regexp
	places   map[string]*regexp.Regexp // that the rules name
	own      *regexp.Regexp            // programs that the team named
	// src says what holds a secret.
	src *sources
}

// ordinaryDocument is ordinary.yaml.
type ordinaryDocument struct {
	Programs  map[kind][]string `yaml:"programs"`
	Commands  map[string]string `yaml:"commands"`
	Hazards   []string          `yaml:"hazards"`
	Variables string            `yaml:"variables"`
	Values    []string          `yaml:"values"`
	Places    struct {
		Inside string   `yaml:"inside"`
		Read   []string `yaml:"read"`
		Write  []string `yaml:"write"`
		Apart  string   `yaml:"apart"`
		Whole  string   `yaml:"whole"`
	} `yaml:"places"`
}

func parseOrdinary(data []byte, src *sources, sets map[string][]string) (*ordinary, error) {
	var doc ordinaryDocument
	if err := yaml.UnmarshalWithOptions(data, &doc, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("ordinary: %w", err)
	}
	o := &ordinary{kinds: map[string]kind{}, commands: map[string]*regexp.Regexp{}, src: src}
	for k, lines := range doc.Programs {
		if !slices.Contains([]kind{quiet, reads, writes, builds}, k) {
			return nil, fmt.Errorf("ordinary: programs: no kind %q", k)
		}
		for _, name := range strings.Fields(strings.Join(lines, " ")) {
			o.kinds[name] = k
		}
	}
	whole := func(list ...string) (*regexp.Regexp, error) {
		text := strings.ReplaceAll(strings.Join(list, "|"), "{{inside}}", doc.Places.Inside)
		return regexp.Compile(`(?s)^(?:` + text + `)$`)
	}
	var err error
	if o.own, err = whole(append([]string{" "}, sets["programs"]...)...); err != nil {
		return nil, fmt.Errorf("ordinary: programs: %w", err)
	}
	o.places = map[string]*regexp.Regexp{}
	for _, name := range []string{"check", "tests", "judge", "later", "orders"} {
		if o.places[name], err = whole(sets[name]...); err != nil {
			return nil, fmt.Errorf("ordinary: places: %s: %w", name, err)
		}
	}
	for name, text := range doc.Commands {
		if o.commands[name], err = whole(text); err != nil {
			return nil, fmt.Errorf("ordinary: commands: %s: %w", name, err)
		}
	}
	for _, e := range []struct {
		name string
		to   **regexp.Regexp
		list []string
	}{{"hazards", &o.hazards, doc.Hazards}, {"variables", &o.names, []string{doc.Variables}}, {"values", &o.values, doc.Values}, {"read", &o.read, doc.Places.Read},
		{"write", &o.write, doc.Places.Write}, {"apart", &o.apart, []string{doc.Places.Apart}}, {"whole", &o.whole, []string{doc.Places.Whole}}} {
		if *e.to, err = whole(e.list...); err != nil {
			return nil, fmt.Errorf("ordinary: %s: %w", e.name, err)
		}
	}
	return o, nil
}

// strange says what of a call's acts is not known as ordinary; "" where all is.
func (o *ordinary) strange(acts []act) string {
	for i := range acts {
		if why := o.act(&acts[i]); why != "" {
			return why
		}
	}
	return ""
}

// act is strange for one act. Acts that are guesses (a text that may be a command) and
// those that others run later are the rules' alone.
func (o *ordinary) act(a *act) string {
	switch {
	case !a.script && strings.ContainsAny(a.program, computed+telling) && !a.guess && !a.later:
		return "which program it runs is known only when it runs; write its name out"
	case a.script:
		return o.inScript(a)
	case a.guess || open(a.program) || a.later && !a.opened:
		return ""
	case a.program == "hollow":
		return "the check " + quote(a.full) + " checks nothing; name a command that fails where the work is not done"
	case a.program == "words":
		return o.wordsOf(a.text)
	case a.program == "contrived":
		return "the word " + quote(a.full) + " is put together so that it does not look like what it is; write it out plainly"
	case a.program == "change" || a.program == "empty":
		return o.changed(a)
	case strings.HasPrefix(a.program, "tool:"):
		return o.toolUse(a)
	}
	for _, check := range []func(*act) string{o.program, o.hazard, o.sets, o.files, o.secrets, o.network, o.deletes, o.renames, o.language} {
		if why := check(a); why != "" {
			return why
		}
	}
	return ""
}

// inScript is act for what stands in a script: scripts may set machines up and publish,
// but they are plain, and send and delete nothing that they should not.
func (o *ordinary) inScript(a *act) string {
	if a.guess || open(a.program) {
		return ""
	}
	if a.program == "contrived" {
		return "the word " + quote(a.full) + " is put together so that it does not look like what it is"
	}
	if slices.Contains(shells, a.program) || interpreters[versionless(a.program)] != "" {
		if slices.ContainsFunc(a.from, func(p string) bool { return slices.Contains(decoders, p) }) {
			return o.piped(a)
		}
	}
	if a.secret && o.sends(a) && !localAct(a) && !strings.Contains(a.line(), unknown+secretMark) {
		return quote(a.line()) + " would send something that may hold a key or a password"
	}
	if a.program == "rm" || a.program == "find" && strings.Contains(a.line(), "-delete") {
		for _, p := range operands(a) {
			if p = plainMarks(clean(p)); p == "/" || p == "~" || p == "~/*" || p == "/*" || p == "/home" {
				return quote(a.line()) + " removes more than the work"
			}
		}
	}
	return ""
}

var decoders = []string{"base64", "base32", "xxd", "rev", "tr", "openssl", "uudecode", "od"}

// comment is a remark in a command.
var comment = regexp.MustCompile(`(?m)(?:^|\s)#\s*([^\n]*)$|(?:^|\s):\s+'([^']*)'|(?:^|\s):\s+"([^"]*)"`)

// wordsOf: a command's remarks do not speak to who reads it.
func (o *ordinary) wordsOf(text string) string {
	if why := unreadable(text); why != "" {
		return why
	}
	if why := holdsKey(text, "", false); why != "" {
		return why
	}
	if why := firstWhy(massive(text), contraryTo(text)); why != "" {
		return why
	}
	for _, m := range comment.FindAllStringSubmatch(text, 50) {
		remark := m[1] + m[2] + m[3]
		if why := ordered(remark, models); why != "" {
			return why
		}
		if hiding.MatchString(remark) || evades.MatchString(remark) {
			return "the remark " + quote(remark) + " says that it should not be seen, or looks for ways round"
		}
	}
	return ""
}

// quote shows a word of a command in a reason.
func quote(s string) string {
	s = strings.NewReplacer(unknown, "$…", computed, "$(…)", telling, "$(…)", secretMark, "", readMark, "").Replace(s)
	return fmt.Sprintf("%.80q", s)
}

// program: it is known, or one of the repository's own, with arguments that it is known
// for.
func (o *ordinary) program(a *act) string {
	name := versionless(a.program)
	if before, _, ok := strings.Cut(a.program, "@"); ok && before != "" {
		name = before // npx prettier@3
	}
	if a.own || o.own.MatchString(a.program) {
		return ""
	}
	if dir, _, ok := cutLast(a.full, "/"); ok && !standard.MatchString(dir+"/") {
		if _, name, _ := cutLast(a.full, "/"); hiddenName.MatchString(name) {
			return "the program " + quote(a.full) + " is hidden"
		}
		// One of the work's own: below the workspace, or built beside it.
		if p := clean(a.full); strings.HasPrefix(p, "/") && !strings.HasPrefix(p, workspace+"/") && !builtBeside.MatchString(p) || strings.HasPrefix(p, "~") && !installed.MatchString(p) {
			return "the program " + quote(a.full) + " is neither the repository's nor a known one"
		}
		return ""
	}
	if x, ok := o.commands[a.program]; ok {
		if !x.MatchString(plainMarks(strings.Join(a.args, " "))) {
			return quote(a.program+" "+strings.Join(a.args, " ")) + " is not among the ways that " + a.program + " is used here"
		}
		return ""
	}
	if _, ok := o.kinds[a.program]; ok || o.kinds[name] != "" || slices.Contains(a.through, "npx") && packageName.MatchString(a.program) {
		return ""
	}
	if versions.MatchString(a.program) && o.kinds[versions.ReplaceAllString(a.program, "")] != "" || crossed.MatchString(a.program) {
		return ""
	}
	if _, ok := o.commands[name]; ok {
		return ""
	}
	if a.program == "set" || a.program == "" {
		return ""
	}
	return "the program " + quote(a.program) + " is not a known one"
}

var hiddenName = regexp.MustCompile(`^\.[\w-]+$`)

var (
	standard    = regexp.MustCompile(`^/(usr/(local/)?)?s?bin/$|^/usr/(lib|libexec|local|share)/|^/opt/`)
	builtBeside = regexp.MustCompile(`^(/var)?/tmp/([^.][^/]*/)*[^.][^/]*$|^/(app|src|build|code|out|dist|workspace|go|opt|usr|lib|lib64)/`)
	installed   = regexp.MustCompile(`^~/(go/bin|\.local/(bin|share)|\.cargo/bin|\.pyenv|\.nvm|\.rbenv|\.deno/bin|\.bun/bin|\.npm\S*|\.volta|\.asdf|\.ghcup|bin|[A-Za-z][^/]*)/\S+$`)
)

var (
	packageName = regexp.MustCompile(`^@?[\w.-]+(/[\w.-]+)?(@[\w.^~-]+)?$`)
	versions    = regexp.MustCompile(`-\d+(\.\d+)*$`)
	crossed     = regexp.MustCompile(`^[a-z0-9_]+-[a-z0-9_]+-[a-z0-9_-]+-(gcc|g\+\+|clang|ld|ar|as|strip|objdump|objcopy|nm|ranlib|readelf|size|gdb)$`)
)

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// plainMarks writes what is not known as one word.
func plainMarks(s string) string {
	return strings.NewReplacer(telling, computed, readMark, "", secretMark, "").Replace(s)
}
