package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/fetch"
	"dure/inference/plan"
)

// What `dure pull` reads from the environment besides DURE_HOME.
const (
	envHubToken = "HF_TOKEN"         // the user's token for the model hub
	envHub      = "HF_ENDPOINT"      // base URL of a mirror of the hub
	envBudget   = "DURE_DISK_BUDGET" // what DURE_HOME may hold, for example 200GiB
	envOllama   = "OLLAMA_MODELS"    // where Ollama keeps its models
	envHubCache = "HF_HUB_CACHE"     // where Python programs keep files of the hub
	envHubHome  = "HF_HOME"          // the folder above it
	envCache    = "XDG_CACHE_HOME"   // the folder above that
)

type pullOptions struct {
	hub, budget    string
	repin, noReuse bool
	anyway         bool
}

func pullCommand() *cobra.Command {
	var o pullOptions
	cmd := &cobra.Command{
		Use:   "pull [MODEL]",
		Short: "Download a model of the catalogue and verify it",
		Long: `Download a model of the catalogue and verify it.

A download that was broken off goes on where it was. Files that Ollama, LM Studio or
the hub's Python tools have already are verified and used where they lie.
The hub's token is taken from ` + envHubToken + ` and sent to the hub (or the mirror) only.`,
		Example: "  dure pull\n  dure pull qwen3.8-27b --budget 60GiB\n  dure pull qwen3.8-27b --hub https://hub.example",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPull(cmd, args, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.hub, "hub", "", "base URL of a mirror of the model hub ("+envHub+")")
	f.StringVar(&o.budget, "budget", "", "refuse what would make DURE_HOME larger than this, for example 200GiB ("+envBudget+")")
	f.BoolVar(&o.repin, "repin", false, "take what the hub has now in place of what was pinned at the first pull")
	f.BoolVar(&o.anyway, "anyway", false, "pull also what does not fit this machine")
	f.BoolVar(&o.noReuse, "no-reuse", false, "do not look for the file in other programs' folders")
	return cmd
}

func runPull(cmd *cobra.Command, args []string, o pullOptions) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	home, err := homeDir()
	if err != nil {
		return err
	}
	entry, err := resolve(home, args)
	if err != nil {
		return err
	}
	options, err := o.options()
	if err != nil {
		return err
	}
	if !o.anyway {
		options.Check = func(e catalog.Entry, header *gguf.File) error { return fitsHere(ctx, home, e, header) }
	}
	show := newProgress(os.Stderr)
	path, err := catalog.Pull(ctx, &fetch.Fetcher{Home: home, Log: newLogger(os.Stderr, "info"), Progress: show.show}, entry, options)
	show.end()
	if err != nil {
		return err
	}
	note := ""
	if entry.Source.Path == "" && !catalog.Owned(home, path) {
		note = " (another program's file, used in place)"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "model %s is ready in %s%s\n", entry.Name, path, note)
	if entry.Rights != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "its makers ask: %s\n", entry.Rights)
	}
	return nil
}

// fitsHere refuses what this machine cannot load, as soon as its header is here.
// Where the engine is not ready to tell its devices, nothing is checked: the
// load will be.
func fitsHere(ctx context.Context, home string, e catalog.Entry, header *gguf.File) error {
	g, err := header.Geometry()
	if err != nil {
		return nil // an architecture that cannot be planned is the load's to judge
	}
	if e.Bytes > 0 { // the header may be that of one shard of several
		g.Bytes = max(g.Bytes, uint64(e.Bytes)-header.DataOffset)
	}
	started, err := machineEngine(ctx, home)
	var devices []plan.Device
	if err == nil {
		devices, err = started.planDevices(ctx, 0)
	}
	if err != nil {
		newLogger(os.Stderr, "warn").Warn("whether the model fits was not checked", "model", e.Name, "error", err)
		return nil
	}
	_, err = plan.Make(plan.Input{Model: plan.Model{Geometry: g}, Devices: devices})
	if errors.As(err, new(*plan.RefusedError)) {
		return fmt.Errorf("%s does not fit this machine: %w; pull it all the same with --anyway", e.Name, err)
	}
	return err
}

// options completes the flags by the environment.
func (o pullOptions) options() (catalog.Options, error) {
	if o.hub == "" {
		o.hub = os.Getenv(envHub)
	}
	from := "--budget"
	if o.budget == "" {
		o.budget, from = os.Getenv(envBudget), envBudget
	}
	out := catalog.Options{Hub: o.hub, Token: os.Getenv(envHubToken), Repin: o.repin}
	if o.budget != "" {
		n, err := diskBytes(o.budget)
		if err != nil {
			return out, fmt.Errorf("%s: %w", from, err)
		}
		out.Budget = n
	}
	if !o.noReuse {
		out.Stores = stores()
	}
	return out, nil
}

// resolve finds the model named by the first argument, or the default one.
func resolve(home string, args []string) (catalog.Entry, error) {
	cat, err := openCatalog(home)
	if err != nil {
		return catalog.Entry{}, err
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	return cat.Resolve(name)
}
