package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dure/runtime/budget"
	"dure/runtime/control"
)

// capFlags are the ceilings of a run, as flags say them.
type capFlags struct {
	tokens, agentTokens int64
	dollars             float64
}

func (c *capFlags) register(f *pflag.FlagSet) {
	f.Int64Var(&c.tokens, "max-tokens", 0, "the run's models may read and write so many tokens, then they wait for you (no limit)")
	f.Int64Var(&c.agentTokens, "max-tokens-agent", 0, "the same for each agent")
	f.Float64Var(&c.dollars, "max-cost", 0, "the run may cost so many dollars, by the prices in models.yaml, then it waits for you (no limit)")
}

func (c capFlags) caps() (budget.Caps, error) {
	if c.tokens < 0 || c.agentTokens < 0 || c.dollars < 0 || c.dollars > 1e6 || math.IsNaN(c.dollars) {
		return budget.Caps{}, fmt.Errorf("a cap is a number above 0 (and at most a million dollars)")
	}
	return budget.Caps{
		Run:   budget.Cap{Tokens: c.tokens, Money: budget.Money(math.Round(c.dollars * float64(budget.Dollar)))},
		Agent: budget.Cap{Tokens: c.agentTokens},
	}, nil
}

func swarmCapsCommand(dir *string) *cobra.Command {
	var f capFlags
	cmd := &cobra.Command{
		Use: "caps", Short: "Say what a run has used, or give it other ceilings of tokens and money", Args: cobra.NoArgs,
		Example: "  dure swarm caps\n  dure swarm caps --max-tokens 50000000 --max-cost 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			caps, err := f.caps()
			if err != nil {
				return err
			}
			client, err := teamClient(*dir)
			if err != nil {
				return err
			}
			o := control.Order{By: person()}
			if c := cmd.Flags().Changed; c("max-tokens") || c("max-tokens-agent") || c("max-cost") {
				now, err := client.Caps(cmd.Context(), o)
				if err != nil {
					return err
				}
				o.Caps = merged(now.Terms.Caps, caps, c)
			}
			r, err := client.Caps(cmd.Context(), o)
			if errors.Is(err, control.ErrNotRunning) && o.Caps == nil {
				r, err = restingAccounts(cmd.Context(), *dir)
			}
			if err != nil {
				return err
			}
			return printAccounts(cmd, r)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// merged are the caps in force, with those that were given in their place.
func merged(now, given budget.Caps, changed func(flag string) bool) *budget.Caps {
	if changed("max-tokens") {
		now.Run.Tokens = given.Run.Tokens
	}
	if changed("max-cost") {
		now.Run.Money = given.Run.Money
	}
	if changed("max-tokens-agent") {
		now.Agent.Tokens = given.Agent.Tokens
	}
	return &now
}

func printAccounts(cmd *cobra.Command, r budget.Report) error {
	w := cmd.OutOrStdout()
	line := func(name string, a budget.Account) {
		fmt.Fprintf(w, "%-10s %10d tokens read (%d cached), %9d written, %s\n", name, a.Uncached+a.Cached, a.Cached, a.Output, a.Cost)
	}
	for _, role := range slices.Sorted(maps.Keys(r.Roles)) {
		line(role, r.Roles[role])
	}
	line("cloud", r.Cloud)
	line("local", r.Local)
	line("run", r.Run)
	c := r.Terms.Caps
	if c.Run.Tokens > 0 {
		fmt.Fprintf(w, "cap: run %d tokens\n", c.Run.Tokens)
	}
	if c.Run.Money > 0 {
		fmt.Fprintf(w, "cap: run %s\n", c.Run.Money)
	}
	if c.Agent.Tokens > 0 {
		fmt.Fprintf(w, "cap: each agent %d tokens\n", c.Agent.Tokens)
	}
	return nil
}
