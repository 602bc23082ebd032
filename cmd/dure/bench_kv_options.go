package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	benchkv "dure/inference/bench/kv"
	"dure/kvcache/codec"
)

// usualLengths are those of the contexts, as far as the model goes.
var usualLengths = []int{1 << 10, 2 << 10, 4 << 10, 7 << 10, 24 << 10}

// mostTask is the longest document of a task that nobody asked for.
const mostTask = 7 << 10

func (b *kvBench) options(cmd *cobra.Command, r *kvRig) (opt benchkv.Options, err error) {
	opt = benchkv.Options{
		Geometry: r.geometry, Follow: b.follow, Kinds: benchkv.Kinds(), Texts: b.texts, Repeats: b.repeats,
		Tasks: benchkv.Tasks(), Documents: b.documents, RulerMost: int(b.ruler), Seed: b.seed, Threads: r.opt.threads, Poll: defaultPoll, Time: b.time,
	}
	if opt.Lengths, err = b.lengthsOf("--lengths", b.lengths, r.geometry.TrainContext, opt.Follow); err != nil {
		return opt, err
	}
	if opt.TaskLengths, err = b.lengthsOf("--task-lengths", b.tasksAt, r.geometry.TrainContext, benchkv.LongestQuestion); err != nil {
		return opt, err
	}
	for i, n := range opt.TaskLengths {
		if len(b.tasksAt) == 0 && n > mostTask {
			opt.TaskLengths = opt.TaskLengths[:i]
			break
		}
	}
	if b.fast {
		b.look(cmd, r, &opt)
	}
	opt.Settings, err = b.settings(r)
	return opt, err
}

// look makes a run short where nothing else was asked for.
func (b *kvBench) look(cmd *cobra.Command, r *kvRig, opt *benchkv.Options) {
	given := cmd.Flags().Changed
	opt.Tasks = []benchkv.Task{benchkv.Needles}
	if !given("repeats") {
		opt.Repeats = 0
	}
	if !given("follow") {
		opt.Follow = 128
	}
	if !given("texts") {
		opt.Texts = 1
	}
	if !given("documents") {
		opt.Documents = 1
	}
	if !given("lengths") {
		opt.Lengths = []int{512}
	}
	if !given("task-lengths") {
		opt.TaskLengths = []int{512}
	}
	if !given("kv") {
		b.types = []string{"q8_0", "q4_0"}
	}
	if !given("classes") {
		b.classes = []string{codec.Exact.String(), codec.Near.String(), codec.NearSmall.String(), codec.Small.String()}
		if r.calibrated() { // to make a basis takes longer than the look
			b.classes = append(b.classes, codec.Calibrated.String())
		}
	}
}

// lengthsOf reads lengths, or takes the usual ones that leave so much room.
func (b *kvBench) lengthsOf(flag string, given []string, trained, room int) (out []int, err error) {
	if len(given) == 1 && given[0] == "none" {
		return nil, nil
	}
	for _, n := range usualLengths {
		if len(given) == 0 && (trained == 0 || n+room <= trained) {
			out = append(out, n)
		}
	}
	for _, text := range given {
		n, err := parseTokens(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", flag, err)
		case trained > 0 && n+room > trained:
			return nil, fmt.Errorf("%s %s: the model was trained for %d tokens, and %d are to follow", flag, text, trained, room)
		}
		out = append(out, n)
	}
	return out, nil
}

func (b *kvBench) settings(r *kvRig) ([]benchkv.Setting, error) {
	out := []benchkv.Setting{benchkv.Control()}
	classes, err := parkedClasses(b.classes)
	if err != nil {
		return nil, fmt.Errorf("--classes: %w", err)
	}
	out = append(out, parkedSettings(classes, r)...)
	if !b.fast {
		out = append(out, benchkv.Noise())
	}
	types := b.types
	if len(types) == 1 && types[0] == "none" {
		types = nil
	}
	for _, text := range types {
		keys, values, err := benchkv.ParseTypes(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--kv: %w", err)
		}
		out = append(out, benchkv.HotSetting(keys, values))
	}
	return out, nil
}
