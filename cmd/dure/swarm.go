package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dure/inference/catalog"
	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/gate"
)

func swarmCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "swarm",
		Short: "Run a team of agents, and decide when it stops",
		Long: `A team of agents works in sandboxes; each of their calls is judged before it is carried
out. A call that the judge blocks stops the whole team until a person has looked:

  dure swarm status      see why
  dure swarm resume      go on; the blocked call is refused, its agent told why
  dure swarm overrule    go on; the blocked call is carried out
  dure swarm end         end the team

dure swarm run has a team carry out a specification; dure swarm toy is a team to try the
stop with. Without --dir the team is meant that was run last.`,
		Args: knownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&dir, "dir", "", "the team: a folder, or a name of dure swarm list (the team that was run last)")
	cmd.AddCommand(swarmPrepareCommand(), swarmRunCommand(&dir), swarmPlanCommand(&dir), swarmToyCommand(&dir), swarmStatusCommand(&dir),
		decideCommand(&dir, "stop", "Stop the team; calls that have begun go on to their end",
			func(ctx context.Context, c *control.Client, reason string) (control.Status, error) {
				return c.Stop(ctx, person(), reason)
			}),
		decideCommand(&dir, "resume", "Let a stopped team go on; blocked calls are refused",
			func(ctx context.Context, c *control.Client, reason string) (control.Status, error) {
				return c.Resume(ctx, person(), reason)
			}),
		decideCommand(&dir, "end", "End a team for good",
			func(ctx context.Context, c *control.Client, reason string) (control.Status, error) {
				return c.End(ctx, person(), reason)
			}),
		swarmOverruleCommand(&dir), swarmExtendCommand(&dir), swarmListCommand(), swarmCapsCommand(&dir), swarmWatchCommand(&dir), swarmAskCommand(&dir), swarmReportCommand(&dir), swarmReplayCommand(&dir), swarmMonitorCommand(&dir), swarmDiffCommand(&dir), swarmAcceptCommand(&dir))
	for _, o := range swarmOrders {
		cmd.AddCommand(o.command(&dir))
	}
	return cmd
}

// knownSubcommand refuses a word that is no subcommand, and tells which may be meant.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return fmt.Errorf("there is no %q%s; dure swarm --help lists what there is", cmd.CommandPath()+" "+args[0], catalog.DidYouMean(args[0], names))
}

// person is who decides, for the record.
func person() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "person"
}

// namedDir is the folder that --dir names: a path, or a run as dure swarm list calls it.
func namedDir(dir string) (string, error) {
	if dir == filepath.Base(dir) {
		home, err := homeDir()
		if err != nil {
			return "", err
		}
		if known := filepath.Join(home, "swarm", dir); isDir(known) {
			return known, nil
		}
	}
	return filepath.Abs(dir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// teamDir is the folder of the team that is meant: that which was begun or run last,
// where none is named.
func teamDir(dir string) (string, error) {
	if dir != "" {
		return namedDir(dir)
	}
	home, err := homeDir()
	if err != nil {
		return "", err
	}
	logs, err := filepath.Glob(filepath.Join(home, "swarm", "*", teamSocket+".lock"))
	if err != nil {
		return "", err
	}
	newest, when := filepath.Join(home, "swarm", "toy"), time.Time{}
	for _, file := range logs {
		info, err := os.Stat(file)
		if err == nil && info.ModTime().After(when) {
			newest, when = filepath.Dir(file), info.ModTime()
		}
	}
	return newest, nil
}

func teamClient(dir string) (*control.Client, error) {
	dir, err := teamDir(dir)
	if err != nil {
		return nil, err
	}
	return control.Dial(filepath.Join(dir, "control.sock")), nil
}

func swarmStatusCommand(dir *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Say what a team does, and why it stands still", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, resting, err := teamStatus(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return printTeamStatus(cmd.OutOrStdout(), s, resting)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// teamStatus is how a team stands: what its process says, or its log where nobody runs it.
func teamStatus(ctx context.Context, dir string) (s control.Status, resting bool, err error) {
	folder, err := teamDir(dir)
	if err != nil {
		return s, false, err
	}
	s, err = control.Dial(filepath.Join(folder, teamSocket)).Status(ctx)
	if !errors.Is(err, control.ErrNotRunning) {
		return s, false, err
	}
	if _, statErr := os.Stat(filepath.Join(folder, teamLog)); statErr != nil {
		return s, true, fmt.Errorf("%w: begin a run with dure swarm run SPEC.md --repo DIR --check COMMAND; dure swarm list names those that there are", err)
	}
	notRunning := err
	s, err = swarmRuns("").Look(ctx, folder)
	if errors.Is(err, control.ErrNoRun) { // a toy team's
		err = notRunning
	}
	if errors.Is(err, event.ErrDamaged) || errors.Is(err, event.ErrForeign) {
		err = fmt.Errorf("the log in %s is damaged: %w\nNothing acts on it. dure swarm replay says up to where it is good; --fresh begins the run anew", folder, err)
	}
	return s, true, err
}

// printTeamStatus says what a team does. resting: nobody runs it.
func printTeamStatus(w io.Writer, s control.Status, resting bool) error {
	if s.Run == nil {
		return printTeam(w, s)
	}
	if s.State != "" {
		line := string(s.State)
		if s.Why != "" {
			line += ": " + s.Why
		}
		fmt.Fprintln(w, visible(line))
	}
	if err := printRun(w, *s.Run); err != nil {
		return err
	}
	printUse(w, s)
	if s.Judge != "" {
		fmt.Fprintf(w, "Calls are judged by %s.\n", s.Judge)
	}
	if s.Gate.Phase != "" && s.Gate.Phase != gate.PhaseOpen {
		if err := printTeam(w, s); err != nil {
			return err
		}
	}
	if resting && s.Run.Finished == nil {
		_, err := fmt.Fprintln(w, "\nNobody runs it: dure swarm run goes on with it.")
		return err
	}
	return nil
}

func decideCommand(dir *string, name, short string, do func(context.Context, *control.Client, string) (control.Status, error)) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := teamClient(*dir)
			if err != nil {
				return err
			}
			s, err := do(cmd.Context(), c, reason)
			if err != nil {
				return err
			}
			return printTeam(cmd.OutOrStdout(), s)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

func swarmOverruleCommand(dir *string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "overrule [AGENT CALL]", Short: "Have a blocked call carried out; without names the only one",
		Example: "  dure swarm overrule noether t4.1 --reason 'a key of the tests'",
		Args: cobra.MatchAll(cobra.MaximumNArgs(2), func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return fmt.Errorf("name the agent and its call, as dure swarm status prints them")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := teamClient(*dir)
			if err != nil {
				return err
			}
			var id gate.CallID
			if len(args) == 2 {
				id = gate.CallID{Agent: args[0], Call: args[1]}
			} else if id, err = onlyBlock(cmd.Context(), c); err != nil {
				return err
			}
			s, err := c.Overrule(cmd.Context(), person(), id, reason)
			if err != nil {
				return err
			}
			return printTeam(cmd.OutOrStdout(), s)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

func onlyBlock(ctx context.Context, c *control.Client) (gate.CallID, error) {
	s, err := c.Status(ctx)
	if err != nil {
		return gate.CallID{}, err
	}
	if n := len(s.Gate.Blocks); n != 1 {
		return gate.CallID{}, fmt.Errorf("%d calls are blocked: name the agent and its call, as dure swarm status prints them", n)
	}
	return s.Gate.Blocks[0].CallID, nil
}

func printTeam(w io.Writer, s control.Status) error {
	fmt.Fprintf(w, "The team is %s; %d calls and answers go on.\n", s.Gate.Phase, s.Inside)
	if st := s.Gate.Stop; st != nil {
		fmt.Fprintf(w, "By %s at %s: %s\n", st.By, st.At.Local().Format("15:04:05"), cmp.Or(st.Reason, "no reason given"))
	}
	for _, b := range s.Gate.Blocks {
		fmt.Fprintf(w, "Blocked: %s %s, turn %d, %s (%s)\n  %s %s\n", b.Agent, b.Call, b.Turn, b.Reason, b.Rule, b.Tool, shownArguments(b.Arguments))
	}
	switch {
	case len(s.Gate.Blocks) == 0 && s.Gate.Phase == gate.PhaseStopped:
		fmt.Fprintln(w, "dure swarm resume lets it go on, dure swarm end ends it.")
	case len(s.Gate.Blocks) > 0 && s.Gate.Stop != nil:
		fmt.Fprintln(w, "dure swarm resume refuses them and lets the team go on; after dure swarm overrule it is still stopped.")
	case len(s.Gate.Blocks) > 0:
		fmt.Fprintln(w, "dure swarm resume refuses them, dure swarm overrule carries one out, dure swarm end ends the team.")
	}
	if len(s.Agents) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AGENT\tTURNS\tSTATE")
	for _, a := range s.Agents {
		fmt.Fprintf(t, "%s\t%d\t%s\n", a.Name, a.Turns, a.State)
	}
	return t.Flush()
}

// shownArguments is a call's arguments for a person: the texts alone.
func shownArguments(arguments json.RawMessage) string {
	var fields map[string]string
	if json.Unmarshal(arguments, &fields) != nil {
		return string(arguments)
	}
	texts := []string{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		texts = append(texts, fields[name])
	}
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}
