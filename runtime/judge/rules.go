package judge

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed rules.yaml
var builtin []byte

// Rules decide by data. A Rules is read-only once it is made.
type Rules struct {
	rules []rule
	src   sources
	known *ordinary
}

// Builtin are the rules that dure comes with.
func Builtin() (*Rules, error) { return Parse(builtin, nil) }

// BuiltinWith are the rules that dure comes with, for a team that names its own places:
// globs (** stands for any folders) by the names that rules.yaml gives under places,
// such as check and tests. A list takes the place of the one in rules.yaml.
func BuiltinWith(places map[string][]string) (*Rules, error) { return Parse(builtin, places) }

// document is a file of rules.
type document struct {
	// Sets name lists that rules refer to as $name.
	Sets map[string][]string `yaml:"sets"`
	// Places name lists of globs that expressions refer to as {{name}}.
	Places  map[string][]string `yaml:"places"`
	Sources sources             `yaml:"sources"`
	Rules   []source            `yaml:"rules"`
}

// source is a rule as it is written.
type source struct {
	Name   string `yaml:"name"`
	Class  string `yaml:"class"`
	Action string `yaml:"action"` // block, refuse, or note
	Why    string `yaml:"why"`
	// Setup: scripts that set machines up do it, so it may be written into one.
	Setup  bool    `yaml:"setup"`
	Match  []match `yaml:"match"`
	Unless []match `yaml:"unless"`
}

// match is a condition on one act: all that is given must hold.
type match struct {
	Tool    []string `yaml:"tool"`    // the tool that was called
	Program []string `yaml:"program"` // the program's name
	Full    string   `yaml:"full"`    // expression for the program as it was written
	Through []string `yaml:"through"` // one of the wrappers before it
	From    []string `yaml:"from"`    // one of the programs whose output it reads
	To      []string `yaml:"to"`      // one of those that read its output
	Arg     string   `yaml:"arg"`     // expression for one argument
	Line    string   `yaml:"line"`    // expression for program and arguments
	Path    string   `yaml:"path"`    // expression for one of the files it names
	Write   string   `yaml:"write"`   // expression for one of the files it writes to by redirection
	Set     string   `yaml:"set"`     // expression for one of the variables set: NAME=value
	Code    string   `yaml:"code"`    // expression for the code an interpreter is given
	Text    string   `yaml:"text"`    // expression for content that is written or said
	Old     string   `yaml:"old"`     // expression for content that is replaced
	Read    string   `yaml:"read"`    // expression for one of the files it is given as input
	Secret  bool     `yaml:"secret"`  // a secret is among what it is given
	Leaks   bool     `yaml:"leaks"`   // a secret was put into the workspace before it
	Hidden  bool     `yaml:"hidden"`  // it was found only by decoding
	Local   bool     `yaml:"local"`   // all hosts that it names are this machine, and there is one
}

type rule struct {
	source
	match, unless []matcher
}

type matcher struct {
	match
	full, arg, line, path, write, set, code, text, old, read *regexp.Regexp
}

// Parse reads rules; places take the place of those in data. The error names the rule
// and the field at fault.
func Parse(data []byte, places map[string][]string) (*Rules, error) {
	var doc document
	if err := yaml.UnmarshalWithOptions(data, &doc, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	if err := doc.place(places); err != nil {
		return nil, err
	}
	r := &Rules{src: doc.Sources}
	if err := r.src.compile(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	var err error
	if r.known, err = parseOrdinary(ordinaryData, &r.src, doc.Sets); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i, s := range doc.Rules {
		if s.Name == "" || s.Why == "" || s.Class == "" || len(s.Match) == 0 || names[s.Name] {
			return nil, fmt.Errorf("rules: rule %d (%s): needs a name of its own, class, why and match", i+1, s.Name)
		}
		if s.Action != "block" && s.Action != "refuse" && s.Action != "note" {
			return nil, fmt.Errorf("rules: %s: action %q; it can be block or refuse or note", s.Name, s.Action)
		}
		names[s.Name] = true
		compiled := rule{source: s}
		var err error
		if compiled.match, err = compile(s.Match, doc.Sets); err == nil {
			compiled.unless, err = compile(s.Unless, doc.Sets)
		}
		if err != nil {
			return nil, fmt.Errorf("rules: %s: %w", s.Name, err)
		}
		r.rules = append(r.rules, compiled)
	}
	return r, nil
}

func compile(list []match, sets map[string][]string) ([]matcher, error) {
	var all []matcher
	for _, m := range list {
		c := matcher{match: m}
		for name, field := range map[string]*[]string{"tool": &c.Tool, "program": &c.Program, "through": &c.Through, "from": &c.From, "to": &c.To} {
			resolved, err := resolve(*field, sets)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			*field = resolved
		}
		for _, e := range []struct {
			name, text string
			to         **regexp.Regexp
		}{{"full", m.Full, &c.full}, {"arg", m.Arg, &c.arg}, {"line", m.Line, &c.line}, {"path", m.Path, &c.path}, {"write", m.Write, &c.write},
			{"set", m.Set, &c.set}, {"code", m.Code, &c.code}, {"text", m.Text, &c.text}, {"old", m.Old, &c.old}, {"read", m.Read, &c.read}} {
			if e.text == "" {
				continue
			}
			x, err := regexp.Compile(interpolate(e.text, sets))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			*e.to = x
		}
		all = append(all, c)
	}
	return all, nil
}

func resolve(names []string, sets map[string][]string) ([]string, error) {
	var all []string
	for _, n := range names {
		set, ok := strings.CutPrefix(n, "$")
		if !ok {
			all = append(all, n)
			continue
		}
		if sets[set] == nil {
			return nil, fmt.Errorf("no set %q", set)
		}
		all = append(all, sets[set]...)
	}
	return all, nil
}

// interpolate puts sets into expressions: {{name}} becomes (?:a|b|c).
func interpolate(text string, sets map[string][]string) string {
	for name, set := range sets {
		text = strings.ReplaceAll(text, "{{"+name+"}}", "(?:"+strings.Join(set, "|")+")")
	}
	return text
}

// fits says whether an act meets a condition.
func (m *matcher) fits(a *act) bool {
	in := func(wanted, have []string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(have, w) })
	}
	anyOf := func(x *regexp.Regexp, have []string) bool {
		return x == nil || slices.ContainsFunc(have, x.MatchString)
	}
	return in(m.Tool, []string{a.tool}) && in(m.Program, []string{a.program, versionless(a.program)}) && in(m.Through, a.through) &&
		in(m.From, a.from) && in(m.To, a.to) && (!m.Hidden || a.hidden) && (!m.Local || localAct(a)) &&
		(m.full == nil || m.full.MatchString(a.full)) && anyOf(m.arg, a.args) && (m.line == nil || m.line.MatchString(a.line())) &&
		(m.path == nil || anyOf(m.path, a.paths())) && anyOf(m.write, cleaned(a.writes)) && anyOf(m.set, a.sets) &&
		(!m.Secret || a.secret) && (!m.Leaks || a.leaks) && anyOf(m.read, a.reads) && (m.old == nil || m.old.MatchString(a.old)) &&
		(m.code == nil || m.code.MatchString(a.code)) && (m.text == nil || m.text.MatchString(a.text))
}

func cleaned(paths []string) []string {
	all := make([]string, len(paths))
	for i, p := range paths {
		all[i] = clean(p)
	}
	return all
}

func (r *rule) fits(a *act) bool {
	return slices.ContainsFunc(r.match, func(m matcher) bool { return m.fits(a) && !r.excused(a, &m) })
}

// excused says whether an exception holds. One about a path is about each path that was
// met: a key beside a harmless file is still a key.
func (r *rule) excused(a *act, m *matcher) bool {
	return slices.ContainsFunc(r.unless, func(u matcher) bool {
		if !u.fits(a) {
			return false
		}
		if u.path == nil || m.path == nil {
			return true
		}
		return !slices.ContainsFunc(a.paths(), func(p string) bool { return m.path.MatchString(p) && !u.path.MatchString(p) })
	})
}
