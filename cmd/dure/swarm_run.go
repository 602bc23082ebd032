package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"dure/inference"
	"dure/runtime/budget"
	"dure/runtime/control"
	"dure/runtime/swarm"
)

// swarmRun is what `dure swarm run` was asked for.
type swarmRun struct {
	folder     string // of the run
	spec, repo string // paths; empty: the run that is there goes on
	branch     string
	check      string
	keep       string
	seed       uint64
	models     swarmModels
	limits     swarm.Limits
	approval   bool
	judge      bool
	mustCall   bool
	unsafe     bool
	fresh      bool
	given      func(flag string) bool // on the command line
	caps       capFlags
	extra      extraFlags
	calls      judgeFlags
	checkTime  time.Duration
	shellTime  time.Duration
	turns      int
}

func swarmRunCommand(dir *string) *cobra.Command {
	var o swarmRun
	var yes bool
	cmd := &cobra.Command{
		Use:   "run [SPEC.md --repo DIR --check COMMAND]",
		Short: "Have a team carry out a specification in a repository",
		Long: `A lead reads the specification and splits it into tasks; workers carry them out, each in a
sandbox and on a branch of its own; what passes its check lands on main of the run's own
copy of the repository. The run is finished when the check passes on a clean checkout of
main. Your repository changes only by dure swarm accept.

The plan waits for dure swarm approve, unless --yes is given. Ctrl-C, or a kill, loses
nothing: dure swarm run without a specification goes on where the run was.`,
		Example: `  dure swarm run SPEC.md --repo ~/src/project --check "make test"
  dure swarm run SPEC.md --repo . --check "go test ./..." --url http://127.0.0.1:8484/v1 --agents 8
  dure swarm run                 # go on with the last run
  dure swarm status              # from another terminal; then approve, answer, pause, accept`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			o.approval, o.given = !yes, cmd.Flags().Changed
			if err := o.settle(args, *dir); err != nil {
				return err
			}
			return o.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", "", "the git repository to work on; only what is committed counts")
	f.StringVar(&o.branch, "branch", "", "its branch to begin at (the one that is checked out)")
	f.StringVar(&o.check, "check", "", "the command that passes when the specification is met")
	o.models.register(f)
	f.StringVar(&o.keep, "keep", "", "a command that passes now and has to go on passing on main: a landing that breaks it is named, and mended")
	f.Uint64Var(&o.seed, "seed", 0, "what the models' random numbers begin with, in every turn (each turn its own)")
	f.IntVar(&o.limits.Agents, "agents", 8, "how many workers there may be")
	f.IntVar(&o.limits.Active, "active", 0, "how many agents work at once (as many as there may be)")
	f.DurationVar(&o.limits.Time, "time", 0, "how long the run may take (as long as it takes)")
	f.IntVar(&o.turns, "turns", 200, "how many turns an agent may take before its task comes back")
	f.DurationVar(&o.checkTime, "check-time", 30*time.Minute, "how long a check may take")
	f.DurationVar(&o.shellTime, "shell-time", 10*time.Minute, "how long one command of an agent may take")
	o.caps.register(f)
	o.extra.register(f)
	o.calls.register(f)
	f.BoolVar(&o.mustCall, "must-call", false, "each answer of a model has to call one tool: for small models, and servers that can hold them to it")
	f.BoolVar(&yes, "yes", false, "workers start as soon as there is a plan")
	f.BoolVar(&o.judge, "judge", false, "a judge agent looks at each task's work, too, before it lands")
	f.BoolVar(&o.fresh, "fresh", false, "forget the run that was in the folder")
	f.BoolVar(&o.unsafe, "unsafe", false, "run commands without walls where this machine allows no sandbox")
	return cmd
}

// settle finds out which run is meant.
func (o *swarmRun) settle(args []string, dir string) (err error) {
	if len(args) == 0 {
		if o.repo != "" || o.check != "" {
			return errors.New("give the specification: dure swarm run SPEC.md --repo DIR --check COMMAND")
		}
		o.folder, err = teamDir(dir)
		return err
	}
	if o.repo == "" || o.check == "" {
		return errors.New("give the repository and the check too: dure swarm run SPEC.md --repo DIR --check COMMAND")
	}
	if o.spec, err = filepath.Abs(args[0]); err != nil {
		return err
	}
	if o.repo, err = filepath.Abs(o.repo); err != nil {
		return err
	}
	if err := o.sound(); err != nil {
		return err
	}
	if dir != "" {
		o.folder, err = namedDir(dir)
		return err
	}
	home, err := homeDir()
	o.folder = filepath.Join(home, "swarm", strings.TrimSuffix(filepath.Base(o.repo), ".git"))
	return err
}

func (o *swarmRun) run(ctx context.Context, out, log io.Writer) (err error) {
	t, err := openTeam(ctx, o, log)
	if err != nil {
		if ctx.Err() != nil {
			return context.Canceled
		}
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	fmt.Fprintf(out, "The run is in %s. In another terminal: dure swarm status\n", o.folder)
	if rates := t.ledger.Report().Terms; served(rates) {
		fmt.Fprintln(out, rates.Statement())
	}
	if o.spec == "" {
		s, err := swarm.Load(ctx, t.log)
		if err != nil {
			return err
		}
		if err := printRun(out, control.Look(s)); err != nil {
			return err
		}
	}
	finished, err := t.run(ctx, out)
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(out, "Stopped; dure swarm run goes on where it was.")
			return context.Canceled
		}
		return err
	}
	fmt.Fprintf(out, "\nThe run is finished: %s", finished.Finish)
	if finished.Reason != "" {
		fmt.Fprintf(out, " (%s)", finished.Reason)
	}
	fmt.Fprintln(out)
	if finished.Finish != swarm.FinishDone {
		return errors.New("the official check has not passed: dure swarm extend gives the run more, dure swarm accept --unfinished takes what has landed")
	}
	fmt.Fprintln(out, "dure swarm diff shows what it changed, dure swarm accept brings it to your repository.")
	return nil
}

// served reports whether a role's model is behind an endpoint, and no script.
func served(t budget.Terms) bool {
	for _, r := range t.Rates {
		if r.Host != "" {
			return true
		}
	}
	return false
}

// choice says whether an answer has to call a tool.
func (o *swarmRun) choice() inference.ToolChoice {
	if o.mustCall {
		return inference.ToolChoice{Mode: inference.ToolRequired, Single: true}
	}
	return inference.ToolChoice{}
}

// sound says what is wrong with what a new run is to be begun with.
func (o *swarmRun) sound() error {
	text, err := o.specText()
	if err != nil {
		return err
	}
	if _, err := o.caps.caps(); err != nil {
		return err
	}
	switch {
	case !isDir(o.repo):
		return fmt.Errorf("--repo %s: there is no such folder", o.repo)
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("the specification %s is empty", o.spec)
	case o.turns < 1 || o.checkTime <= 0 || o.shellTime <= 0 || o.limits.Time < 0 || o.limits.Agents < 1 || o.limits.Active < 0:
		return errors.New("--turns, --agents and times must be above 0")
	}
	return nil
}

// specText is the specification's text.
func (o *swarmRun) specText() (string, error) {
	f, err := os.Open(o.spec)
	if err != nil {
		return "", fmt.Errorf("the specification: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, swarm.MaxSpec+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("the specification: %w", err)
	case len(b) > swarm.MaxSpec:
		return "", fmt.Errorf("the specification %s has more than %d bytes", o.spec, swarm.MaxSpec)
	case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
		return "", fmt.Errorf("the specification %s is no text", o.spec)
	}
	return string(b), nil
}
