package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dure/inference/bench"
	benchcard "dure/inference/bench/card"
	benchspec "dure/inference/bench/spec"
	"dure/inference/llm"
)

// items are the parts of the report, the most important first.
func (r *cardRig) items() []benchcard.Item {
	seen := r.powerSeen()
	return []benchcard.Item{
		{Name: "load", Title: "load, and plan beside allocation", Weight: 2, Measure: r.measureLoad},
		{Name: "decode", Title: "decode by streams and context", Weight: 6, Measure: r.powered(r.bare(benchcard.KindDecode))},
		{Name: "prefill", Title: "reading prompts", Weight: 4, Measure: r.powered(r.bare(benchcard.KindPrefill))},
		{Name: "server", Title: "through scheduler, sampler and the model's process", Weight: 2, Measure: r.measureServer},
		{Name: "share", Title: "shared beginnings", Weight: 2, Measure: r.bare(benchcard.KindShare)},
		{Name: "return", Title: "agents that come back from RAM and disk", Weight: 3, Measure: r.measureReturn},
		{Name: "kv", Title: "types of the cache", Weight: 3, Measure: r.bare(benchcard.KindKV)},
		{Name: "pool", Title: "pools", Weight: 2, Skip: r.noPool(), Measure: r.measurePools},
		{Name: "spec", Title: "speculative decoding by load", Weight: 3, Skip: r.noSpec(), Measure: r.measureSpec},
		{Name: "mtp", Title: "MTP depth by load", Weight: 4, Skip: r.noMTP(), Measure: r.measureMTP},
		{Name: "peer", Title: "beside llama-server", Weight: 3, Skip: r.noPeer(), Measure: r.measurePeer},
		{Name: "power", Title: "power and temperature", Weight: 0, Skip: seen, Measure: r.havePower},
	}
}

// extent is how much is measured.
type extent struct {
	contexts, streams []int
	repeat, tokens    int
	prompt            int // tokens of the agent that comes back
}

func (r *cardRig) extent() extent {
	if r.opt.quick {
		return extent{contexts: []int{128, 512}, streams: []int{1, 2, 4, 8}, repeat: 3, tokens: 32, prompt: 512}
	}
	return extent{contexts: []int{512, 2000, 7000, 30000}, streams: []int{1, 2, 4, 8, 16, 32}, repeat: 7, tokens: 128, prompt: 2000}
}

// measureLoad loads the model as a server would, and compares.
func (r *cardRig) measureLoad(ctx context.Context, j *benchcard.Journal) error {
	times := 3
	if r.opt.quick {
		times = 1
	}
	var seconds []float64
	for range times {
		begin := time.Now()
		_, release, err := r.host.open(ctx, r.entry.Name)
		if err != nil {
			return errors.Join(err, r.unload(ctx)) // it may still be loading when the time is over
		}
		seconds = append(seconds, time.Since(begin).Seconds())
		err = r.comparePlan(ctx, j)
		release()
		if err = errors.Join(err, r.unload(ctx)); err != nil {
			return err
		}
	}
	return r.keep(j, benchcard.PointOf(benchcard.FigureLoad, "until it answers", 0, 0, seconds...))
}

// unloadTime is how long a model's process may take to end.
const unloadTime = 30 * time.Second

// unload takes the model away also where the time of an item is over: what is measured
// next wants the machine for itself.
func (r *cardRig) unload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unloadTime)
	defer cancel()
	return r.host.pool.Unload(ctx, r.entry.Name, true)
}

func (r *cardRig) comparePlan(ctx context.Context, j *benchcard.Journal) error {
	loaded, ok := r.host.pool.Loaded()[r.entry.Name].(statsTeller)
	if !ok {
		return errors.New("the model's process was lost right after the load")
	}
	s, err := loaded.Stats(ctx)
	if err != nil {
		return err
	}
	var rows []benchcard.PlanRow
	for _, d := range r.host.compare(r.entry.Name, s.Memory) {
		row := benchcard.PlanRow{Device: d.Device, Item: d.Item, Planned: d.Planned, Measured: d.Measured}
		if d.Item == repacked {
			row.Note = "The weights in the CPU's own layout are a second copy. The plan counts weights once: pages of the file can give way to it."
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return j.Note("no plan can be made for this model, so there is none to compare")
	}
	return j.Plan(rows)
}

// statsTeller is a runner's client.
type statsTeller interface {
	Stats(context.Context) (llm.Stats, error)
}

// measureServer has several answers written at once.
func (r *cardRig) measureServer(ctx context.Context, j *benchcard.Journal) (err error) {
	m, release, err := r.host.open(ctx, r.entry.Name)
	if err != nil {
		return errors.Join(err, r.unload(ctx))
	}
	defer func() {
		release()
		err = errors.Join(err, r.unload(ctx))
	}()
	e := r.extent()
	for _, n := range e.streams {
		if most := m.Info().Sequences; n > most {
			return j.Note(fmt.Sprintf("not measured: more than %d streams: the model is loaded with %d sequences", most, most))
		}
		p := benchcard.Point{Figure: benchcard.FigureServer, Series: "dure", X: float64(n)}
		if j.Has(p) {
			continue
		}
		var rates []float64
		for i := range 3 {
			var prompts []string
			for k := range n {
				prompts = append(prompts, fmt.Sprintf("Story %d of %d. %s", k, i, benchPrompt))
			}
			rate, err := bench.GenerateAll(ctx, m, prompts, e.tokens)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
		if err := r.keep(j, benchcard.PointOf(p.Figure, p.Series, p.X, 0, rates...)); err != nil {
			return err
		}
	}
	return nil
}

// noSpec says why guesses cannot be measured.
func (r *cardRig) noSpec() string {
	if r.placed.plan == nil {
		return "no plan can be made for this model, so it is not loaded twice"
	}
	for _, a := range r.placed.plan.Devices {
		if usedCard(a) && a.Used > a.Free {
			return fmt.Sprintf("both sides are loaded at once, and %s has no room for the model twice", a.Device.Name)
		}
	}
	return ""
}

func (r *cardRig) measureSpec(ctx context.Context, j *benchcard.Journal) error {
	b := specBench{streams: []int{1, 2, 4, 8}, tokens: 200, pairs: 3, host: r.host.opt}
	if r.opt.quick {
		b.streams, b.tokens, b.pairs = []int{1, 4}, 64, 1
	}
	b.host.load.spec.mode = string(llm.SpeculationNgram)
	tasks := slices.DeleteFunc(slices.Clone(benchspec.Tasks), func(t benchspec.Task) bool { return t.Sampled })
	return r.compareSpec(ctx, j, b, benchcard.FigureSpec, tasks, func(task string) string { return task })
}
