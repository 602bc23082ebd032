package control

import (
	"fmt"

	"dure/runtime/event"
	"dure/runtime/gate"
	"dure/runtime/swarm"
)

// Standing is how a run stands, in a word for lists.
type Standing string

// Standings.
const (
	Running  Standing = "running"
	Approval Standing = "waiting for approval" // of its plan, by a person
	Question Standing = "waiting for an answer"
	Paused   Standing = "paused"
	Stopped  Standing = "stopped"  // by the judge or a person: no call is carried out
	AtRest   Standing = "at rest"  // nobody runs it, and it has not finished
	Finished Standing = "done"     // the official check passes; a person has not taken it yet
	Accepted Standing = "accepted" // it is in the person's repository
	Failed   Standing = "failed"   // it finished without the official check passing
	Ended    Standing = "ended"    // the team was ended by a person
	Damaged  Standing = "damaged"  // its log cannot be read
)

// standing says how a run stands, and why or what a person can do.
func (s Status) standing(running bool) (Standing, string) {
	v := s.Run
	switch {
	case s.Accepted != nil:
		return Accepted, fmt.Sprintf("branch %s, at %.12s", s.Accepted.Branch, s.Accepted.Commit)
	case v == nil || s.Gate.Phase == gate.PhaseEnded:
		return Ended, "by a person"
	case v.Finished != nil && v.Finished.Finish == swarm.FinishDone:
		return Finished, "dure swarm accept takes it"
	case v.Finished != nil && v.Finished.Finish == swarm.FinishTime:
		return Failed, "its time was up; dure swarm extend gives it more"
	case v.Finished != nil:
		return Failed, fmt.Sprintf("stopped by %s; dure swarm extend opens it again", v.Finished.By)
	}
	state, why := Running, ""
	switch {
	case s.Gate.Phase == gate.PhaseStopped && len(s.Gate.Blocks) > 0:
		state, why = Stopped, "a call was blocked; dure swarm status shows it"
	case s.Gate.Phase == gate.PhaseStopped:
		state, why = Stopped, "dure swarm resume lets it go on"
	case v.Paused != nil:
		state, why = Paused, fmt.Sprintf("by %s; dure swarm unpause", v.Paused.By)
	case v.Plan != "" && v.Approved == "":
		state, why = Approval, "dure swarm approve | reject"
	case len(v.Questions) > 0 && v.Active == 0:
		state, why = Question, fmt.Sprintf("dure swarm answer %s TEXT", v.Questions[0].Question)
	}
	if running {
		return state, why
	}
	if state == Running {
		return AtRest, "dure swarm run goes on with it"
	}
	return AtRest, string(state)
}

// AcceptedStream holds what a person took of a run.
const AcceptedStream = "accepted"

// Taken is the payload of run.accepted: what landed is in the person's repository.
type Taken struct {
	By     string `json:"by"`
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// AcceptedType is the type of run.accepted.
var AcceptedType = event.MustRegister[Taken](event.NewRegistry(), "run.accepted", 1)
