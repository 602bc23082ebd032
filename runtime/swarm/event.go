package swarm

import (
	"dure/runtime/event"
)

// Stream is the stream of the log that holds a run.
const Stream = "swarm"

// Registry knows this package's events.
var Registry = event.NewRegistry()

// Events are the types of this package's events.
var Events = struct {
	Started   event.Type[Started]
	Extended  event.Type[Extended]
	Paused    event.Type[Paused]
	Resumed   event.Type[Resumed]
	Activated event.Type[Activated]
	Measured  event.Type[Measured]
	Verified  event.Type[Verified]
	Finished  event.Type[Finished]

	Drafted  event.Type[Drafted]
	Approved event.Type[Approved]
	Rejected event.Type[Rejected]

	Submitted  event.Type[Submitted]
	Leased     event.Type[Leased]
	Reported   event.Type[Reported]
	Checked    event.Type[Checked]
	Judged     event.Type[Judged]
	Landed     event.Type[Landed]
	Conflicted event.Type[Conflicted]
	Refused    event.Type[Refused]
	Returned   event.Type[Returned]
	Ended      event.Type[Ended]
	Parked     event.Type[Parked]
	Reopened   event.Type[Reopened]
	Estimated  event.Type[Estimated]
	Reasked    event.Type[Reasked]

	Hired     event.Type[Hired]
	Moved     event.Type[Moved]
	Dismissed event.Type[Dismissed]
	Reminded  event.Type[Reminded]
	Steered   event.Type[Steered]
	Delivered event.Type[Delivered]

	Mainline event.Type[Mainline]

	Found  event.Type[Found]
	Opened event.Type[Opened]

	Asked    event.Type[Asked]
	Answered event.Type[Answered]
}{
	event.MustRegister[Started](Registry, "swarm.started", 1),
	event.MustRegister[Extended](Registry, "swarm.extended", 1),
	event.MustRegister[Paused](Registry, "swarm.paused", 1),
	event.MustRegister[Resumed](Registry, "swarm.resumed", 1),
	event.MustRegister[Activated](Registry, "swarm.activated", 1),
	event.MustRegister[Measured](Registry, "swarm.measured", 1),
	event.MustRegister[Verified](Registry, "swarm.verified", 1),
	event.MustRegister[Finished](Registry, "swarm.finished", 1),

	event.MustRegister[Drafted](Registry, "plan.drafted", 1),
	event.MustRegister[Approved](Registry, "plan.approved", 1),
	event.MustRegister[Rejected](Registry, "plan.rejected", 1),

	event.MustRegister[Submitted](Registry, "task.submitted", 1),
	event.MustRegister[Leased](Registry, "task.leased", 1),
	event.MustRegister[Reported](Registry, "task.reported", 1),
	event.MustRegister[Checked](Registry, "task.checked", 1),
	event.MustRegister[Judged](Registry, "task.judged", 1),
	event.MustRegister[Landed](Registry, "task.landed", 1),
	event.MustRegister[Conflicted](Registry, "task.conflicted", 1),
	event.MustRegister[Refused](Registry, "task.refused", 1),
	event.MustRegister[Returned](Registry, "task.returned", 1),
	event.MustRegister[Ended](Registry, "task.ended", 1),
	event.MustRegister[Parked](Registry, "task.parked", 1),
	event.MustRegister[Reopened](Registry, "task.reopened", 1),
	event.MustRegister[Estimated](Registry, "task.estimated", 1),
	event.MustRegister[Reasked](Registry, "task.reasked", 1),

	event.MustRegister[Hired](Registry, "agent.hired", 1),
	event.MustRegister[Moved](Registry, "agent.moved", 1),
	event.MustRegister[Dismissed](Registry, "agent.dismissed", 1),
	event.MustRegister[Reminded](Registry, "agent.reminded", 1),
	event.MustRegister[Steered](Registry, "agent.steered", 1),
	event.MustRegister[Delivered](Registry, "agent.delivered", 1),

	event.MustRegister[Mainline](Registry, "main.checked", 1),

	event.MustRegister[Found](Registry, "file.found", 1),
	event.MustRegister[Opened](Registry, "file.opened", 1),

	event.MustRegister[Asked](Registry, "question.asked", 1),
	event.MustRegister[Answered](Registry, "question.answered", 1),
}
