package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/replay"
	"dure/runtime/swarm"
)

// swarmReplay is what `dure swarm replay` was asked for.
type swarmReplay struct {
	speed  float64
	until  string
	asJSON bool
	screen bool
}

// longestPause between two events that are shown, however long it was.
const longestPause = 2 * time.Second

func swarmReplayCommand(dir *string) *cobra.Command {
	var o swarmReplay
	cmd := &cobra.Command{
		Use: "replay [RUN]", Short: "Go through a run's log, event by event, and prove that it is whole",
		Long: `Shows the run as it went, from its log alone: a line for each event, or with --screen what
dure swarm watch showed. With --speed the pauses are those of the run, so many times shorter,
and two seconds at most; without it there are none.

Each event's checksum is compared, and what the events add up to with what the run had, as it
wrote it down itself. What differs is an error that names the event; nothing is changed.`,
		Example: "  dure swarm replay\n  dure swarm replay demo --speed 10 --screen\n  dure swarm replay --until task.landed",
		Args:    usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			name := *dir
			if len(args) == 1 {
				name = args[0]
			}
			return o.play(ctx, name, cmd.OutOrStdout())
		},
	}
	cmd.Flags().Float64Var(&o.speed, "speed", 0, "how many times faster than the run (no pauses)")
	cmd.Flags().StringVar(&o.until, "until", "", "end at an event: its position, or the first of a type (task.landed)")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: a line for each event, the last with the end")
	cmd.Flags().BoolVar(&o.screen, "screen", false, "show the run's tree after each event, as dure swarm watch does")
	return cmd
}

func (o *swarmReplay) end() (u replay.Until, err error) {
	if o.until == "" {
		return u, nil
	}
	if n, err := strconv.ParseUint(o.until, 10, 63); err == nil {
		u.Position = event.Position(n)
		return u, nil
	}
	u.Type = o.until
	return u, event.CheckType(o.until)
}

func (o *swarmReplay) play(ctx context.Context, dir string, out io.Writer) (err error) {
	until, err := o.end()
	if err != nil {
		return fmt.Errorf("--until %s: want a position, or an event's type such as task.landed", o.until)
	}
	if o.speed < 0 {
		return errors.New("--speed must not be negative")
	}
	folder, err := teamDir(dir)
	if err != nil {
		return err
	}
	log, err := readLog(ctx, filepath.Join(folder, teamLog))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no run in %s: dure swarm list names those that there are", folder)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	p := projector{o: o, out: out, tell: &teller{out: out, calls: map[string]string{}}}
	r, err := replay.Play(ctx, log, until, func(e event.Event, s *swarm.State) error { return p.show(ctx, e, s) })
	if err != nil {
		if ctx.Err() != nil {
			return context.Canceled
		}
		return fmt.Errorf("%w\n%d events before it are good", err, r.Events)
	}
	return p.close(r, until)
}

// A projector shows a run's events one after the other.
type projector struct {
	o    *swarmReplay
	out  io.Writer
	tell *teller
	last time.Time
}

// shownEvent is an event in a replay's JSON.
type shownEvent struct {
	Position event.Position `json:"position"`
	Time     time.Time      `json:"time"`
	Stream   string         `json:"stream"`
	Type     string         `json:"type"`
	Line     string         `json:"line,omitempty"`
}

func (p *projector) show(ctx context.Context, e event.Event, s *swarm.State) error {
	line := p.tell.line(e)
	if p.o.asJSON {
		b, err := json.Marshal(shownEvent{e.Position, e.Time, e.Stream, e.Type, line})
		if err == nil {
			_, err = fmt.Fprintf(p.out, "%s\n", b)
		}
		return err
	}
	if line == "" && (!p.o.screen || e.Stream != swarm.Stream) {
		return ctx.Err()
	}
	if err := p.pause(ctx, e.Time); err != nil {
		return err
	}
	if !p.o.screen {
		_, err := fmt.Fprintf(p.out, "%6d %s %s\n", e.Position, e.Time.Local().Format("15:04:05"), visible(line))
		return err
	}
	if s.Started() == nil {
		return nil
	}
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J")
	if err := printRun(&b, control.Look(s)); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nevent %d, %s: %s\n", e.Position, e.Time.Local().Format("15:04:05"), visible(line))
	_, err := io.WriteString(p.out, b.String())
	return err
}

// pause waits as long as the run did between two events, by the speed.
func (p *projector) pause(ctx context.Context, at time.Time) error {
	gap := at.Sub(p.last)
	first := p.last.IsZero()
	p.last = at
	if p.o.speed == 0 || first || gap <= 0 {
		return ctx.Err()
	}
	return sleep(ctx, min(longestPause, time.Duration(float64(gap)/p.o.speed)))
}

// replayEnd is the last line of a replay's JSON.
type replayEnd struct {
	End replay.Result `json:"end"`
}

// close says what the replay came to.
func (p *projector) close(r replay.Result, until replay.Until) error {
	if p.o.asJSON {
		return printJSON(p.out, replayEnd{r})
	}
	switch {
	case until.Type != "" && r.Whole:
		fmt.Fprintf(p.out, "\nNo event before the end is of the type %s.\n", until.Type)
	case !r.Whole:
		fmt.Fprintf(p.out, "\nEnded at event %d.\n", r.Position)
	}
	fmt.Fprintf(p.out, "\n%d events, all as they were written. ", r.Events)
	switch {
	case r.Compared == 0:
		fmt.Fprintln(p.out, "The run wrote down no states of its own to compare with: it is of an earlier dure.")
	case r.Open > 0 && r.Whole:
		fmt.Fprintf(p.out, "Of the run's %d, %d give the states that it had; the last %d were not sealed yet.\n", r.Run, r.Compared, r.Open)
	case r.Open > 0:
		fmt.Fprintf(p.out, "Of the run's %d, %d give the states that it had.\n", r.Run, r.Compared)
	default:
		fmt.Fprintf(p.out, "The run's %d give the states that it had, the last one included.\n", r.Run)
	}
	return nil
}
