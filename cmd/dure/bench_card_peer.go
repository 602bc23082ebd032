package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"dure/inference/bench"
	benchcard "dure/inference/bench/card"
	"dure/inference/bench/swarm"
	"dure/inference/fetch"
)

// noPeer says why there is no comparison.
func (r *cardRig) noPeer() string {
	if r.opt.peer == "" {
		return "no --peer was named"
	}
	return ""
}

// peerStreams are answered at the same time by both servers.
const peerStreams = 4

// peerRows are what is compared.
var peerRows = []string{
	"one stream, tokens/s", fmt.Sprintf("%d streams, tokens/s", peerStreams), "a prompt of 600 words, ms to the first token",
}

// measurePeer runs both servers in turn.
func (r *cardRig) measurePeer(ctx context.Context, j *benchcard.Journal) error {
	rig, err := r.peersRig()
	if err != nil {
		return err
	}
	defer os.RemoveAll(rig.work)
	if err := r.notePeer(ctx, j); err != nil {
		return err
	}
	flags := []string{}
	if r.host.engine.gpu() != nil {
		layers := r.placed.layers
		if layers < 0 {
			layers = 999
		}
		flags = append(flags, "-ngl", strconv.Itoa(layers))
	}
	peer := func(_ string, args ...string) (fetch.Process, error) {
		return fetch.Process{Path: r.opt.peer, Args: args}, nil
	}
	shape := serverShape{model: r.path, context: 2048, sequences: peerStreams, threads: r.host.threads()}
	pairs := 3
	if r.opt.quick {
		pairs = 1
	}
	rows := make([]bench.Pairs, len(peerRows))
	for i := range pairs {
		ours, err := r.once(ctx, func() (*running, error) { return rig.startDure(ctx, shape) }, uint64(i))
		if err != nil {
			return err
		}
		theirs, err := r.once(ctx, func() (*running, error) { return startNamed(ctx, peer, shape, flags) }, uint64(i))
		if err != nil {
			if ctx.Err() == nil { // all of its words are for the owner, not for the report
				r.say("%v", err)
			}
			return fmt.Errorf("llama-server: %s", lastLine(err.Error()))
		}
		for k := range rows {
			rows[k].Add(ours[k], theirs[k])
		}
	}
	return r.keepPairs(j, rows)
}

// lastLine is the last one that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// notePeer keeps the version that the owner's llama-server tells.
func (r *cardRig) notePeer(ctx context.Context, j *benchcard.Journal) error {
	out, err := exec.CommandContext(ctx, r.opt.peer, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s --version: %w: %.200s", r.opt.peer, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "version") {
			return j.Note("llama-server " + strings.TrimSpace(line))
		}
	}
	return j.Note("llama-server does not tell its version")
}

// startNamed starts the owner's llama-server.
func startNamed(ctx context.Context, peer bench.Peer, shape serverShape, flags []string) (*running, error) {
	s, err := startLlamaServer(ctx, peer, shape, flags...)
	if err != nil {
		return nil, err
	}
	e, err := warmed(ctx, s.url)
	if err != nil {
		s.stop()
		return nil, err
	}
	return &running{endpoint: e, stop: s.stop}, nil
}

func (r *cardRig) keepPairs(j *benchcard.Journal, rows []bench.Pairs) (err error) {
	for k, p := range rows {
		s := p.Summary()
		ratio := benchcard.Point{Figure: benchcard.FigurePeer, Series: peerRows[k] + ": dure / llama-server", Value: s.Ratio, Low: s.Min, High: s.Max, Samples: s.N}
		for _, p := range []benchcard.Point{
			benchcard.PointOf(benchcard.FigurePeer, peerRows[k]+": dure", 0, 0, p.A...),
			benchcard.PointOf(benchcard.FigurePeer, peerRows[k]+": llama-server", 0, 0, p.B...), ratio,
		} {
			err = errors.Join(err, r.keep(j, p))
		}
	}
	return err
}

// once measures one fresh server, in the order of peerRows.
func (r *cardRig) once(ctx context.Context, start func() (*running, error), seed uint64) ([]float64, error) {
	s, err := start()
	if err != nil {
		return nil, err
	}
	defer s.stop()
	n := r.extent().tokens
	one := s.endpoint.Chat(ctx, swarm.Ask{Messages: swarm.User(swarm.Text(seed, "alone", 40)), Output: n}, nil)
	long := s.endpoint.Chat(ctx, swarm.Ask{Messages: swarm.User(swarm.Text(seed, "long", 600)), Output: 2}, nil)
	for _, t := range []swarm.Turn{one, long} {
		if !t.OK() {
			return nil, t.Err
		}
	}
	rates := make(chan swarm.Turn, peerStreams)
	for i := range peerStreams {
		go func() {
			rates <- s.endpoint.Chat(ctx, swarm.Ask{Messages: swarm.User(swarm.Text(seed, fmt.Sprintf("stream %d", i), 40)), Output: n}, nil)
		}()
	}
	sum := 0.0
	var failed error
	for range peerStreams {
		t := <-rates
		if !t.OK() {
			failed = errors.Join(failed, t.Err)
			continue
		}
		sum += t.Rate()
	}
	first := float64(long.Deliveries[0].At.Sub(long.Sent).Microseconds()) / 1000
	return []float64{one.Rate(), sum, first}, failed
}
