package swarm

// A TaskID names a task of a run: "t1" is the root, then "t2", ... in the order of the
// log.
type TaskID string

// Root is the task that the lead works on.
const Root TaskID = "t1"

// Kind says what a task is.
type Kind string

// Kinds.
const (
	KindPlan  Kind = "plan"  // split into tasks, by the lead or a planner
	KindWork  Kind = "work"  // a change of the repository, by a worker
	KindMerge Kind = "merge" // settle a conflict, by a merger; its parent is the task that conflicted
)

// Role is what an agent is hired for.
type Role string

// Roles.
const (
	RoleLead    Role = "lead"
	RolePlanner Role = "planner"
	RoleWorker  Role = "worker"
	RoleJudge   Role = "judge"
	RoleMerger  Role = "merger"
)

// Submitted is the payload of task.submitted.
type Submitted struct {
	Task   TaskID `json:"task"`
	Kind   Kind   `json:"kind"`
	Parent TaskID `json:"parent,omitempty"` // none: the root
	Title  string `json:"title"`
	Text   string `json:"text"`
	// Check is the command that decides whether it is done: of a work or merge task on
	// its commit, of a plan task on main.
	Check string `json:"check"`
	// After lists tasks that must be done before this one starts.
	After []TaskID `json:"after,omitempty"`
	// Assumes lists tasks that this one takes for done: it may start and land, but is
	// not final before they are.
	Assumes []TaskID `json:"assumes,omitempty"`
	Crew    string   `json:"crew"`
	// Goal names the goal that the task is; none: it is a step only.
	Goal string `json:"goal,omitempty"`
	// File is the hot file that the task splits; none: it is no such task.
	File string `json:"file,omitempty"`
	// Mends is the landing on main that the task mends; none: it is no such task.
	Mends string `json:"mends,omitempty"`
	// By is the agent who asked for it, "person" or "harness"; Ref its call, so that a
	// call that is made again makes no second task.
	By  string `json:"by"`
	Ref string `json:"ref,omitempty"`
}

// Leased is the payload of task.leased: an agent has the task from now on.
type Leased struct {
	Task  TaskID `json:"task"`
	Epoch int    `json:"epoch"` // counts the leases of the task, from 1
	Agent string `json:"agent"`
	Role  Role   `json:"role"` // judge: of the report that the epoch before made
}

// Reported is the payload of task.reported: what an agent says at the end of its work.
type Reported struct {
	Task    TaskID `json:"task"`
	Epoch   int    `json:"epoch"`
	Commit  string `json:"commit,omitempty"` // on the agent's branch; of planners none
	Summary string `json:"summary"`          // for its planner
	Plan    string `json:"plan,omitempty"`   // the lead's plan document
	// GaveUp says why the agent ended without being done; empty: it said that it is.
	GaveUp string `json:"gave_up,omitempty"`
}

// Output is what a command printed: the whole, or its head and tail.
type Output struct {
	Head string `json:"head,omitempty"`
	Tail string `json:"tail,omitempty"` // empty: Head is the whole
	Size int    `json:"size"`           // bytes of the whole
}

// Checked is the payload of task.checked: what the task's check said, run by the
// harness.
type Checked struct {
	Task   TaskID `json:"task"`
	Epoch  int    `json:"epoch"`
	Commit string `json:"commit"` // that it ran on
	Passed bool   `json:"passed"`
	Output Output `json:"output"`
	By     string `json:"by"` // who ran it: "harness"
}

// Judged is the payload of task.judged.
type Judged struct {
	Task   TaskID `json:"task"`
	Epoch  int    `json:"epoch"` // of the judge's lease
	Agent  string `json:"agent"`
	Passed bool   `json:"passed"`
	Text   string `json:"text"`
	// Cites is what the judge cites of the check's output. A verdict without is none.
	Cites string `json:"cites,omitempty"`
	// GaveUp says why there is no verdict.
	GaveUp string `json:"gave_up,omitempty"`
}

// Landed is the payload of task.landed.
type Landed struct {
	Task   TaskID `json:"task"`
	Epoch  int    `json:"epoch"`
	Commit string `json:"commit"` // of the agent
	Main   string `json:"main"`   // the commit of main that has it
}

// A Side is whose change it is.
type Side struct {
	Agent string `json:"agent"`
	Task  TaskID `json:"task,omitempty"`
}

// Conflicted is the payload of task.conflicted: main cannot take the commit without a
// decision.
type Conflicted struct {
	Task     TaskID `json:"task"`
	Epoch    int    `json:"epoch"`
	Commit   string `json:"commit"`
	Conflict string `json:"conflict"` // its ID, of the landing job
	With     []Side `json:"with,omitempty"`
	Detail   string `json:"detail"` // which files, for the merger
}

// Refused is the payload of task.refused: the landing job does not take the commit, and
// the author can mend that.
type Refused struct {
	Task   TaskID `json:"task"`
	Epoch  int    `json:"epoch"`
	Commit string `json:"commit"`
	Reason string `json:"reason"`
}

// Returned is the payload of task.returned: the task waits for an agent again.
type Returned struct {
	Task   TaskID `json:"task"`
	Epoch  int    `json:"epoch"` // that came back
	Reason string `json:"reason"`
	// Fresh: another agent takes it.
	Fresh bool `json:"fresh,omitempty"`
	// Fault: it counts against Limits.Returns.
	Fault bool `json:"fault,omitempty"`
}

// Outcome says how a task ended.
type Outcome string

// Outcomes of tasks. A goal that is done is proved; one that failed was dropped, with
// that reason.
const (
	Done       Outcome = "done"
	Failed     Outcome = "failed"
	Dropped    Outcome = "dropped"
	Superseded Outcome = "superseded"
)

// Ended is the payload of task.ended.
type Ended struct {
	Task    TaskID  `json:"task"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Instead is the task that took the place of a superseded one, if any.
	Instead TaskID `json:"instead,omitempty"`
	// With is the task above whose end ended this one too, if any.
	With TaskID `json:"with,omitempty"`
	By   string `json:"by"`
}

// Parked is the payload of task.parked: nothing of the task and what is below it goes
// on until it is opened again.
type Parked struct {
	Task   TaskID `json:"task"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Reopened is the payload of task.reopened: a parked task goes on with all that is
// below it; one that failed or was dropped waits for an agent again.
type Reopened struct {
	Task   TaskID `json:"task"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Estimated is the payload of task.estimated: what somebody holds a task to cost, and
// whether it can be done.
type Estimated struct {
	Task     TaskID  `json:"task"`
	By       string  `json:"by"`
	Tokens   int64   `json:"tokens"`
	Rate     float64 `json:"rate"` // tokens a second that it was made with
	Feasible bool    `json:"feasible"`
	Reason   string  `json:"reason"`
}

// Reasked is the payload of task.reasked: the rate is another one by now, and who gave
// the estimate is asked again.
type Reasked struct {
	Task TaskID  `json:"task"`
	Rate float64 `json:"rate"`
}
