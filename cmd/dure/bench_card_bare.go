package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	benchcard "dure/inference/bench/card"
	"dure/inference/engine"
	"dure/inference/llm"
	"dure/inference/plan"
)

// microBatch is how many tokens the load computes at once.
func (r *cardRig) microBatch() int { return cmp.Or(r.placed.llm.MicroBatch, llm.MostMicroBatch) }

// room is how much longer sequences of the bare engine grow than their contexts.
func (r *cardRig) room() int {
	e := r.extent()
	return benchcard.StepOptions{MicroBatch: r.microBatch(), Repetitions: e.repeat, Loads: []benchcard.Load{{Streams: e.streams}}}.Room()
}

// fits says why so many sequences of so many tokens have no room on the devices;
// empty if they have.
func (r *cardRig) fits(devices []plan.Device, tokens, streams int) (string, error) {
	if r.placed.plan == nil {
		return "", nil // no plan can be made: the engine itself says no
	}
	if t := r.placed.model.Geometry.TrainContext; t > 0 && tokens > t {
		return fmt.Sprintf("the model was trained for %d tokens, and the measurement needs %d", t, tokens), nil
	}
	w, err := r.host.opt.load.wish()
	if err != nil {
		return "", err
	}
	w.Layers, w.Pool = r.placed.plan.Layers, plan.Split
	if w.Layers == 0 {
		w.Layers = plan.LayersNone
	}
	w.Context, w.Agents, w.Active = tokens, streams, streams
	_, err = plan.Make(plan.Input{Model: r.placed.model, Devices: devices, Wish: w, Measured: r.host.measured.shapes(r.placed.model)})
	var refused *plan.RefusedError
	if errors.As(err, &refused) {
		return fmt.Sprintf("needs %s on %s, where %s are free", size(int64(refused.Need)), refused.Device, size(int64(refused.Free))), nil
	}
	return "", err
}

// loads are the contexts and streams that fit; what does not is noted.
func (r *cardRig) loads(ctx context.Context, j *benchcard.Journal, contexts, streams []int) (all []benchcard.Load, err error) {
	devices, err := r.host.engine.planDevices(ctx, 0)
	if err != nil {
		return nil, err
	}
	var why string
	for _, tokens := range contexts {
		l := benchcard.Load{Context: tokens}
		for _, n := range streams {
			if why, err = r.fits(devices, tokens+r.room(), n); err != nil {
				return nil, err
			}
			if why != "" {
				if err := j.Note(notMeasured(tokens, l.Streams, why)); err != nil {
					return nil, err
				}
				break // more would fit even less
			}
			l.Streams = append(l.Streams, n)
		}
		if len(l.Streams) > 0 {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s", benchcard.ErrSkip, why)
	}
	return all, nil
}

func notMeasured(tokens int, streams []int, why string) string {
	if len(streams) == 0 {
		return fmt.Sprintf("not measured: sequences of %d tokens: %s", tokens, why)
	}
	return fmt.Sprintf("not measured: more than %d streams of %d tokens: %s", streams[len(streams)-1], tokens, why)
}

// bare measures one kind in processes of their own.
func (r *cardRig) bare(kind string) func(context.Context, *benchcard.Journal) error {
	return func(ctx context.Context, j *benchcard.Journal) error {
		loads, err := r.bareLoads(ctx, j, kind)
		if err != nil {
			return err
		}
		opt := benchcard.StepOptions{
			EngineDir: r.host.engine.Set.Lib(), ModelPath: r.path, GPULayers: r.placed.layers, Threads: r.host.threads(), Poll: defaultPoll,
			FlashAttention: engine.FlashAuto, KeyType: r.placed.llm.KeyType, ValueType: r.placed.llm.ValueType, MicroBatch: r.microBatch(),
			Kind: kind, Loads: loads, Types: []string{"f16", "q8_0", "q4_0"}, Repetitions: r.extent().repeat, Done: j.Keys(),
		}
		if kind == benchcard.KindPrefill {
			return r.child(ctx, j, opt) // one sequence that grows
		}
		var failed error // at one length: the others count all the same
		for _, l := range loads {
			opt.Loads = []benchcard.Load{l}
			err := r.child(ctx, j, opt)
			if ctx.Err() != nil {
				return errors.Join(failed, ctx.Err())
			}
			if err != nil {
				err = fmt.Errorf("sequences of %d tokens%s: %w", l.Context, reached(j, kind, l), err)
				failed = errors.Join(failed, err, j.Note(err.Error())) // seen also where the time ends the rest
			}
		}
		return failed
	}
}

// reached says up to which number of streams a load was decoded.
func reached(j *benchcard.Journal, kind string, l benchcard.Load) string {
	if kind == benchcard.KindDecode {
		for _, n := range slices.Backward(l.Streams) {
			if j.Has(benchcard.StepAt(l.Context, n)) {
				return fmt.Sprintf(", beyond %d streams", n)
			}
		}
	}
	return ""
}

func (r *cardRig) bareLoads(ctx context.Context, j *benchcard.Journal, kind string) ([]benchcard.Load, error) {
	e := r.extent()
	switch kind {
	case benchcard.KindDecode:
		return r.loads(ctx, j, e.contexts, e.streams)
	case benchcard.KindKV: // one context tells types apart
		all, err := r.loads(ctx, j, e.contexts[:2], []int{1, 4})
		return all[max(0, len(all)-1):], err
	}
	return r.loads(ctx, j, e.contexts, []int{2}) // the second is for copies
}

// stepLine is what the child prints, one in a line.
type stepLine struct {
	Point *benchcard.Point `json:"point,omitempty"`
	Note  string           `json:"note,omitempty"`
}

// child runs steps in a process of its own, since a sick driver may end it, and keeps
// each point as soon as it comes.
func (r *cardRig) child(ctx context.Context, j *benchcard.Journal, opt benchcard.StepOptions) error {
	arg, err := json.Marshal(opt)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "bench", "card-steps", string(arg))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var words lastBytes
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = r.take(out, j)
	if err != nil {
		cmd.Process.Kill() // a full disk: nothing more can be kept
	}
	return errors.Join(err, lastWords(cmd.Wait(), words.String()))
}

func (r *cardRig) take(out io.Reader, j *benchcard.Journal) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var l stepLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("measurement printed %.80q: %w", lines.Text(), err)
		}
		var err error
		if l.Point != nil {
			err = r.keep(j, *l.Point)
		} else {
			err = j.Note(l.Note)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// keep journals a point and shows it.
func (r *cardRig) keep(j *benchcard.Journal, p benchcard.Point) error {
	if j.Has(p) {
		return nil
	}
	at := ""
	if p.X != 0 {
		at = fmt.Sprintf(" at %g", p.X)
	}
	r.say("  %s, %s%s: %.4g", p.Figure, p.Series, at, p.Value)
	return j.Point(p)
}

func lastWords(err error, words string) error {
	if err == nil {
		return nil
	}
	if last := strings.TrimPrefix(lastLine(words), "dure: "); last != "" {
		return fmt.Errorf("the measuring process ended: %w: %s", err, last)
	}
	return fmt.Errorf("the measuring process ended: %w", err)
}

// benchCardStepsCommand is the bare engine as a process of its own.
func benchCardStepsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "card-steps OPTIONS", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var opt benchcard.StepOptions
			if err := json.Unmarshal([]byte(args[0]), &opt); err != nil {
				return err
			}
			out := json.NewEncoder(cmd.OutOrStdout())
			return benchcard.Steps(cmd.Context(), opt, func(p benchcard.Point, note string) error {
				if note != "" {
					return out.Encode(stepLine{Note: note})
				}
				return out.Encode(stepLine{Point: &p})
			})
		},
	}
}
