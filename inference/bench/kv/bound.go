package kv

import "fmt"

// Bound is the loss that a setting may have. What it loses is measured against f16.
type Bound struct {
	// Divergence is the most that the mean may be, in nats; Top the least share of
	// tokens whose likeliest successor stays the same.
	Divergence float64 `json:"kld_mean"`
	Top        float64 `json:"top1"`
	// Rows is how many tokens must have been compared for a verdict. Fewer are no
	// verdict of either kind: those of one text resemble each other.
	Rows int `json:"rows"`
}

// DefaultBound is the loss at which types and classes are refused that nobody insists
// on: about what q4_0 cells cost models of 27 billion parameters in long contexts
// (mean 0.003 to 0.012, top-1 95 to 98 %). Rows are those of four texts as they are
// compared by default: a look (384 tokens behind short contexts) gives no verdict.
func DefaultBound() Bound { return Bound{Divergence: 0.01, Top: 0.95, Rows: 2048} }

// Verdict of a bound.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "passed"
	Over    Verdict = "over the bound"
	TooThin Verdict = "too little was measured"
	// NotJudged are random weights.
	NotJudged Verdict = "not judged"
)

// Figures are what a bound looks at.
type Figures struct {
	Mean, Top    float64
	Rows, Broken int
}

// Judge says whether figures keep a bound, and why not.
func (b Bound) Judge(f Figures) (Verdict, string) {
	switch {
	case f.Broken > 0:
		return Over, fmt.Sprintf("%d of %d rows have logits that are no numbers", f.Broken, f.Rows)
	case f.Rows < b.Rows:
		return TooThin, fmt.Sprintf("%d tokens compared, at least %d", f.Rows, b.Rows)
	case !(f.Mean <= b.Divergence): // NaN too
		return Over, fmt.Sprintf("mean KLD %.4f, at most %g", f.Mean, b.Divergence)
	case !(f.Top >= b.Top):
		return Over, fmt.Sprintf("top-1 %.2f %%, at least %g %%", 100*f.Top, 100*b.Top)
	}
	return Passed, ""
}

// CellsBeside is the setting whose cells a class may lose as much as: the one that
// saves as much where the model computes.
const CellsBeside = "q4_0"

// JudgeBeside says whether figures of a class keep the bound, or else lose no more than
// the cells of CellsBeside do, measured on the same model, and why not.
func (b Bound) JudgeBeside(f Figures, cells Known) (Verdict, string) {
	verdict, why := b.Judge(f)
	switch {
	case verdict != Over || f.Broken > 0:
		return verdict, why
	case !cells.Measured || cells.Rows < b.Rows:
		return TooThin, fmt.Sprintf("%s, or as %s cells lose, which are not measured for it on %d tokens", why, CellsBeside, b.Rows)
	case !(f.Mean <= cells.Mean):
		return Over, fmt.Sprintf("mean KLD %.4f, that of %s cells is %.4f", f.Mean, CellsBeside, cells.Mean)
	case !(f.Top >= cells.Top):
		return Over, fmt.Sprintf("top-1 %.2f %%, that of %s cells is %.2f %%", 100*f.Top, CellsBeside, 100*cells.Top)
	}
	return Passed, ""
}
