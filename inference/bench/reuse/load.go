package reuse

import (
	"slices"

	"dure/inference/sched"
)

// Tick is a time in nanoseconds.
type Tick = sched.Tick

// Token is a token of a prompt.
type Token = sched.Token

// second in Ticks.
const second Tick = 1e9

// Load is a team. Of each 16 agents one is a planner, one a merger, the others workers;
// agents of a role share tools and system.
type Load struct {
	Agents int
	Turns  int // of each agent
	// Tokens: of tools and system, of the task, of an answer, of a tool's result.
	Trunk, Task, Answer, Result int
	Tool                        Tick // how long a tool runs, at most; half of it at least
}

// Team is a load of so many agents with the sizes of a coding team.
func Team(agents, turns int) Load {
	return Load{Agents: agents, Turns: turns, Trunk: 3000, Task: 500, Answer: 150, Result: 250, Tool: 4 * second}
}

// Server is where it runs.
type Server struct {
	Slots int
	// Window is how many tokens a slot holds.
	Window              int
	KVBytes, StateBytes int64 // of a token; of a recurrent state
	RAM, Disk           int64 // budgets in bytes, of Ours only
	// Prices: a decode step and each row in it, a chunk of a prompt and each token in
	// it, bringing a MiB from or to RAM and disk.
	Step, Row, Chunk, Token, RAMMiB, DiskMiB Tick
}

// Card is a card of 32 GB with a hybrid model of 27B, eight states, and memory and a
// disk beside it. The prices are round figures of its order, not measurements.
func Card() Server {
	return Server{
		Slots: 8, Window: 16384, KVBytes: 32 << 10, StateBytes: 150 << 20, RAM: 48 << 30, Disk: 768 << 30,
		Step: 20e6, Row: 1e6, Chunk: 5e6, Token: 500e3, RAMMiB: 100e3, DiskMiB: 400e3,
	}
}

// chunk is how many tokens of a prompt are read in one step at most.
const chunk = 512

// Report is what was measured.
type Report struct {
	Turns int
	// Prompt counts the tokens of all prompts, Reused those that were not read.
	Prompt, Reused int
	// Most is what could have been reused: all that was computed before, for this agent
	// or one of its role.
	Most int
	// Wait is from a request's arrival to when its reading began.
	MeanWait, MaxWait Tick
	Span              Tick // until the last answer
	// Parked counts running requests that gave way.
	Parked int
}

// Share is how much was reused, 0 to 1.
func (r Report) Share() float64 { return float64(r.Reused) / float64(r.Prompt) }

// Unfair is the longest wait as a multiple of the mean.
func (r Report) Unfair() float64 { return float64(r.MaxWait) / float64(max(r.MeanWait, 1)) }

// agent is one of the team.
type agent struct {
	id    int
	class sched.Priority
	turn  int
	// prompt of its turn; marks are where messages end.
	prompt  []Token
	marks   []int
	arrived Tick
	drawn   int // of its answer
	placed  bool
}

// role of an agent and its class.
func role(id int) (int, sched.Priority) {
	switch id % 16 {
	case 0:
		return 0, sched.Planner
	case 1:
		return 1, sched.Merge
	}
	return 2, sched.Worker
}

// newAgent has its first prompt.
func (l Load) newAgent(id int) *agent {
	r, class := role(id)
	a := &agent{id: id, class: class}
	for i := range l.Trunk {
		a.prompt = append(a.prompt, Token(r<<20|i))
	}
	a.marks = []int{len(a.prompt)}
	a.say(l.Task)
	return a
}

// say adds tokens that no other agent has.
func (a *agent) say(n int) {
	for range n {
		a.prompt = append(a.prompt, a.own(len(a.prompt)))
	}
	a.marks = append(a.marks, len(a.prompt))
}

// own is the agent's token at a position. Of two agents the first own one differs,
// which is where their prompts part.
func (a *agent) own(at int) Token { return Token(1<<30 | (a.id*31+at)%(1<<18)<<12 | a.id%(1<<12)) }

// next makes the prompt of the next turn, after the answer was given, and says whether
// there is one.
func (a *agent) next(l Load) bool {
	a.turn++
	a.drawn, a.placed = 0, false
	if a.turn == l.Turns {
		return false
	}
	a.prompt = slices.Clone(a.prompt) // the cache keeps the past one
	a.marks = slices.Clone(a.marks)
	a.say(l.Answer)
	a.say(l.Result)
	return true
}

// tool is how long an agent's tool runs now.
func (l Load) tool(a *agent) Tick {
	h := uint32(a.id*2654435761 + a.turn*40503)
	return l.Tool/2 + l.Tool/2*Tick(h>>16)/(1<<16)
}

// most is what of a turn's prompt was computed before.
func (l Load) most(a *agent) int {
	if a.turn == 0 {
		if a.id < 3 { // the first of its role
			return 0
		}
		return l.Trunk
	}
	return len(a.prompt) - l.Result - 1 // the last token of an answer is drawn, not read
}

// tally adds up turns.
type tally struct {
	Report
	waited Tick
}

func (t *tally) began(l Load, a *agent, now Tick, reused int) {
	t.Turns++
	t.Prompt += len(a.prompt)
	t.Reused += reused
	t.Most += l.most(a)
	t.waited += now - a.arrived
	t.MaxWait = max(t.MaxWait, now-a.arrived)
}

func (t *tally) report(now Tick) Report {
	t.Span = now
	t.MeanWait = t.waited / Tick(max(t.Turns, 1))
	return t.Report
}

// arrivals are agents whose turn begins at a time, earliest first.
type arrivals []*agent

func (q *arrivals) add(a *agent) {
	i, _ := slices.BinarySearchFunc(*q, a, func(x, y *agent) int {
		if x.arrived != y.arrived {
			return int(max(-1, min(1, x.arrived-y.arrived)))
		}
		return x.id - y.id
	})
	*q = slices.Insert(*q, i, a)
}

// due takes the first that has arrived.
func (q *arrivals) due(now Tick) *agent {
	if len(*q) == 0 || (*q)[0].arrived > now {
		return nil
	}
	a := (*q)[0]
	*q = (*q)[1:]
	return a
}
