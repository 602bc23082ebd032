package responder

import (
	"context"
	"fmt"
	"iter"
	"strings"
)

// Team is a run of agents, as the one who speaks for it needs it. cmd adapts the runs of the
// server. Errors are such that a person may hear them.
type Team interface {
	// State is the run now.
	State(ctx context.Context) (State, error)
	// Ask asks an agent beside its work and waits for the answer.
	Ask(ctx context.Context, agent, question string) (string, error)
	// Tell gives an agent a message before its next turn; agent "" is the lead.
	Tell(ctx context.Context, agent, text string) error
	// Approve lets the workers start on the plan; Answer answers a question of an agent.
	Approve(ctx context.Context) error
	Answer(ctx context.Context, question, text string) error
	// Park has a task, and what is below it, rest; Finish ends the run.
	Park(ctx context.Context, task, why string) error
	Finish(ctx context.Context, why string) error
	// Changes yields whenever something happened in the run, until nobody runs it any
	// more (the range ends without an error) or ctx ends.
	Changes(ctx context.Context) iter.Seq2[struct{}, error]
}

// State is a run. Its figures are what is spoken about it, and nothing else is.
type State struct {
	Name  string // of the run
	Spec  string // what it is about, in a line
	Phase Phase
	Why   string // where it stands still: what a person can do
	Tasks []Task // without the one that is the whole
	// Agents that were not let go.
	Agents    []Agent
	Questions []Question // not answered
}

// Phase is how a run stands.
type Phase string

// Phases.
const (
	Running Phase = "running"
	Plan    Phase = "plan"    // its plan waits for a person's approval
	Waiting Phase = "waiting" // it waits for the answer to a question
	Paused  Phase = "paused"  // or stopped by the judge: Why tells
	Rest    Phase = "rest"    // nobody runs it
	Done    Phase = "done"    // finished, its check passes
	Failed  Phase = "failed"  // finished otherwise
	Ended   Phase = "ended"   // by a person
)

// Over reports whether nothing more comes of the run by itself.
func (p Phase) Over() bool { return p == Done || p == Failed || p == Ended || p == Rest }

// Task of a run.
type Task struct {
	ID, Title, Agent string
	// State is "waiting", "at work", "being checked", "parked", "done", "failed" or
	// "dropped".
	State string
}

// Agent of a run.
type Agent struct{ Name, Role, Task string }

// Question that an agent has for the person.
type Question struct{ ID, Agent, Text string }

// Count is how many tasks are in a state.
func (s *State) Count(state string) int {
	n := 0
	for _, t := range s.Tasks {
		if t.State == state {
			n++
		}
	}
	return n
}

// task finds one by its ID.
func (s *State) task(id string) *Task {
	for i := range s.Tasks {
		if s.Tasks[i].ID == id {
			return &s.Tasks[i]
		}
	}
	return nil
}

// lead is the agent that leads.
func (s *State) lead() string {
	for _, a := range s.Agents {
		if a.Role == "lead" {
			return a.Name
		}
	}
	return ""
}

// facts is the run for a model: all that may be said about it.
func (s *State) facts() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s (%s): %s", s.Name, s.Spec, s.Phase)
	if s.Why != "" {
		fmt.Fprintf(&b, " (%s)", s.Why)
	}
	fmt.Fprintf(&b, "; %d of %d tasks done, %d at work, %d waiting, %d failed\n", s.Count("done"), len(s.Tasks), s.Count("at work"), s.Count("waiting"), s.Count("failed"))
	for i, t := range s.Tasks {
		if i == 40 {
			fmt.Fprintf(&b, "and %d tasks more\n", len(s.Tasks)-i)
			break
		}
		fmt.Fprintf(&b, "task %s %q: %s", t.ID, t.Title, t.State)
		if t.Agent != "" {
			fmt.Fprintf(&b, ", %s", t.Agent)
		}
		b.WriteByte('\n')
	}
	for i, a := range s.Agents {
		if i == 40 {
			break
		}
		fmt.Fprintf(&b, "agent %s, %s\n", a.Name, a.Role)
	}
	for _, q := range s.Questions {
		fmt.Fprintf(&b, "question %s of %s, not answered: %s\n", q.ID, q.Agent, q.Text)
	}
	return b.String()
}
