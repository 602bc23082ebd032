package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/runtime/control"
	"dure/runtime/swarm"
)

// order is a subcommand by which a person asks something of a run.
type order struct {
	use, short, example string
	args                cobra.PositionalArgs
	name                string // of the order
	fill                func(o *control.Order, args []string)
}

var swarmOrders = []order{
	{use: "approve [NOTE]", short: "Let the workers start on the plan", args: cobra.ArbitraryArgs, name: "approve",
		fill: func(o *control.Order, args []string) { o.Text = strings.Join(args, " ") }},
	{use: "reject NOTE", short: "Have the lead plan again, and say why", args: cobra.MinimumNArgs(1), name: "reject",
		fill: func(o *control.Order, args []string) { o.Text = strings.Join(args, " ") }},
	{use: "answer QUESTION TEXT", short: "Answer a question of the run", args: cobra.MinimumNArgs(2), name: "answer",
		example: "  dure swarm answer q1 use the second format",
		fill:    func(o *control.Order, args []string) { o.Question, o.Text = args[0], strings.Join(args[1:], " ") }},
	{use: "tell AGENT TEXT", short: "Tell an agent something before its next turn", args: cobra.MinimumNArgs(2), name: "steer",
		fill: func(o *control.Order, args []string) { o.Agent, o.Text = args[0], strings.Join(args[1:], " ") }},
	{use: "kill AGENT [REASON]", short: "Take an agent out; another one takes its task", args: cobra.MinimumNArgs(1), name: "kill",
		fill: func(o *control.Order, args []string) { o.Agent, o.Text = args[0], strings.Join(args[1:], " ") }},
	{use: "park TASK REASON", short: "Let a task, and all below it, rest", args: cobra.MinimumNArgs(2), name: "park",
		example: "  dure swarm park t4 'its format is not decided yet'",
		fill: func(o *control.Order, args []string) {
			o.Task, o.Text = swarm.TaskID(args[0]), strings.Join(args[1:], " ")
		}},
	{use: "reopen TASK REASON", short: "Go on with a task that was parked, failed or was dropped", args: cobra.MinimumNArgs(2), name: "reopen",
		fill: func(o *control.Order, args []string) {
			o.Task, o.Text = swarm.TaskID(args[0]), strings.Join(args[1:], " ")
		}},
	{use: "pause [REASON]", short: "Begin nothing new; what is under way goes on to its end", args: cobra.ArbitraryArgs, name: "pause",
		fill: func(o *control.Order, args []string) { o.Text = strings.Join(args, " ") }},
	{use: "unpause", short: "Go on after a pause", args: cobra.NoArgs, name: "unpause", fill: func(*control.Order, []string) {}},
	{use: "finish [REASON]", short: "Finish the run now, with what has landed", args: cobra.ArbitraryArgs, name: "finish",
		fill: func(o *control.Order, args []string) { o.Text = strings.Join(args, " ") }},
}

func (d order) command(dir *string) *cobra.Command {
	return &cobra.Command{Use: d.use, Short: d.short, Example: d.example, Args: usageArgs(d.args), RunE: func(cmd *cobra.Command, args []string) error {
		c, err := teamClient(*dir)
		if err != nil {
			return err
		}
		o := control.Order{By: person()}
		d.fill(&o, args)
		v, err := c.Order(cmd.Context(), d.name, o)
		if err != nil {
			return err
		}
		return printRun(cmd.OutOrStdout(), v)
	}}
}

func swarmExtendCommand(dir *string) *cobra.Command {
	var more swarm.Limits
	cmd := &cobra.Command{
		Use: "extend", Short: "Give a run more time, agents or tries; a finished run then goes on", Args: cobra.NoArgs,
		Example: "  dure swarm extend --time 2h\n  dure swarm extend --agents 16 --active 8",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if more.Time == 0 && more.Agents == 0 && more.Active == 0 && more.Returns == 0 {
				return errors.New("say what there is to be more of: --time, --agents, --active or --returns")
			}
			c, err := teamClient(*dir)
			if err != nil {
				return err
			}
			v, err := c.Order(cmd.Context(), "extend", control.Order{By: person(), Limits: &more})
			if errors.Is(err, control.ErrNotRunning) {
				return extendAtRest(cmd, *dir, more)
			}
			if err != nil {
				return err
			}
			return printRun(cmd.OutOrStdout(), v)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&more.Time, "time", 0, "this much more time")
	f.IntVar(&more.Agents, "agents", 0, "so many workers")
	f.IntVar(&more.Active, "active", 0, "so many at work at once")
	f.IntVar(&more.Returns, "returns", 0, "so often a task may come back")
	return cmd
}

// printRun says what a run does.
func printRun(out io.Writer, v control.View) error {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s\n", v.Spec)
	fmt.Fprintf(w, "%d tasks, %d agents alive, %d at work of %d allowed", len(v.Tasks), v.Alive, v.Active, v.Allowed)
	if !v.Deadline.IsZero() {
		fmt.Fprintf(w, ", until %s", v.Deadline.Local().Format(time.DateTime))
	}
	if v.Pace != "" {
		fmt.Fprintf(w, " (%s)", v.Pace)
	}
	fmt.Fprintln(w)
	printMain(w, v)
	for _, t := range v.Tasks {
		fmt.Fprintf(w, "  %s%-5s %-9s %s%s\n", strings.Repeat("  ", t.Depth), t.Task, phaseOf(t), t.Title, whoHas(t))
	}
	for _, q := range v.Questions {
		fmt.Fprintf(w, "\n%s asks, %s:\n%s\n  dure swarm answer %s TEXT\n", asker(q), q.Question, indented(q.Text), q.Question)
	}
	switch {
	case v.Finished != nil:
		fmt.Fprintf(w, "\nFinished: %s %s\n", v.Finished.Finish, v.Finished.Reason)
	case v.Paused != nil:
		fmt.Fprintf(w, "\nPaused by %s: %s\n  dure swarm unpause\n", v.Paused.By, v.Paused.Reason)
	case v.Plan != "" && v.Approved == "":
		fmt.Fprintf(w, "\nThe plan waits for you:\n%s\n  dure swarm approve | reject NOTE\n", indented(v.Plan))
	}
	_, err := io.WriteString(out, visible(w.String()))
	return err
}

// printMain says how main stands, and which files are in everybody's way.
func printMain(w io.Writer, v control.View) {
	if g := v.Green; g != nil {
		fmt.Fprintf(w, "%s passes on main up to %.12s", g.Command, cmp.Or(g.Commit, "nothing yet"))
		if g.Broken != "" {
			fmt.Fprintf(w, ", and fails since %.12s of %s (%s); %s mends it", g.Broken, cmp.Or(g.By.Agent, "nobody known"), g.By.Task, cmp.Or(string(g.Task), "nobody yet"))
		}
		fmt.Fprintln(w)
	}
	for _, f := range v.HotFiles {
		fmt.Fprintf(w, "%s is in the way (%s)%s\n", f.Path, strings.Join(f.Why, "; "), map[bool]string{true: "", false: ": " + string(f.Task) + " splits it"}[f.Task == ""])
	}
}

func asker(q swarm.Question) string {
	if q.Agent == "" {
		return "The run"
	}
	return q.Agent
}

func phaseOf(t control.TaskView) string {
	switch {
	case t.Outcome != "":
		return string(t.Outcome)
	case t.Parked != "":
		return "parked"
	}
	return string(t.Phase)
}

func whoHas(t control.TaskView) string {
	var parts []string
	if t.Agent != "" && t.Outcome == "" {
		parts = append(parts, t.Agent)
	}
	if t.Returns > 0 {
		parts = append(parts, fmt.Sprintf("came back %d times", t.Returns))
	}
	if t.Outcome != "" && t.Outcome != swarm.Done && t.Reason != "" {
		parts = append(parts, firstLine(t.Reason))
	}
	if len(parts) == 0 {
		return ""
	}
	return " [" + strings.Join(parts, ", ") + "]"
}

func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
