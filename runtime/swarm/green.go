package swarm

import (
	"context"
	"fmt"
)

// Mainline is the payload of main.checked: what the command that has to go on passing
// (Started.Keep) said of main. Exactly one of Green, Broken and Flaky leads to it.
type Mainline struct {
	Green  string `json:"green,omitempty"`  // the newest commit of main with which it passes
	Broken string `json:"broken,omitempty"` // the first landing with which it fails
	By     Side   `json:"by,omitzero"`      // who landed that
	Flaky  string `json:"flaky,omitempty"`  // it failed here, and then passed
	Mended bool   `json:"mended,omitempty"` // it passes again after Broken
	Output Output `json:"output,omitzero"`
}

// A Green is how main stands by Started.Keep.
type Green struct {
	Command string `json:"command"`
	Commit  string `json:"commit,omitempty"` // the newest with which it passes; empty: none yet
	Broken  string `json:"broken,omitempty"` // the landing with which it fails; empty: it does not
	By      Side   `json:"by,omitzero"`
	Task    TaskID `json:"task,omitempty"` // that mends it
	Flaky   int    `json:"flaky,omitempty"`
	output  Output
}

// Green is how main stands; nil: the run keeps no command passing.
func (s *State) Green() *Green { return s.green }

// Checked notes what Started.Keep says of main.
func (c *Coordinator) Checked(ctx context.Context, p Mainline) error {
	return c.do(ctx, "main was checked", func(s *State) ([]any, error) {
		if s.green == nil {
			return nil, refuse("the run keeps no command passing")
		}
		p.Output = p.Output.bounded()
		if p.Broken == s.green.Broken { // a new process finds it again
			p.Broken = ""
		}
		if p.Green+p.Broken+p.Flaky == "" && !p.Mended {
			return nil, nil
		}
		return []any{p}, nil
	})
}

func (s *State) applyMainline(p Mainline) error {
	g := s.green
	if g == nil {
		return fmt.Errorf("the run keeps no command passing")
	}
	if p.Green != "" {
		g.Commit = p.Green
	}
	if p.Mended {
		g.Broken, g.By, g.Task, g.output = "", Side{}, "", Output{}
	}
	if p.Broken != "" {
		g.Broken, g.By, g.Task, g.output = p.Broken, p.By, "", p.Output
	}
	if p.Flaky != "" {
		g.Flaky++
	}
	return nil
}

// mend makes a task, one for a landing that broke main, that mends it.
func (p *planning) mend() {
	g := p.s.green
	if g == nil || g.Broken == "" || g.Task != "" || p.s.own >= p.s.limits.Tasks || p.s.root().parked() {
		return
	}
	by := "a landing"
	if g.By.Agent != "" {
		by = fmt.Sprintf("%s's landing for %s", g.By.Agent, g.By.Task)
	}
	p.decide(Submit{Submitted{
		Task: taskID(len(p.s.tasks) + p.submitted()), Kind: KindWork, Parent: Root, Crew: MainCrew, By: Harness, Mends: g.Broken,
		Title: head("mend main: "+g.Command, MaxTitle), Check: g.Command,
		Text: clip(fmt.Sprintf("This command passed on main before %s (%s) and fails since:\n  %s\nMend main, and keep what that landing was for. It printed:\n%s", by, g.Broken, g.Command, g.output.String()), MaxText),
	}})
}
