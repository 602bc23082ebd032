package swarm

import (
	"context"
	"fmt"
	"time"
)

// Report of a team's run. Times are milliseconds unless the name says seconds.
type Report struct {
	Server Kind   `json:"server"`
	Model  string `json:"model"`
	Shape  Shape  `json:"shape"`

	Finished    int     `json:"agents_finished"` // all their turns were answered
	Answered    int     `json:"turns_answered"`
	Interrupted bool    `json:"interrupted,omitempty"`
	WallSeconds float64 `json:"wall_s"`

	// Prompt tokens of answered turns, and those that the server computed; nil
	// where it does not tell.
	Prompt *int `json:"prompt_tokens"`
	Read   *int `json:"read_tokens"`
	// Distinct tokens of the prefix tree of all answered prompts. Fresh are those
	// without the answers in it, which the server made itself and need not read.
	Distinct   *int   `json:"distinct_tokens"`
	Fresh      *int   `json:"fresh_tokens"`
	DistinctBy string `json:"distinct_by,omitempty"`

	Completion *int    `json:"completion_tokens"`
	Rate       float64 `json:"completion_tokens_per_s"`

	First Spread `json:"first_turn_ttft_ms"`
	Later Spread `json:"later_turns_ttft_ms"`
	// Wait is the time to the first text over all turns, AgentWait its sum for
	// each agent that finished.
	Wait      Spread `json:"wait_ms"`
	AgentWait Spread `json:"agent_wait_ms"`
	// Gap between two deliveries of one answer: its maximum is the longest
	// stand-still of a running stream.
	Gap Spread `json:"gap_ms"`

	Refusals int            `json:"refusals"` // "busy, come again", followed
	Errors   map[string]int `json:"errors"`   // by kind; empty where all went well
	// Examples has the text of the first error of each kind.
	Examples map[string]string `json:"error_examples,omitempty"`

	turns []Turn
}

// ReadRatio is read tokens over distinct ones, FreshRatio over those that no
// server can do without; 0 where either is not known.
func (r *Report) ReadRatio() float64  { return known(r.Read, r.Distinct) }
func (r *Report) FreshRatio() float64 { return known(r.Read, r.Fresh) }

func known(a, b *int) float64 {
	if a == nil || b == nil {
		return 0
	}
	return ratio(float64(*a), float64(*b))
}

// newReport computes what the turns alone tell.
func newReport(e *Endpoint, s Shape, turns []Turn, wall time.Duration) *Report {
	r := &Report{Server: e.Kind, Model: e.Model, Shape: s, WallSeconds: wall.Seconds(), Errors: map[string]int{}, Examples: map[string]string{}, turns: turns}
	waits := map[int]float64{} // by agent
	done := map[int]int{}
	var first, later, all, gaps, each []float64
	for i := range turns {
		t := &turns[i]
		r.Refusals += t.Refusals
		if !t.OK() {
			r.addError(t.Err)
			continue
		}
		r.Answered++
		done[t.Agent]++
		waits[t.Agent] += t.wait()
		all = append(all, t.wait())
		if t.Number == 0 {
			first = append(first, t.wait())
		} else {
			later = append(later, t.wait())
		}
		gaps = append(gaps, t.gaps(always)...)
	}
	for agent, n := range done {
		if n == s.Turns {
			r.Finished++
			each = append(each, waits[agent])
		}
	}
	r.First, r.Later, r.Wait, r.AgentWait, r.Gap = NewSpread(first), NewSpread(later), NewSpread(all), NewSpread(each), NewSpread(gaps)
	r.Prompt = r.sum(func(t *Turn) int { return t.Prompt })
	r.Read = r.sum(func(t *Turn) int { return t.Read })
	if r.Completion = r.sum(func(t *Turn) int { return t.Completion }); r.Completion != nil {
		r.Rate = ratio(float64(*r.Completion), r.WallSeconds)
	}
	return r
}

func (r *Report) addError(f *Failure) {
	if f.Kind == KindInterrupted {
		return
	}
	if r.Errors[f.Kind]++; r.Examples[f.Kind] == "" {
		r.Examples[f.Kind] = f.Text
	}
}

// sum over answered turns; nil where the server left it out of one of them.
func (r *Report) sum(of func(*Turn) int) *int {
	total := 0
	for i := range r.turns {
		if t := &r.turns[i]; t.OK() {
			n := of(t)
			if n == notTold {
				return nil
			}
			total += n
		}
	}
	return &total
}

// count finds the distinct tokens: in the prompts' tokens, or where the server
// does not tell those, by usage.
func (r *Report) count(ctx context.Context, e *Endpoint) error {
	if r.Answered == 0 {
		return nil
	}
	if !e.Counts() {
		r.countByUsage()
		return nil
	}
	var prompts [][]int32
	for i := range r.turns {
		if t := &r.turns[i]; t.OK() {
			tokens, err := e.PromptTokens(ctx, t.Messages)
			if err != nil {
				return fmt.Errorf("count the distinct tokens: %w", err)
			}
			prompts = append(prompts, tokens)
		}
	}
	n := Union(prompts)
	r.setDistinct(n, "the prompts' tokens")
	return nil
}

// countByUsage takes the last prompt of each agent, and the shared part once,
// at the length that was asked for.
func (r *Report) countByUsage() {
	last := map[int]int{} // turns are in order
	for i := range r.turns {
		if t := &r.turns[i]; t.OK() {
			if t.Prompt == notTold {
				return
			}
			last[t.Agent] = t.Prompt
		}
	}
	n := r.Shape.SharedTokens
	for _, prompt := range last {
		n += max(0, prompt-r.Shape.SharedTokens)
	}
	r.setDistinct(n, "usage, an estimate: the shared part taken at its nominal length")
}

func (r *Report) setDistinct(n int, by string) {
	r.Distinct, r.DistinctBy = &n, by
	fresh := n
	for i := range r.turns {
		// The last token of an answer was drawn and not computed.
		if t := &r.turns[i]; t.OK() && i+1 < len(r.turns) && r.turns[i+1].Agent == t.Agent && r.turns[i+1].OK() {
			if t.Completion == notTold {
				return
			}
			fresh -= max(0, t.Completion-1)
		}
	}
	r.Fresh = &fresh
}
