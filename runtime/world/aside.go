package world

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/inference"
	"dure/runtime/agent"
	"dure/runtime/event"
	"dure/runtime/swarm"
)

// Asked is a question to an agent beside its work, and what it said.
type Asked struct {
	By       string          `json:"by"`
	Thread   string          `json:"thread"`
	Question string          `json:"question"`
	Answer   string          `json:"answer"`
	Usage    inference.Usage `json:"usage"`
}

// Aside is the type of agent.aside, in the stream "asides/NAME": the agent's own
// conversation knows nothing of it.
var Aside = event.MustRegister[Asked](registry, "agent.aside", 1)

// ErrNobody: no such agent has begun to work.
var ErrNobody = errors.New("no such agent has worked yet")

// Ask puts a question to an agent as it stands, in one turn, and leaves its conversation
// as it is: what the agent knows of the question afterwards is nothing.
func (w *World) Ask(ctx context.Context, by, name, question string) (string, error) {
	a, err := w.ask(ctx, by, name, question)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", name, err)
	}
	return a, nil
}

func (w *World) ask(ctx context.Context, by, name, question string) (string, error) {
	role, thread, err := w.lastThread(ctx, name)
	if err != nil {
		return "", err
	}
	s, err := agent.Load(ctx, w.Log, name, thread)
	if err != nil {
		return "", err
	}
	messages := s.Messages()
	for _, c := range s.Pending() {
		messages = append(messages, inference.Message{Role: inference.RoleTool, Name: c.Name, ToolCallID: c.ID, Content: "[under way]"})
	}
	messages = append(messages, inference.Message{Role: inference.RoleUser, Content: "The person who owns this machine asks you, beside your work. Answer in words, and call no tool:\n" + quoted(question)})
	asked := Asked{By: by, Thread: thread, Question: question}
	var said strings.Builder
	for e, err := range w.Model(role).Generate(ctx, &inference.Request{
		ID: fmt.Sprintf("%s-aside", name), Messages: messages, Params: w.Params(role),
		Caller: inference.Caller{Agent: name, Priority: inference.PriorityInteractive},
	}) {
		if err != nil {
			return "", err
		}
		if e.Kind == inference.EventText {
			said.WriteString(e.Text)
		}
		if e.Kind == inference.EventDone && e.Usage != nil {
			asked.Usage = *e.Usage
		}
	}
	asked.Answer = strings.TrimSpace(said.String())
	e, err := Aside.New(asked)
	if err != nil {
		return "", err
	}
	_, err = w.Log.Append(ctx, "asides/"+name, event.Any, e)
	return asked.Answer, err
}

// lastThread is the thread that an agent has begun last.
func (w *World) lastThread(ctx context.Context, name string) (role swarm.Role, thread string, err error) {
	for e, err := range w.Log.Read(ctx, swarm.Stream, 0) {
		if err != nil {
			return role, thread, err
		}
		if e.Type != swarm.Events.Leased.Name() {
			continue
		}
		l, err := swarm.Events.Leased.Decode(e)
		if err != nil {
			return role, thread, err
		}
		if l.Agent != name {
			continue
		}
		at := threadName(l.Task, l.Epoch)
		last, err := w.Log.Last(ctx, agent.Stream(name, at))
		if err != nil {
			return role, thread, err
		}
		if last > 0 {
			role, thread = l.Role, at
		}
	}
	if thread == "" {
		return role, thread, ErrNobody
	}
	return role, thread, nil
}
