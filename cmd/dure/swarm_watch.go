package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func swarmWatchCommand(dir *string) *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use: "watch", Short: "Show a run as it goes, until it is finished or you press Ctrl-C", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			for {
				s, resting, err := teamStatus(ctx, *dir)
				switch {
				case ctx.Err() != nil:
					return nil
				case err != nil:
					return err
				case resting:
					return printTeamStatus(cmd.OutOrStdout(), s, true)
				}
				var b strings.Builder
				b.WriteString("\x1b[H\x1b[2J")
				if err := printTeamStatus(&b, s, false); err != nil {
					return err
				}
				if s.Run != nil {
					printAgents(&b, *s.Run)
				}
				fmt.Fprintf(&b, "\n%s, every %v; Ctrl-C ends the watching only\n", time.Now().Format("15:04:05"), every)
				fmt.Fprint(cmd.OutOrStdout(), b.String())
				if s.Run != nil && s.Run.Finished != nil {
					return nil
				}
				if sleep(ctx, every) != nil {
					return nil
				}
			}
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "how often to look")
	return cmd
}

func swarmAskCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "ask AGENT QUESTION", Short: "Ask an agent something beside its work", Args: usageArgs(cobra.MinimumNArgs(2)),
		Long: `The agent answers in one turn, as it stands; its work goes on and knows nothing of the
question. To tell it something, dure swarm tell.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := teamClient(*dir)
			if err != nil {
				return err
			}
			answer, err := c.Ask(cmd.Context(), person(), args[0], strings.Join(args[1:], " "))
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), visible(answer))
			return nil
		},
	}
}
