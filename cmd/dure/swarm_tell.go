package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	"dure/runtime/event"
	"dure/runtime/swarm"
	"dure/runtime/tool"
)

// teller prints what happens in a run, a line each.
type teller struct {
	out   io.Writer
	calls map[string]string // that have not ended, as they are shown
}

// tell prints what happens beyond a position, until ctx ends, or what is printed has
// reached a position that arrives on stop.
func tell(ctx context.Context, log event.Log, after event.Position, out io.Writer, stop <-chan event.Position) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &teller{out: out, calls: map[string]string{}}
	last, seen := make(chan event.Position, 1), after
	go func() {
		defer close(last)
		select {
		case at := <-stop:
			last <- at
			cancel()
		case <-ctx.Done():
		}
	}()
	for e, err := range log.FollowAll(ctx, after+1) {
		if err != nil {
			break // the run's own reading of the log says what is wrong with it
		}
		t.print(e)
		seen = e.Position
	}
	end := <-last
	for e, err := range log.ReadAll(context.WithoutCancel(ctx), seen+1) {
		if err != nil || e.Position > end {
			return
		}
		t.print(e)
	}
}

func (t *teller) print(e event.Event) {
	if line := t.line(e); line != "" {
		fmt.Fprintf(t.out, "%s %s\n", e.Time.Local().Format("15:04:05"), visible(line))
	}
}

// line is an event for a person; empty: it is of no interest.
func (t *teller) line(e event.Event) string {
	switch e.Type {
	case tool.Events.Judged.Name():
		if j, err := tool.Events.Judged.Decode(e); err == nil {
			t.calls[j.Agent+j.Call] = clipped(shownArguments(j.Arguments), 90)
		}
		return ""
	case tool.Events.Ended.Name():
		end, err := tool.Events.Ended.Decode(e)
		if err != nil {
			return ""
		}
		key := end.Agent + end.Call
		defer delete(t.calls, key)
		return fmt.Sprintf("  %-12s %s %s: %s", end.Agent, end.Tool, t.calls[key], end.Outcome)
	case "gate.blocked", "gate.stopped":
		return "The team is stopped. In another terminal: dure swarm status | resume | overrule | end"
	case "gate.resumed", "gate.overruled":
		return "The team goes on."
	}
	if e.Stream != swarm.Stream {
		return ""
	}
	payload, err := swarm.Registry.Decode(e)
	if err != nil {
		return ""
	}
	return runLine(payload)
}

// runLine is an event of a run for a person.
func runLine(payload any) string {
	switch p := payload.(type) {
	case swarm.Hired:
		return fmt.Sprintf("%s joins as %s", p.Agent, p.Role)
	case swarm.Submitted:
		return fmt.Sprintf("%s is new: %s (check: %s)", p.Task, p.Title, p.Check)
	case swarm.Leased:
		return fmt.Sprintf("%s goes to %s (%s)", p.Task, p.Agent, p.Role)
	case swarm.Reported:
		if p.GaveUp != "" {
			return fmt.Sprintf("%s: its agent gave up: %s", p.Task, p.GaveUp)
		}
		return fmt.Sprintf("%s is reported: %s", p.Task, firstLine(p.Summary))
	case swarm.Drafted:
		return "The plan:\n" + indented(p.Text)
	case swarm.Approved:
		return "The plan is approved by " + p.By
	case swarm.Checked:
		return fmt.Sprintf("%s: its check %s", p.Task, passed(p.Passed))
	case swarm.Judged:
		return fmt.Sprintf("%s: the judge %s says it %s: %s", p.Task, p.Agent, passed(p.Passed), firstLine(p.Text))
	case swarm.Landed:
		return fmt.Sprintf("%s is on main (%.12s)", p.Task, p.Main)
	case swarm.Conflicted:
		return fmt.Sprintf("%s conflicts with main: %s", p.Task, firstLine(p.Detail))
	case swarm.Refused:
		return fmt.Sprintf("%s does not land: %s", p.Task, firstLine(p.Reason))
	case swarm.Returned:
		return fmt.Sprintf("%s comes back: %s", p.Task, clipped(strings.Join(strings.Fields(p.Reason), " "), 300))
	case swarm.Ended:
		return strings.TrimSpace(fmt.Sprintf("%s is %s %s", p.Task, p.Outcome, firstLine(p.Reason)))
	case swarm.Verified:
		return "The official check " + passed(p.Passed) + " on main"
	case swarm.Asked:
		return fmt.Sprintf("A question for you, %s:\n%s\n  dure swarm answer %s TEXT", p.Question, indented(p.Text), p.Question)
	case swarm.Activated:
		return fmt.Sprintf("%d agents may be at work: %s", p.Active, p.Reason)
	case swarm.Found:
		return fmt.Sprintf("%s is in the way: %s", p.Path, strings.Join(p.Why, "; "))
	case swarm.Opened:
		return p.Path + " was not split, and is free again"
	case swarm.Mainline:
		return mainLine(p)
	case swarm.Paused:
		if p.By == swarm.Harness {
			return "Paused: " + firstLine(p.Reason)
		}
		return "Paused by " + p.By + ": dure swarm unpause"
	case swarm.Resumed:
		return "Goes on, says " + p.By
	}
	return ""
}

// mainLine is what the command that is to go on passing said of main.
func mainLine(p swarm.Mainline) string {
	switch {
	case p.Broken != "":
		return fmt.Sprintf("Main is broken since %.12s (%s, %s)", p.Broken, p.By.Agent, p.By.Task)
	case p.Mended:
		return fmt.Sprintf("Main is mended, and green up to %.12s", p.Green)
	case p.Green != "":
		return fmt.Sprintf("Main is green up to %.12s", p.Green)
	}
	return fmt.Sprintf("A check of main fails and then passes: %.12s", p.Flaky)
}

func passed(ok bool) string {
	if ok {
		return "passes"
	}
	return "fails"
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return clipped(line, 200)
}

// clipped is a line with so many bytes of it at most.
func clipped(line string, most int) string {
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}

func indented(s string) string {
	return "  | " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  | ")
}

// visible is a text of agents for a terminal: nothing in it moves the cursor, clears
// lines, or talks to the terminal.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return '\ufffd'
		}
		return r
	}, s)
}
