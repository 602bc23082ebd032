package judge

import (
	"context"
	"fmt"
	"strings"

	"dure/runtime/tool"
)

// Finding is what the rules say of a call.
type Finding struct {
	// Action is "allow", "note" (allow, and monitors look), "refuse", "block", or "open"
	// where the rules cannot say.
	Action string
	Rule   string
	Class  string
	Why    string
}

// Look finds what speaks against a call; the worst counts. What the agent thought does
// not: it is judged by what it does.
func (r *Rules) Look(call tool.Call) (f Finding) {
	defer func() {
		// A command that breaks its reader is one that nobody has read.
		if broken := recover(); broken != nil {
			f = Finding{Action: "refuse", Rule: "unreadable", Class: "form", Why: "the command cannot be read"}
		}
	}()
	acts, err := r.src.acts(call)
	if err != nil {
		return Finding{Action: "refuse", Rule: "unreadable", Class: "form", Why: fmt.Sprintf("%.300s", err.Error())}
	}
	f = r.worst(acts)
	if weight[f.Action] < weight["open"] || f.Rule == UnknownProgram {
		if why := r.known.strange(acts); why != "" {
			return Finding{Action: "open", Rule: NotOrdinary, Class: "form", Why: why}
		}
	}
	return f
}

// LookThrough is Look that reads also what the agent thought before the call.
func (r *Rules) LookThrough(call tool.Call) Finding {
	thought := r.worst([]act{{program: "reasoning", tool: "reasoning", text: call.Reasoning}})
	if f := r.Look(call); f.Action == "block" || thought.Action == "allow" {
		return f
	}
	return thought
}

func (r *Rules) worst(acts []act) Finding {
	found := Finding{Action: "allow"}
	for i := range acts {
		acts[i].prepare()
		for j := range r.rules {
			rule := &r.rules[j]
			if weight[rule.Action] <= weight[found.Action] || acts[i].script && (rule.Setup || weight[found.Action] >= weight["refuse"]) || acts[i].later && rule.Action != "block" || !rule.fits(&acts[i]) {
				continue
			}
			found = Finding{Action: rule.Action, Rule: rule.Name, Class: rule.Class, Why: rule.Why}
			if acts[i].script && found.Action == "block" {
				found.Action = "refuse" // nothing of it happens yet
			}
		}
		if weight[found.Action] <= weight["open"] && open(acts[i].program) {
			switch {
			case strings.Contains(acts[i].full, readMark):
				found = Finding{Action: "open", Rule: UnknownScript, Class: "form", Why: "it runs text that a program printed or a file holds, and that nobody has read; write the commands out, or put them into a script and run that"}
			case found.Rule != UnknownScript:
				found = Finding{Action: "open", Rule: UnknownProgram, Class: "form", Why: "which program it runs is known only when it runs; write its name out"}
			}
		}
	}
	return found
}

// weight orders findings.
var weight = map[string]int{"allow": 0, "note": 1, "open": 2, "refuse": 3, "block": 4}

// What a finding that is open is about.
const (
	UnknownScript  = "unknown-script"  // text that a program printed or a file holds is run as commands
	UnknownProgram = "unknown-program" // the name of a program stands in a variable
	NotOrdinary    = "not-ordinary"    // some of it is not known as ordinary inside the work
)

// Judge implements tool.Judge by the rules alone, with OpenScripts for what they leave
// open.
func (r *Rules) Judge(_ context.Context, call tool.Call) (tool.Verdict, error) {
	return OpenScripts.settle(r.Look(call)).verdict(), nil
}

func (f Finding) verdict() tool.Verdict {
	v := tool.Verdict{Decision: tool.Allow, By: "rules", Rule: f.Rule, Reason: f.Why}
	switch f.Action {
	case "refuse":
		v.Decision = tool.Refuse
	case "block":
		v.Decision = tool.Block
	}
	return v
}
