package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/runtime/control"
	"dure/runtime/spec"
)

// swarmPlan is what `dure swarm plan` was asked for.
type swarmPlan struct {
	run    swarmRun // the draft's
	static bool
	strict bool
	window int
	asJSON bool
	dir    string
}

// planned is the answer as JSON.
type planned struct {
	spec.Report
	Check string              `json:"check,omitempty"`
	Ran   map[string]spec.Ran `json:"ran,omitempty"`
	Plan  *control.View       `json:"plan,omitempty"` // of the draft
	Asked []string            `json:"asked,omitempty"`
}

func swarmPlanCommand(dir *string) *cobra.Command {
	var o swarmPlan
	cmd := &cobra.Command{
		Use:   "plan SPEC.md [--repo DIR] [--check COMMAND]",
		Short: "Say what a team would stumble over in a specification; with a model, draft its plan",
		Long: `The specification is read for goals without a check, checks that are not there or pass
already, open questions, goals that nobody can verify, files that are not in the repository,
and goals that say the same or contradict each other. With --repo, each check is run once, in
a sandbox, on the repository as it is: a check has to fail before the work is done.

With --model, --url or --script, as dure swarm run takes them, the lead drafts its plan too,
the same document that dure swarm approve is asked for; no worker starts. With --dir the
draft is kept there, and dure swarm run goes on with it.

The exit status is 1 where there are errors (with --strict, also warnings).`,
		Example: `  dure swarm plan SPEC.md
  dure swarm plan SPEC.md --repo ~/src/project --check "make test"
  dure swarm plan SPEC.md --repo . --check "make test" --url http://127.0.0.1:8484/v1`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			o.dir, o.run.given = *dir, cmd.Flags().Changed
			return o.do(ctx, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.run.repo, "repo", "", "the git repository; only what is committed counts")
	f.StringVar(&o.run.branch, "branch", "", "its branch (the one that is checked out)")
	f.StringVar(&o.run.check, "check", "", "the command that passes when the specification is met")
	f.BoolVar(&o.static, "static", false, "run no check")
	f.BoolVar(&o.strict, "strict", false, "warnings count as errors")
	f.IntVar(&o.window, "context", 0, "how many tokens the lead's model takes (what models.yaml says of it)")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	o.run.models.register(f)
	f.IntVar(&o.run.turns, "turns", 60, "how many turns the lead may take for its plan")
	f.DurationVar(&o.run.limits.Time, "time", 30*time.Minute, "how long it may take")
	f.DurationVar(&o.run.checkTime, "check-time", 5*time.Minute, "how long a check may take")
	f.BoolVar(&o.run.mustCall, "must-call", false, "each answer of a model has to call one tool")
	f.BoolVar(&o.run.unsafe, "unsafe", false, "run commands without walls where this machine allows no sandbox")
	return cmd
}

// errFindings: the specification has faults. They were printed.
func errFindings(r spec.Report) error {
	return fmt.Errorf("the specification has %s and %s", howMany(r.Count(spec.Error), "error"), howMany(r.Count(spec.Warning), "warning"))
}

func howMany(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (o *swarmPlan) do(ctx context.Context, file string, out, log io.Writer) (err error) {
	if o.run.spec, err = filepath.Abs(file); err != nil {
		return err
	}
	text, err := o.run.specText()
	if err != nil {
		return err
	}
	p := planned{Check: o.run.check}
	facts := spec.Facts{Check: o.run.check, Window: o.window}
	if facts.Window == 0 {
		facts.Window = o.leadWindow()
	}
	if o.run.repo != "" {
		if o.run.repo, err = filepath.Abs(o.run.repo); err != nil {
			return err
		}
		if err := o.look(ctx, text, &facts, log); err != nil {
			return err
		}
	}
	p.Report, p.Ran = spec.Lint(text, facts), facts.Ran
	if !o.asJSON {
		o.print(out, p.Report, facts)
	}
	var drafted error
	if o.drafts() {
		drafted = o.draft(ctx, &p, out, log)
	}
	if o.asJSON {
		if err := printJSON(out, p); err != nil {
			return err
		}
	}
	if drafted == nil && (p.Count(spec.Error) > 0 || o.strict && p.Count(spec.Warning) > 0) {
		return errFindings(p.Report)
	}
	return drafted
}

// drafts says whether a model was named.
func (o *swarmPlan) drafts() bool {
	return o.run.given("model") || o.run.given("url") || o.run.given("script")
}

// print tells the findings to a person.
func (o *swarmPlan) print(out io.Writer, r spec.Report, facts spec.Facts) {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s: %s, about %d tokens\n", r.Title, howMany(len(r.Goals), "goal"), r.Tokens)
	name := o.shown()
	for _, f := range r.Findings {
		place := name
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d", name, f.Line)
		}
		fmt.Fprintf(w, "\n%s: %s: %s [%s]\n  fix: %s\n", place, f.Severity, f.Why, f.Rule, f.Fix)
	}
	switch failing := ranFailing(facts.Ran); {
	case facts.Repo == nil:
		fmt.Fprintln(w, "\nWithout --repo nothing is said of files, and no check was run.")
	case o.static:
		fmt.Fprintln(w, "\nNo check was run (--static).")
	case failing > 0:
		fmt.Fprintf(w, "\n%s of %d fail in the repository as it is, as they must.\n", howMany(failing, "check"), len(facts.Ran))
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, "\nNothing is against it.")
	}
	fmt.Fprint(out, visible(w.String()))
}

func ranFailing(ran map[string]spec.Ran) int {
	n := 0
	for _, r := range ran {
		if !r.Passed && !r.Missing {
			n++
		}
	}
	return n
}

// shown is the specification's file as a person would name it.
func (o *swarmPlan) shown() string {
	here, err := os.Getwd()
	if err != nil {
		return o.run.spec
	}
	if rel, err := filepath.Rel(here, o.run.spec); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return o.run.spec
}

// leadWindow is what models.yaml says of the lead's model; 0: nothing.
func (o *swarmPlan) leadWindow() int {
	home, err := homeDir()
	if err != nil {
		return 0
	}
	cat, err := openCatalog(home)
	if err != nil {
		return 0
	}
	a, err := cat.Assigned("lead")
	if err != nil || !a.Given || a.Endpoint == nil {
		return 0
	}
	return a.Endpoint.Context
}

// usageArgs has a wrong number of arguments answered with how the command is used.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w\nusage: %s%s", err, cmd.UseLine(), exampleOf(cmd))
		}
		return nil
	}
}

func exampleOf(cmd *cobra.Command) string {
	if cmd.Example == "" {
		return ""
	}
	return "\nfor example:\n" + cmd.Example
}

var errNoRepo = errors.New("a draft needs the repository and the check too: dure swarm plan SPEC.md --repo DIR --check COMMAND --model NAME")
