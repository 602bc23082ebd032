package kv

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is an estimate and its 95 % confidence interval. Low and High are the
// estimate where there is too little to tell.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// meanOf is the mean of independent values, with Student's interval. Values that
// depend on each other must be averaged before.
func meanOf(values []float64) Interval {
	n := float64(len(values))
	if n == 0 {
		return Interval{}
	}
	var sum, square float64
	for _, v := range values {
		sum += v
	}
	mean := sum / n
	for _, v := range values {
		square += (v - mean) * (v - mean)
	}
	if n < 2 {
		return Interval{mean, mean, mean}
	}
	half := student(len(values)-1) * math.Sqrt(square/(n-1)/n)
	return Interval{mean, mean - half, mean + half}
}

// student is the 97.5 % point of Student's t; beyond the table by Cornish and Fisher's
// expansion, within 0.001 of it.
func student(df int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	if df < 1 {
		return math.Inf(1)
	}
	if df <= len(table) {
		return table[df-1]
	}
	const z = 1.959964
	n := float64(df)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}

// shareOf is a proportion with Wilson's interval, which holds at 0 and 1 too.
func shareOf(hits, of int) Interval {
	if of == 0 {
		return Interval{}
	}
	const z = 1.959964
	n, p := float64(of), float64(hits)/float64(of)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Interval{p, max(0, min(p, middle-half)), min(1, max(p, middle+half))}
}

// quantile of values, which it sorts: the smallest one that a share q of them does not
// exceed. 0 for none.
func quantile(values []float32, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	i := int(math.Ceil(q*float64(len(values)))) - 1
	return float64(values[max(0, min(i, len(values)-1))])
}

// tailDraws is how often the texts are drawn anew for a tail's interval.
const tailDraws = 200

// tailOf is a quantile over the rows of all groups, with the interval that drawing
// whole groups anew gives: rows of one text resemble each other.
func tailOf(groups [][]float32, q float64) Interval {
	var pool []float32
	gather := func(pick func(int) int) float64 {
		pool = pool[:0]
		for i := range groups {
			pool = append(pool, groups[pick(i)]...)
		}
		return quantile(pool, q)
	}
	value := gather(func(i int) int { return i })
	if len(groups) < 2 {
		return Interval{value, value, value}
	}
	r := rand.New(rand.NewPCG(1, uint64(len(groups))))
	draws := make([]float64, tailDraws)
	for k := range draws {
		draws[k] = gather(func(int) int { return r.IntN(len(groups)) })
	}
	slices.Sort(draws)
	at := func(q float64) float64 { return draws[int(q*float64(len(draws)-1))] }
	return Interval{value, min(value, at(0.025)), max(value, at(0.975))}
}
