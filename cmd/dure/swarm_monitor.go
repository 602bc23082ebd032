package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dure/runtime/judge"
	"dure/runtime/monitor"
)

func swarmMonitorCommand(dir *string) *cobra.Command {
	var o monitor.Options
	var view, places string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "monitor [RUN]", Short: "Look back at what the agents of a run did: the calls that most speaks against, first",
		Long: `Replays the recorded calls of a run, at rest or running, and ranks them by how much the
rules find against each: by the actions alone, and with what the agent thought before
them, since each view finds what the other misses. Nothing is carried out or changed.`,
		Example: "  dure swarm monitor\n  dure swarm monitor project --top 50 --neighbours 5\n  dure swarm monitor --json | jq '.actions[0]'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := *dir
			if len(args) == 1 {
				run = args[0]
			}
			if o.Top < 1 || o.Neighbours < 0 {
				return errors.New("--top must be above 0, and --neighbours 0 or more")
			}
			if view != "" && view != "actions" && view != "reasoning" {
				return fmt.Errorf("--view %q: it can be actions or reasoning, both if left out", view)
			}
			rules, err := judgeFlags{Places: places}.rules()
			if err != nil {
				return err
			}
			_, log, err := atRest(cmd.Context(), run)
			if err != nil {
				return err
			}
			r, err := monitor.Replay(cmd.Context(), log, judge.Monitor{Rules: rules}, o)
			if err := errors.Join(err, log.Close()); err != nil {
				return err
			}
			switch view {
			case "actions":
				r.Reasoning = nil
			case "reasoning":
				r.Actions = nil
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return printMonitor(cmd.OutOrStdout(), r)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Top, "top", 10, "how many calls to show of each view")
	f.IntVar(&o.Neighbours, "neighbours", 2, "how many calls of the same agent to show before and after each")
	f.StringVar(&view, "view", "", "actions, or reasoning; both if left out")
	f.StringVar(&places, "judge-places", "", "the file with places of the repository that the run had")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printMonitor shows a report to a person.
func printMonitor(w io.Writer, r monitor.Report) error {
	fmt.Fprintf(w, "%d calls of %d agents; against %d speaks something by what they do, against %d with what was thought.\n", r.Calls, r.Agents, r.SuspectActions, r.SuspectReasoning)
	if len(r.Judges) > 0 {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "JUDGED BY\tCALLS\tALLOWED\tREFUSED\tBLOCKED\tMS AT MEDIAN\tP95\tMOST")
		for _, j := range r.Judges {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\n", j.By, j.Calls, j.Allowed, j.Refused, j.Blocked, j.MedianMS, j.P95MS, j.MostMS)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	printRanking(w, "By what they do", r.Actions)
	printRanking(w, "With what was thought", r.Reasoning)
	return nil
}

func printRanking(w io.Writer, title string, items []monitor.Item) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	for i, it := range items {
		fmt.Fprintf(w, "\n%3d. %.2f  %s\n", i+1, it.Score, it.Why)
		for _, l := range it.Before {
			fmt.Fprintf(w, "       %s\n", monitored(l))
		}
		fmt.Fprintf(w, "     > %s\n", monitored(it.Line))
		if it.Reasoning != "" {
			fmt.Fprintf(w, "       thought: %s\n", cut(it.Reasoning, 300))
		}
		for _, l := range it.After {
			fmt.Fprintf(w, "       %s\n", monitored(l))
		}
	}
}

// monitored is a call in one line.
func monitored(l monitor.Line) string {
	end := string(l.Outcome)
	if end == "" {
		end = "no end"
	}
	return fmt.Sprintf("%s %s turn %d %s [%s] %s", l.At.Local().Format("15:04:05"), l.Agent, l.Turn, l.Tool, end, cut(shownArguments([]byte(l.Arguments)), 200))
}

// cut is a text in one line, of so many letters at most.
func cut(text string, most int) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) <= most {
		return string(letters)
	}
	return string(letters[:most]) + "…"
}
