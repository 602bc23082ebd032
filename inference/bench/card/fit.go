package card

import "math"

// Lines are fitted to the pieces of a prompt that were measured; nil where they tell
// none.
type Lines struct {
	// Narrow is of the pieces of fewer than WideFrom tokens, which take another path of
	// the engine on CPUs, Wide of the others.
	Narrow *Fitted `json:"narrow,omitempty"`
	Wide   *Fitted `json:"wide,omitempty"`
}

// WideFrom is the size from which on pieces are fitted apart.
const WideFrom = 64

// Fitted is a line and how well it holds.
type Fitted struct {
	Line
	Chunks int `json:"chunks"`
	// Error is the largest part by which one of the chunks differs from the line.
	Error float64 `json:"error"`
}

// parts of a Line.
const parts = 3

// Line is what a chunk of a prompt costs:
//
//	ms = Fixed + tokens x (Each + Deep x (from + tokens/2))
type Line struct {
	Fixed float64 `json:"fixed_ms"`
	Each  float64 `json:"each_ms"` // per token
	Deep  float64 `json:"deep_ms"` // per token and position
}

// MS is what the line says of a chunk.
func (l Line) MS(tokens, from int) float64 {
	f := features(Chunk{Tokens: tokens, From: from})
	return l.Fixed*f[0] + l.Each*f[1] + l.Deep*f[2]
}

func features(c Chunk) [parts]float64 {
	n := float64(c.Tokens)
	return [parts]float64{1, n, n * (float64(c.From) + n/2)}
}

// Fit is the line with the least squares of relative errors of which no part is
// negative; false where the chunks are of one size only, or fewer than three. Each set
// of parts that may be positive is tried: there are seven.
func Fit(chunks []Chunk) (Line, bool) {
	sizes := map[int]bool{}
	for _, c := range chunks {
		if c.Tokens < 1 || c.From < 0 || !(c.MS > 0) || math.IsInf(c.MS, 0) {
			return Line{}, false
		}
		sizes[c.Tokens] = true
	}
	if len(chunks) < parts || len(sizes) < 2 {
		return Line{}, false
	}
	var best [parts]float64
	least := math.Inf(1)
	for set := 1; set < 1<<parts; set++ {
		x, ok := solve(chunks, set)
		if !ok {
			continue
		}
		if e := residual(chunks, x); e < least {
			best, least = x, e
		}
	}
	return Line{best[0], best[1], best[2]}, !math.IsInf(least, 1)
}

func residual(chunks []Chunk, x [parts]float64) (sum float64) {
	for _, c := range chunks {
		f := features(c)
		e := (x[0]*f[0]+x[1]*f[1]+x[2]*f[2])/c.MS - 1
		sum += e * e
	}
	return sum
}

// solve the normal equations for a set of parts; false where a part would be negative,
// or the chunks do not tell it. Columns are scaled to one size first.
func solve(chunks []Chunk, set int) (x [parts]float64, ok bool) {
	var in []int
	for k := range parts {
		if set&(1<<k) != 0 {
			in = append(in, k)
		}
	}
	var scale [parts]float64
	for _, c := range chunks {
		for k, f := range features(c) {
			scale[k] = max(scale[k], f/c.MS)
		}
	}
	var m [parts][parts + 1]float64
	for _, c := range chunks {
		f := features(c)
		for i, a := range in {
			fa := f[a] / c.MS / scale[a]
			for k, b := range in {
				m[i][k] += fa * f[b] / c.MS / scale[b]
			}
			m[i][parts] += fa
		}
	}
	y, ok := gauss(m, len(in))
	if !ok {
		return x, false
	}
	for i, a := range in {
		if y[i] < 0 {
			return x, false
		}
		x[a] = y[i] / scale[a]
	}
	return x, true
}

// gauss eliminates in n equations; the right-hand side is the last column.
func gauss(m [parts][parts + 1]float64, n int) (x [parts]float64, ok bool) {
	for i := range n {
		best := i
		for k := i + 1; k < n; k++ {
			if math.Abs(m[k][i]) > math.Abs(m[best][i]) {
				best = k
			}
		}
		if m[i], m[best] = m[best], m[i]; math.Abs(m[i][i]) < 1e-9 {
			return x, false
		}
		for k := i + 1; k < n; k++ {
			q := m[k][i] / m[i][i]
			for c := range parts + 1 {
				m[k][c] -= q * m[i][c]
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		x[i] = m[i][parts]
		for k := i + 1; k < n; k++ {
			x[i] -= m[i][k] * x[k]
		}
		x[i] /= m[i][i]
	}
	return x, true
}

// LinesOf are fitted to pieces; nil where they tell none.
func LinesOf(chunks []Chunk) *Lines {
	var narrow, wide []Chunk
	for _, k := range chunks {
		if k.Tokens < WideFrom {
			narrow = append(narrow, k)
		} else {
			wide = append(wide, k)
		}
	}
	l := Lines{fitted(narrow), fitted(wide)}
	if l == (Lines{}) {
		return nil
	}
	return &l
}

func fitted(chunks []Chunk) *Fitted {
	l, ok := Fit(chunks)
	if !ok || len(chunks) <= parts {
		return nil // any three lie on a line, which tells nothing
	}
	f := &Fitted{Line: l, Chunks: len(chunks)}
	for _, k := range chunks {
		f.Error = max(f.Error, math.Abs(l.MS(k.Tokens, k.From)/k.MS-1))
	}
	return f
}
