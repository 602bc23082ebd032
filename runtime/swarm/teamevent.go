package swarm

import "time"

// Started is the payload of swarm.started, the first event of a run.
type Started struct {
	Spec     string `json:"spec"`      // the text, at most MaxSpec bytes
	SpecHash string `json:"spec_hash"` // SHA-256, hexadecimal
	Repo     string `json:"repo"`      // the person's
	Base     string `json:"base"`      // commit that main begins at
	Check    string `json:"check"`     // the official one
	// Keep is a command that passes at Base and has to go on passing on main; empty: none.
	Keep   string `json:"keep,omitempty"`
	Limits Limits `json:"limits"`
	// Approval: a person approves the plan; otherwise the harness does.
	Approval bool `json:"approval"`
	// Judge: the team has judges, and nothing lands without a verdict.
	Judge bool `json:"judge"`
}

// Extended is the payload of swarm.extended: these limits hold from now on, and a run
// that has finished goes on.
type Extended struct {
	By     string `json:"by"`
	Limits Limits `json:"limits"`
}

// Paused is the payload of swarm.paused: nothing new begins.
type Paused struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Resumed is the payload of swarm.resumed.
type Resumed struct {
	By string `json:"by"`
}

// Activated is the payload of swarm.activated: how many agents may be at work at once
// now. It is never more than Limits.Active counts.
type Activated struct {
	Active int    `json:"active"`
	Reason string `json:"reason"`
}

// Measured is the payload of swarm.measured: how many tokens a second the models write.
type Measured struct {
	Rate float64 `json:"rate"`
}

// Verified is the payload of swarm.verified: what the official check said on a clean
// checkout of main.
type Verified struct {
	Epoch  int    `json:"epoch"` // of the root
	Commit string `json:"commit"`
	Passed bool   `json:"passed"`
	Output Output `json:"output"`
}

// Finish says how a run finished.
type Finish string

// How a run finishes.
const (
	FinishDone    Finish = "done"    // the official check passes on main
	FinishTime    Finish = "time"    // there is none left
	FinishStopped Finish = "stopped" // by a person
)

// Finished is the payload of swarm.finished.
type Finished struct {
	Finish Finish `json:"finish"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"`
}

// Drafted is the payload of plan.drafted: the lead's plan, with the tasks that it made.
type Drafted struct {
	Epoch int    `json:"epoch"` // of the root
	Text  string `json:"text"`
}

// Approved is the payload of plan.approved.
type Approved struct {
	By   string `json:"by"`
	Note string `json:"note,omitempty"`
}

// Rejected is the payload of plan.rejected: the lead plans again.
type Rejected struct {
	By   string `json:"by"`
	Note string `json:"note"`
}

// Hired is the payload of agent.hired.
type Hired struct {
	Agent  string `json:"agent"`
	Role   Role   `json:"role"`
	Crew   string `json:"crew"`
	Parent string `json:"parent,omitempty"` // the planner of its first task
}

// Moved is the payload of agent.moved. What the agents are working on they finish.
type Moved struct {
	Agents []string `json:"agents"`
	Crew   string   `json:"crew"`
	By     string   `json:"by"`
}

// Dismissed is the payload of agent.dismissed: the agent gets no more tasks. Its branch
// stays.
type Dismissed struct {
	Agent  string `json:"agent"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Reminded is the payload of agent.reminded: the harness tells an agent something it
// tells many, once for each mark.
type Reminded struct {
	Agent string `json:"agent"`
	Mark  string `json:"mark"` // "time/30m0s", "checklist/40"
	Text  string `json:"text"`
	Turn  int    `json:"turn,omitempty"` // of a checklist
}

// Steered is the payload of agent.steered: a person tells an agent something.
type Steered struct {
	Agent string `json:"agent"`
	By    string `json:"by"`
	Text  string `json:"text"`
	Ref   string `json:"ref"` // unique in the run
}

// Delivered is the payload of agent.delivered: a letter is with its agent.
type Delivered struct {
	Agent string `json:"agent"`
	Ref   string `json:"ref"`
}

// Asked is the payload of question.asked: the run needs a person.
type Asked struct {
	Question string   `json:"question"` // its ID: "q1", ... in the order of the log
	Agent    string   `json:"agent,omitempty"`
	Task     TaskID   `json:"task,omitempty"`
	Text     string   `json:"text"`
	Options  []string `json:"options,omitempty"`
	// Holds: the task does not go on before the answer.
	Holds bool `json:"holds,omitempty"`
	// Ref is the agent's call, so that a call made again asks no second time.
	Ref string `json:"ref,omitempty"`
}

// Answered is the payload of question.answered.
type Answered struct {
	Question string `json:"question"`
	By       string `json:"by"`
	Text     string `json:"text"`
}

// Limits of a run. Zero fields get their defaults when the run begins.
type Limits struct {
	// Time is how long the run may take, pauses left out. 0: as long as it takes.
	Time time.Duration `json:"time"`
	// Agents is how many workers there may be. Planners there are as many as open plan
	// tasks; mergers and judges a fourth of it each, and at least one that is neutral.
	Agents int `json:"agents"`
	// Active is how many agents work at once at most.
	Active int `json:"active"`
	// Returns is how often a task goes back before it fails.
	Returns int `json:"returns"`
	// Depth of the tree (the root has depth 0) and Tasks in it, mergers' left out.
	Depth int `json:"depth"`
	Tasks int `json:"tasks"`
	// Idle is how long an agent has no task of its own crew before it takes others'.
	Idle time.Duration `json:"idle"`
	// Marks are how much time is left when all agents are told so.
	Marks []time.Duration `json:"marks,omitempty"`
	// ChecklistTurns and ChecklistIdle say when an agent at work gets the checklist:
	// after that many turns, or after that long without one.
	ChecklistTurns int           `json:"checklist_turns"`
	ChecklistIdle  time.Duration `json:"checklist_idle"`
}
