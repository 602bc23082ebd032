package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"dure/inference"
	"dure/runtime/event"
	"dure/runtime/tool"
)

// Inbox gives an agent what others said to it, each message once or more often: those
// that were told already are passed over by their Ref.
type Inbox interface {
	// Next returns what came for an agent since it was asked last, at once.
	Next(ctx context.Context, agent string) ([]Told, error)
}

// Agent is what an agent works with.
type Agent struct {
	Born
	Model  inference.Model // behind the team's gate
	Guard  *tool.Guard
	Log    event.Log
	Inbox  Inbox // may be nil
	Params inference.Params
	// Choice says whether each answer has to call a tool: small models forget to.
	Choice   inference.ToolChoice
	Priority inference.Priority
	// Window is how many tokens the model takes in one request; 0: that is not known, and
	// a conversation is compacted when the model refuses it.
	Window int
	// MaxTurns bounds the turns of a round.
	MaxTurns int
	// Took, if it is not nil, hears of each turn once it is recorded.
	Took func(ctx context.Context, turn int)
	// Again, if its round is a later one than the log's, has an agent go on that ended.
	Again Again
	// Wait sleeps, but for ctx; a server without room says for how long.
	Wait func(ctx context.Context, d time.Duration) error
}

// maxCalls of one answer.
const maxCalls = 128

// maxQuiet is how many answers in a row may go without a call.
const maxQuiet = 3

// Run goes on from where the log says the agent is, to its end. Errors: ctx's,
// gate.ErrEnded, and failures of the log or the model that waiting does not mend; the
// agent can be run again after each of them.
func (a *Agent) Run(ctx context.Context) (Ended, error) {
	s, err := a.load(ctx)
	for err == nil {
		switch s.Next() {
		case StepBirth:
			s, err = record(ctx, a, s, Events.Born, a.Born)
		case StepCall:
			s, err = a.call(ctx, s)
		case StepAsk:
			s, err = a.ask(ctx, s)
		case StepClose:
			s, err = record(ctx, a, s, Events.Ended, Ended{Outcome: Done, Text: *s.done})
		case StepEnd:
			if a.Again.Round <= s.Round {
				return *s.Ended, nil
			}
			s, err = record(ctx, a, s, Events.Again, a.Again)
		}
	}
	return Ended{}, fmt.Errorf("agent %s: %w", a.Name, err)
}

func (a *Agent) load(ctx context.Context) (State, error) { return Load(ctx, a.Log, a.Name, a.Thread) }

// Load folds an agent's events of a thread, and the results that its calls have.
func Load(ctx context.Context, log event.Log, name, thread string) (State, error) {
	results := map[string]tool.Result{}
	for e, err := range log.Read(ctx, tool.Stream(name), 0) {
		if err != nil {
			return State{}, err
		}
		if e.Type != tool.Events.Ended.Name() {
			continue
		}
		ended, err := tool.Events.Ended.Decode(e)
		if err != nil {
			return State{}, err
		}
		results[ended.Call] = ended.Result()
	}
	var s State
	for e, err := range log.Read(ctx, Stream(name, thread), 0) {
		if err == nil {
			s, err = s.Apply(e)
		}
		if err != nil {
			return s, err
		}
		for len(s.pending) > 0 {
			r, ok := results[s.pending[0].ID]
			if !ok {
				break
			}
			s = s.Answer(r)
		}
	}
	return s, nil
}

// record appends an event and applies it. A second process that runs the same agent
// loses the race.
func record[T any](ctx context.Context, a *Agent, s State, kind event.Type[T], payload T) (State, error) {
	e, err := kind.New(payload)
	if err != nil {
		return s, err
	}
	if e.Sequence, err = a.Log.Append(ctx, Stream(a.Name, a.Thread), s.last, e); err != nil {
		return s, err
	}
	return s.Apply(e)
}

// call carries out the first pending call.
func (a *Agent) call(ctx context.Context, s State) (State, error) {
	c := s.pending[0]
	r, err := a.Guard.Run(ctx, tool.Call{Agent: a.Name, Turn: s.Turns, ID: c.ID, Tool: c.Name, Arguments: c.Arguments, Reasoning: s.thought})
	if err != nil {
		return s, err
	}
	return s.Answer(r), nil
}

// ask hears what others said, and then the model.
func (a *Agent) ask(ctx context.Context, s State) (State, error) {
	var err error
	if a.Inbox != nil {
		if s, err = a.hear(ctx, s); err != nil {
			return s, err
		}
	}
	switch {
	case s.Turns-s.before >= a.MaxTurns:
		return record(ctx, a, s, Events.Ended, Ended{Outcome: TooLong})
	case s.Quiet >= maxQuiet:
		return record(ctx, a, s, Events.Ended, Ended{Outcome: Silent})
	}
	if s.full(a.Window) {
		return record(ctx, a, s, Events.Compacted, Compacted{keepTurns})
	}
	t, err := a.answer(ctx, s)
	if errors.Is(err, inference.ErrContextExceeded) && s.compactable() {
		return record(ctx, a, s, Events.Compacted, Compacted{keepTurns})
	}
	if err != nil {
		return s, err
	}
	s, err = record(ctx, a, s, Events.Turned, t.bounded())
	if err == nil && a.Took != nil {
		a.Took(ctx, s.Turns)
	}
	return s, err
}

func (a *Agent) hear(ctx context.Context, s State) (State, error) {
	heard, err := a.Inbox.Next(ctx, a.Name)
	for _, t := range heard {
		if err == nil && !s.Told(t.Ref) {
			s, err = record(ctx, a, s, Events.Told, t)
		}
	}
	return s, err
}

// answer asks the model until it answers. What passes is waited for: a full queue, a
// runner that is started anew.
func (a *Agent) answer(ctx context.Context, s State) (Turned, error) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		t, err := a.generate(ctx, s)
		if err == nil || !passes(err) || ctx.Err() != nil {
			return t, err
		}
		var e *inference.Error
		if errors.As(err, &e) && e.RetryAfter > 0 {
			wait = e.RetryAfter
		}
		if err := a.Wait(ctx, wait); err != nil {
			return t, err
		}
	}
}

func passes(err error) bool {
	return errors.Is(err, inference.ErrQueueFull) || errors.Is(err, inference.ErrRunnerLost) || errors.Is(err, inference.ErrShuttingDown)
}

func (a *Agent) generate(ctx context.Context, s State) (Turned, error) {
	turn := s.Turns + 1
	t := Turned{Turn: turn, Model: a.Model.Info().Name}
	session := strings.TrimPrefix(Stream(a.Name, a.Thread), "agent/")
	var content, reasoning strings.Builder
	unread := "" // why none of the calls is carried out
	for e, err := range a.Model.Generate(ctx, &inference.Request{
		ID: fmt.Sprintf("%s-%d", session, turn), Messages: s.Messages(), Params: a.Params, Tools: a.Guard.Specs(), ToolChoice: a.Choice,
		Caller: inference.Caller{Session: session, Agent: a.Name, Parent: a.Parent, Priority: a.Priority, Next: inference.PhaseWaiting},
	}) {
		if err != nil {
			return t, err
		}
		switch e.Kind {
		case inference.EventText:
			content.WriteString(e.Text)
		case inference.EventReasoning:
			reasoning.WriteString(e.Text)
		case inference.EventToolCall:
			if unread == "" {
				unread = t.refuses(e.Call)
			}
			if unread == "" {
				t.add(a.Thread, e.Call)
			}
		case inference.EventDone:
			t.Finish, t.Proof = e.Finish, e.Proof
			for _, w := range e.Warnings {
				if w.Code == inference.CodeToolParse {
					t.Unread = w.Message
				}
			}
			if e.Usage != nil {
				t.Usage = *e.Usage
			}
		}
	}
	if t.Finish == "" {
		return t, errors.New("the model's answer has no end")
	}
	t.Content, t.Reasoning = content.String(), reasoning.String()
	if unread != "" {
		t.Calls, t.Proof, t.Unread = nil, nil, unread
	}
	return t, nil
}

// refuses says why a piece of a call cannot be taken. To ask again would bring the same
// answer, so that the model is told.
func (t *Turned) refuses(d *inference.ToolCallDelta) string {
	switch {
	case d == nil || d.Index < 0 || d.Index > len(t.Calls):
		return "its calls came out of order, and none was carried out"
	case d.Index >= maxCalls:
		return fmt.Sprintf("it has more than %d calls, and none was carried out; make a few at once, and see what they bring", maxCalls)
	}
	return ""
}

// bounded is the turn with no more than an event holds: the proof goes first, then the thinking, then
// the calls, which the agent is told to write again in parts.
func (t Turned) bounded() Turned {
	fits := func() bool {
		b, err := json.Marshal(t)
		return err == nil && len(b) <= event.MaxPayload
	}
	if !fits() {
		t.Proof = nil
	}
	if !fits() {
		t.Reasoning = ""
	}
	if !fits() {
		t.Calls, t.Unread = nil, "the answer is too large to be kept; do it in parts"
	}
	if !fits() {
		t.Content = ""
	}
	return t
}

// add takes a piece of a call. Calls get names of the agent's own, in letters that all
// models' endpoints take: a model's may repeat.
func (t *Turned) add(thread string, d *inference.ToolCallDelta) {
	for len(t.Calls) <= d.Index {
		t.Calls = append(t.Calls, inference.ToolCall{ID: callID(thread, t.Turn, len(t.Calls)+1)})
	}
	c := &t.Calls[d.Index]
	c.Name += d.Name
	c.Arguments += d.Arguments
}

// callID differs from those of all other calls of the agent, in all its threads.
func callID(thread string, turn, call int) string {
	id := fmt.Sprintf("%d_%d", turn, call)
	if thread == "" {
		return "c" + id
	}
	return thread + "_" + id
}
