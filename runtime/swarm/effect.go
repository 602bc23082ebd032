package swarm

// An Effect is something to do, as data: one of the decisions, which become events at
// once, or of the works, which the World carries out and whose results become events.
type Effect interface{ effect() }

// Decisions.
type (
	// Hire takes an agent on.
	Hire struct{ Hired }
	// Lease gives a task to an agent; of a plan task whose children have ended, it asks
	// the planner again.
	Lease struct{ Leased }
	// Return has a task wait for an agent again.
	Return struct{ Returned }
	// Dismiss lets an agent go.
	Dismiss struct{ Dismissed }
	// End ends a task, and what is below it.
	End struct{ Ended }
	// Submit makes a merge task.
	Submit struct{ Submitted }
	// Draft takes the lead's report for the plan.
	Draft struct{ Drafted }
	// Approve approves the plan without a person.
	Approve struct{ Approved }
	// Remind tells an agent something.
	Remind struct{ Reminded }
	// ReAskFeasibility has an estimate made anew.
	ReAskFeasibility struct{ Reasked }
	// Escalate asks a person.
	Escalate struct{ Asked }
	// Conclude finishes the run.
	Conclude struct{ Finished }
)

// Works.
type (
	// Work runs a worker, a planner, the lead or a merger.
	Work struct{ Assignment }
	// Judge runs a judge.
	Judge struct{ Assignment }
	// Check runs a task's check.
	Check struct{ Checking }
	// Verify runs the official check.
	Verify struct{ Checking }
	// Land lands a commit.
	Land struct{ Landing }
	// Tell delivers a letter.
	Tell struct{ Letter }
	// Open lets everybody change a file again that was not split.
	Open struct{ Opening }
)

func (Hire) effect()             {}
func (Lease) effect()            {}
func (Return) effect()           {}
func (Dismiss) effect()          {}
func (End) effect()              {}
func (Submit) effect()           {}
func (Draft) effect()            {}
func (Approve) effect()          {}
func (Remind) effect()           {}
func (ReAskFeasibility) effect() {}
func (Escalate) effect()         {}
func (Conclude) effect()         {}

func (Work) effect()   {}
func (Judge) effect()  {}
func (Check) effect()  {}
func (Verify) effect() {}
func (Land) effect()   {}
func (Tell) effect()   {}
func (Open) effect()   {}

// A Verb says which work it is.
type Verb string

// Verbs.
const (
	VerbWork   Verb = "work"
	VerbJudge  Verb = "judge"
	VerbCheck  Verb = "check"
	VerbVerify Verb = "verify"
	VerbLand   Verb = "land"
	VerbTell   Verb = "tell"
	VerbOpen   Verb = "open"
)

// A Key names a work: two with the same key are the same work.
type Key struct {
	Verb  Verb
	Task  TaskID
	Epoch int
	Agent string // of a letter
	Ref   string // of a letter
}

// KeyOf is the key of a work. Decisions have none: they are done at once.
func KeyOf(e Effect) (Key, bool) {
	switch e := e.(type) {
	case Work:
		return Key{Verb: VerbWork, Task: e.Task, Epoch: e.Epoch}, true
	case Judge:
		return Key{Verb: VerbJudge, Task: e.Task, Epoch: e.Epoch}, true
	case Check:
		return Key{Verb: VerbCheck, Task: e.Task, Epoch: e.Epoch}, true
	case Verify:
		return Key{Verb: VerbVerify, Task: e.Task, Epoch: e.Epoch}, true
	case Land:
		return Key{Verb: VerbLand, Task: e.Task, Epoch: e.Epoch}, true
	case Tell:
		return Key{Verb: VerbTell, Agent: e.Agent, Ref: e.Ref}, true
	case Open:
		return Key{Verb: VerbOpen, Task: e.Task}, true
	}
	return Key{}, false
}
