package monitor

import (
	"cmp"
	"slices"

	"dure/runtime/tool"
)

// Judges is what one judge (the rules, or a model) said, and how long it took: from the
// question to the verdict, in milliseconds.
type Judges struct {
	By       string  `json:"by"`
	Calls    int     `json:"calls"`
	Allowed  int     `json:"allowed"`
	Refused  int     `json:"refused"`
	Blocked  int     `json:"blocked"`
	MedianMS float64 `json:"median_ms"`
	P95MS    float64 `json:"p95_ms"`
	MostMS   float64 `json:"most_ms"`
}

// tally collects verdicts by who gave them.
type tally map[string]*judged

type judged struct {
	Judges
	took []float64
}

func (t tally) add(j *tool.Judged) {
	by := t[j.By]
	if by == nil {
		by = &judged{Judges: Judges{By: j.By}}
		t[j.By] = by
	}
	by.Calls++
	by.took = append(by.took, j.LatencyMS)
	switch j.Decision {
	case tool.Allow:
		by.Allowed++
	case tool.Refuse:
		by.Refused++
	case tool.Block:
		by.Blocked++
	}
}

func (t tally) report() []Judges {
	var all []Judges
	for _, by := range t {
		slices.Sort(by.took)
		n := len(by.took)
		by.MedianMS, by.P95MS, by.MostMS = by.took[n/2], by.took[min(n-1, n*95/100)], by.took[n-1]
		all = append(all, by.Judges)
	}
	slices.SortFunc(all, func(a, b Judges) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.By, b.By)) })
	return all
}
