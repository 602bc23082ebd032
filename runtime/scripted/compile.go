package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// blank is a place that fill fills.
var blank = regexp.MustCompile(`\{\{([a-zA-Z]\w*)\}\}`)

// program is a checked script.
type program struct {
	name    string
	parts   []*part
	latency time.Duration
}

type part struct {
	Part
	system, match *regexp.Regexp // nil: anything
	turns         []*turn
	asides        []aside
}

type turn struct {
	Turn
	next    []next
	latency time.Duration
}

type next struct {
	fits *regexp.Regexp // nil: always
	to   int
}

type aside struct {
	match *regexp.Regexp
	text  string
}

func compile(s *Script) (*program, error) {
	p := &program{name: s.Name, latency: or(s.Latency, DefaultLatency)}
	if p.name == "" {
		p.name = "scripted"
	}
	switch c := s.Cache; {
	case s.Sequences < 0 || s.Queue < 0:
		return nil, fmt.Errorf("sequences %d, queue %d: must not be below 0", s.Sequences, s.Queue)
	case s.Queue > 0 && s.Sequences == 0:
		return nil, errors.New("queue without sequences: nobody would ever wait")
	case c != nil && (c.Slots < 1 || c.Bytes < 0 || c.KVBytes < 0 || c.StateBytes < 0):
		return nil, fmt.Errorf("cache %+v: it needs a slot, and nothing below 0", *c)
	case len(s.Parts) == 0:
		return nil, errors.New("it has no parts: write what each agent says")
	}
	seen := map[string]bool{}
	for i := range s.Parts {
		name := s.Parts[i].Name
		if name == "" || seen[name] {
			return nil, fmt.Errorf("part %d: the name %q is empty or there twice", i+1, name)
		}
		seen[name] = true
		q, err := compilePart(&s.Parts[i], p.latency)
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", name, err)
		}
		p.parts = append(p.parts, q)
	}
	return p, nil
}

func or(d *Duration, other time.Duration) time.Duration {
	if d == nil {
		return other
	}
	return time.Duration(*d)
}

func compilePart(p *Part, latency time.Duration) (*part, error) {
	q := &part{Part: *p}
	if p.Role != "" && !slices.Contains(roles, p.Role) {
		return nil, fmt.Errorf("role %q: it is one of %s", p.Role, strings.Join(roles, ", "))
	}
	if p.Agent+p.Role+p.Task+p.System+p.Match == "" {
		return nil, errors.New("it fits every agent: give it an agent, role, task, system or match")
	}
	var err error
	if q.system, err = expression("system", p.System); err != nil {
		return nil, err
	}
	if q.match, err = expression("match", p.Match); err != nil {
		return nil, err
	}
	for i, a := range p.Asides {
		m, err := expression("match", a.Match)
		if err != nil || m == nil || a.Text == "" {
			return nil, fmt.Errorf("aside %d: it needs match and text (%w)", i+1, orNone(err))
		}
		q.asides = append(q.asides, aside{m, a.Text})
	}
	if len(p.Turns) == 0 {
		return nil, errors.New("it has no turns")
	}
	names := map[string]int{}
	for i, t := range p.Turns {
		if _, twice := names[t.Name]; twice && t.Name != "" {
			return nil, fmt.Errorf("turn %d: there is a turn %q already", i+1, t.Name)
		}
		names[t.Name] = i
	}
	for i := range p.Turns {
		t, err := compileTurn(&p.Turns[i], names, or(p.Latency, latency))
		if err == nil {
			err = q.checkFill(t)
		}
		if err != nil {
			return nil, fmt.Errorf("turn %d %s: %w", i+1, p.Turns[i].Name, err)
		}
		q.turns = append(q.turns, t)
	}
	return q, nil
}

var errIncomplete = errors.New("something is missing")

func orNone(err error) error {
	if err == nil {
		return errIncomplete
	}
	return err
}

func expression(key, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	r, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return r, nil
}

func compileTurn(t *Turn, names map[string]int, latency time.Duration) (*turn, error) {
	c := &turn{Turn: *t, latency: or(t.Latency, latency)}
	if t.Think == "" && t.Text == "" && t.Garbage == "" && len(t.Calls) == 0 {
		return nil, errors.New("it says nothing: give it text, calls or garbage")
	}
	if t.Garbage != "" && len(t.Calls) > 0 {
		return nil, errors.New("it has calls and garbage: an answer has one of them")
	}
	for i, call := range t.Calls {
		if call.Tool == "" || call.Raw != "" && len(call.Arguments) > 0 {
			return nil, fmt.Errorf("call %d: it needs a tool, and arguments or raw, not both", i+1)
		}
	}
	for i, n := range t.Next {
		fits, err := expression("if", n.If)
		if err != nil {
			return nil, err
		}
		to, ok := names[n.Go]
		if n.Go == "" || !ok {
			return nil, fmt.Errorf("next %d: there is no turn %q to go to", i+1, n.Go)
		}
		if fits == nil && i < len(t.Next)-1 {
			return nil, fmt.Errorf("next %d always fits: those behind it are never looked at", i+1)
		}
		c.next = append(c.next, next{fits, to})
	}
	return c, t.Fault.check()
}

func (f *Fault) check() error {
	if f == nil {
		return nil
	}
	given := map[string]bool{"for": f.For != nil, "status": f.Status != 0, "retry_after": f.RetryAfter != nil}
	may := map[FaultKind][]string{Stall: {"for"}, Error: {"status", "retry_after"}, Busy: {"retry_after"}, Cut: {}}
	allowed, ok := may[f.Kind]
	if !ok {
		return fmt.Errorf("fault %q: it is stall, error, busy or cut", f.Kind)
	}
	for key, there := range given {
		if there && !slices.Contains(allowed, key) {
			return fmt.Errorf("fault %s: it takes no %s", f.Kind, key)
		}
	}
	if f.Status != 0 && (f.Status < 500 || f.Status > 599) || f.Times < 0 {
		return fmt.Errorf("fault %s: status %d, times %d: a status is 500 to 599, times not below 0", f.Kind, f.Status, f.Times)
	}
	if f.RetryAfter != nil && time.Duration(*f.RetryAfter)%time.Second != 0 {
		return fmt.Errorf("fault %s: retry_after %v: HTTP knows whole seconds", f.Kind, time.Duration(*f.RetryAfter))
	}
	return nil
}

// checkFill refuses names that nothing could be filled in for.
func (p *part) checkFill(t *turn) error {
	if !p.Fill {
		return nil
	}
	known := []string{"agent", "task", "turn"}
	if p.match != nil {
		for _, name := range p.match.SubexpNames() {
			if name != "" {
				known = append(known, name)
			}
		}
	}
	texts := []string{t.Think, t.Text, t.Garbage}
	for _, c := range t.Calls {
		texts = append(texts, c.arguments())
	}
	for _, text := range texts {
		if u := unknownFill(text, known); u != "" {
			return fmt.Errorf("{{%s}}: there is %s to fill in", u, strings.Join(known, ", "))
		}
	}
	return nil
}

// arguments is the text of a call's arguments.
func (c Call) arguments() string {
	if c.Raw != "" {
		return c.Raw
	}
	if c.Arguments == nil {
		return "{}"
	}
	b, err := json.Marshal(c.Arguments) // by name, so that the text is always the same
	if err != nil {
		panic(err) // texts always have one
	}
	return string(b)
}
