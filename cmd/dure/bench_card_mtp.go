package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"dure/gguf/synth"
	benchcard "dure/inference/bench/card"
	benchspec "dure/inference/bench/spec"
	"dure/inference/engine"
	"dure/inference/llm"
)

// mtpDepths are measured: as many guesses as pay, and so many whether they pay or not.
var mtpDepths = []int{0, 1, 2, 3}

// noMTP says why the guesses of the model's own layers are not measured.
func (r *cardRig) noMTP() string {
	if why := r.noSpec(); why != "" {
		return why
	}
	g := r.placed.model.Geometry
	if err := (engine.Facts{Architecture: g.Architecture, MTP: g.MTPLayers}).CheckMTP(); err != nil {
		return err.Error()
	}
	return ""
}

// measureMTP compares the server whose model's own layers guess with the same without.
func (r *cardRig) measureMTP(ctx context.Context, j *benchcard.Journal) (err error) {
	b := specBench{streams: []int{1, 2, 4, 8}, tokens: 128, pairs: 2}
	depths := mtpDepths
	if r.opt.quick {
		b.streams, b.tokens, b.pairs, depths = []int{1, 4}, 48, 1, []int{0, 2}
	}
	task := benchspec.Tasks[slices.IndexFunc(benchspec.Tasks, func(t benchspec.Task) bool { return t.Name == "prose" })]
	for _, depth := range depths {
		b.host = r.host.opt
		b.host.load.spec = specOptions{mode: string(llm.SpeculationMTP), draft: draftOff, depth: depth}
		series := "as many as pay"
		if depth > 0 {
			series = fmt.Sprintf("depth %d", depth)
		}
		if err = r.compareSpec(ctx, j, b, benchcard.FigureMTP, []benchspec.Task{task}, func(string) string { return series }); err != nil {
			return err
		}
	}
	return nil
}

// compareSpec measures the tasks that are not in the journal yet, with what the bench
// says and without.
func (r *cardRig) compareSpec(ctx context.Context, j *benchcard.Journal, b specBench, figure string, tasks []benchspec.Task, series func(task string) string) error {
	point := func(task string, streams int) benchcard.Point {
		return benchcard.Point{Figure: figure, Series: series(task), X: float64(streams)}
	}
	b.streams = slices.DeleteFunc(slices.Clone(b.streams), func(n int) bool {
		return !slices.ContainsFunc(tasks, func(t benchspec.Task) bool { return !j.Has(point(t.Name, n)) })
	})
	if len(b.streams) == 0 {
		return nil
	}
	results, err := b.compare(ctx, []string{r.path}, tasks)
	for _, s := range results {
		p := point(s.Task, s.Streams)
		p.Value, p.Low, p.High, p.Samples = s.Speed.Ratio, s.Speed.Min, s.Speed.Max, s.Speed.N
		err = errors.Join(err, r.keep(j, p))
	}
	return err
}

// synthetic writes the synthetic model, which is the same each time.
func (r *cardRig) synthetic(home string) (args []string, err error) {
	dir, err := os.MkdirTemp(home, "bench-")
	if err != nil {
		return nil, fmt.Errorf("folder for the synthetic model: %w", err)
	}
	r.remove = func() { os.RemoveAll(dir) }
	path := filepath.Join(dir, synthModel+".gguf")
	f, err := os.Create(path)
	if err == nil {
		err = errors.Join(synth.Qwen35(f, synth.MTPShape()), f.Close())
	}
	if err != nil {
		r.remove()
		return nil, fmt.Errorf("synthetic model: %w", err)
	}
	return []string{path}, nil
}
