package swarm

import (
	"slices"
	"strconv"
	"time"

	"dure/runtime/event"
)

// Sizes of what a run takes.
const (
	MaxSpec    = 512 << 10 // bytes of a specification
	MaxPlan    = 128 << 10 // of a plan document
	MaxText    = 64 << 10  // of a task, an answer, a letter
	MaxTitle   = 200
	MaxCheck   = 4 << 10
	MaxSummary = 16 << 10
	MaxOutput  = 16 << 10 // of the head of an output, and of its tail
)

// MainCrew is the crew of the root, and of all that names no other.
const MainCrew = "main"

// An Agent is what the events say of one.
type Agent struct {
	Hired
	// Task is what it has: it works on it, or waits for what becomes of it. Empty: it
	// is idle.
	Task TaskID
	// Since is when it became idle, or got its task.
	Since time.Time
	// Gone says why it gets no more tasks; empty: it may get some.
	Gone string
	// Turns of its present work, as Pulse told it, and when it took the last.
	Turns int
	Pulse time.Time

	num        int
	marks      map[string]bool
	lists      int       // checklists it got
	listedTurn int       // of the last
	listedAt   time.Time // when it got that
	landed     TaskID    // its last on main
}

// A Question is for a person.
type Question struct {
	Asked
	Answer *Answered
}

// State is a run. One goroutine owns it: Apply and Pulse change it. NewState makes one.
type State struct {
	started  *Started
	limits   Limits
	active   int // as the model server has it
	rate     float64
	began    time.Time
	paused   *Paused
	halted   time.Time     // since when it is paused or finished; zero: it is neither
	resting  time.Duration // of all halts that are over
	finished *Finished
	draft    *Drafted
	approved *Approved
	verified *Verified

	tasks     []*Task // by number; the first is nil
	agents    []*Agent
	byName    map[string]*Agent
	questions []*Question
	refs      map[string]string // of agents' calls: what they made
	letters   []Letter          // not delivered
	files     []*HotFile        // in the order in which they were found
	green     *Green            // nil: the run keeps no command passing
	pace      string            // why active is what it is; empty: the limits are

	// Indexes, so that Plan does not walk the tree.
	ready   order                     // places of tasks that wait for an agent only
	todo    order                     // numbers of tasks that are to be worked or decided on
	idle    map[Role]map[string]order // by crew: numbers of agents without a task
	alive   map[Role]int
	atWork  int // leases at work, those of parked tasks left out
	own     int // tasks that count for Limits.Tasks
	doubted order

	last event.Sequence
}

// NewState is the state before the first event.
func NewState() *State {
	return &State{
		tasks: []*Task{nil}, byName: map[string]*Agent{}, refs: map[string]string{},
		idle: map[Role]map[string]order{}, alive: map[Role]int{},
	}
}

// Started is what the run began with; nil: it did not.
func (s *State) Started() *Started { return s.started }

// Began is when it began; zero: it did not.
func (s *State) Began() time.Time { return s.began }

// Limits are those that hold now.
func (s *State) Limits() Limits { return s.limits }

// Last is the sequence of the last event.
func (s *State) Last() event.Sequence { return s.last }

// Paused says who paused the run, and why; nil: it is not paused.
func (s *State) Paused() *Paused { return s.paused }

// Finished says how the run finished; nil: it goes on.
func (s *State) Finished() *Finished { return s.finished }

// Draft is the lead's plan; nil: there is none yet.
func (s *State) Draft() *Drafted { return s.draft }

// Approval is who approved the plan; nil: nobody yet.
func (s *State) Approval() *Approved { return s.approved }

// Verified is what the official check said last.
func (s *State) Verified() *Verified { return s.verified }

// Rate is how many tokens a second the models write, as measured last.
func (s *State) Rate() float64 { return s.rate }

// Alive is how many agents there are, Active how many of them are at work, and Allowed
// how many may be.
func (s *State) Alive() int {
	n := 0
	for _, k := range s.alive {
		n += k
	}
	return n
}

// Active is how many agents are at work.
func (s *State) Active() int { return s.atWork }

// Allowed is how many agents may be at work.
func (s *State) Allowed() int { return min(s.active, s.limits.Active) }

// Pace says why Allowed is what it is; empty: the limits are.
func (s *State) Pace() string {
	if s.active >= s.limits.Active {
		return ""
	}
	return s.pace
}

// Task is a task as it is now. The caller does not change what it points to.
func (s *State) Task(id TaskID) (Task, bool) {
	t := s.task(id)
	if t == nil {
		return Task{}, false
	}
	return *t, true
}

func (s *State) task(id TaskID) *Task {
	n := id.number()
	if n < 1 || n >= len(s.tasks) || s.tasks[n].ID() != id {
		return nil
	}
	return s.tasks[n]
}

func (s *State) named(ids []TaskID) []*Task {
	var out []*Task
	for _, id := range ids {
		out = append(out, s.task(id))
	}
	return out
}

func (s *State) root() *Task {
	if len(s.tasks) < 2 {
		return nil
	}
	return s.tasks[1]
}

// Tasks are all tasks, in the order of the log.
func (s *State) Tasks() []Task {
	out := make([]Task, 0, len(s.tasks))
	for _, t := range s.tasks[1:] {
		out = append(out, *t)
	}
	return out
}

// Agent is an agent by name.
func (s *State) Agent(name string) (Agent, bool) {
	a := s.byName[name]
	if a == nil {
		return Agent{}, false
	}
	return *a, true
}

// Agents are all agents that were ever hired, in their order.
func (s *State) Agents() []Agent {
	out := make([]Agent, 0, len(s.agents))
	for _, a := range s.agents {
		out = append(out, *a)
	}
	return out
}

// Questions are all questions, those with an answer too.
func (s *State) Questions() []Question {
	out := make([]Question, 0, len(s.questions))
	for _, q := range s.questions {
		out = append(out, *q)
	}
	return out
}

func (s *State) question(id string) *Question {
	for _, q := range s.questions {
		if q.Question == id {
			return q
		}
	}
	return nil
}

func (s *State) nextQuestion() string { return "q" + strconv.Itoa(len(s.questions)+1) }

// Letters are those that are not delivered yet.
func (s *State) Letters() []Letter { return slices.Clone(s.letters) }

// spent is how much of the run's time is gone.
func (s *State) spent(now time.Time) time.Duration {
	spent := now.Sub(s.began) - s.resting
	if !s.halted.IsZero() {
		spent -= now.Sub(s.halted)
	}
	return spent
}

// Deadline is when the run's time ends, if there is nothing that stops it; zero: never.
func (s *State) Deadline() time.Time {
	if s.limits.Time == 0 || s.started == nil {
		return time.Time{}
	}
	return s.began.Add(s.limits.Time + s.resting)
}

// Pulse notes that an agent took a turn: how many it took for its present task. It is
// no event, since agents' own streams hold the turns; after a restart the first pulse
// of each agent tells it again.
func (s *State) Pulse(agent string, turns int, now time.Time) {
	if a := s.byName[agent]; a != nil {
		a.Turns, a.Pulse = turns, now
	}
}
