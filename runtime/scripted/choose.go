package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dure/inference"
)

// Asked is what a request was understood as.
type Asked struct {
	Agent string
	Role  string // "" where the system's text does not say
	Task  string // the slug
	Part  string // that answers
	Turn  int    // of the conversation, from 1
	Aside bool   // an answer out of turn
}

var (
	roleLine = regexp.MustCompile(`(?im)^role:[ \t]*(\w+)|\byou are (?:a |an |the )?(lead|planner|worker|judge|merger)\b`)
	taskLine = regexp.MustCompile(`(?m)^task:[ \t]*(\S+)[ \t]*$`)
)

// reading is a request as scripts look at it: the stretch of the conversation that is
// about the task the agent has now.
type reading struct {
	agent, role, system, task, slug string
	answers                         int // in the whole conversation
	// said is what was said after each answer of the stretch, oldest first; questions
	// are what a user asked right before each.
	said, questions []string
	// question is the last message, where a user wrote it.
	question string

	since []string // said after the last answer
}

func read(req *inference.Request) reading {
	r := reading{agent: req.Caller.Agent}
	var system []string
	for _, m := range req.Messages {
		switch m.Role {
		case inference.RoleSystem:
			system = append(system, m.Content)
		case inference.RoleAssistant:
			r.answer()
		default:
			r.hear(m)
		}
	}
	r.close()
	r.system = strings.Join(system, "\n")
	if m := roleLine.FindStringSubmatch(r.system); m != nil {
		r.role = strings.ToLower(m[1] + m[2])
	}
	return r
}

// answer begins a new turn of the stretch.
func (r *reading) answer() {
	r.close()
	r.answers++
	r.questions, r.since, r.question = append(r.questions, r.question), nil, ""
}

// close puts what was said to the answer that it followed, or to the task.
func (r *reading) close() {
	text := strings.Join(r.since, "\n")
	if len(r.questions) == 0 {
		r.task = text
		if m := taskLine.FindStringSubmatch(text); m != nil {
			r.slug = m[1]
		}
		return
	}
	r.said = append(r.said, text)
}

// hear takes a message that is no answer. A user's with the line of another task begins
// a new stretch: an agent may get several in one conversation.
func (r *reading) hear(m inference.Message) {
	r.question = ""
	if m.Role == inference.RoleUser {
		r.question = m.Content
		if line := taskLine.FindStringSubmatch(m.Content); line != nil && line[1] != r.slug && len(r.questions) > 0 {
			r.said, r.questions, r.since = nil, nil, nil
		}
	}
	r.since = append(r.since, m.Content)
}

func (p *part) fits(r reading) bool {
	return (p.Agent == "" || p.Agent == r.agent) &&
		(p.Role == "" || p.Role == r.role) &&
		(p.Task == "" || p.Task == r.slug) &&
		(p.system == nil || p.system.MatchString(r.system)) &&
		(p.match == nil || p.match.MatchString(r.task))
}

// choose says what answers a request.
func (g *program) choose(req *inference.Request) (Asked, *turn, error) {
	r := read(req)
	a := Asked{Agent: r.agent, Role: r.role, Task: r.slug, Turn: r.answers + 1}
	i := slices.IndexFunc(g.parts, func(p *part) bool { return p.fits(r) })
	if i < 0 {
		return a, nil, inference.Errorf(inference.CodeInvalidRequest,
			"the script has no part for agent %q, role %q, task %q, whose task begins %.120q", r.agent, r.role, r.slug, r.task)
	}
	p := g.parts[i]
	a.Part = p.Name
	if text, ok := p.aside(r.question); ok {
		a.Aside = true
		return a, &turn{Turn: Turn{Text: text}, latency: p.turns[0].latency}, nil
	}
	at := 0
	for k, said := range r.said {
		if _, ok := p.aside(r.questions[k]); ok {
			continue
		}
		if at >= len(p.turns) {
			break
		}
		at = p.turns[at].after(at, said)
	}
	if at >= len(p.turns) {
		return a, nil, inference.Errorf(inference.CodeInvalidRequest,
			"part %s of the script has no turn after %d answers; the last thing said to %q was %.200q", p.Name, len(r.said), r.agent, r.said[len(r.said)-1])
	}
	return a, p.fill(p.turns[at], r, a.Turn), nil
}

func (p *part) aside(question string) (string, bool) {
	for _, a := range p.asides {
		if question != "" && a.match.MatchString(question) {
			return a.text, true
		}
	}
	return "", false
}

// after is the turn that follows turn i once something was said.
func (t *turn) after(i int, said string) int {
	for _, n := range t.next {
		if n.fits == nil || n.fits.MatchString(said) {
			return n.to
		}
	}
	return i + 1
}

// fill replaces names by what they are in a conversation.
func (p *part) fill(t *turn, r reading, number int) *turn {
	if !p.Fill {
		return t
	}
	values := map[string]string{"agent": r.agent, "task": r.slug, "turn": strconv.Itoa(number)}
	if p.match != nil {
		m := p.match.FindStringSubmatch(r.task)
		for i, name := range p.match.SubexpNames() {
			if name != "" {
				values[name] = m[i]
			}
		}
	}
	put := func(text string) string {
		return blank.ReplaceAllStringFunc(text, func(m string) string { return values[strings.Trim(m, "{}")] })
	}
	f := *t
	f.Think, f.Text, f.Garbage = put(t.Think), put(t.Text), put(t.Garbage)
	f.Calls = slices.Clone(t.Calls)
	for i, c := range f.Calls {
		f.Calls[i].Raw, f.Calls[i].Arguments = put(c.Raw), nil
		for name, text := range c.Arguments {
			if f.Calls[i].Arguments == nil {
				f.Calls[i].Arguments = map[string]string{}
			}
			f.Calls[i].Arguments[name] = put(text)
		}
	}
	return &f
}

// offered refuses calls that a request has no tool for.
func (t *turn) offered(req *inference.Request) error {
	for _, c := range t.Calls {
		known := slices.ContainsFunc(req.Tools, func(o inference.Tool) bool { return o.Name == c.Tool })
		if c.Stray || known && req.ToolChoice.Mode != inference.ToolNone {
			continue
		}
		names := make([]string, len(req.Tools))
		for i, o := range req.Tools {
			names[i] = o.Name
		}
		return inference.Errorf(inference.CodeInvalidRequest, "the script calls %q, which the request does not offer; it offers %s. stray: true in the call means it",
			c.Tool, orNothing(strings.Join(names, ", ")))
	}
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// answer is the message that a turn becomes in a conversation.
func (t *turn) answer(id string) inference.Message {
	m := inference.Message{Role: inference.RoleAssistant, Content: t.Text + t.Garbage, Reasoning: t.Think}
	for i, c := range t.Calls {
		m.ToolCalls = append(m.ToolCalls, inference.ToolCall{ID: fmt.Sprintf("call_%s_%d", id, i), Name: c.Tool, Arguments: c.arguments()})
	}
	return m
}

// compact is a JSON text without spaces between its tokens; another text stays.
func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}
