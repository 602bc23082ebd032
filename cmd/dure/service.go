package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func serviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "service", Short: "Let systemd run `dure serve` for you: from login on, and again after a crash", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(serviceInstallCommand(), serviceUninstallCommand(), serviceStatusCommand(), serviceLogsCommand())
	return cmd
}

type serviceInstall struct {
	dryRun, print bool
	hardening     string
}

func serviceInstallCommand() *cobra.Command {
	var opt serviceInstall
	cmd := &cobra.Command{
		Use:   "install [-- MODEL and flags of dure serve]",
		Short: "Write a systemd user unit, and start it now and at every login",
		Long: `Write a unit for your own systemd (systemctl --user; no root is needed), and start it
now and at every login. What follows -- is given to ` + "`dure serve`" + `. A second install
replaces the unit; your settings stay.

Keys and other environment variables belong into the file that the command names: it is
yours, readable by you only, and never overwritten. The shell's own variables do not
reach a service; DURE_HOME alone is taken over.

--hardening full forbids the service to gain privileges, and address families and
personalities that it does not need. With NVIDIA's driver it may keep the driver from
making its device files after a start of the machine; auto therefore leaves it out there.`,
		Example: "  dure service install\n  dure service install -- qwen3.8-27b --context 64k\n  dure service install --print > dure.service",
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return fmt.Errorf("%q: write -- before what `dure serve` is to get, for example `dure service install -- %s`", args[0], strings.Join(args, " "))
			}
			return opt.run(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&opt.dryRun, "dry-run", false, "say what would be done and print the unit; change nothing")
	cmd.Flags().BoolVar(&opt.print, "print", false, "print the unit alone; works without systemd")
	cmd.Flags().StringVar(&opt.hardening, "hardening", "auto", "auto, full or light")
	return cmd
}

func (o serviceInstall) run(cmd *cobra.Command, args []string) error {
	p, err := servicePlaces()
	if err != nil {
		return err
	}
	u, err := o.unit(p, args)
	if err != nil {
		return err
	}
	text, err := u.text()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case o.print:
		_, err := io.WriteString(out, text)
		return err
	case o.dryRun:
		return o.tell(cmd.Context(), out, p, text)
	}
	if err := userManager(cmd.Context()); err != nil {
		return err
	}
	if err := p.mayReplace(); err != nil {
		return err
	}
	if err := p.writeSettings(out); err != nil {
		return err
	}
	return p.install(cmd.Context(), out, text)
}

// tell prints what install would do.
func (o serviceInstall) tell(ctx context.Context, out io.Writer, p places, text string) error {
	if err := p.mayReplace(); err != nil {
		fmt.Fprintf(out, "would refuse: %v\n\n%s", err, text)
		return nil
	}
	if err := userManager(ctx); err != nil {
		fmt.Fprintf(out, "would refuse: %v\n\n%s", err, text)
		return nil
	}
	fmt.Fprintf(out, "would write %s, make %s if it is not there, and start %s now and at every login\n\n%s", p.unit, p.settings, unitName, text)
	return nil
}

// unit says what is to run.
func (o serviceInstall) unit(p places, args []string) (unit, error) {
	self, err := os.Executable()
	if err != nil {
		return unit{}, fmt.Errorf("where dure lies: %w", err)
	}
	home, err := homeDir()
	if err != nil {
		return unit{}, err
	}
	if args, err = serveArguments(args); err != nil {
		return unit{}, err
	}
	u := unit{Program: self, Args: args, Home: home, Settings: p.settings}
	switch o.hardening {
	case "full":
		u.Hardened = true
	case "light":
	case "auto":
		u.Hardened = !hasNVIDIA("/")
	default:
		return unit{}, fmt.Errorf("--hardening %q: must be auto, full or light", o.hardening)
	}
	return u, nil
}

// serveArguments checks what `dure serve` is to get, so that a mistake is told
// now and not in a log, and makes the path of a model absolute.
func serveArguments(args []string) ([]string, error) {
	serve, err := parsedServe(args)
	if err != nil {
		return nil, err
	}
	if serve.Flags().Changed("help") {
		return nil, errors.New("arguments of dure serve: a service that only prints help ends at once; see `dure serve --help`")
	}
	for _, name := range []string{"keys", "tls-cert", "tls-key"} {
		if path := serve.Flags().Lookup(name).Value.String(); path != "" && !filepath.IsAbs(path) {
			return nil, fmt.Errorf("arguments of dure serve: --%s %s: a service starts in a folder of its own; write an absolute path", name, path)
		}
	}
	rest := serve.Flags().Args()
	if err := serve.ValidateArgs(rest); err != nil {
		return nil, fmt.Errorf("arguments of dure serve: %w", err)
	}
	if len(rest) == 0 || !strings.Contains(rest[0], "/") && !strings.HasSuffix(rest[0], ".gguf") {
		return args, nil
	}
	abs, err := filepath.Abs(rest[0])
	if err != nil {
		return nil, err
	}
	return replaceModel(args, rest[0], abs)
}

// parsedServe is `dure serve` with these arguments.
func parsedServe(args []string) (*cobra.Command, error) {
	serve := serveCommand()
	serve.InitDefaultHelpFlag()
	if err := serve.ParseFlags(args); err != nil {
		return nil, fmt.Errorf("arguments of dure serve: %w; `dure serve --help` lists them", err)
	}
	return serve, nil
}

// replaceModel writes the model as path. A flag's value may be the same word: the
// right one is that whose change is seen as the model's.
func replaceModel(args []string, model, path string) ([]string, error) {
	for i, a := range args {
		if a != model {
			continue
		}
		out := slices.Clone(args)
		out[i] = path
		if serve, err := parsedServe(out); err == nil && serve.Flags().Arg(0) == path {
			return out, nil
		}
	}
	return nil, fmt.Errorf("arguments of dure serve: where the model %s stands is not clear; write its absolute path", model)
}

// hasNVIDIA reports whether the machine below root has NVIDIA's driver. Its
// device files may be made by a helper with the rights of root, which a hardened
// service must not start.
func hasNVIDIA(root string) bool {
	for _, path := range []string{"proc/driver/nvidia", "sys/module/nvidia", "usr/bin/nvidia-modprobe"} {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil {
			return true
		}
	}
	return false
}

func serviceUninstallCommand() *cobra.Command {
	return &cobra.Command{
		Use: "uninstall", Short: "Stop the service and remove its unit; settings, models and states stay", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := servicePlaces()
			if err != nil {
				return err
			}
			return p.uninstall(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

func serviceStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say whether the service runs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := servicePlaces()
			if err != nil {
				return err
			}
			if _, err := os.Stat(p.unit); errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("the service is not installed (there is no %s); `dure service install` does it", p.unit)
			}
			if err := userManager(cmd.Context()); err != nil {
				return err
			}
			err = passOn(cmd, "systemctl", "--user", "--no-pager", "status", unitName)
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 3 { // systemctl has said so
				return errors.New("the service does not run; `dure service logs` says why, `systemctl --user start dure` starts it")
			}
			return err
		},
	}
}

func serviceLogsCommand() *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use: "logs", Short: "Print what the service has logged", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 1 {
				return fmt.Errorf("--lines %d: must be at least 1", lines)
			}
			args := []string{"--user-unit", unitName, "--no-pager", "--lines", fmt.Sprint(lines)}
			if follow {
				args = append(args, "--follow")
			}
			return passOn(cmd, "journalctl", args...)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "how many of the last lines")
	return cmd
}

// passOn runs a program of the system with this terminal.
func passOn(cmd *cobra.Command, name string, args ...string) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	err := c.Run()
	switch {
	case ctx.Err() != nil:
		return nil // Ctrl-C is how a followed log ends
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s: %w; the service needs systemd", name, err)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
