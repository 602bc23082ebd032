package responder

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"dure/audio/turn"
	"dure/audio/voice"
	"dure/inference"
)

const (
	// mostRounds of calls in one turn.
	mostRounds = 6
	// mostArguments of one call, in bytes.
	mostArguments = 16 << 10
	// mostFacts is how much of a tool's result a model is told, in characters.
	mostFacts = 8000
)

// speaker is what the model of a lead agent's voice must know.
const speaker = `You are the voice of a team of agents, and speak for its lead. Facts about the team come from the tools only: look before you answer, and never guess a figure. To give work to the team use give_work; to hear from one agent use ask. To stop anything use stop: the person is then asked whether they mean it.`

func object(properties, required string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
}

// leadTools are what the model may do.
var leadTools = []inference.Tool{
	{Name: "status", Description: "How the run stands now: tasks, agents, open questions.", Parameters: object("", "")},
	{Name: "ask", Description: "Ask one agent something beside its work.", Parameters: object(`"agent":{"type":"string"},"question":{"type":"string"}`, `"agent","question"`)},
	{Name: "give_work", Description: "Give the lead agent, or a named one, something to do. The person then hears about progress.", Parameters: object(`"text":{"type":"string"},"agent":{"type":"string","description":"empty for the lead"}`, `"text"`)},
	{Name: "approve_plan", Description: "Let the workers start on the plan, when the person approves it.", Parameters: object("", "")},
	{Name: "answer_question", Description: "Answer an open question of the team in the person's words.", Parameters: object(`"question":{"type":"string","description":"its id, such as q1"},"text":{"type":"string"}`, `"question","text"`)},
	{Name: "follow", Description: "Tell the person about progress until the team has finished.", Parameters: object("", "")},
	{Name: "stop", Description: "Stop a task, or with no task the whole run. The person is asked first.", Parameters: object(`"task":{"type":"string","description":"its id or title"}`, "")},
}

// thinking is the fast loop of one turn.
type thinking struct {
	*answering
	messages []inference.Message
	facts    strings.Builder // all that tools said in this turn
	looked   bool            // a tool gave a fact
	follow   bool            // the turn stays open
	asked    bool            // the person was asked whether to stop
}

// think lets the model answer.
func (a *answering) think() error {
	if a.l.Model == nil {
		a.say(a.phrase("I can tell you how it is going, ask an agent, or stop the work.", "진행 상황을 알려 드리거나, 에이전트에게 묻거나, 작업을 멈출 수 있습니다."))
		return nil
	}
	model, release, err := a.l.Model.Open(a.ctx, a.r.Model)
	if err != nil {
		return err
	}
	defer release()
	r := a.r
	r.Instructions = strings.TrimSpace(speaker + "\n\n" + r.Instructions)
	t := &thinking{answering: a, messages: Messages(r)}
	for range mostRounds {
		text, calls, err := t.round(model)
		if err != nil {
			return err
		}
		if len(calls) == 0 {
			t.conclude(text)
			break
		}
		t.messages = append(t.messages, inference.Message{Role: inference.RoleAssistant, Content: text, ToolCalls: calls})
		for _, call := range calls {
			if t.clients(call) {
				return nil
			}
			t.messages = append(t.messages, inference.Message{Role: inference.RoleTool, ToolCallID: call.ID, Name: call.Name, Content: t.call(call)})
		}
		if t.asked || t.gone {
			return nil
		}
	}
	if t.follow && !t.gone {
		return a.watch()
	}
	return nil
}

// round is one answer of the model, whole: what it says about the team is looked at before
// it is spoken.
func (t *thinking) round(model inference.Model) (text string, calls []inference.ToolCall, err error) {
	req := t.l.Model.request(t.r)
	req.Messages, req.Tools = t.messages, append(append([]inference.Tool(nil), leadTools...), t.r.Tools...)
	var b strings.Builder
	at := map[int]int{}
	for e, err := range model.Generate(t.ctx, req) {
		if err != nil {
			return "", nil, err
		}
		switch e.Kind {
		case inference.EventText:
			b.WriteString(e.Text)
		case inference.EventToolCall:
			i, known := at[e.Call.Index]
			if !known {
				i = len(calls)
				at[e.Call.Index] = i
				calls = append(calls, inference.ToolCall{ID: e.Call.ID, Name: e.Call.Name})
			}
			if len(calls[i].Arguments)+len(e.Call.Arguments) <= mostArguments {
				calls[i].Arguments += e.Call.Arguments
			}
		case inference.EventDone:
			if e.Usage != nil {
				t.usage.PromptTokens += e.Usage.PromptTokens
				t.usage.CompletionTokens += e.Usage.CompletionTokens
				t.usage.CachedTokens += e.Usage.CachedTokens
			}
		}
	}
	return strings.TrimSpace(b.String()), calls, nil
}

// clients passes the call of a tool of the client on, which ends the turn.
func (t *thinking) clients(call inference.ToolCall) bool {
	for _, tool := range t.r.Tools {
		if tool.Name == call.Name {
			t.called = true
			t.send(voice.Delta{Call: &inference.ToolCallDelta{ID: call.ID, Name: call.Name, Arguments: call.Arguments}})
			return true
		}
	}
	return false
}

// conclude speaks what the model makes of the facts. A figure that no fact has is not
// spoken: the run's own are.
func (t *thinking) conclude(text string) {
	switch {
	case text == "":
		t.say(t.state.tell(t.language))
	case !grounded(text, t.facts.String()+" "+t.heard()):
		t.say(t.state.tell(t.language))
	default:
		if !t.looked && !strings.HasSuffix(text, "?") && !t.send(voice.Delta{Unverified: true}) {
			return
		}
		t.say(text)
	}
}

// heard is what the person said, whose figures may be repeated.
func (t *thinking) heard() string {
	out := t.said
	for i := range t.r.History {
		if t.r.History[i].Role == turn.User {
			out += " " + t.r.History[i].Text()
		}
	}
	return out
}

// call carries a call out and gives its result. What fails is told to the model.
func (t *thinking) call(call inference.ToolCall) string {
	var in struct{ Agent, Question, Text, Task string }
	if args := strings.TrimSpace(call.Arguments); args != "" {
		if err := json.Unmarshal([]byte(args), &in); err != nil {
			return "error: the arguments are no JSON object of texts"
		}
	}
	text, err := t.use(call.Name, in.Agent, in.Question, in.Text, in.Task)
	if err != nil {
		return "error: " + err.Error()
	}
	t.looked = true
	if r := []rune(text); len(r) > mostFacts {
		text = string(r[:mostFacts]) + " ... (cut)"
	}
	t.facts.WriteString(text + "\n")
	return text
}

func (t *thinking) use(tool, agent, question, text, task string) (string, error) {
	switch tool {
	case "status":
		return t.status(t.ctx)
	case "ask":
		who, err := t.agent(agent)
		if err != nil {
			return "", err
		}
		answer, err := t.question(who, question)
		return who + " says: " + answer, err
	case "give_work":
		who := ""
		if agent != "" {
			var err error
			if who, err = t.agent(agent); err != nil {
				return "", err
			}
		}
		if err := t.l.Team.Tell(t.ctx, who, text); err != nil {
			return "", err
		}
		if who == "" {
			who = t.state.lead()
		}
		t.follow = true
		return fmt.Sprintf("given to %s, who reads it before its next turn", who), nil
	case "approve_plan":
		t.follow = true
		return "the plan is approved", t.l.Team.Approve(t.ctx)
	case "answer_question":
		return "answered", t.l.Team.Answer(t.ctx, question, text)
	case "follow":
		t.follow = true
		return "the person will hear about progress", nil
	case "stop":
		return t.stopTool(task)
	}
	return "", fmt.Errorf("there is no tool %q", tool)
}

func (t *thinking) status(ctx context.Context) (string, error) {
	s, err := t.l.Team.State(ctx)
	if err != nil {
		return "", err
	}
	t.state = s
	return s.facts(), nil
}

func (t *thinking) agent(name string) (string, error) {
	if at := named(t.state.names(), name); at >= 0 {
		return t.state.Agents[at].Name, nil
	}
	return "", fmt.Errorf("there is no agent %q; there are %s", name, strings.Join(t.state.names(), ", "))
}

// stopTool asks the person; the model stops nothing.
func (t *thinking) stopTool(task string) (string, error) {
	if task == "" {
		t.asked = true
		t.confirm(nil)
		return "the person is asked", nil
	}
	found := t.state.task(task)
	if found == nil {
		if at := t.state.spokenTask(task); at >= 0 {
			found = &t.state.Tasks[at]
		}
	}
	if found == nil {
		return "", fmt.Errorf("there is no task %q", task)
	}
	t.asked = true
	t.confirm(found)
	return "the person is asked", nil
}

var numberWords = map[string]string{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "hundred": "100"}

// figures are the numbers of a text, in digits or as English words above one.
func figures(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if n, ok := numberWords[w]; ok {
			out[n] = true
		}
		for _, digits := range strings.FieldsFunc(w, func(r rune) bool { return !unicode.IsDigit(r) }) {
			out[digits] = true
		}
	}
	return out
}

// grounded reports whether every figure of a text is one of the facts'.
func grounded(text, facts string) bool {
	known := figures(facts)
	for n := range figures(text) {
		if !known[n] {
			return false
		}
	}
	return true
}
