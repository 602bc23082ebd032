package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"dure/inference/bench"
)

// peersTable collects figures row by row, in the order in which they came.
type peersTable struct {
	Machine  string      `json:"machine"`
	Seed     uint64      `json:"seed"`
	Repeat   int         `json:"repeat"`
	Rows     []*peersRow `json:"rows"`
	Problems []string    `json:"problems,omitempty"`
}

// peersRow holds a row's figures: by setting, then by repetition.
type peersRow struct {
	Model string `json:"model"`
	subject
	Values map[string]map[int]float64 `json:"values"`
}

func (t *peersTable) add(model string, what subject, setting string, rep int, value float64) {
	var found *peersRow
	for _, r := range t.Rows {
		if r.Model == model && r.subject == what {
			found = r
		}
	}
	if found == nil {
		found = &peersRow{Model: model, subject: what, Values: map[string]map[int]float64{}}
		t.Rows = append(t.Rows, found)
	}
	if found.Values[setting] == nil {
		found.Values[setting] = map[int]float64{}
	}
	found.Values[setting][rep] = value
}

// median of a setting; NaN where it has no figures.
func (r *peersRow) median(setting string) float64 {
	var all []float64
	for _, v := range r.Values[setting] {
		all = append(all, v)
	}
	return bench.Median(all)
}

// ratio is the median of dure's ratios to the better peer, repetition by
// repetition; NaN where there is none.
func (r *peersRow) ratio() float64 {
	var ratios []float64
	for rep, ours := range r.Values[settingDure] {
		best := math.NaN()
		for setting, values := range r.Values {
			v, ok := values[rep]
			if ok && setting != settingDure && (math.IsNaN(best) || r.Higher == (v > best)) {
				best = v
			}
		}
		if best > 0 {
			ratios = append(ratios, ours/best)
		}
	}
	return bench.Median(ratios)
}

// holds says whether the bar does; known is false where there is no bar, or no
// figure to hold against it.
func (r *peersRow) holds() (held, known bool) {
	value := r.median(settingDure)
	if r.Compared {
		value = r.ratio()
	}
	if !r.barred() || math.IsNaN(value) {
		return false, false
	}
	if r.Zero {
		return r.worst() == 0, true
	}
	if r.Higher {
		return value >= r.Bar, true
	}
	return value <= r.Bar, true
}

func (r *peersRow) barred() bool { return r.Bar != 0 || r.Zero }

// worst of dure's counts: a median would hide one failure among three.
func (r *peersRow) worst() float64 {
	worst := 0.0
	for _, v := range r.Values[settingDure] {
		worst = max(worst, v)
	}
	return worst
}

func (r *peersRow) bar() string {
	sign := "<="
	if r.Higher {
		sign = ">="
	}
	switch {
	case r.Zero:
		return "0"
	case r.Bar == 0:
		return ""
	case r.Compared:
		return fmt.Sprintf("ratio %s %.2f", sign, r.Bar)
	}
	return fmt.Sprintf("%s %.2f", sign, r.Bar)
}

func (t *peersTable) print(w io.Writer) {
	fmt.Fprintf(w, "%s; seed %d, medians of %d repetitions; ratios are dure to the better llama-server in the same repetition\n\n", t.Machine, t.Seed, t.Repeat)
	settings := []string{settingDure, settingUnified, settingSplit}
	fmt.Fprintf(w, "| model | what | bar | %s | ratio | holds |\n|---|---|---|---|---|---|---|---|\n", strings.Join(settings, " | "))
	for _, r := range t.Rows {
		fmt.Fprintf(w, "| %s | %s | %s |", r.Model, r.What, r.bar())
		for _, s := range settings {
			fmt.Fprintf(w, " %s |", cell(r.median(s), r.Unit))
		}
		verdict := ""
		if held, known := r.holds(); known && held {
			verdict = "yes"
		} else if known {
			verdict = "no"
		} else if r.barred() {
			verdict = "not measured"
		}
		fmt.Fprintf(w, " %s | %s |\n", cell(r.ratio(), ""), verdict)
	}
	for _, p := range t.Problems {
		fmt.Fprintf(w, "\nproblem: %s\n", p)
	}
}

// cell shows three digits or more; nothing for no figure.
func cell(v float64, unit string) string {
	if math.IsNaN(v) {
		return ""
	}
	text := fmt.Sprintf("%.3g", v)
	if math.Abs(v) >= 100 {
		text = fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSpace(text + " " + unit)
}
