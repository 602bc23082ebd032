package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// places are the files of the service.
type places struct {
	unit     string
	settings string // environment variables, the user's to change
}

func servicePlaces() (places, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return places{}, fmt.Errorf("no folder for settings: %w; set HOME or XDG_CONFIG_HOME", err)
	}
	return places{
		unit:     filepath.Join(dir, "systemd", "user", unitName),
		settings: filepath.Join(dir, "dure", "service.env"),
	}, nil
}

// userManager says why there is no systemd of the user's own to give a unit to;
// nil if there is one.
func userManager(ctx context.Context) error {
	_, err := systemctl(ctx, "show-environment")
	if err == nil {
		return nil
	}
	return fmt.Errorf("there is no systemd for this user here (%w). In a container, or over su, there often is none: "+
		"run `dure serve` under what starts programs here; `dure service install --print` prints the unit to begin with", err)
}

// systemctl speaks to the user's manager; an error tells what it said.
func systemctl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		said := strings.TrimSpace(errs.String())
		if said != "" {
			said = ": " + said
		}
		return "", fmt.Errorf("systemctl --user %s: %w%s", strings.Join(args, " "), err, said)
	}
	return string(out), nil
}

// mayReplace refuses to touch a unit that is not dure's, or of a later dure.
func (p places) mayReplace() error {
	data, err := os.ReadFile(p.unit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("unit of the service: %w", err)
	}
	rest, ours := strings.CutPrefix(string(data), unitMark)
	number, _, _ := strings.Cut(rest, ".")
	form, err := strconv.Atoi(number)
	switch {
	case !ours || err != nil:
		return fmt.Errorf("%s was not written by dure: move it away first", p.unit)
	case form > unitFormat:
		return fmt.Errorf("%s was written by a later dure (form %d, this one knows %d): use that dure, or remove the file", p.unit, form, unitFormat)
	}
	return nil
}

const settingsText = `# Environment of the dure service: NAME=value, one a line. Yours to change; dure does
# not overwrite it. Afterwards: systemctl --user restart dure

# DURE_API_KEYS=a-long-secret
# ENGINE=cpu
# DURE_ENGINE_DIR=/path/to/your/build/of/the/engine
`

// writeSettings makes the environment file if there is none.
func (p places) writeSettings(out io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(p.settings), 0o700); err != nil {
		return fmt.Errorf("settings of the service: %w", err)
	}
	f, err := os.OpenFile(p.settings, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		fmt.Fprintf(out, "settings  %s, kept as it is\n", p.settings)
	case err != nil:
		return fmt.Errorf("settings of the service: %w", err)
	default:
		_, err := f.WriteString(settingsText)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("settings of the service: %w", err)
		}
		fmt.Fprintf(out, "settings  %s\n", p.settings)
	}
	for _, name := range []string{envEngine, envEngineDir, envKeys, envLoader, envProcs} {
		if os.Getenv(name) != "" {
			fmt.Fprintf(out, "          %s is set here, but the service sees only what is in that file\n", name)
		}
	}
	return nil
}

// install gives the unit to systemd. What is the same already is not started anew.
func (p places) install(ctx context.Context, out io.Writer, text string) error {
	old, err := os.ReadFile(p.unit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unit of the service: %w", err)
	}
	same := err == nil && string(old) == text
	if !same {
		if err := replaceFile(p.unit, text); err != nil {
			return fmt.Errorf("unit of the service: %w", err)
		}
	}
	start := "restart"
	if same {
		start = "start"
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", unitName}, {start, unitName}} {
		if _, err := systemctl(ctx, args...); err != nil {
			return fmt.Errorf("%w; `dure service logs` may say more", err)
		}
	}
	fmt.Fprintf(out, "unit      %s\nstarted   now, and at every login; see `dure service status` and `dure service logs`\n", p.unit)
	lingerHint(ctx, out)
	return nil
}

// lingerHint says that the service ends with the last session, where it does.
func lingerHint(ctx context.Context, out io.Writer) {
	me, err := user.Current()
	if err != nil {
		return
	}
	said, err := exec.CommandContext(ctx, "loginctl", "show-user", me.Username, "--property=Linger", "--value").Output()
	if err == nil && strings.TrimSpace(string(said)) == "yes" {
		return
	}
	fmt.Fprintln(out, "          it ends when you log out; `loginctl enable-linger` keeps it, and starts it with the machine")
}

// replaceFile writes a file whole, or not at all.
func replaceFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".dure-*") // no name that systemd reads
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// uninstall takes the service back; the settings stay.
func (p places) uninstall(ctx context.Context, out io.Writer) error {
	if _, err := os.Stat(p.unit); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(out, "the service is not installed (there is no %s)\n", p.unit)
		return nil
	}
	if err := p.mayReplace(); err != nil {
		return err
	}
	if err := userManager(ctx); err != nil {
		return fmt.Errorf("%w; without systemd the unit does nothing: remove %s yourself", err, p.unit)
	}
	if _, err := systemctl(ctx, "disable", "--now", unitName); err != nil {
		return err
	}
	if err := os.Remove(p.unit); err != nil {
		return fmt.Errorf("unit of the service: %w", err)
	}
	if _, err := systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	fmt.Fprintf(out, "removed %s\n", p.unit)
	if _, err := os.Stat(p.settings); err == nil {
		fmt.Fprintf(out, "kept %s, and all models\n", p.settings)
	}
	return nil
}
