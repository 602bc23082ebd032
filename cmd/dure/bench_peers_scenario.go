package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dure/inference/bench/swarm"
	"dure/inference/catalog"
)

// scenario is one load, run against each setting in turn.
type scenario struct {
	name string
	// peers says whether llama-server runs it too.
	peers  bool
	repeat func(peersOptions) int
	shape  func(peersOptions) serverShape // without model and threads
	// run measures one server; seed differs from repetition to repetition.
	run func(ctx context.Context, o peersOptions, s *running, seed uint64) ([]figure, error)
}

// figure is what one measurement gave of one row of the table.
type figure struct {
	subject
	value float64
}

// subject is a row of the table, without its figures.
type subject struct {
	What string  `json:"what"`
	Unit string  `json:"unit,omitempty"`
	Bar  float64 `json:"bar,omitempty"` // 0 = none
	// Zero is the bar of counts.
	Zero bool `json:"bar_zero,omitempty"`
	// Compared rows are judged by dure's ratio to the better peer, others by
	// dure's own value.
	Compared bool `json:"compared,omitempty"`
	// Higher values are better.
	Higher bool `json:"higher,omitempty"`
}

func often(o peersOptions) int { return o.repeat }

var scenarios = []scenario{
	{"swarm", true, often, func(o peersOptions) serverShape { return serverShape{context: int(o.context), sequences: o.agents} }, runSwarm},
	{"crowd", false, often, func(o peersOptions) serverShape { return serverShape{context: int(o.context), sequences: o.pool} }, runCrowd},
	{"gap", true, often, func(o peersOptions) serverShape {
		return serverShape{context: int(o.context), sequences: o.streams + 1, gap: o.gap}
	}, runGap},
	{"resume", true, often, func(o peersOptions) serverShape { return serverShape{context: int(o.context), sequences: 2} }, runResume},
	{parkedScenario, false, often, func(o peersOptions) serverShape {
		return serverShape{context: int(o.context), sequences: 2, more: []string{"--cache-class", o.class, "--force"}}
	}, runParked},
	{"alone", true, func(o peersOptions) int { return o.pairs }, func(o peersOptions) serverShape {
		return serverShape{context: 2048, sequences: 1}
	}, runAlone},
}

// parkedScenario is resume with states on disk in a quality class.
const parkedScenario = "parked"

// activeScenario is measured beside llama-batched-bench, which is no server.
const activeScenario = "active"

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return append(names, activeScenario)
}

// team is the shape of the team for a model. Its words are those of a usual
// tokeniser: the synthetic one makes two and a half times as many tokens of them.
func (o peersOptions) team(ctx context.Context, e *swarm.Endpoint) (swarm.Shape, error) {
	s := swarm.DefaultShape()
	s.Agents, s.Turns, s.SharedTokens = o.agents, o.turns, o.sharedTokens
	text := swarm.Text(1, "words", s.TaskWords)
	tokens, err := e.Tokens(ctx, text)
	if err != nil {
		return s, err
	}
	const usual = 1.35 // tokens of an English word
	if each := float64(len(tokens)) / float64(s.TaskWords); each > 1.5*usual {
		s.TaskWords = int(float64(s.TaskWords) * usual / each)
		s.ResultWords = int(float64(s.ResultWords) * usual / each)
	}
	return s, nil
}

func runSwarm(ctx context.Context, o peersOptions, s *running, seed uint64) ([]figure, error) {
	shape, err := o.team(ctx, s.endpoint)
	if err != nil {
		return nil, err
	}
	shape.Seed = seed
	r, err := swarm.Run(ctx, s.endpoint, shape)
	if err != nil {
		return nil, err
	}
	team := fmt.Sprintf("%d agents x %d turns: ", shape.Agents, shape.Turns)
	figures := []figure{
		{subject{What: team + "agents that did not finish", Zero: true}, float64(shape.Agents - r.Finished)},
		{subject{What: team + "wall time", Unit: "s", Bar: 0.6, Compared: true}, r.WallSeconds},
		{subject{What: team + "first turn's first token, p95", Unit: "ms", Bar: 0.35, Compared: true}, r.First.P95},
		{subject{What: team + "later turns' first token, p95", Unit: "ms"}, r.Later.P95},
		{subject{What: team + "longest gap", Unit: "ms"}, r.Gap.Max},
		{subject{What: team + "tokens out", Unit: "/s", Higher: true}, r.Rate},
	}
	if r.Read != nil {
		figures = append(figures,
			figure{subject{What: team + "prompt tokens read / distinct", Bar: 1.03}, r.ReadRatio()},
			figure{subject{What: team + "prompt tokens read / distinct without answers"}, r.FreshRatio()})
	}
	return figures, failed(r)
}

// failed is an error where a run was cut short or had errors.
func failed(r *swarm.Report) error {
	if r.Interrupted {
		return context.Canceled
	}
	for kind, n := range r.Errors {
		return fmt.Errorf("%d x %s: %s", n, kind, r.Examples[kind])
	}
	return nil
}

func runCrowd(ctx context.Context, o peersOptions, s *running, seed uint64) ([]figure, error) {
	shape, err := o.team(ctx, s.endpoint)
	if err != nil {
		return nil, err
	}
	shape.Agents, shape.Seed = o.crowd, seed
	r, err := swarm.Run(ctx, s.endpoint, shape)
	if err != nil {
		return nil, err
	}
	errors := 0
	for _, n := range r.Errors {
		errors += n
	}
	crowd := fmt.Sprintf("%d agents on a pool for %d: ", o.crowd, o.pool)
	return []figure{
		{subject{What: crowd + "agents that did not finish", Zero: true}, float64(o.crowd - r.Finished)},
		{subject{What: crowd + "errors", Zero: true}, float64(errors)},
		{subject{What: crowd + "refused as busy, followed"}, float64(r.Refusals)},
		{subject{What: crowd + "longest wait / mean", Bar: 3}, over(r.Wait.Max, r.Wait.Mean)},
		{subject{What: crowd + "an agent's waits, longest / mean"}, over(r.AgentWait.Max, r.AgentWait.Mean)},
		{subject{What: crowd + "wall time", Unit: "s"}, r.WallSeconds},
	}, failed(r)
}

// fairShare is how much longer a prompt may take than alone when each gap of the
// streams is at its bar of three steps: two thirds of the time are the prompt's.
const fairShare = 1.5

func runGap(ctx context.Context, o peersOptions, s *running, seed uint64) ([]figure, error) {
	shape := swarm.DefaultGapShape()
	shape.Streams, shape.PromptTokens, shape.Seed = o.streams, o.promptTokens, seed
	shape.StreamTokens = int(o.context) - 256 // the rest is the streams' own prompts
	r, err := swarm.Gap(ctx, s.endpoint, shape)
	if err != nil {
		return nil, err
	}
	beside := fmt.Sprintf("a prompt of %d tokens beside %d streams: ", o.promptTokens, o.streams)
	return []figure{
		{subject{What: fmt.Sprintf("%sp99 gap / %v, which dure is told", beside, o.gap), Bar: 1}, r.Gap.P99 / float64(o.gap.Milliseconds())},
		{subject{What: beside + "p99 gap / median step before"}, r.GapRatio()},
		{subject{What: beside + "its first token / fair share of 1.5 x alone", Bar: 1.5}, r.TTFTRatio() / fairShare},
		{subject{What: beside + "median step before", Unit: "ms"}, r.Step.P50},
		{subject{What: beside + "longest gap", Unit: "ms"}, r.Gap.Max},
		{subject{What: beside + "its first token", Unit: "ms"}, r.Loaded},
		{subject{What: beside + "the same alone", Unit: "ms"}, r.Solo},
	}, nil
}

func runResume(ctx context.Context, o peersOptions, s *running, seed uint64) ([]figure, error) {
	shape := swarm.DefaultResumeShape()
	shape.PromptTokens, shape.Seed = o.promptTokens, seed
	r, err := swarm.Resume(ctx, s.endpoint, shape, s.restart)
	if err != nil {
		return nil, err
	}
	back := fmt.Sprintf("an agent of %d tokens comes back: ", o.promptTokens)
	figures := []figure{
		{subject{What: back + "first token / cold, after 4 others on 2 sequences", Bar: 1. / 20}, r.Ratio(r.Parked)},
		{subject{What: back + "first token, cold", Unit: "ms"}, r.Cold.TTFT},
		{subject{What: back + "first token, after the others", Unit: "ms"}, r.Parked.TTFT},
	}
	if r.Disk != nil {
		figures = append(figures, figure{subject{What: back + "first token / cold, after a restart", Bar: 1. / 10}, r.Ratio(*r.Disk)})
	}
	return figures, nil
}

// runParked measures the way back from states that lie on disk in a class. That they
// do is asked of the server: what takes less time than it should proves nothing.
func runParked(ctx context.Context, o peersOptions, s *running, seed uint64) ([]figure, error) {
	shape := swarm.DefaultResumeShape()
	shape.PromptTokens, shape.Seed = o.promptTokens, seed
	r, err := swarm.Resume(ctx, s.endpoint, shape, s.restart)
	if err != nil {
		return nil, err
	}
	if r.Disk.Read == nil || *r.Disk.Read > o.promptTokens/4 {
		return nil, fmt.Errorf("after the restart %v of %d prompt tokens were read again: nothing was taken from disk", told(r.Disk.Read), o.promptTokens)
	}
	back := fmt.Sprintf("an agent of %d tokens comes back from disk in class %s: ", o.promptTokens, o.class)
	return []figure{
		{subject{What: back + "first token / cold, after a restart", Bar: 1. / 10}, r.Ratio(*r.Disk)},
		{subject{What: back + "first token, cold", Unit: "ms"}, r.Cold.TTFT},
		{subject{What: back + "first token, after a restart", Unit: "ms"}, r.Disk.TTFT},
		{subject{What: back + "of that fetching and decoding", Unit: "ms"}, r.Disk.Restore},
	}, nil
}

func runAlone(ctx context.Context, _ peersOptions, s *running, seed uint64) ([]figure, error) {
	const tokens = 128
	t := s.endpoint.Chat(ctx, swarm.Ask{Messages: swarm.User(swarm.Text(seed, "alone", 40)), Output: tokens}, nil)
	if !t.OK() {
		return nil, t.Err
	}
	return []figure{{subject{What: "one agent alone", Unit: "tokens/s", Bar: 0.95, Compared: true, Higher: true}, t.Rate()}}, nil
}

// all runs every model and scenario that was asked for. What fails is noted and
// does not keep the rest from running.
func (r *peersRig) all(ctx context.Context) error {
	for _, name := range r.opt.models {
		m, err := r.model(name)
		if err != nil {
			return err
		}
		for _, s := range scenarios {
			if slices.Contains(r.opt.scenarios, s.name) {
				r.interleaved(ctx, m, s)
			}
		}
		if slices.Contains(r.opt.scenarios, activeScenario) && ctx.Err() == nil {
			if err := r.active(ctx, m); err != nil {
				r.note(m, activeScenario, settingDure, err)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// interleaved runs one scenario against all settings, repetition by repetition,
// each on a fresh server.
func (r *peersRig) interleaved(ctx context.Context, m peersModel, s scenario) {
	n := s.repeat(r.opt)
	for rep := range n {
		for _, set := range r.settings() {
			if ctx.Err() != nil || set.name != settingDure && !s.peers {
				continue
			}
			figures, err := r.once(ctx, m, s, set, r.opt.seed+uint64(rep))
			if err != nil {
				r.note(m, s.name, set.name, err)
			}
			for _, f := range figures {
				r.table.add(m.name, f.subject, set.name, rep, f.value)
			}
			r.say("%s, %s, %s, %d of %d: %s", m.name, s.name, set.name, rep+1, n, brief(figures))
		}
	}
}

func (r *peersRig) once(ctx context.Context, m peersModel, s scenario, set setting, seed uint64) ([]figure, error) {
	shape := s.shape(r.opt)
	shape.model, shape.threads = m.path, r.opt.threads
	server, err := set.start(ctx, shape)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	figures, err := s.run(ctx, r.opt, server, seed)
	if err != nil && server.words != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w; the server's last words:\n%s", err, server.words)
	}
	return figures, err
}

// active compares many streams with llama-batched-bench, as `dure bench engine`
// does with few.
func (r *peersRig) active(ctx context.Context, m peersModel) error {
	rig := &benchRig{
		opt:   benchOptions{pairs: r.opt.repeat, threads: r.opt.threads, streams: r.opt.active, generate: 128, repeat: 1},
		entry: catalog.Entry{Name: m.path}, path: m.path, engine: r.engine, peers: r.peers, log: r.log,
	}
	rows, err := rig.streamsAgainstBatchedBench(ctx)
	for _, b := range rows {
		what := subject{What: fmt.Sprintf("%d streams active, peer llama-batched-bench", r.opt.active), Unit: "tokens/s", Bar: 0.95, Compared: true, Higher: true}
		for rep := range b.pairs.A {
			r.table.add(m.name, what, settingDure, rep, b.pairs.A[rep])
			r.table.add(m.name, what, settingSplit, rep, b.pairs.B[rep])
		}
	}
	return err
}

func (r *peersRig) note(m peersModel, scenario, setting string, err error) {
	r.table.Problems = append(r.table.Problems, fmt.Sprintf("%s, %s, %s: %v", m.name, scenario, setting, err))
	r.say("  %s, %s, %s: %v", m.name, scenario, setting, err)
}

func (r *peersRig) say(format string, args ...any) { fmt.Fprintf(r.log, format+"\n", args...) }

// brief is the figures of one measurement on one line.
func brief(figures []figure) string {
	var parts []string
	for _, f := range figures {
		_, what, found := strings.Cut(f.What, ": ")
		if !found {
			what = f.What
		}
		parts = append(parts, fmt.Sprintf("%s %.4g", what, f.value))
	}
	return strings.Join(parts, "; ")
}
