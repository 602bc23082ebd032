package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"dure/inference/bench"
	benchcard "dure/inference/bench/card"
	"dure/inference/bench/swarm"
)

// measurePools runs `dure bench pool`, which also remembers the faster pool.
func (r *cardRig) measurePools(ctx context.Context, j *benchcard.Journal) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const repeat = 5
	cmd := exec.CommandContext(ctx, self, "bench", "pool", r.path, "--json", "--threads", strconv.Itoa(r.host.threads()), "--repeat", strconv.Itoa(repeat))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var words lastBytes
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return lastWords(err, words.String())
	}
	var row poolRow
	if err := json.Unmarshal(out, &row); err != nil {
		return fmt.Errorf("`dure bench pool` printed %.80q: %w", out, err)
	}
	for _, p := range []struct {
		name  string
		costs bench.PoolCosts
	}{{"a pool for each", row.Split}, {"one pool for all", row.Unified}} {
		for _, s := range []struct {
			what string
			ms   float64
		}{{"a step of all", p.costs.Dense}, {"a step of every other one", p.costs.Scattered}, {"128 tokens of a prompt", p.costs.Chunk}} {
			// Of the samples it tells the median alone.
			if err := r.keep(j, benchcard.Point{Figure: benchcard.FigurePool, Series: p.name + ": " + s.what, Value: s.ms, Samples: repeat}); err != nil {
				return err
			}
		}
	}
	return nil
}

// noPool says why the pools cannot be compared.
func (r *cardRig) noPool() string {
	switch {
	case r.opt.quick:
		return "a quick run leaves it out: what it finds is remembered for --pool auto"
	case r.placed.plan == nil:
		return "no plan can be made for this model, so nothing would be remembered"
	case r.host.engine.gpu() != nil && r.placed.layers >= 0:
		return "`dure bench pool` loads all layers on the card, and they do not all fit"
	}
	return ""
}

// peersRig starts servers on this model's file.
func (r *cardRig) peersRig() (*peersRig, error) {
	work, err := os.MkdirTemp(r.host.home, "bench-")
	if err != nil {
		return nil, fmt.Errorf("folder for the measurement: %w", err)
	}
	return &peersRig{engine: r.host.engine, home: r.host.home, work: work, log: r.log}, nil
}

// measureReturn has an agent come back from RAM, and from disk after a restart.
func (r *cardRig) measureReturn(ctx context.Context, j *benchcard.Journal) error {
	rig, err := r.peersRig()
	if err != nil {
		return err
	}
	defer os.RemoveAll(rig.work)
	shape := swarm.DefaultResumeShape()
	shape.PromptTokens = r.extent().prompt
	shape.OtherTokens = shape.PromptTokens / 2
	shape.Output = 16
	s, err := rig.startDure(ctx, serverShape{model: r.path, context: shape.PromptTokens + 1024, sequences: 2, threads: r.host.threads()})
	if err != nil {
		return err
	}
	defer s.stop()
	got, err := swarm.Resume(ctx, s.endpoint, shape, s.restart)
	if err != nil {
		return err
	}
	prompt := fmt.Sprintf("%d tokens ", shape.PromptTokens)
	add := func(what string, t swarm.ResumeTurn) {
		err = errors.Join(err, r.keep(j, benchcard.PointOf(benchcard.FigureReturn, prompt+what, 0, 0, t.TTFT)))
	}
	add("cold", got.Cold)
	add("from RAM", got.Parked)
	add("from disk, after a restart", *got.Disk)
	return err
}
