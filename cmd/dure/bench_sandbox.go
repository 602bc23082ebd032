package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/runtime/sandbox"
)

type sandboxBenchOptions struct {
	dir             string
	spawns, calls   int
	alive, parallel int
	team            int
	teamTime        time.Duration
	noControlGroups bool
	asJSON          bool
}

// sandboxFigures are what the command measures. Times are in milliseconds.
type sandboxFigures struct {
	Rung     sandbox.Rung `json:"rung"`
	Overlay  bool         `json:"overlay"`
	Limits   string       `json:"limits"`
	Spawns   int          `json:"spawns"`
	SpawnP50 float64      `json:"spawn_p50_ms"`
	SpawnP95 float64      `json:"spawn_p95_ms"`
	Calls    int          `json:"calls"`
	CallP50  float64      `json:"call_p50_ms"`
	CallP95  float64      `json:"call_p95_ms"`
	Alive    int          `json:"alive"`
	KiB      float64      `json:"kib_each"`
	PerGiB   float64      `json:"per_gib"`
	RampMS   float64      `json:"ramp_ms"`
	Team     int          `json:"team"`
	// JudgedPerS are calls that passed the judge's rules and were logged.
	JudgedPerS float64 `json:"judged_per_s"`
	// StopMS is from a hostile call to a gate that lets nobody in, LastStartMS to the
	// last start of any tool.
	StopMS      float64 `json:"stop_ms"`
	LastStartMS float64 `json:"last_start_ms"`
}

func benchSandboxCommand() *cobra.Command {
	var opt sandboxBenchOptions
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Measure how fast sandboxes start, what they weigh, and how many live at once",
		Long: `Four measurements, one after the other: boxes started and closed one by one; short
commands in one box; --alive boxes at the same time, each with a shell that waits,
an overlay over one snapshot and one edited file; and a team of --team agents whose
calls pass the judge's rules into a log on the disk, until one is blocked. What a box weighs is the memory that
the machine has less of with all of them, by /proc/meminfo, divided by their number: it
counts the kernel's part, too. Nothing else should happen on the machine meanwhile.
Everything is taken down again, also after Ctrl-C.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			f, err := benchSandbox(ctx, opt, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if opt.asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(f)
			}
			f.print(cmd.OutOrStdout())
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.dir, "dir", "", "folder for the boxes; empty makes one under the home folder of dure")
	f.IntVar(&opt.spawns, "spawns", 200, "boxes to start one by one")
	f.IntVar(&opt.calls, "calls", 500, "commands to run in one box")
	f.IntVar(&opt.alive, "alive", 1000, "boxes alive at the same time")
	f.IntVar(&opt.parallel, "parallel", 2, "boxes that start at the same time on the way there")
	f.IntVar(&opt.team, "team", 200, "agents whose calls are judged, and stopped by a block")
	f.DurationVar(&opt.teamTime, "team-time", 5*time.Second, "how long they call before the block")
	f.BoolVar(&opt.noControlGroups, "no-control-groups", false, "bound by process limits and the watchdog only")
	f.BoolVar(&opt.asJSON, "json", false, "print JSON")
	return cmd
}

func benchSandbox(ctx context.Context, opt sandboxBenchOptions, log io.Writer) (f sandboxFigures, err error) {
	dir, err := benchFolder(opt.dir)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	host, err := sandbox.Open(ctx, sandbox.Options{Dir: dir, Log: newLogger(log, "warn"), NoControlGroups: opt.noControlGroups})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	r := host.Report()
	f.Rung, f.Overlay, f.Limits = r.Rung, r.Overlay, r.Limits
	rig := sandboxRig{host: host, dir: dir, opt: opt, f: &f, log: log}
	if err := rig.snapshot(); err != nil {
		return f, err
	}
	for _, part := range []func(context.Context) error{rig.spawns, rig.calls, rig.alive, rig.team} {
		if err := part(ctx); err != nil {
			return f, err
		}
	}
	return f, nil
}

// benchFolder is a fresh folder, below the one asked for.
func benchFolder(dir string) (string, error) {
	if dir == "" {
		home, err := homeDir()
		if err != nil {
			return "", err
		}
		dir = home
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, "bench-sandbox-")
}

type sandboxRig struct {
	host  *sandbox.Host
	dir   string
	lower string
	opt   sandboxBenchOptions
	f     *sandboxFigures
	log   io.Writer
}

// snapshot writes what all boxes stand on: a hundred small files.
func (r *sandboxRig) snapshot() error {
	r.lower = filepath.Join(r.dir, "snapshot")
	if err := os.Mkdir(r.lower, 0o755); err != nil {
		return err
	}
	for i := range 100 {
		text := strings.Repeat(fmt.Sprintf("line of file %d\n", i), 100)
		if err := os.WriteFile(filepath.Join(r.lower, fmt.Sprintf("file%02d.txt", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *sandboxRig) spec(i int) sandbox.Spec {
	name := "bench" + strconv.Itoa(i)
	return sandbox.Spec{Name: name, Dir: filepath.Join(r.dir, name), Lower: r.lower}
}

func (r *sandboxRig) spawns(ctx context.Context) error {
	var took []float64
	for i := range r.opt.spawns {
		begin := time.Now()
		box, err := r.host.Start(ctx, r.spec(i))
		if err != nil {
			return err
		}
		took = append(took, milliseconds(begin))
		if err := box.Close(); err != nil {
			return err
		}
	}
	r.f.Spawns, r.f.SpawnP50, r.f.SpawnP95 = len(took), percentile(took, 0.5), percentile(took, 0.95)
	fmt.Fprintf(r.log, "  %d boxes started one by one\n", len(took))
	return nil
}

func (r *sandboxRig) calls(ctx context.Context) (err error) {
	box, err := r.host.Start(ctx, r.spec(0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	var took []float64
	for range r.opt.calls {
		begin := time.Now()
		res, err := box.Run(ctx, sandbox.Cmd{Args: []string{"sh", "-c", "cat file00.txt"}})
		if err != nil {
			return err
		}
		if res.Ended != sandbox.EndedItself || res.Code != 0 || res.Stdout == 0 {
			return fmt.Errorf("a command went wrong: %+v", res)
		}
		took = append(took, milliseconds(begin))
	}
	r.f.Calls, r.f.CallP50, r.f.CallP95 = len(took), percentile(took, 0.5), percentile(took, 0.95)
	fmt.Fprintf(r.log, "  %d commands in one box\n", len(took))
	return nil
}

func milliseconds(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[min(int(math.Ceil(p*float64(len(sorted))))-1, len(sorted)-1)]
}

func (f sandboxFigures) print(w io.Writer) {
	fmt.Fprintf(w, "rung %s, overlay %v, limits by %s\n\n| what | value | bar |\n|---|---|---|\n", f.Rung, f.Overlay, f.Limits)
	fmt.Fprintf(w, "| start of a box, p50 / p95 of %d | %.1f / %.1f ms | p95 <= 20 ms |\n", f.Spawns, f.SpawnP50, f.SpawnP95)
	fmt.Fprintf(w, "| a command in a box, p50 / p95 of %d | %.1f / %.1f ms | |\n", f.Calls, f.CallP50, f.CallP95)
	fmt.Fprintf(w, "| boxes alive at once | %d | 1000 |\n", f.Alive)
	fmt.Fprintf(w, "| memory of one, with shell, overlay and edit | %.0f KiB, %.0f per GiB | >= 200 per GiB |\n", f.KiB, f.PerGiB)
	fmt.Fprintf(w, "| starting them all | %.1f s | |\n", f.RampMS/1000)
	fmt.Fprintf(w, "| judged calls of %d agents, by rules, logged | %.0f/s | >= 500/s |\n", f.Team, f.JudgedPerS)
	fmt.Fprintf(w, "| a hostile call until nobody enters; the last start of a tool | %.1f ms; %.1f ms | <= 250 ms |\n", f.StopMS, f.LastStartMS)
}
