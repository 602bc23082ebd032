package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dure/runtime/tool"
)

// A World is what one agent's tools reach. Only what its role's tools need must be
// there.
type World struct {
	Box      Box
	Commits  Committer
	Reports  Reporter
	Board    Statements
	Messages Messenger
	Tasks    Spawner
	Costs    Estimator
	Person   Asker
	Bench    Bench
	// Connected: the box has the agent's socket, and sql and git that use it.
	Connected bool
	// ShellTime is how long one command may take; 0 is DefaultShellTime.
	ShellTime time.Duration
}

// DefaultShellTime lets tests of a large program finish.
const DefaultShellTime = 10 * time.Minute

// maxOutput bytes of a command are shown; the whole is kept as a file.
const maxOutput = 16 << 10

// sets are the tools of each role, in the order in which models are told of them. Who
// plans cannot change files, and who works cannot make tasks.
var sets = map[string][]string{
	"lead":    planning,
	"planner": planning,
	"worker":  {"shell", "read", "write", "edit", "search", "commit", "report_file", "sql", "message", "done"},
	"merger":  {"shell", "read", "write", "edit", "search", "commit", "sql", "message", "done"},
	"judge":   {"read", "search", "shell", "verdict"},
}

var planning = []string{"read", "search", "sql", "message", "spawn", "estimate", "ask_human", "done"}

// Names are the names of all tools of this package.
func Names() []string {
	all := map[string]bool{}
	for _, set := range sets {
		for _, name := range set {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// ForRole is the tools of an agent, with the limits that each of them has. Their order
// and texts depend on the role alone: they begin every prompt of all its agents. Roles
// are those of package swarm.
func ForRole(role string, w World) ([]tool.Tool, error) {
	set, ok := sets[role]
	if !ok {
		return nil, fmt.Errorf("tools: no role %q; there are %s", role, strings.Join(slices.Sorted(maps.Keys(sets)), ", "))
	}
	tools := make([]tool.Tool, len(set))
	for i, name := range set {
		t, has := w.tool(name, set)
		if !has {
			return nil, fmt.Errorf("tools of a %s: nothing to make %s with", role, name)
		}
		tools[i] = t
	}
	return tools, nil
}

// tool is one tool of a set, if the world has what it needs.
func (w World) tool(name string, set []string) (t tool.Tool, has bool) {
	switch name {
	case "shell":
		limit := w.ShellTime
		if limit == 0 {
			limit = DefaultShellTime
		}
		return tool.Short(maxOutput, Outputs{w.Box}, tool.Within(limit, Shell{w.Box, w.Connected})), w.Box != nil
	case "read":
		return Read{w.Box}, w.Box != nil
	case "write":
		return Write{w.Box}, w.Box != nil
	case "edit":
		return tool.Short(maxOutput, Outputs{w.Box}, Edit{w.Box}), w.Box != nil
	case "search":
		return Search{w.Box}, w.Box != nil
	case "commit":
		return Commit{w.Commits}, w.Commits != nil
	case "report_file":
		return ReportFile{w.Reports}, w.Reports != nil
	case "sql":
		return SQL{w.Board}, w.Board != nil
	case "message":
		return Message{w.Messages}, w.Messages != nil
	case "spawn":
		return Spawn{w.Tasks}, w.Tasks != nil
	case "estimate":
		return Estimate{w.Costs}, w.Costs != nil
	case "ask_human":
		return AskHuman{w.Person}, w.Person != nil
	case "verdict":
		return Verdict{w.Bench}, w.Bench != nil
	}
	return Done{Plans: slices.Contains(set, "spawn")}, true
}
