package spec

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says how much a finding matters.
type Severity string

// Severities.
const (
	Error   Severity = "error"   // a team cannot come to a good end with it
	Warning Severity = "warning" // it will cost time, or come out otherwise than meant
	Note    Severity = "note"    // good to know
)

// A Finding is what is wrong at a line.
type Finding struct {
	Rule     string   `json:"rule"` // the same words for the same kind: goal-without-check
	Severity Severity `json:"severity"`
	Line     int      `json:"line"` // from 1; 0: of the whole text
	Goal     string   `json:"goal,omitempty"`
	Why      string   `json:"why"`
	Fix      string   `json:"fix"`
}

func (f Finding) String() string {
	return fmt.Sprintf("%d: %s (%s): %s\n    %s", f.Line, f.Severity, f.Rule, f.Why, f.Fix)
}

// Bounds.
const (
	MaxBytes    = 512 << 10 // of a text that is read
	MaxFindings = 200
	maxQuoted   = 80 // bytes of the text that a finding quotes
)

// A Report is what there is to say of a specification.
type Report struct {
	Title    string    `json:"title"`
	Bytes    int       `json:"bytes"`
	Tokens   int       `json:"tokens"` // an estimate
	Goals    []Goal    `json:"goals"`
	Findings []Finding `json:"findings"`
}

// Count is how many findings of a severity there are.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// finish puts the findings in the order of the text, and bounds them.
func (r *Report) finish() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Why, b.Why))
	})
	r.Findings = slices.CompactFunc(r.Findings, func(a, b Finding) bool { return a == b })
	if over := len(r.Findings) - MaxFindings; over > 0 {
		r.Findings = append(r.Findings[:MaxFindings:MaxFindings], Finding{
			Rule: "more", Severity: Warning, Line: r.Findings[MaxFindings].Line,
			Why: fmt.Sprintf("%d more findings are not shown", over), Fix: "mend these first, then look again",
		})
	}
}

// quote is a text as a finding shows it.
func quote(s string) string {
	runes := []rune(s)
	if len(runes) > maxQuoted {
		return fmt.Sprintf("%q", string(runes[:maxQuoted])+"...")
	}
	return fmt.Sprintf("%q", s)
}
