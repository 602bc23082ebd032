package swarm

import (
	"context"
	"errors"
	"time"
)

// A World carries out what the coordinator decided. Its methods are called from many
// goroutines at once, each effect from one of its own, and are given up by ctx: when
// the task was parked, ended or taken from its agent, and when the run stops.
//
// After a crash, and after an error, the same call is made again: the same task and
// epoch (of a letter: the same Ref) mean the same effect, which must not take place a
// second time. An error says that the effect could not be carried out, and is no result:
// the coordinator waits and tries again, and asks a person when that goes on. ErrEnded
// stops the run, ErrFull pauses it.
type World interface {
	// Work has an agent work on a task, in its own box and on its own branch, until it
	// says that it is done or ends otherwise. What its box changed is committed.
	Work(ctx context.Context, a Assignment) (Report, error)
	// Judge has a judge look at a report, in a context and a box of its own.
	Judge(ctx context.Context, a Assignment) (Verdict, error)
	// Check runs a task's check in a fresh box, on a commit or, where that is empty, on
	// main as it stands.
	Check(ctx context.Context, c Checking) (CheckResult, error)
	// Verify runs the official check on a clean checkout of main.
	Verify(ctx context.Context, c Checking) (CheckResult, error)
	// Land puts a commit onto main, or says why not.
	Land(ctx context.Context, l Landing) (LandResult, error)
	// Tell puts a letter where its agent finds it before its next turn.
	Tell(ctx context.Context, l Letter) error
	// Open lets everybody change a file again that was to be split and was not.
	Open(ctx context.Context, o Opening) error
}

// ErrEnded is what a World's methods return when the team was ended by a person: the run
// is stopped.
var ErrEnded = errors.New("the team was ended")

// An Assignment is what an agent gets.
type Assignment struct {
	Task  TaskID
	Epoch int
	Agent string
	Role  Role
	Crew  string
	// Parent is the planner whose task this is part of; empty for the lead.
	Parent string

	Kind    Kind
	Title   string
	Text    string
	Checks  []string // the commands that must pass: a merge task's are those of both sides
	Assumes []TaskID // what is not done yet, and taken for done
	// Deadline is when the run's time ends; zero: never.
	Deadline time.Time

	// Note is what the harness tells the agent because the task comes back, empty the
	// first time: what failed, with the output, or what a person said.
	Note string
	// Fresh: what the agent, or another one, did for an earlier epoch is not gone on
	// with. Commit is where the work stood then, if anywhere.
	Fresh  bool
	Commit string

	// File is the hot file that the task splits, or that of the task whose conflict it
	// settles. Nobody but the agent may change it meanwhile.
	File string

	// Children are, for a planner that is asked again, its tasks as they are now:
	// summaries only.
	Children []Child

	// Of a merge task: the conflict, and the tasks of both sides.
	Conflict *Merge
	// Of a judge: what was reported, and what the check said.
	Report *Reported
	Check  *Checked
}

// A Child is what a planner hears of one of its tasks.
type Child struct {
	Task    TaskID
	Title   string
	Outcome Outcome // empty: it is parked, or waits for what is
	Reason  string
	Summary string // of the agent's last report
	New     bool   // it ended, or was parked, since the planner was asked last
}

// A Merge is what a merger gets.
type Merge struct {
	Conflict string // the landing job's ID of it
	Detail   string
	Commit   string // that does not land
	Ours     Side   // whose commit it is
	With     []Side // who landed what main has
	Texts    map[TaskID]string
}

// A Report is the end of an agent's work.
type Report struct {
	Commit  string // of the agent's branch; empty for planners
	Summary string // at most MaxSummary bytes; longer ones are cut, and say so
	Plan    string // the lead's plan document, at most MaxPlan bytes
	GaveUp  string // why it is not done: it stopped calling tools, had too many turns
}

// A Verdict is a judge's.
type Verdict struct {
	Passed bool
	Text   string
	Cites  string // of the check's output; the World has seen that it is there
	GaveUp string // why there is no verdict
}

// A Checking is commands that must all succeed.
type Checking struct {
	Task   TaskID
	Epoch  int
	Commit string // empty: main
	Checks []string
}

// A CheckResult is what the commands said.
type CheckResult struct {
	Commit string // that they ran on
	Passed bool
	Output Output // ClipOutput makes one
}

// A Landing is a commit for main.
type Landing struct {
	Task     TaskID
	Epoch    int
	Agent    string // whose commit it is
	Commit   string
	Conflict string // that it settles
	File     string // that it splits
}

// A LandResult is one of the three.
type LandResult struct {
	Main     string    // the commit of main that has it
	Conflict *Conflict // or: main cannot take it without a decision
	Refused  string    // or: why the author has to change it
}

// A Conflict needs a merger.
type Conflict struct {
	ID     string // of the landing job
	With   []Side // who landed what main has
	Detail string // which files, and why
}

// An Opening is of a file that a task was to split.
type Opening struct {
	Task TaskID
	Path string
}

// A Letter is something for an agent to read before its next turn.
type Letter struct {
	Agent string
	// Ref is the same when it is told again.
	Ref string
	// From is "harness" or "person".
	From string
	Text string
}
