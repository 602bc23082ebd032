package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dure/runtime/budget"
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

	Tasks []Task         `json:"tasks"`
	Ended map[string]int `json:"ended"` // tasks by outcome
	Goals swarm.Goals    `json:"goals"`

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
	Tokens    int64 `json:"tokens"` // prompt and completion
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
