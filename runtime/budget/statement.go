package budget

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// seen is what is in the conversations of a role.
var seen = map[string]string{
	"lead":    "the specification, plans, tasks, messages of the team, and what it reads of the repository",
	"planner": "the specification, plans, tasks, messages of the team, and what it reads of the repository",
	"worker":  "its tasks, messages of the team, what it reads and writes of the repository, and what its commands print",
	"judge":   "the tasks and the work that it judges, what it reads of the repository, and what the checks print",
	"merger":  "both sides of a conflict with the files around it, the tasks they come from, and what its commands print",
}

// Away reports whether what the model is asked leaves the machine.
func (r Rate) Away() bool {
	if r.Host == "" {
		return false
	}
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name != "localhost" && (ip == nil || !ip.IsLoopback())
}

// Statement says what leaves the machine under these terms, where to and for how much,
// for a person to read before a run.
func (t Terms) Statement() string {
	var b strings.Builder
	places, here := map[string][]string{}, []string(nil)
	for _, role := range slices.Sorted(maps.Keys(t.Rates)) {
		r := t.Rates[role]
		if !r.Away() {
			here = append(here, role)
			continue
		}
		place := r.Host
		if r.Local {
			place += " (your own, as models.yaml says)"
		}
		places[place] = append(places[place], role)
	}
	if len(places) == 0 {
		b.WriteString("Nothing leaves this machine: all models run on it.\n")
	} else {
		b.WriteString("What leaves this machine:\n")
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		fmt.Fprintf(&b, "  to %s\n", place)
		for _, role := range places[place] {
			r := t.Rates[role]
			what, ok := seen[role]
			if !ok {
				what = "all that is said in its conversations"
			}
			fmt.Fprintf(&b, "    %s (%s): %s\n", role, r.Model, what)
			fmt.Fprintf(&b, "      %s\n", r.shown())
		}
	}
	if len(places) > 0 && len(here) > 0 {
		fmt.Fprintf(&b, "What stays here: %s.\n", strings.Join(here, ", "))
	}
	fmt.Fprintf(&b, "Ceilings: cloud %s; local %s; in all %s.\n", t.Caps.Cloud.shown(), t.Caps.Local.shown(), t.Caps.Run.shown())
	return b.String()
}

// shown is a price for a person.
func (p Price) shown() string {
	show := func(micro int64) string { return (Money(micro) * 1e6).String() }
	text := fmt.Sprintf("US dollars per million tokens: %s read, %s cached, %s written", show(p.Input), show(p.Cached), show(p.Output))
	if p.write() != p.Input {
		text += fmt.Sprintf(", %s put into the cache", show(p.Write))
	}
	return text
}

func (c Cap) shown() string {
	switch {
	case c.Tokens > 0 && c.Money > 0:
		return fmt.Sprintf("%v and %d tokens", c.Money, c.Tokens)
	case c.Tokens > 0:
		return fmt.Sprintf("%d tokens", c.Tokens)
	case c.Money > 0:
		return c.Money.String()
	}
	return "none"
}
