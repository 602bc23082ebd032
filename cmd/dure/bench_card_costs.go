package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	benchcard "dure/inference/bench/card"
	"dure/inference/llm"
	"dure/inference/plan"
)

// stepRow is what steps of a model cost on an engine and its cards, loaded in one way.
type stepRow struct {
	Engine string          `json:"engine"`
	Model  string          `json:"model"`
	Load   string          `json:"load"` // all else that makes steps dearer or cheaper
	Costs  benchcard.Costs `json:"costs"`
}

func (r stepRow) same(o stepRow) bool {
	return r.Engine == o.Engine && r.Model == o.Model && r.Load == o.Load
}

// stepFile has the number of its form, as pools-1.json does.
func stepFile(home string) string { return filepath.Join(home, "steps-1.json") }

// measuredSteps are the costs of a model that is loaded so; false where they were not
// measured.
func measuredSteps(home, engine string, m plan.Model, p placement) (benchcard.Costs, bool, error) {
	rows, err := readRows[stepRow](stepFile(home))
	r, ok := rowLike(rows, stepKey(engine, m, p))
	return r.Costs, ok, err
}

func stepKey(engine string, m plan.Model, p placement) stepRow {
	c := p.llm
	layers := "all layers"
	if p.layers >= 0 {
		layers = fmt.Sprintf("%d layers", p.layers)
	}
	pool := plan.Split
	if c.Unified {
		pool = plan.Unified
	}
	load := fmt.Sprintf("%s on cards, %d threads, cache %s/%s, micro batch %d, flash attention %s, pool %s",
		layers, c.Threads, c.KeyType, c.ValueType, cmp.Or(c.MicroBatch, llm.MostMicroBatch), c.FlashAttention, pool)
	if c.ShortWindow {
		load += ", short window"
	}
	return stepRow{Engine: engine, Model: modelKey(m), Load: load}
}

// rememberSteps keeps costs for the next load. Those of before stay where these have
// none of their size.
func rememberSteps(home string, row stepRow) error {
	rows, _ := readRows[stepRow](stepFile(home)) // rememberRow says what is wrong with it
	if before, ok := rowLike(rows, row); ok {
		row.Costs = row.Costs.Over(before.Costs)
	}
	return rememberRow(stepFile(home), row)
}

// stepRow is the report's load. It measures split pools and whole windows, whatever
// the model would be served with.
func (r *cardRig) stepRow(c benchcard.Costs) stepRow {
	p := r.placed
	p.llm.Unified, p.llm.ShortWindow, p.llm.MicroBatch = false, false, r.microBatch()
	row := stepKey(r.host.engine.key(), p.model, p)
	row.Costs = c
	return row
}

// seed tells a load's scheduler what its steps cost, and the user that it does.
func (h *host) seed(p *placement) {
	c, ok, err := measuredSteps(h.home, h.engine.key(), p.model, *p)
	if err != nil {
		h.log.Warn("measured steps are not used; `dure bench card` writes them anew", "model", p.llm.Name, "error", err)
	}
	if ok {
		p.llm.Costs, p.learnt = schedulerCosts(c), measuredNotes(c)
	}
}

// schedulerCosts are costs as the scheduler wants them. It asks what a step of so many
// rows takes, not at which length: sequences are short when a model has just been
// loaded, and what is seen later counts more.
func schedulerCosts(c benchcard.Costs) (out llm.Costs) {
	shortest := map[int]benchcard.StepCost{}
	for _, s := range c.Steps {
		if before, ok := shortest[s.Rows]; !ok || s.Context < before.Context {
			shortest[s.Rows] = s
		}
	}
	for _, s := range c.Steps {
		if s == shortest[s.Rows] {
			out.Steps = append(out.Steps, llm.StepCost{Rows: s.Rows, Took: nanoseconds(s.MS)})
		}
	}
	for _, k := range c.Chunks {
		out.Chunks = append(out.Chunks, llm.ChunkCost{From: k.From, Tokens: k.Tokens, Took: nanoseconds(k.MS)})
	}
	return out
}

func nanoseconds(ms float64) int64 { return int64(ms * float64(time.Millisecond)) }

// measuredNotes say what a load begins with.
func measuredNotes(c benchcard.Costs) []string {
	begins := fmt.Sprintf("the scheduler begins with what %d steps and %d pieces of prompts took when `dure bench card` measured them", len(c.Steps), len(c.Chunks))
	return append([]string{begins}, measuredRates(c)...)
}

// measuredRates say what one sequence wrote, and as many as wrote the most together.
// Beyond these, more of them at once gain nothing.
func measuredRates(c benchcard.Costs) []string {
	if len(c.Steps) == 0 {
		return nil
	}
	few := c.Steps[0] // they are in order of context, then rows
	best, most := few, few.Rows
	for _, s := range c.Steps {
		if s.Context == few.Context {
			most = s.Rows
			if s.Rate() > best.Rate() {
				best = s
			}
		}
	}
	note := fmt.Sprintf("measured here, with %d tokens in each: %s", few.Context, writing(few))
	if best != few {
		note += fmt.Sprintf("; %s together, the most of up to %d", writing(best), most)
	}
	return []string{note}
}

func writing(s benchcard.StepCost) string {
	if s.Rows == 1 {
		return fmt.Sprintf("1 sequence writes %.3g tokens/s", s.Rate())
	}
	return fmt.Sprintf("%d write %.3g tokens/s", s.Rows, s.Rate())
}
