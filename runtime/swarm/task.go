package swarm

import (
	"strconv"

	"dure/runtime/event"
)

// Phase says where a task is on its way.
type Phase string

// Phases.
const (
	PhaseWaiting  Phase = "waiting"  // for what it needs, or for an agent
	PhaseLeased   Phase = "leased"   // an agent works on it
	PhaseResting  Phase = "resting"  // a plan task: its planner said its part, children are open
	PhaseReported Phase = "reported" // to be checked
	PhaseChecked  Phase = "checked"  // passed; waits for a judge
	PhaseJudging  Phase = "judging"
	PhaseAccepted Phase = "accepted" // to be landed
	PhaseConflict Phase = "conflict" // a merge task settles it
	PhaseLanded   Phase = "landed"   // on main, or a plan task's check passed: to be ended
	PhaseRejected Phase = "rejected" // goes back or fails
	PhaseEnded    Phase = "ended"
)

// A Task is what the events say of one.
type Task struct {
	Submitted
	Depth    int
	Children []TaskID
	Phase    Phase

	Epoch int
	// Agent has the task now: it works on it, or waits for its check. Empty: nobody.
	Agent string
	// Author made Commit.
	Author  string
	Commit  string // of the last report
	Summary string
	Main    string // the commit of main that has it

	// Returns counts how often it came back for a fault.
	Returns int
	// Note is why it came back.
	Note  string
	Fresh bool

	Outcome Outcome // when Phase is ended
	Reason  string
	Instead TaskID
	Parked  string // why; empty: it is not

	Report *Reported  // the last one
	Result *Checked   // of the last report's check
	Merge  *Merge     // of a conflict, and of the merge task that settles it
	Doubt  *Estimated // the last estimate

	num       int
	parent    *Task
	why       string         // PhaseRejected, in short: planners hear that
	rejection string         // and in full, with what the check printed: its agent hears that
	gaveUp    bool           // PhaseRejected because its agent ended otherwise than done
	judge     string         // who judges
	judgings  int            // verdicts that were none
	merging   TaskID         // the merge task of its present conflict
	held      string         // the question that it waits for
	with      TaskID         // the task above that it ended with
	heard     event.Sequence // the lease before the present one
	leased    event.Sequence
	settled   event.Sequence // when it ended or was parked
	excluded  map[string]bool
	waiters   []*Task // that have it in After
	believers []*Task // that have it in Assumes

	// What refresh and recount keep.
	after    []*Task
	assumes  []*Task
	stuckOn  TaskID // what it waits for and cannot go on
	stalled  bool   // it cannot go on, or is part of what is parked
	blockers int    // of After, that are not done
	unproven int    // of Assumes, that are not done
	broken   int    // of both, that ended otherwise than done
	open     int    // children that did not end and can go on
	isOpen   bool   // it counts in its parent's open
	queued   int    // its place in the queue; 0: it is not in it
	working  bool   // it counts as at work
}

// Ended reports whether nothing more happens to the task.
func (t *Task) Ended() bool { return t.Phase == PhaseEnded }

func (id TaskID) number() int {
	if len(id) < 2 || id[0] != 't' {
		return 0
	}
	n, err := strconv.Atoi(string(id[1:]))
	if err != nil {
		return 0
	}
	return n
}

func taskID(n int) TaskID { return TaskID("t" + strconv.Itoa(n)) }

// parked reports whether the task or one above it is parked.
func (t *Task) parked() bool {
	for ; t != nil; t = t.parent {
		if t.Parked != "" {
			return true
		}
	}
	return false
}

// below reports whether the task is below another, or that one.
func (t *Task) below(top *Task) bool {
	for ; t != nil; t = t.parent {
		if t == top {
			return true
		}
	}
	return false
}

// planner is who made the task: the agent of the nearest plan task above it.
func (t *Task) planner() *Task {
	for p := t.parent; p != nil; p = p.parent {
		if p.Kind == KindPlan {
			return p
		}
	}
	return nil
}

// role is who works on the task now.
func (t *Task) role() Role {
	switch {
	case t.Phase == PhaseChecked || t.Phase == PhaseJudging:
		return RoleJudge
	case t.ID() == Root:
		return RoleLead
	case t.Kind == KindPlan:
		return RolePlanner
	case t.Kind == KindMerge:
		return RoleMerger
	}
	return RoleWorker
}

// ID is the task's name.
func (t *Task) ID() TaskID { return t.Submitted.Task }

// Rank orders what waits: planners first, since others wait for them, then merges and splits, then
// verdicts, then work.
func (t *Task) rank() int {
	if t.File != "" {
		return 1 // many wait for the file
	}
	switch t.role() {
	case RoleLead, RolePlanner:
		return 0
	case RoleMerger:
		return 1
	case RoleJudge:
		return 2
	}
	return 3
}

// place is the task's place in the queue.
func (t *Task) place() int { return t.rank()<<32 | t.num }
