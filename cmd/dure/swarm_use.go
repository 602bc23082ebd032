package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"dure/runtime/control"
	"dure/runtime/swarm"
)

// printUse says how much of each ceiling of a run is used.
func printUse(w io.Writer, s control.Status) {
	v := s.Run
	fmt.Fprintf(w, "\nused: %d of %d agents at work", v.Active, v.Limits.Active)
	if v.Limits.Time > 0 && !v.Deadline.IsZero() {
		left := time.Until(v.Deadline).Round(time.Second)
		fmt.Fprintf(w, ", %s of %s left", max(0, left), v.Limits.Time)
	}
	landed, conflicts := 0, 0
	for _, t := range v.Tasks {
		if t.Main != "" && t.Kind != swarm.KindPlan {
			landed++
		}
		if t.Kind == swarm.KindMerge {
			conflicts++
		}
	}
	fmt.Fprintf(w, ", %d of %d tasks; %d landed, %s", len(v.Tasks), v.Limits.Tasks, landed, howMany(conflicts, "conflict"))
	a := s.Accounts
	if a == nil {
		fmt.Fprintln(w)
		return
	}
	caps := a.Terms.Caps
	fmt.Fprintf(w, "\n  tokens: %s", of(a.Run.All(), caps.Run.Tokens))
	fmt.Fprintf(w, "\n  cost: %s", a.Run.Cost)
	if caps.Run.Money > 0 {
		fmt.Fprintf(w, " of %s (%d %%)", caps.Run.Money, a.Run.Cost.Micro()*100/caps.Run.Money.Micro())
	}
	if caps.Agent.Tokens > 0 {
		most := slices.MaxFunc(append(slices.Collect(maps.Keys(a.Agents)), ""), func(x, y string) int {
			return int(a.Agents[x].All() - a.Agents[y].All())
		})
		fmt.Fprintf(w, "\n  tokens of an agent: %s (%s)", of(a.Agents[most].All(), caps.Agent.Tokens), most)
	}
	if caps.Run.Tokens > 0 && a.Run.All() >= caps.Run.Tokens || caps.Run.Money > 0 && a.Run.Cost >= caps.Run.Money {
		fmt.Fprint(w, "\n  A cap is reached, and calls of models wait: dure swarm caps raises it.")
	}
	fmt.Fprintln(w)
}

// mostAgents are shown while a run is watched.
const mostAgents = 24

// printAgents says who has what, those at work first.
func printAgents(w io.Writer, v control.View) {
	var at []control.AgentView
	idle := 0
	for _, a := range v.Agents {
		switch {
		case a.Gone != "":
		case a.Task != "":
			at = append(at, a)
		default:
			idle++
		}
	}
	for i, a := range at {
		if i == mostAgents {
			fmt.Fprintf(w, "  and %d more\n", len(at)-i)
			break
		}
		fmt.Fprintf(w, "  %-14s %-8s %-6s turn %d\n", a.Name, a.Role, a.Task, a.Turns)
	}
	if idle > 0 {
		fmt.Fprintf(w, "  %s without a task\n", howMany(idle, "agent"))
	}
}

// of is how much of a ceiling is used; 0: there is none.
func of(used, ceiling int64) string {
	if ceiling <= 0 {
		return grouped(used)
	}
	return fmt.Sprintf("%s of %s (%d %%)", grouped(used), grouped(ceiling), used*100/ceiling)
}

// grouped is a number with its thousands set apart.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	var parts []string
	for len(s) > 3 {
		parts, s = append(parts, s[len(s)-3:]), s[:len(s)-3]
	}
	slices.Reverse(parts)
	return strings.Join(append([]string{s}, parts...), ",")
}
