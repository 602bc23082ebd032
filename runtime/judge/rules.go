package judge

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"dure/runtime/tool"
)

//go:embed rules.yaml
var builtin []byte

// Rules decide by data. A Rules is read-only once it is made.
type Rules struct {
	rules []rule
}

// Builtin are the rules that dure comes with.
func Builtin() (*Rules, error) { return Parse(builtin) }

// document is a file of rules.
type document struct {
	// Sets name lists that rules refer to as $name.
	Sets  map[string][]string `yaml:"sets"`
	Rules []source            `yaml:"rules"`
}

// source is a rule as it is written.
type source struct {
	Name   string  `yaml:"name"`
	Class  string  `yaml:"class"`
	Action string  `yaml:"action"` // block or refuse
	Why    string  `yaml:"why"`
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
	Hidden  bool     `yaml:"hidden"`  // it was found only by decoding
	Local   bool     `yaml:"local"`   // all hosts that it names are this machine, and there is one
}

type rule struct {
	source
	match, unless []matcher
}

type matcher struct {
	match
	full, arg, line, path, write, set, code, text *regexp.Regexp
}

// Parse reads rules. The error names the rule and the field at fault.
func Parse(data []byte) (*Rules, error) {
	var doc document
	if err := yaml.UnmarshalWithOptions(data, &doc, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	r := &Rules{}
	names := map[string]bool{}
	for i, s := range doc.Rules {
		if s.Name == "" || s.Why == "" || s.Class == "" || len(s.Match) == 0 || names[s.Name] {
			return nil, fmt.Errorf("rules: rule %d (%s): needs a name of its own, class, why and match", i+1, s.Name)
		}
		if s.Action != "block" && s.Action != "refuse" {
			return nil, fmt.Errorf("rules: %s: action %q; it can be block or refuse", s.Name, s.Action)
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
			{"set", m.Set, &c.set}, {"code", m.Code, &c.code}, {"text", m.Text, &c.text}} {
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
		in(m.From, a.from) && in(m.To, a.to) && (!m.Hidden || a.hidden) && (!m.Local || local(a.line())) &&
		(m.full == nil || m.full.MatchString(a.full)) && anyOf(m.arg, a.args) && (m.line == nil || m.line.MatchString(a.line())) &&
		(m.path == nil || anyOf(m.path, a.paths())) && anyOf(m.write, cleaned(a.writes)) && anyOf(m.set, a.sets) &&
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

// hosts of addresses in a line.
var hosts = regexp.MustCompile(`(?i)\b[a-z]+://([^/\s:?#]+)|\b((?:[a-z0-9-]+\.)+[a-z]{2,})(?:[:/\s]|$)`)

// local says whether a line names hosts, and all of them are this machine.
func local(line string) bool {
	found := false
	for _, h := range hosts.FindAllStringSubmatch(line, -1) {
		switch name := strings.ToLower(h[1]); {
		case name == "localhost", strings.HasPrefix(name, "127."), name == "[", name == "0.0.0.0", name == "host.docker.internal":
			found = true
		case name == "" && fileName.MatchString(h[2]):
		default:
			return false
		}
	}
	return found || !strings.Contains(line, "://") && bareLocal.MatchString(line)
}

// fileName are names with dots that are files rather than hosts.
var fileName = regexp.MustCompile(`\.(json|ya?ml|txt|md|go|py|js|ts|html?|xml|csv|sh|toml|env|log|bin|gz|tgz|zip|out|lock|cfg|conf|ini|png|jpe?g)$`)

var bareLocal = regexp.MustCompile(`\s(localhost|127(\.\d+){3}|0\.0\.0\.0)([:/ ]|$)`)

// Finding is what the rules say of a call.
type Finding struct {
	// Action is "allow", "refuse", "block", or "open" where the rules cannot say.
	Action string
	Rule   string
	Class  string
	Why    string
}

// Look finds what speaks against a call; the worst counts. What the agent thought does
// not: it is judged by what it does.
func (r *Rules) Look(call tool.Call) (f Finding) {
	defer func() {
		// A command that breaks its reader is one that nobody has read.
		if broken := recover(); broken != nil {
			f = Finding{Action: "refuse", Rule: "unreadable", Class: "form", Why: "the command cannot be read"}
		}
	}()
	acts, err := acts(call)
	if err != nil {
		return Finding{Action: "refuse", Rule: "unreadable", Class: "form", Why: fmt.Sprintf("%.300s", err.Error())}
	}
	return r.worst(acts)
}

// LookThrough is Look that reads also what the agent thought before the call.
func (r *Rules) LookThrough(call tool.Call) Finding {
	thought := r.worst([]act{{program: "reasoning", tool: "reasoning", text: call.Reasoning}})
	if f := r.Look(call); f.Action == "block" || thought.Action == "allow" {
		return f
	}
	return thought
}

func (r *Rules) worst(acts []act) Finding {
	found := Finding{Action: "allow"}
	for i := range acts {
		for j := range r.rules {
			rule := &r.rules[j]
			if found.Action == "block" || found.Action == "refuse" && rule.Action == "refuse" || !rule.fits(&acts[i]) {
				continue
			}
			found = Finding{Action: rule.Action, Rule: rule.Name, Class: rule.Class, Why: rule.Why}
		}
		if found.Action == "allow" && open(acts[i].program) {
			found = Finding{Action: "open", Rule: "unknown-program", Why: "what it runs is known only when it runs"}
		}
	}
	return found
}

// fields of tools that hold a command, a file's name, or text.
var commandFields = []string{"command", "cmd", "script", "check"}
var pathFields = []string{"path", "file", "file_path", "filename", "directory", "folder"}

// acts are what a call would do.
func acts(call tool.Call) ([]act, error) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(call.Arguments), &fields); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	a := act{program: "tool:" + call.Tool, full: call.Tool, tool: call.Tool}
	var all []act
	for _, name := range sortedKeys(fields) {
		text := flat(fields[name])
		switch {
		case slices.Contains(commandFields, name):
			script, err := readScript(call.Tool, text)
			if err != nil {
				return nil, err
			}
			all = append(all, script...)
			all = append(all, encodedWithin(call.Tool, text)...)
			// The words as they stand, comments and documents among them.
			all = append(all, act{program: "words", tool: call.Tool, text: text})
		case slices.Contains(pathFields, name):
			a.args = append(a.args, text)
			if call.Tool == "write" || call.Tool == "edit" {
				a.writes = append(a.writes, text)
			}
		default:
			a.text += text + "\n"
		}
	}
	return append(all, a), nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// flat is a value as text: all texts within it.
func flat(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, flat(e))
		}
		return strings.Join(all, "\n")
	case map[string]any:
		var all []string
		for _, k := range sortedKeys(v) {
			all = append(all, flat(v[k]))
		}
		return strings.Join(all, "\n")
	}
	return fmt.Sprint(v)
}

// Judge implements tool.Judge by the rules alone: what they leave open is allowed,
// and the sandbox holds.
func (r *Rules) Judge(_ context.Context, call tool.Call) (tool.Verdict, error) {
	return r.Look(call).verdict(), nil
}

func (f Finding) verdict() tool.Verdict {
	v := tool.Verdict{Decision: tool.Allow, By: "rules", Rule: f.Rule, Reason: f.Why}
	switch f.Action {
	case "refuse":
		v.Decision = tool.Refuse
	case "block":
		v.Decision = tool.Block
	}
	return v
}
