package card

import (
	"cmp"
	"slices"
)

// Costs are what steps and pieces of a prompt took: what a scheduler can begin with.
type Costs struct {
	Steps  []StepCost `json:"steps,omitempty"`
	Chunks []Chunk    `json:"chunks,omitempty"`
}

// StepCost is the median of a decode step with so many rows, each of a sequence of
// Context tokens.
type StepCost struct {
	Rows    int     `json:"rows"`
	Context int     `json:"context"`
	MS      float64 `json:"ms"`
}

// Rate is how many tokens a second such steps write, of all sequences together.
func (s StepCost) Rate() float64 { return float64(s.Rows) * 1000 / s.MS }

// Chunk is a measured piece of a prompt.
type Chunk struct {
	Tokens int     `json:"tokens"`
	From   int     `json:"from"` // position of its first token
	MS     float64 `json:"ms"`
}

// CostsOf are the costs that points tell, in order of context and position. What was
// disturbed is left out.
func CostsOf(points []Point) (c Costs) {
	for _, p := range points {
		switch {
		case p.Disturbed > 0:
		case p.Figure == FigureStep:
			c.Steps = append(c.Steps, StepCost{Rows: int(p.X), Context: p.Tokens, MS: p.Value})
		case p.Figure == FigureChunk:
			c.Chunks = append(c.Chunks, Chunk{Tokens: p.Tokens, From: int(p.X), MS: p.Value})
		}
	}
	c.sort()
	return c
}

// Empty reports whether there are none.
func (c Costs) Empty() bool { return len(c.Steps) == 0 && len(c.Chunks) == 0 }

// Over are these, and of older ones those of other sizes: a short measurement does
// not take away what a long one knew.
func (c Costs) Over(old Costs) Costs {
	all := Costs{Steps: slices.Clone(c.Steps), Chunks: slices.Clone(c.Chunks)}
	for _, s := range old.Steps {
		if !slices.ContainsFunc(c.Steps, func(n StepCost) bool { return n.Rows == s.Rows && n.Context == s.Context }) {
			all.Steps = append(all.Steps, s)
		}
	}
	for _, k := range old.Chunks {
		if !slices.ContainsFunc(c.Chunks, func(n Chunk) bool { return n.Tokens == k.Tokens && n.From == k.From }) {
			all.Chunks = append(all.Chunks, k)
		}
	}
	all.sort()
	return all
}

func (c Costs) sort() {
	slices.SortFunc(c.Steps, func(a, b StepCost) int {
		return cmp.Or(cmp.Compare(a.Context, b.Context), cmp.Compare(a.Rows, b.Rows))
	})
	slices.SortFunc(c.Chunks, func(a, b Chunk) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Tokens, b.Tokens))
	})
}
