package team

import (
	"container/list"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"dure/inference"
)

// Keep is how long an agent without requests stays known.
const Keep = time.Hour

const (
	// Limit is how many agents are known at once.
	Limit = 4096
	// MaxDepth is how many agents may stand above one another, so that no request
	// pays for a walk through the whole table.
	MaxDepth = 64
)

// Team is the table of agents. It is safe for concurrent use.
type Team struct {
	limit int
	now   func() time.Time

	mu     sync.Mutex
	agents map[string]*agent
	// idle are the agents with neither requests nor agents below them, the one
	// that is so for longest first.
	idle *list.List
}

// agent is one row of the table.
type agent struct {
	id       string
	parent   *agent
	children map[string]*agent
	runs     map[*run]struct{}
	seen     time.Time // as Agent.Seen
	tokens   struct{ prompt, completion int }

	idle      *list.Element // in Team.idle; nil where it is not
	idleSince time.Time
}

// run is one request on its way.
type run struct {
	team   *Team
	agent  *agent
	cancel context.CancelCauseFunc
}

// New returns an empty table.
func New() *Team {
	return &Team{limit: Limit, now: time.Now, agents: map[string]*agent{}, idle: list.New()}
}

// Agent is a row as others see it.
type Agent struct {
	ID     string
	Parent string
	// Running counts its requests that wait or are answered now.
	Running int
	// PromptTokens and CompletionTokens are those of its finished answers, each
	// choice of a request counted by itself.
	PromptTokens     int
	CompletionTokens int
	// Seen is when its latest request began or ended; of one that was only named as
	// a parent so far, when that was.
	Seen time.Time
}

// Agents returns all that are known, by name.
func (t *Team) Agents() []Agent {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	all := make([]Agent, 0, len(t.agents))
	for _, a := range t.agents {
		row := Agent{ID: a.id, Running: len(a.runs), PromptTokens: a.tokens.prompt, CompletionTokens: a.tokens.completion, Seen: a.seen}
		if a.parent != nil {
			row.Parent = a.parent.id
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Agent) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Stopped tells how many requests of an agent a stop ended.
type Stopped struct {
	ID        string
	Cancelled int
}

// Stop ends all requests of an agent and of those below it, and returns a row for
// each of these agents, the named one first. It reports false for an agent that
// is not known. The requests have ended for the model within one of its steps.
func (t *Team) Stop(id string) ([]Stopped, bool) {
	t.mu.Lock()
	t.expire()
	top, ok := t.agents[id]
	if !ok {
		t.mu.Unlock()
		return nil, false
	}
	var rows []Stopped
	var runs []*run
	for all := []*agent{top}; len(all) > 0; {
		a := all[len(all)-1]
		all = all[:len(all)-1]
		rows = append(rows, Stopped{a.id, len(a.runs)})
		for r := range a.runs {
			runs = append(runs, r)
		}
		for _, child := range a.children {
			all = append(all, child)
		}
	}
	t.mu.Unlock()
	slices.SortFunc(rows[1:], func(a, b Stopped) int { return strings.Compare(a.ID, b.ID) })
	for _, r := range runs {
		r.cancel(stopped(r.agent.id, id))
	}
	return rows, true
}

// stopped is how a request of an agent ends when top is stopped.
func stopped(id, top string) *inference.Error {
	if id == top {
		return inference.Errorf(inference.CodeAgentStopped, "the agent %q was stopped", id)
	}
	return inference.Errorf(inference.CodeAgentStopped, "the agent %q was stopped with %q, which is above it", id, top)
}
