package world

import (
	"embed"
	"fmt"
	"strings"
	"time"

	"dure/runtime/swarm"
)

//go:embed roles/*.md
var roles embed.FS

// system is what an agent of a role is told first. It is the same for all agents of the
// role, so that their prompts begin alike.
func system(r swarm.Role) string {
	common, err := roles.ReadFile("roles/common.md")
	if err != nil {
		panic(err) // it is a part of the program
	}
	own, err := roles.ReadFile("roles/" + string(r) + ".md")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(own)) + "\n\n" + strings.TrimSpace(string(common)) + "\n"
}

// finish is the tool that ends a round of a role.
func finish(r swarm.Role) string {
	if r == swarm.RoleJudge {
		return "verdict"
	}
	return "done"
}

// task is the task as its agent reads it.
func task(a swarm.Assignment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s. Your task is %s: %s\n", a.Agent, a.Task, a.Title)
	if a.Text != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(a.Text))
	}
	switch {
	case a.Role == swarm.RoleJudge:
		judged(&b, a)
	case a.Kind == swarm.KindMerge:
		conflict(&b, a.Conflict)
	}
	if len(a.Checks) > 0 && a.Role != swarm.RoleJudge {
		fmt.Fprintf(&b, "\nIt is done when this passes, run by the harness on %s:\n", where(a))
		for _, c := range a.Checks {
			fmt.Fprintf(&b, "  %s\n", c)
		}
	}
	if len(a.Assumes) > 0 {
		fmt.Fprintf(&b, "\nThese tasks are not done yet; take what they will bring for given, and stub it where you must: %s\n", join(a.Assumes))
	}
	if !a.Deadline.IsZero() {
		fmt.Fprintf(&b, "\nThe run ends at %s.\n", a.Deadline.UTC().Format(time.RFC3339))
	}
	if a.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", a.Note)
	}
	return b.String()
}

func where(a swarm.Assignment) string {
	if commits(a.Role) {
		return "what you leave in the workspace"
	}
	return "main, once all your tasks have landed"
}

func conflict(b *strings.Builder, m *swarm.Merge) {
	fmt.Fprintf(b, "\nTwo changes contradict each other. You wrote neither. The workspace holds main with the other change put in;\nwhere both changed the same lines, git's markers show main's lines, those before both, and the other's.\n%s", m.Detail)
	fmt.Fprintf(b, "\nThe change that does not land, of %s (%s), was for this task:\n%s\n", m.Ours.Agent, m.Ours.Task, quoted(m.Texts[m.Ours.Task]))
	for _, side := range m.With {
		fmt.Fprintf(b, "\nMain has a change of %s (%s), which was for this task:\n%s\n", side.Agent, side.Task, quoted(m.Texts[side.Task]))
	}
}

func judged(b *strings.Builder, a swarm.Assignment) {
	fmt.Fprintf(b, "\nIts agent says that it is done:\n%s\n", quoted(a.Report.Summary))
	fmt.Fprintf(b, "\nThe check passed on that commit, which is your workspace. The harness ran it; it printed:\n%s\n", quoted(output(a.Check.Output)))
}

func output(o swarm.Output) string {
	if o.Tail == "" {
		return o.Head
	}
	return fmt.Sprintf("%s\n[%d bytes are left out]\n%s", o.Head, o.Size-len(o.Head)-len(o.Tail), o.Tail)
}

// again is what an agent is told when its task comes back.
func again(a swarm.Assignment) string {
	var b strings.Builder
	if a.Note != "" {
		b.WriteString(a.Note)
	}
	for i, c := range a.Children {
		if i == 0 {
			b.WriteString("\nYour tasks:\n")
		}
		state := string(c.Outcome)
		if state == "" {
			state = "parked"
		}
		mark := ""
		if c.New {
			mark = " (new)"
		}
		fmt.Fprintf(&b, "- %s %s: %s%s\n", c.Task, c.Title, state, mark)
		for _, text := range []string{c.Reason, c.Summary} {
			if text != "" {
				fmt.Fprintf(&b, "%s\n", quoted(text))
			}
		}
	}
	if a.Kind == swarm.KindPlan {
		b.WriteString("\nSpawn what is still to be done, or call done if your task is finished.\n")
	}
	if b.Len() == 0 {
		b.WriteString("Your task came back to you. Look at what you have, and finish it.")
	}
	return strings.TrimSpace(b.String())
}

// quoted marks the lines of what agents and programs wrote.
func quoted(text string) string {
	text = strings.TrimRight(text, "\n")
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

func join(ids []swarm.TaskID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, ", ")
}
