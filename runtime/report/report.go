package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dure/runtime/budget"
	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/swarm"
	"dure/runtime/vcs/land"
)

// ErrNoRun: the log holds no run.
var ErrNoRun = errors.New("the log holds no run")

// A Report is what a log says of its run.
type Report struct {
	Spec     string    `json:"spec"`
	SpecHash string    `json:"spec_hash"`
	Repo     string    `json:"repo"`
	Base     string    `json:"base"`
	Check    string    `json:"check"`
	Began    time.Time `json:"began"`
	Last     time.Time `json:"last"` // of the last event
	Finish   string    `json:"finish,omitempty"`
	Verified string    `json:"verified,omitempty"` // the commit that the official check passed on
	Events   int       `json:"events"`
	// Plan is the document that was approved, By whom; Accepted what a person took of it.
	Plan     string         `json:"plan,omitempty"`
	Approved string         `json:"approved,omitempty"`
	Accepted *control.Taken `json:"accepted,omitempty"`

	Tasks []Task         `json:"tasks"`
	Ended map[string]int `json:"ended"` // tasks by outcome
	Goals swarm.Goals    `json:"goals"`
	// Size is what landings left on main, PerGoal the bytes of it for each goal that was
	// proved: how much it took for a result. 0: none was.
	Size    Size  `json:"size"`
	PerGoal int64 `json:"bytes_per_goal"`

	Roles  map[string]Tokens `json:"roles"` // by role of the agent
	Agents []Agent           `json:"agents"`
	// Accounts are what the models used, and cost by their prices.
	Accounts budget.Report `json:"accounts"`

	Calls   map[string]map[string]int `json:"calls"` // by tool and outcome
	Blocked int                       `json:"blocked"`
	Stops   int                       `json:"stops"`

	Landed    map[string]int    `json:"landed"` // by way
	Conflicts int               `json:"conflicts"`
	Hottest   []land.PathStats  `json:"hottest"`
	Curve     []Point           `json:"curve"`
	Tables    map[string]Counts `json:"tables"`
}

// A Task is a row of the tree.
type Task struct {
	Task    swarm.TaskID  `json:"task"`
	Depth   int           `json:"depth"`
	Kind    swarm.Kind    `json:"kind"`
	Title   string        `json:"title"`
	Outcome swarm.Outcome `json:"outcome,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Author  string        `json:"author,omitempty"`
	Leases  int           `json:"leases"`
	Returns int           `json:"returns"`
	Main    string        `json:"main,omitempty"`
	Check   string        `json:"check"`
	Summary string        `json:"summary,omitempty"` // of its agent's last report
	Times   Times         `json:"times"`
	Size    Size          `json:"size"` // of the files that it landed
}

// Tokens are sums of what models told in their usage. Cached ones are among the prompt's.
type Tokens struct {
	Turns      int   `json:"turns"`
	Prompt     int64 `json:"prompt"`
	Cached     int64 `json:"cached"`
	Completion int64 `json:"completion"`
}

// An Agent is a row of the team.
type Agent struct {
	Name string     `json:"name"`
	Role swarm.Role `json:"role"`
	Tokens
	Calls int `json:"calls"`
}

// Counts of the shared tables: statements that were answered.
type Counts map[string]int64

// A Point is sums since the beginning.
type Point struct {
	Second    int   `json:"second"` // since the run began
	Done      int   `json:"done"`   // tasks
	Commits   int   `json:"commits"`
	Landed    int   `json:"landed"`
	Conflicts int   `json:"conflicts"`
	Score     int   `json:"score"`  // goals proved
	Tokens    int64 `json:"tokens"` // prompt and completion
	Cost      int64 `json:"cost"`   // millionths of a dollar
	Bytes     int64 `json:"bytes"`  // on main, of the files that landings touched
	ByRole
}

// ByRole are tokens, as in Point, by the role of who used them.
type ByRole struct {
	Lead    int64 `json:"lead_tokens"`
	Planner int64 `json:"planner_tokens"`
	Worker  int64 `json:"worker_tokens"`
	Judge   int64 `json:"judge_tokens"`
	Merger  int64 `json:"merger_tokens"`
}

func (b *ByRole) of(r swarm.Role) *int64 {
	switch r {
	case swarm.RoleLead:
		return &b.Lead
	case swarm.RolePlanner:
		return &b.Planner
	case swarm.RoleJudge:
		return &b.Judge
	case swarm.RoleMerger:
		return &b.Merger
	}
	return &b.Worker
}

// mostPoints of a curve: a long run has wider steps.
const mostPoints = 240

// Make folds a log.
func Make(ctx context.Context, log event.Log) (*Report, error) {
	f := newFold()
	for e, err := range log.ReadAll(ctx, 1) {
		if err == nil {
			err = f.apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	if f.state.Started() == nil {
		return nil, fmt.Errorf("report: %w", ErrNoRun)
	}
	return f.report(), nil
}
