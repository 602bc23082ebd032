package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dure/runtime/budget"
	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/swarm"
	"dure/runtime/vcs"
	"dure/runtime/vcs/exchange"
	"dure/runtime/vcs/git"
)

// What can be asked of a run also when nobody runs it: its log and its repository say it.

// atRest opens the log of a run.
func atRest(ctx context.Context, dir string) (folder string, log event.Log, err error) {
	if folder, err = teamDir(dir); err != nil {
		return folder, nil, err
	}
	file := filepath.Join(folder, teamLog)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return folder, nil, fmt.Errorf("there is no run in %s: begin one with dure swarm run SPEC.md --repo DIR --check COMMAND", folder)
	}
	log, err = sqlite.Open(ctx, sqlite.Config{Path: file})
	return folder, log, err
}

// loadRun is a run as its log has it.
func loadRun(ctx context.Context, dir string) (folder string, s *swarm.State, err error) {
	folder, log, err := atRest(ctx, dir)
	if err != nil {
		return folder, nil, err
	}
	s, err = swarm.Load(ctx, log)
	if err == nil && s.Started() == nil {
		err = fmt.Errorf("the log in %s holds no run", folder)
	}
	return folder, s, errors.Join(err, log.Close())
}

// restingAccounts are those of a run that nobody runs.
func restingAccounts(ctx context.Context, dir string) (budget.Report, error) {
	_, log, err := atRest(ctx, dir)
	if err != nil {
		return budget.Report{}, err
	}
	var r budget.Report
	s, err := budget.Fold(ctx, log)
	if err == nil {
		r = s.Report()
	}
	return r, errors.Join(err, log.Close())
}

func extendAtRest(cmd *cobra.Command, dir string, more swarm.Limits) error {
	_, log, err := atRest(cmd.Context(), dir)
	if err != nil {
		return err
	}
	_, err = swarm.Extend(cmd.Context(), log, time.Now(), person(), more)
	if err = errors.Join(err, log.Close()); err == nil {
		fmt.Fprintln(cmd.OutOrStdout(), "Extended; dure swarm run goes on with it.")
	}
	return err
}

func swarmListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the runs of this machine", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		home, err := homeDir()
		if err != nil {
			return err
		}
		rows, err := swarmRuns(home).List(cmd.Context())
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if asJSON {
			return printJSON(out, rows)
		}
		if len(rows) == 0 {
			_, err := fmt.Fprintln(out, "There is no run yet: begin one with dure swarm run SPEC.md --repo DIR --check COMMAND")
			return err
		}
		w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
		for _, r := range rows {
			fmt.Fprintln(w, visible(listed1(r)))
		}
		return w.Flush()
	}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listed1 is a run in a list, in columns.
func listed1(r control.Row) string {
	state := string(r.State)
	if r.Why != "" {
		state += " (" + strings.Join(strings.Fields(clipped(r.Why, 120)), " ") + ")"
	}
	return fmt.Sprintf("%s\t%s\t%d of %d tasks done\t%s", r.Name, state, r.Done, r.Tasks, r.Spec)
}

// withRepo opens a run's repository, which nobody may be running.
func withRepo(ctx context.Context, dir string, do func(s *swarm.State, r *vcs.Repository, program git.Program) error) error {
	folder, s, err := loadRun(ctx, dir)
	if err != nil {
		return err
	}
	program, err := git.Find(ctx, "")
	if err != nil {
		return err
	}
	r, err := vcs.Open(ctx, filepath.Join(folder, teamRepo), vcs.Options{Git: program})
	if errors.Is(err, vcs.ErrLocked) {
		return errors.New("the run is being run: stop it with Ctrl-C first; dure swarm run goes on with it afterwards")
	}
	if err != nil {
		return err
	}
	err = do(s, r, program)
	return errors.Join(err, r.Close())
}

func swarmDiffCommand(dir *string) *cobra.Command {
	var stat bool
	cmd := &cobra.Command{Use: "diff", Short: "Show what a run changed, from where it began to its main", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return withRepo(cmd.Context(), *dir, func(s *swarm.State, r *vcs.Repository, program git.Program) error {
			if err := r.Publish(cmd.Context()); err != nil {
				return err
			}
			args := []string{"diff", "--no-color", s.Started().Base, r.Main()}
			if stat {
				args = append(args, "--stat")
			}
			c := program.Command(cmd.Context(), r.Dir(), nil, args...)
			c.Stdout, c.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return c.Run()
		})
	}}
	cmd.Flags().BoolVar(&stat, "stat", false, "count lines by file only")
	return cmd
}

func swarmAcceptCommand(dir *string) *cobra.Command {
	var branch string
	var anyway bool
	cmd := &cobra.Command{
		Use: "accept", Short: "Bring what a run landed to your repository, as a new branch",
		Long: `The run's main becomes a new branch of your repository. Nothing else there is touched:
look at it, test it, merge it as any other branch.`,
		Example: "  dure swarm accept\n  dure swarm accept --branch parser && git merge parser",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := soundLog(cmd.Context(), *dir); err != nil {
				return err
			}
			return withRepo(cmd.Context(), *dir, func(s *swarm.State, r *vcs.Repository, program git.Program) error {
				return acceptRun(cmd, s, r, program, branch, anyway)
			})
		},
	}
	cmd.Flags().StringVar(&branch, "branch", "", "the new branch's name (dure/ and the first words of the specification)")
	cmd.Flags().BoolVar(&anyway, "unfinished", false, "also when the official check has not passed")
	return cmd
}

func acceptRun(cmd *cobra.Command, s *swarm.State, r *vcs.Repository, program git.Program, branch string, anyway bool) error {
	head, ok := r.Ref(r.Main())
	if !ok {
		return errors.New("the run's repository has no main")
	}
	v := s.Verified()
	proved := v != nil && v.Passed && v.Commit == head.String()
	if !proved && !anyway {
		return errors.New("the official check has not passed on the run's main: go on with dure swarm run (after dure swarm extend, if it has finished), or give --unfinished")
	}
	if head.String() == s.Started().Base {
		return errors.New("nothing has landed")
	}
	if branch == "" {
		branch = "dure/" + slug(control.Look(s).Spec)
	}
	if _, err := program.Output(cmd.Context(), r.Dir(), nil, "check-ref-format", "--branch", branch); err != nil || branch == "HEAD" {
		return fmt.Errorf("--branch %q: git takes no branch of that name", branch)
	}
	if err := exchange.Export(cmd.Context(), program, r, head, s.Started().Repo, branch); err != nil {
		if errors.Is(err, exchange.ErrTaken) {
			return fmt.Errorf("%w: choose another with --branch", err)
		}
		return err
	}
	if err := noteAccepted(cmd.Context(), filepath.Dir(r.Dir()), control.Taken{By: person(), Repo: s.Started().Repo, Branch: branch, Commit: head.String()}); err != nil {
		return fmt.Errorf("%s was made, and the run's log could not be told: %w", branch, err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s is a new branch of %s, at %.12s. Landed:\n", branch, s.Started().Repo, head)
	for _, t := range s.Tasks() {
		if t.Main != "" {
			fmt.Fprintf(out, "  %-5s %s: %s\n", t.ID(), t.Title, firstLine(t.Summary))
		}
	}
	fmt.Fprintf(out, "\n  cd %s && git log --first-parent %s && git merge %s\n", s.Started().Repo, branch, branch)
	return nil
}

// soundLog reads all of a run's log: nothing is taken of one with an event that is not as
// it was written.
func soundLog(ctx context.Context, dir string) error {
	folder, log, err := atRest(ctx, dir)
	if err != nil {
		return err
	}
	for _, err = range log.ReadAll(ctx, 1) {
		if err != nil {
			err = fmt.Errorf("the log in %s: %w", folder, err)
			break
		}
	}
	return errors.Join(err, log.Close())
}

// noteAccepted writes down what a person took of a run.
func noteAccepted(ctx context.Context, folder string, t control.Taken) error {
	e, err := control.AcceptedType.New(t)
	if err != nil {
		return err
	}
	_, log, err := atRest(ctx, folder)
	if err != nil {
		return err
	}
	_, err = log.Append(ctx, control.AcceptedStream, event.Any, e)
	return errors.Join(err, log.Close())
}

// slug is a few words of a title as a branch's name.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 {
		return "run"
	}
	return strings.Join(words[:min(len(words), 5)], "-")
}
