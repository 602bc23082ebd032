package replay

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"dure/runtime/event"
	"dure/runtime/swarm"
)

var table = crc32.MakeTable(crc32.Castagnoli)

// A fold is a run so far, with the print of its last event.
type fold struct {
	state *swarm.State
	print uint32
}

func newFold() *fold { return &fold{state: swarm.NewState()} }

// apply takes the next event of the run's stream.
func (f *fold) apply(e event.Event) error {
	if err := f.state.Apply(e); err != nil {
		return err
	}
	b, err := f.changed(e)
	if err != nil {
		return err
	}
	var before [4]byte
	binary.BigEndian.PutUint32(before[:], f.print)
	f.print = crc32.Update(crc32.Checksum(before[:], table), table, b)
	return nil
}

// touched are the fields of a payload by which it names what it changes.
type touched struct {
	Task    swarm.TaskID `json:"task"`
	Instead swarm.TaskID `json:"instead"`
	Agent   string       `json:"agent"`
	// Agents are a few names, or of limits a number.
	Agents json.RawMessage `json:"agents"`
}

// changed is what there is of the run around an event, as bytes that are the same
// whenever the state is.
func (f *fold) changed(e event.Event) ([]byte, error) {
	var t touched
	if err := json.Unmarshal(e.Payload, &t); err != nil {
		return nil, fmt.Errorf("event %s at position %d: %w", e.Type, e.Position, err)
	}
	var named []string
	_ = json.Unmarshal(t.Agents, &named) // a number names nobody
	parts := []any{f.counts()}
	for _, id := range []swarm.TaskID{t.Task, t.Instead} {
		if task, ok := f.state.Task(id); ok {
			parts = append(parts, taskOf(task))
			if a, ok := f.state.Agent(task.Agent); ok {
				parts = append(parts, agentOf(a))
			}
		}
	}
	for _, name := range append(named, t.Agent) {
		if a, ok := f.state.Agent(name); ok {
			parts = append(parts, agentOf(a))
		}
	}
	return json.Marshal(parts)
}

// counts are the run's numbers that are at hand; those for which the tree is walked are in
// the sum over the whole.
type counts struct {
	Last                   event.Sequence
	Alive, Active, Allowed int
	Questions, Letters     int
	Paused, Finished       bool
	Draft, Approved        bool
	Rate                   float64
}

func (f *fold) counts() counts {
	s := f.state
	open := 0
	for _, q := range s.Questions() {
		if q.Answer == nil {
			open++
		}
	}
	return counts{
		s.Last(), s.Alive(), s.Active(), s.Allowed(), open, len(s.Letters()),
		s.Paused() != nil, s.Finished() != nil, s.Draft() != nil, s.Approval() != nil, s.Rate(),
	}
}

// taskPrint and agentPrint are what counts of a task and an agent.
type taskPrint struct {
	Task            swarm.TaskID
	Phase           swarm.Phase
	Epoch, Returns  int
	Agent, Author   string
	Commit, Main    string
	Note, Parked    string
	Fresh           bool
	Outcome         swarm.Outcome
	Reason, Summary string
	Children        int
}

func taskOf(t swarm.Task) taskPrint {
	return taskPrint{t.ID(), t.Phase, t.Epoch, t.Returns, t.Agent, t.Author, t.Commit, t.Main, t.Note, t.Parked, t.Fresh, t.Outcome, t.Reason, t.Summary, len(t.Children)}
}

type agentPrint struct {
	Agent string
	Role  swarm.Role
	Crew  string
	Task  swarm.TaskID
	Gone  string
}

func agentOf(a swarm.Agent) agentPrint { return agentPrint{a.Agent, a.Role, a.Crew, a.Task, a.Gone} }

// whole is a sum over all of the state.
func (f *fold) whole() (uint32, error) {
	h := crc32.New(table)
	enc := json.NewEncoder(h)
	parts := []any{f.counts(), f.state.Ready(""), f.state.Goals(), f.state.Assumptions(), f.state.Limits(), f.state.Verified()}
	for _, t := range f.state.Tasks() {
		parts = append(parts, taskOf(t))
	}
	for _, a := range f.state.Agents() {
		parts = append(parts, agentOf(a))
	}
	for _, q := range f.state.Questions() {
		parts = append(parts, q)
	}
	for _, p := range parts {
		if err := enc.Encode(p); err != nil {
			return 0, err
		}
	}
	return h.Sum32(), nil
}
