package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dure/audio/speech"
	"dure/audio/voice/load"
	"dure/inference/bench"
)

// voiceRow is one line of `dure bench voice`.
type voiceBenchRow struct {
	Name string `json:"name"`
	What string `json:"what"`
	Bar  string `json:"bar"`
	Got  string `json:"got"`
	// OK is nil where there is no bar to be met, or nothing was measured.
	OK   *bool  `json:"ok,omitempty"`
	Note string `json:"note,omitempty"`
}

type voiceBenchOptions struct {
	minutes  float64
	fixtures int
	only     []string
	asJSON   bool
}

// voiceParts are the measurements by name, in their order.
var voiceParts = []struct {
	name, doc string
	run       func(b *voiceBench, ctx context.Context) ([]voiceBenchRow, error)
}{
	{"clock", "wake lateness with 16 sessions, 4 talking, while a model decodes on the same cores", (*voiceBench).clock},
	{"crowd", "64 sessions that listen", (*voiceBench).crowd},
	{"turns", "what real speech engines make of spoken fixtures", (*voiceBench).turns},
	{"filler", "how soon a slow lead agent is bridged", (*voiceBench).filler},
	{"resume", "a connection that is lost in the middle of an answer", (*voiceBench).resume},
	{"kill", "a server that is killed, until it speaks again", (*voiceBench).killed},
	{"arbiter", "frames and other runners' prefill", (*voiceBench).arbiter},
}

func benchVoiceCommand() *cobra.Command {
	var o voiceBenchOptions
	cmd := &cobra.Command{
		Use:   "voice",
		Short: "Measure spoken conversations: the frame clock, turns, interruptions",
		Long: `Measure what a person on the phone would notice. The frame clock runs in this process,
as it does in the voice process of a server; the model that decodes beside it, and the
speech engines, run in their own. The spoken fixtures are made by the installed voices,
with silence of known length and noise around them, so that what is right is known by
construction. Nothing else should compute meanwhile. Ctrl-C prints what was measured.`,
		Example: "  dure bench voice\n  dure bench voice --minutes 10 --only clock --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return benchVoice(ctx, o, cmd.OutOrStdout(), os.Stderr)
		},
	}
	var names []string
	for _, p := range voiceParts {
		names = append(names, p.name+" ("+p.doc+")")
	}
	f := cmd.Flags()
	f.Float64Var(&o.minutes, "minutes", 1, "how long the clock is measured (the bar is for 10); also, 64 turns a minute are held with semantic_vad, 128 at most")
	f.IntVar(&o.fixtures, "fixtures", 4, "spoken turns with server_vad, and with a slow lead")
	f.StringSliceVar(&o.only, "only", nil, "these parts only: "+strings.Join(names, ", "))
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

// voiceBench is a measurement under way.
type voiceBench struct {
	voiceBenchOptions
	home    string
	log     io.Writer
	engines *speech.Engines
}

func benchVoice(ctx context.Context, o voiceBenchOptions, out, log io.Writer) error {
	for _, name := range o.only {
		if !slices.ContainsFunc(voiceParts, func(p struct {
			name, doc string
			run       func(b *voiceBench, ctx context.Context) ([]voiceBenchRow, error)
		}) bool {
			return p.name == name
		}) {
			return fmt.Errorf("--only %s: there is no such part; dure bench voice --help names them", name)
		}
	}
	if o.minutes <= 0 || o.minutes > 24*60 || o.fixtures < 1 || o.fixtures > 1000 {
		return fmt.Errorf("--minutes %v, --fixtures %d: more than none, and at most a day and 1000 are meant", o.minutes, o.fixtures)
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	b := &voiceBench{voiceBenchOptions: o, home: home, log: log}
	defer func() {
		if b.engines != nil {
			b.engines.Close()
		}
	}()
	var rows []voiceBenchRow
	for _, p := range voiceParts {
		if len(o.only) > 0 && !slices.Contains(o.only, p.name) {
			continue
		}
		fmt.Fprintf(log, "%s: %s ...\n", p.name, p.doc)
		more, err := p.run(b, ctx)
		rows = append(rows, more...)
		if ctx.Err() != nil {
			fmt.Fprintln(log, "ended early; this is what there is:")
			break
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", p.name, err), printVoiceRows(out, rows, o.asJSON))
		}
	}
	return printVoiceRows(out, rows, o.asJSON)
}

func printVoiceRows(out io.Writer, rows []voiceBenchRow, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(rows)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tBAR\tMEASURED\t\tNOTE")
	for _, r := range rows {
		ok := ""
		switch {
		case r.OK == nil:
		case *r.OK:
			ok = "ok"
		default:
			ok = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.What, r.Bar, r.Got, ok, r.Note)
	}
	return w.Flush()
}

// at most is a row with a time as its bar.
func atMost(name, what string, got, bar time.Duration, note string) voiceBenchRow {
	ok := got <= bar
	return voiceBenchRow{name, what, "<= " + bar.String(), "<= " + got.Round(10*time.Microsecond).String(), &ok, note}
}

func exactly(name, what string, got, bar int64, note string) voiceBenchRow {
	ok := got == bar
	return voiceBenchRow{name, what, fmt.Sprint(bar), fmt.Sprint(got), &ok, note}
}

// clock measures the frames of conversations while a model decodes.
func (b *voiceBench) clock(ctx context.Context) (rows []voiceBenchRow, err error) {
	decoding, stop := context.WithCancel(ctx)
	defer stop()
	rig, err := newLoneRig(ctx, nil, benchOptions{})
	if err != nil {
		return nil, err
	}
	s, err := rig.startServer(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var tokens int
	done := make(chan struct{})
	go func() {
		defer close(done)
		for decoding.Err() == nil {
			stream, err := bench.Generate(decoding, s.model, benchPrompt, 512)
			if err == nil {
				_ = stream
				tokens += 512
			}
		}
	}()
	r, err := load.Run(ctx, load.Options{Sessions: 16, Talking: 4, For: time.Duration(b.minutes * float64(time.Minute)), Interrupt: true, Encode: true})
	stop()
	<-done
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("%d frames in %.0f s; %s decoded %d tokens or more meanwhile", r.Frames, r.Seconds, rig.entry.Name, tokens)
	rows = append(rows,
		atMost("wake_p99", "wake lateness, 16 sessions, 4 talking, p99", r.Wake.P99, 5*time.Millisecond, note),
		atMost("wake_p999", "the same, p99.9", r.Wake.P999, 20*time.Millisecond, fmt.Sprintf("worst %v", r.Wake.Max.Round(10*time.Microsecond))),
		atMost("compute_p99", "work on a frame, p99", r.Compute.P99, 40*time.Millisecond, "no speech engine in it: they are other processes"),
		atMost("stop_p95", "barge-in: onset of speech to last sample sent, p95", r.Stop.P95, 300*time.Millisecond, fmt.Sprintf("%d interruptions", r.Stop.Count)),
		atMost("ttfa_stub_p50", "first audio, scripted engines and lead, p50", r.TTFA.P50, 1200*time.Millisecond, fmt.Sprintf("%d answers; lead 150 ms, recogniser 100 ms, voice 60 ms", r.TTFA.Count)),
		exactly("missed", "frames missed", r.Missed, 0, ""),
		exactly("underruns", "underruns", r.Underruns, 0, ""),
		exactly("ledger", "samples that a client got and the ledger has not", r.Bytes-2*int64(r.Ledger.Sent), 0, fmt.Sprintf("%d samples sent", r.Ledger.Sent)))
	return rows, nil
}

// crowd is how many sessions the clock of one process keeps.
func (b *voiceBench) crowd(ctx context.Context) ([]voiceBenchRow, error) {
	r, err := load.Run(ctx, load.Options{Sessions: 64, Talking: 4, For: min(30*time.Second, time.Duration(b.minutes*float64(time.Minute))), Interrupt: true, Encode: true})
	if err != nil {
		return nil, err
	}
	return []voiceBenchRow{
		atMost("crowd_p99", "wake lateness, 64 sessions, 4 talking, p99", r.Wake.P99, 5*time.Millisecond, fmt.Sprintf("%d frames, nothing decodes", r.Frames)),
		atMost("crowd_p999", "the same, p99.9", r.Wake.P999, 20*time.Millisecond, ""),
	}, nil
}
